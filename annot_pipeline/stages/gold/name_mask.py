"""Texts of a build without raw names of judges: what progress, gates, errors and Dagster show.

Texts leave the machine before a release is searched: Dagster keeps logs, metadata and checks, and
``last_build.json`` is what `annot status` shows. What does not belong here: how names are found
(stages.gold.name_search), the search of a release (published_names).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from annot_pipeline.errors import AnnotError
from annot_pipeline.stages.gold.name_search import NameSearch
from annot_pipeline.stages.gold.published_names import MAPPED, own_words
from annot_pipeline.storage.store import Store

Records = tuple[Path, ...]
"""Files of parsed exports."""
Stamps = tuple[int, ...]
"""When each was written."""


class NameMask:
    """Masks raw names of judges in texts; returns texts as they are where none is known.

    Parameters
    ----------
    store
        Whose parsed exports hold the names.
    run
        The build: the exports it parsed, else those of the latest one, are looked at.
    """

    def __init__(self, store: Store, run: str) -> None:
        self.store, self.run = store, run

    def __call__(self, text: str) -> str:
        """Return a text without names, but for those that are labels or systems too."""
        if not text:
            return text
        records = self._records()
        try:
            stamps = tuple(path.stat().st_mtime_ns for path in records)
            search = _judges(records, stamps)
            names = search.in_text(text)
            if names:
                names -= own_words() | _mapped(records, stamps)
        except (OSError, pa.ArrowException):  # damaged: this build reads the exports again
            return text
        return search.masked(text, names) if names else text

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
                    values=tuple(map(self, problem.values)),
                )
                for problem in error.problems
            )

    def _records(self) -> Records:
        try:
            made = self.store.recorded(self.run, "read_records").tables["record_files"]
            return _files(self.store.records, tuple(made.paths))
        except (AnnotError, OSError, KeyError, pa.ArrowException):  # nothing was parsed yet
            return ()


@lru_cache(maxsize=4)
def _files(folder: Path, paths: tuple[Path, ...]) -> Records:
    """Return the files that a table ``record_files`` names; its folder is that of its contents."""
    names = pa.concat_tables([pq.read_table(path, columns=["filename"]) for path in paths])
    return tuple(folder / name for name in names["filename"].unique().to_pylist())


@lru_cache(maxsize=4)
def _judges(records: Records, stamps: Stamps) -> NameSearch:
    del stamps  # of the files, so that one that was repaired is read again
    return NameSearch.of_names({name for name in _values(records, "judge") if name is not None})


@lru_cache(maxsize=4)
def _mapped(records: Records, stamps: Stamps) -> frozenset[str]:
    """Return labels and systems: what the campaign maps is no secret."""
    del stamps
    columns = {name for path in records for name in pq.read_schema(path).names}
    return frozenset(
        str(value)
        for column in columns
        if MAPPED.fullmatch(column)
        for value in _values(records, column)
    )


def _values(records: Records, column: str) -> Iterator[Any]:
    """Yield the values of a column of parsed exports, those of a row group once."""
    for path in records:
        with pq.ParquetFile(path) as file:
            if column in file.schema_arrow.names:
                for group in range(file.num_row_groups):
                    values = file.read_row_group(group, [column])[column]
                    yield from values.unique().to_pylist()
