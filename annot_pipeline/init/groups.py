"""First rows of files, and which files belong together.

One source for a glob; tasks and judges are told by file names.
"""

from __future__ import annotations

import glob
import os
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.errors import ConfigError
from annot_pipeline.exports import READERS, Opening
from annot_pipeline.exports.hits import COLUMNS as HITS_COLUMNS
from annot_pipeline.init.table import Column, Sheet
from annot_pipeline.storage.archive import find_exports, natural_key

SHARED_ITEMS = 0.5
"""Files of which more than this share of items is in other files, too, number items anew."""

LARGEST_LOCAL_JUDGE = 10_000
_DATE = re.compile(
    r"(?<!\d)20\d\d[-_.]?[01]\d[-_.]?[0-3]\d(?!\d)(?:[T_-]\d\d[-_:]?\d\d(?:[-_:]?\d\d)?)?"
)
_ENDINGS = re.compile(r"(\.(csv|tsv|tab|txt|jsonl|ndjson|json|parquet|xml|gz))+$")


ROWS_READ = 200_000
"""Rows of a file that statistics come from."""

BYTES_READ = 256 << 20
"""The same, in memory: rows can be long."""


@dataclass(frozen=True)
class Sample:
    """The first rows of an export, as its reader gives them.

    Parameters
    ----------
    path
        The export.
    format, options
        As campaign.yaml says them.
    table
        The rows that can be read, all columns strings.
    unreadable
        Why other rows cannot be read, with their number.
    is_whole
        Whether these are all rows of the file.
    records
        Of a JSON document, the path of its records; None: the document is their list.
    """

    path: Path
    format: str
    options: dict[str, Any] = field(default_factory=dict)
    table: pa.Table = None
    unreadable: Counter[str] = field(default_factory=Counter)
    is_whole: bool = True
    records: str | None = None


def opening_of(sample: Sample) -> Opening:
    """Return what its reader is called with."""
    options = {n: v for n, v in sample.options.items() if n != "skip_rows"}
    header = options.pop("columns", None)
    # not the texts, too
    used_columns = frozenset(HITS_COLUMNS) if sample.format == "hits" else None
    options |= {"header": tuple(header) if header else None, "records": sample.records}
    return Opening(sample.path, sample.path.name, used_columns, **options)


def read_rows(sample: Sample, limit: int) -> Sample:
    """Return the first rows, as the reader of the format gives them with these options."""
    export = READERS[sample.format](opening_of(sample))
    tables: list[pa.Table] = []
    unreadable: Counter[str] = Counter()
    n_rows = n_bytes = 0
    is_whole = True
    for chunk in export.chunks:
        if n_rows >= limit or n_bytes >= BYTES_READ:
            is_whole = False
            break
        unreadable.update(r.partition(":")[0] for r in chunk.problem.to_pylist() if r)
        is_whole = is_whole and n_rows + len(chunk) <= limit
        if chunk.columns:
            cells = {name: pc.utf8_trim_whitespace(c) for name, c in chunk.columns.items()}
            table = pa.table(cells).filter(pc.is_null(chunk.problem))
            tables.append(table.slice(0, limit - n_rows))
            n_bytes += table.nbytes
        n_rows += len(chunk)
    whole = pa.concat_tables(tables, promote_options="default") if tables else pa.table({})
    return replace(sample, table=whole, unreadable=unreadable, is_whole=is_whole)


@dataclass(frozen=True)
class Group:
    """Files of one folder, format and columns."""

    samples: tuple[Sample, ...]
    folder: Path
    is_folder: bool = False
    """Whether `annot init` was given the folder that they lie in, and not these files."""

    def __post_init__(self) -> None:
        ordered = sorted(self.samples, key=lambda sample: natural_key(sample.path.name))
        object.__setattr__(self, "samples", tuple(ordered))

    @property
    def paths(self) -> list[Path]:
        """Return the files, in natural order."""
        return [sample.path for sample in self.samples]

    @property
    def first(self) -> Sample:
        """Return what stands for all: format and options are the same."""
        return self.samples[0]

    @cached_property
    def sheet(self) -> Sheet:
        """Return the sampled rows of all files."""
        return Sheet([sample.table for sample in self.samples])

    @cached_property
    def pattern(self) -> str | None:
        """Return the glob, relative to the campaign, that matches these files and no others."""
        if len(self.samples) == 1:
            if dated := self._dated_pattern():
                return dated
            return (self.is_folder and self.later_pattern) or escaped(self.paths[0], self.folder)
        prefix, suffix = name_frame(self.paths)
        frames = [(prefix, suffix), ("", suffix), ("", self.paths[0].suffix)]
        if re.search(r"\d", prefix):  # of one month, or one batch: later files have another
            frames = [(re.split(r"\d", prefix)[0], suffix), *frames[1:]]
        names = [f"{glob.escape(start)}*{glob.escape(end)}" for start, end in frames]
        names.append(f"{_any_digits(prefix)}*{_any_digits(suffix)}")
        names.append(f"{glob.escape(prefix)}*{glob.escape(suffix)}")
        return self._matching(names)

    def _dated_pattern(self) -> str | None:
        """Return the glob for a file with a date in its name that takes those of other days too."""
        name = self.paths[0].name
        parts = _DATE.split(name)
        if len(parts) == 1:
            return None
        return self._matching(["*".join(map(glob.escape, parts)), _any_digits(name)])

    def _matching(self, names: Sequence[str]) -> str | None:
        """Return the first of some globs that matches these files and no others."""
        parent = self.paths[0].parent
        for name in names:
            if matches(parent, name) == set(self.paths):
                return f"{escaped(parent, self.folder)}/{name}".removeprefix("./")
        return None

    @property
    def later_pattern(self) -> str | None:
        """Return a glob for one file that takes later ones like it, and no other existing one."""
        later = f"*{glob.escape(ending_of(self.paths[0]))}"
        return self._matching([later]) if len(self.samples) == 1 else None

    def split(self) -> list[Group]:
        """Return one group a file."""
        return [Group((sample,), self.folder) for sample in self.samples]


def group_samples(
    samples: Sequence[Sample], folder: Path, folders: Sequence[Path] = ()
) -> list[Group]:
    """Group files of one folder with the same format, options and columns.

    ``folders``: those that `annot init` was given, and not their files.
    """
    groups: dict[Any, list[Sample]] = {}
    for sample in samples:
        named = () if sample.format == "label_studio" else sample.table.column_names
        options = repr(sorted(sample.options.items()))
        key = (sample.path.parent, sample.format, options, tuple(sorted(named)), sample.records)
        groups.setdefault(key, []).append(sample)
    return [
        Group(tuple(members), folder, any(map(members[0].path.is_relative_to, folders)))
        for members in groups.values()
    ]


def escaped(path: Path, folder: Path) -> str:
    """Return a path relative to the campaign, as a glob that matches it alone."""
    return glob.escape(Path(os.path.relpath(path, folder)).as_posix())


def _any_digits(text: str) -> str:
    """Return the glob of a text in which any digit may stand for each."""
    return re.sub(r"\d", "[0-9]", glob.escape(text))


def matches(folder: Path, pattern: str) -> set[Path]:
    """Return the files that a build would find; the campaign's own folder need not exist yet."""
    try:
        exports = find_exports(folder, pattern, where="")
    except ConfigError:
        return set()
    return {export.path for export in exports}


def name_frame(paths: Sequence[Path]) -> tuple[str, str]:
    """Return the whole words that file names share before and after the part that differs."""
    all_names = [path.name for path in paths]
    prefix = os.path.commonprefix(all_names)  # noqa: RUF071  # names, no paths
    suffix = os.path.commonprefix([name[::-1] for name in all_names])[::-1]  # noqa: RUF071
    shortest = min(map(len, all_names))
    suffix = suffix[max(0, len(prefix) + len(suffix) - shortest) :]
    start = max((m.end() for m in re.finditer(r"[-_. ]", prefix)), default=0)
    end = re.search(r"[-_. ]", suffix)
    return prefix[:start], suffix[end.start() :] if end else ""


def stem_of(path: Path) -> str:
    """Return a file's name without its endings."""
    return _ENDINGS.sub("", path.name.lower())


def ending_of(path: Path) -> str:
    """Return the endings of a file's name, as .csv.gz."""
    return path.name[len(stem_of(path)) :]


def words_in_names(paths: Sequence[Path]) -> list[str] | None:
    """Return the parts of file names that differ, if they are words; None for numbers and dates."""
    prefix, suffix = name_frame(paths)
    parts = [path.name[len(prefix) : len(path.name) - len(suffix)] for path in paths]
    without_digits = {re.sub(r"[\d\W_]+", "", part) for part in parts}
    return parts if len(without_digits) == len(parts) > 1 and "" not in without_digits else None


def items_restart(sheet: Sheet, item: str) -> bool:
    """Return whether the same item ids occur in several files."""
    items_by_file = [{*sheet.part(n)[item].counts} for n in range(len(sheet.parts))]
    files = Counter(value for values in items_by_file for value in values)
    shared = [(sum(files[v] > 1 for v in values), len(values)) for values in items_by_file]
    return any(n > SHARED_ITEMS * n_values for n, n_values in shared)


def judges_restart(sheet: Sheet, judge: Column) -> bool:
    """Return whether judges are small numbers that mean another person in every file."""
    if not judge.is_whole or judge.high > LARGEST_LOCAL_JUDGE:
        return False
    parts = [sheet.part(n)[judge.name] for n in range(len(sheet.parts))]
    filled = [p for p in parts if p.counts]
    return all(p.is_whole and p.low in (0, 1) and p.high - p.low < 2 * p.n_distinct for p in filled)


def captured(paths: Sequence[Path], field: str) -> dict[str, str]:
    """Return the expression that takes the differing part of the file name."""
    prefix, suffix = name_frame(paths)
    return {"capture": f"{re.escape(prefix)}(?P<{field}>[^/]+){re.escape(suffix)}$"}


def captured_stem(paths: Sequence[Path]) -> dict[str, str]:
    """Return the expression that takes a file's name, without its endings, for the judge."""
    ending = ending_of(paths[0])
    is_shared = all(stem_of(path) + ending == path.name.lower() for path in paths)
    pattern = re.escape(ending) if is_shared else r"\.[^/]*"
    return {"capture": f"(?P<judge>[^/]+){pattern}$"}


def contents_clash(sheet: Sheet, item: str) -> bool:
    """Return whether an item id of a nested format shows something else in another file."""
    data_names = [name for name in sheet.names if name.startswith("data.")]
    first: dict[str, Any] = {}
    for part in sheet.parts:
        columns = [name for name in data_names if name in part.column_names]
        here = {}
        for row in part.select([item, *columns]).to_pylist():
            here[row.pop(item)] = row
        if any(first.get(value, row) != row for value, row in here.items()):
            return True
        first |= here
    return False
