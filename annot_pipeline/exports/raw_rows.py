"""What every reader yields: the rows of an export, as text, with their place in the file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from annot_pipeline.errors import InputError, Problem


@dataclass(frozen=True)
class RawRows:
    """Some rows (or cells of rows) of an export.

    Parameters
    ----------
    columns
        Column name to ``(n,)`` strings exactly as written; null where the row has no value.
    row
        ``(n,)`` place of the raw row in the file, from 1, header not counted.
    problem
        ``(n,)`` strings: why the row cannot be a judgment; null where it can.
    cell
        ``(n,)`` strings: place within the raw row, for formats that nest; else None.
    """

    columns: dict[str, pa.Array]
    row: npt.NDArray[np.int64]
    problem: pa.Array
    cell: pa.Array | None = None

    def __len__(self) -> int:
        return len(self.row)


@dataclass
class Export:
    """An opened export.

    Parameters
    ----------
    chunks
        The rows; can be consumed once.
    columns
        Names that mappings may use; for formats without a header, complete only when all
        chunks were consumed.
    ignored
        What the format holds besides rows, by kind, counted while reading.
    """

    chunks: Iterator[RawRows]
    columns: list[str]
    ignored: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Opening:
    """What to open and how.

    Parameters
    ----------
    path
        Where the bytes are (the archive).
    name
        The export's name as the user knows it; its ending tells whether it is gzipped.
    wanted
        Columns that the mapping uses; None for all. Others need not be read.
    delimiter, quote, encoding, header, multilabel
        As `config.ReadOptions`; ``header`` holds the columns of a file without one.
    """

    path: Path
    name: str
    wanted: frozenset[str] | None = None
    delimiter: str | None = None
    quote: str = '"'
    encoding: str = "utf-8"
    header: tuple[str, ...] | None = None
    multilabel: str = "yes_no"

    @property
    def gzipped(self) -> bool:
        """Whether the export is read through gzip."""
        return self.name.lower().endswith(".gz")

    def broken(self, what: str, do: str) -> InputError:
        """The error of a file that cannot be read as a whole."""
        return InputError(f"{self.name}: cannot be read", [Problem("", what, do=do)])


Reader = Callable[[Opening], Export]


def unreadable(columns: Sequence[str], rows: Sequence[tuple[int, str]]) -> RawRows:
    """Rows that have no readable columns, each with its reason."""
    n = len(rows)
    return RawRows(
        {name: pa.nulls(n, pa.string()) for name in columns},
        np.array([row for row, _ in rows], dtype=np.int64),
        pa.array([reason for _, reason in rows], pa.string()),
    )
