"""Texts of a build without raw names of judges: what progress, gates, errors and Dagster show.

Texts leave the machine before a release is searched: Dagster keeps logs, metadata and checks, and
``last_build.json`` is what `annot status` shows. What does not belong here: how names are found
(stages.gold.name_search), the search of a release (published_names).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from annot_pipeline.config.judges import JudgeSettings
from annot_pipeline.contracts.name_key import name_key
from annot_pipeline.errors import AnnotError
from annot_pipeline.stages.gold.published_names import LABELS, SYSTEMS, own_words
from annot_pipeline.stages.ingest.raw_names import raw_names
from annot_pipeline.stages.shared.name_search import NOT_SHOWN, CellNames, NameSearch
from annot_pipeline.storage.archive import Stamp, stamp
from annot_pipeline.storage.files import regular
from annot_pipeline.storage.store import Store
from annot_pipeline.storage.tables import read_table

Records = tuple[tuple[Path, Stamp], ...]
"""Files of parsed exports, with time and size."""
QUOTED_CELL = re.compile(r"(?<!\w)['\"]([^'\"\n]{1,60})['\"](?!\w)")


class NameMask:
    """Masks raw names of judges in texts; returns texts as they are where none is known.

    Parameters
    ----------
    store
        Whose parsed exports hold the names.
    run
        The build: the exports it parsed, else those of the latest one, are looked at.
    declared
        Says which judges are models: their names are shown.
    """

    def __init__(self, store: Store, run: str, declared: Sequence[JudgeSettings] = ()) -> None:
        self.store, self.run, self.declared = store, run, tuple(declared)

    def __call__(self, text: str) -> str:
        """Return a text without names, but for those that are labels or systems too."""
        if not text:
            return text
        records = self._records()
        search, keys = _judges(records, self.declared)
        names = search.in_text(text)
        short = {cell for cell in QUOTED_CELL.findall(text) if name_key(cell) in keys}
        if not names and not short:
            return text
        public = own_words({*names, *map(name_key, short)}) | _mapped(records)
        masked = search.masked(text, {name for name in names if name.lower() not in public})
        for cell in short:
            if name_key(cell) not in public:
                masked = re.sub(rf"(['\"]){re.escape(cell)}\1", NOT_SHOWN, masked)
        return masked

    def cell(self, text: str) -> str:
        """Return a cell of an export, as an error names it, without names, however short."""
        return NOT_SHOWN if self(f"'{text}'") == NOT_SHOWN else self(text)

    def everywhere(self, value: Any) -> Any:
        """Return a document of JSON with all of its texts masked."""
        if isinstance(value, str):
            return self(value)
        if isinstance(value, dict):
            return {key: self.everywhere(inner) for key, inner in value.items()}
        return [self.everywhere(inner) for inner in value] if isinstance(value, list) else value

    def error(self, error: Exception) -> None:
        """Mask the words of an error where it stands: Dagster keeps causes too."""
        error.args = tuple(self(a) if isinstance(a, str) else a for a in error.args)
        if isinstance(error, AnnotError):
            error.title = self(error.title)
            error.problems = tuple(
                replace(
                    problem,
                    where=self(problem.where),
                    what=self(problem.what),
                    allowed=self(problem.allowed),
                    do=self(problem.do),
                    values=tuple(map(self.cell, problem.values)),
                )
                for problem in error.problems
            )

    def _records(self) -> Records:
        files: tuple[Path, ...] = ()
        with _unless_damaged():
            record_files = self.store.recorded(self.run, "read_records").tables["record_files"]
            files = _files(self.store.records, tuple(record_files.paths))
        return tuple(export for path in files if (export := _readable(path)))


def _readable(path: Path) -> tuple[Path, Stamp] | None:
    """Return a parsed export, and what tells it from one that was made again; None if damaged.

    A damaged one is parsed again, and masked by then.
    """
    with _unless_damaged():
        read = stamp(path)
        _read_schema(path, read)
        return path, read
    return None


@contextmanager
def _unless_damaged() -> Iterator[None]:
    """Pass over files that are damaged or not there yet: nothing was parsed."""
    try:
        yield
    except MemoryError:  # also Arrow's: what holds names must not pass for what holds none
        raise
    except (AnnotError, OSError, KeyError, pa.ArrowException):
        pass


@lru_cache(maxsize=1 << 12)
def _read_schema(path: Path, _: Stamp) -> None:
    """Read the columns of a file, once: texts are masked at every message."""
    pq.read_schema(regular(path))


@lru_cache(maxsize=4)
def _files(folder: Path, paths: tuple[Path, ...]) -> tuple[Path, ...]:
    """Return the files that a table ``record_files`` names; its folder is that of its contents."""
    names = pa.concat_tables([read_table(path, ["filename"]) for path in paths])
    return tuple(folder / name for name in names["filename"].unique().to_pylist())


@lru_cache(maxsize=4)
def _judges(
    records: Records, declared: tuple[JudgeSettings, ...]
) -> tuple[NameSearch, frozenset[str]]:
    """Return the search for names in texts, and `name_key` of all names."""
    names = {name for path, *_ in records for name in _names(path, declared)}
    return NameSearch.from_names(names), CellNames.from_names(names).keys


def _names(path: Path, declared: tuple[JudgeSettings, ...]) -> set[str]:
    with _unless_damaged():
        return raw_names([path], declared)
    return set()


@lru_cache(maxsize=4)
def _mapped(records: Records) -> frozenset[str]:
    """Return labels and systems, in lower case: what the campaign maps is no secret."""
    return frozenset(str(value).lower() for path, *_ in records for value in _mapped_in(path))


def _mapped_in(path: Path) -> set[Any]:
    values: set[Any] = set()
    with _unless_damaged(), pq.ParquetFile(regular(path)) as file:
        names = file.schema_arrow.names
        columns = [n for n in names if LABELS.fullmatch(n) or SYSTEMS.fullmatch(n)]
        for group in range(file.num_row_groups if columns else 0):
            for values_of_column in file.read_row_group(group, columns).itercolumns():
                values.update(values_of_column.unique().to_pylist())
    return values
