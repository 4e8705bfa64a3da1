"""What every reader yields: the rows of an export, as text, with their place in the file."""

from __future__ import annotations

import codecs
import gzip
import io
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, TypeAlias, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from annot_pipeline.config import Limits, ReadOptions
from annot_pipeline.errors import InputError, Problem

GZIP = b"\x1f\x8b"
FOREIGN = {
    GZIP: ("is a gzip file, but its name does not end in .gz", "rename it"),
    b"PK\x03\x04": ("is a zip or Excel file", "export it as text, or unzip it"),
    b"\xd0\xcf\x11\xe0": ("is an Excel file", "export it as csv"),
    b"%PDF": ("is a PDF file", "fetch the export again"),
    codecs.BOM_UTF16_LE: ("is text in UTF-16", "set options.encoding: utf-16"),
    codecs.BOM_UTF16_BE: ("is text in UTF-16", "set options.encoding: utf-16"),
}
"""First bytes of files that are not text in UTF-8: what they are, and what to do."""

HTML = re.compile(rb"\s*(?:\xef\xbb\xbf)?\s*<(?:!doctype\s+html|html)\b", re.IGNORECASE)
START_BYTES = 512

CHUNK_BYTES = 1 << 20
RATIO_FROM = 64 << 20
"""Unpacked bytes from which on their ratio to the packed ones counts."""

Piece: TypeAlias = tuple[int, int]
"""Where a piece of an export starts, and where it ends: bytes, or row groups of Parquet."""


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
    not_asked
        ``(n,)`` strings: why nobody answered, where a tool says so (a skipped task); else None.
    """

    columns: dict[str, pa.Array]
    row: npt.NDArray[np.int64]
    problem: pa.Array
    cell: pa.Array | None = None
    not_asked: pa.Array | None = None

    def __len__(self) -> int:
        return len(self.row)


@dataclass
class TextLines:
    """Counts the lines of delimited text that are no rows, and says what is odd about rows.

    Parameters
    ----------
    within_cells
        Lines within quoted cells, but the first of each row.
    like_rows, like_rows_at, like_rows_line
        Those that look like rows, as a quote that is not closed makes them; the first row with
        such lines, and its line.
    other
        Lines counted while the text was read that are in no row, header, comment or blank: 0.
    unended_row, unended_line, is_cut
        The last row and its line, where the text ends without a line end (else 0); whether the row
        is not whole.
    has_quoted_cells, has_bare_quotes
        Where quotes are ordinary characters: whether quotes enclose cells in some block, and
        whether some cannot.
    """

    within_cells: int = 0
    like_rows: int = 0
    like_rows_at: int = 0
    like_rows_line: int = 0
    other: int = 0
    unended_row: int = 0
    unended_line: int = 0
    is_cut: bool = False
    has_quoted_cells: bool = False
    has_bare_quotes: bool = False


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
    n_rows
        Rows of the file, counted apart from ``chunks``, so that rows which were lost on the
        way are missed; known when all chunks were consumed.
    lines
        Lines of delimited text that are no rows; known when all chunks were consumed.
    has_header
        Whether the file itself says which columns there are; else a row lacks what is null.
    """

    chunks: Iterator[RawRows]
    columns: list[str]
    ignored: dict[str, int] = field(default_factory=dict)
    n_rows: int = 0
    has_header: bool = True
    lines: TextLines | None = None


@dataclass(frozen=True)
class Opening:
    """What to open and how.

    Parameters
    ----------
    path
        Where the bytes are (the archive).
    name
        The export's name as the user knows it; its ending tells whether it is gzipped.
    used_columns
        Columns that the mapping uses; None for all. Others need not be read.
    delimiter, quote, escape, encoding, header, multilabel, multiple
        As `config.ReadOptions`; ``header`` holds the columns of a file without one.
    records, hides_keys
        Path of the records of a JSON document; whether keys in it may name judges, so that
        pointers hold numbers.
    document_fields
        Paths of values of a JSON document that are columns of all its records.
    piece
        The piece that is read, its rows numbered from 1, of a format that has pieces; None: all.
    limits
        What the export may hold at most.
    block_bytes, chunk_records
        Bytes that are read at once, and records from which a chunk may end, of text; None: as many
        as suit the format. They change no record.
    """

    path: Path
    name: str
    used_columns: frozenset[str] | None = None
    delimiter: str | None = None
    quote: str = '"'
    encoding: str = "utf-8"
    header: tuple[str, ...] | None = None
    multilabel: str = "yes_no"
    multiple: tuple[tuple[str, tuple[str, ...]], ...] = ()
    records: str | None = None
    hides_keys: bool = False
    document_fields: tuple[str, ...] = ()
    piece: Piece | None = None
    limits: Limits = field(default_factory=Limits)
    block_bytes: int | None = None
    chunk_records: int | None = None
    escape: str = ""

    @classmethod
    def with_options(cls, path: Path, name: str, options: ReadOptions, **more: Any) -> Opening:
        """Return the opening that ``options`` of a source describe, with other parameters."""
        return cls(
            path, name, delimiter=options.delimiter, quote=options.quote, escape=options.escape,
            encoding=options.encoding, header=options.columns and tuple(options.columns),
            multilabel=options.multilabel, multiple=tuple(options.multiple.items()),
            document_fields=options.document_fields, **more,
        )  # fmt: skip

    @property
    def gzipped(self) -> bool:
        """Return whether the export is read through gzip."""
        return self.name.lower().endswith(".gz")

    @property
    def is_utf8(self) -> bool:
        """Return whether the text is UTF-8, with or without a byte order mark."""
        return codecs.lookup(self.encoding).name in ("utf-8", "utf-8-sig")

    @contextmanager
    def open_bytes(self) -> Iterator[IO[bytes]]:
        """Yield the export's bytes, unzipped.

        Raises
        ------
        InputError
            Also while they are read: the bytes are no whole gzip, or not in the encoding.
        """
        try:
            with self.path.open("rb") as file:
                start = file.read(START_BYTES)
                file.seek(0)
                if not self.gzipped:
                    self._check_start(start)
                    yield file
                elif start and not start.startswith(GZIP):
                    do = "rename it, or fetch it again"
                    raise self.broken("is not a gzip file, but its name ends in .gz", do)
                else:
                    with gzip.open(file, "rb") as unzipped:
                        bounded = Bounded(cast("IO[bytes]", unzipped), self)
                        yield cast("IO[bytes]", io.BufferedReader(bounded, CHUNK_BYTES))
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise self.broken(
                f"the gzip is damaged or cut short ({error})",
                "fetch the export again",
                may_pass=True,  # it may still be written
            ) from None
        except UnicodeDecodeError:
            raise  # a reader that knows the row says which
        except UnicodeError as error:  # no decoder can start: UTF-16 without its mark
            raise self.undecodable(f" ({error})") from None

    def check_whole(self) -> None:
        """Refuse a gzip that is damaged or cut short, before anything rests on it.

        Raises
        ------
        InputError
            With what was found.
        """
        if self.gzipped:
            with self.open_bytes() as file:
                while file.read(CHUNK_BYTES):
                    pass

    def read_document(self) -> bytes:
        """Return all bytes of an export that is one document.

        Raises
        ------
        InputError
            There are more than ``limits.document_bytes``.
        """
        data = bytearray()
        with self.open_bytes() as file:
            while block := file.read(CHUNK_BYTES):
                data += block
                if len(data) > self.limits.document_bytes:
                    raise self.beyond("document_bytes", "is a document of more than", "bytes")
        return bytes(data)

    def check_columns(self, n_columns: int) -> None:
        """Refuse a table that is too wide.

        Raises
        ------
        InputError
            It has more than ``limits.columns``.
        """
        if n_columns > self.limits.columns:
            raise self.beyond("columns", "has more than", "columns")

    def check_unpacked(self, n_bytes: int, packed_bytes: int) -> None:
        """Refuse more unpacked bytes than are allowed, also for so many packed ones.

        Raises
        ------
        InputError
            They are beyond ``limits.unpacked_bytes`` or ``limits.unpacked_ratio``.
        """
        if n_bytes > self.limits.unpacked_bytes:
            raise self.beyond("unpacked_bytes", "unpacks to more than", "bytes")
        if n_bytes > RATIO_FROM and n_bytes > self.limits.unpacked_ratio * packed_bytes:
            raise self.beyond("unpacked_ratio", "unpacks to more than", "times its size")

    def beyond(self, setting: str, what: str, unit: str) -> InputError:
        """Return the error of an export that is beyond a limit."""
        limit = f"{what} {getattr(self.limits, setting):,} {unit}"
        do = f"check that it is the export; if it is right, raise limits.{setting} (campaign.yaml)"
        return self.broken(limit, do)

    def _check_start(self, start: bytes) -> None:
        if self.is_utf8:
            for bytes_, (what, do) in FOREIGN.items():
                if start.startswith(bytes_):
                    raise self.broken(what, do)
            if HTML.match(start):
                do = "log in and fetch the export again: servers that refuse access send a page"
                raise self.broken("is an HTML page, not an export", do)

    def undecodable(self, where: str = "") -> InputError:
        """Return the error of bytes that are no text in the declared encoding."""
        do = "set options.encoding to the file's encoding"
        return self.broken(f"is not text in {self.encoding}{where}", do)

    def broken(self, what: str, do: str, *, may_pass: bool = False) -> InputError:
        """Return the error of a file that cannot be read as a whole."""
        problem = Problem("", " ".join(what.split()), do=do)
        return InputError(f"{self.name}: cannot be read", [problem], may_pass=may_pass)


class Bounded(io.RawIOBase):
    """Unpacked bytes, as long as there are not too many, nor too many for the packed ones."""

    def __init__(self, unpacked: IO[bytes], opening: Opening) -> None:
        self.unpacked, self.opening = unpacked, opening
        self.packed_bytes = opening.path.stat().st_size

    def readable(self) -> bool:
        """Return that it can be read."""
        return True

    def seekable(self) -> bool:
        """Return that it can be read again from its start."""
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a place of the unpacked bytes."""
        return self.unpacked.seek(offset, whence)

    def tell(self) -> int:
        """Return the place in the unpacked bytes."""
        return self.unpacked.tell()

    def readinto(self, buffer: Any) -> int:
        """Read the next bytes.

        Raises
        ------
        InputError
            They are beyond the limits.
        """
        n = self.unpacked.readinto(buffer)  # type: ignore[attr-defined]
        self.opening.check_unpacked(self.unpacked.tell(), self.packed_bytes)
        return int(n)


Reader = Callable[[Opening], Export]


def distinct(names: Sequence[str]) -> list[str]:
    """Make column names unique: each of several equal ones gets its position as a suffix."""
    counts = Counter(names)
    names_in_order: dict[str, None] = {}
    for position, name in enumerate(names, start=1):
        unique = name if counts[name] == 1 else f"{name}#{position}"
        while unique in names_in_order:
            unique += "#"
        names_in_order[unique] = None
    return list(names_in_order)


def unreadable(columns: Sequence[str], rows: Sequence[tuple[int, str]]) -> RawRows:
    """Return rows that have no readable columns, each with its reason."""
    n = len(rows)
    return RawRows(
        {name: pa.nulls(n, pa.string()) for name in columns},
        np.array([row for row, _ in rows], dtype=np.int64),
        pa.array([reason for _, reason in rows], pa.string()),
    )


BYTES_LOOKED_AT = 8192
CONTROL_BYTES = bytes({*range(32), 127} - set(b"\t\n\v\f\r\x1b"))
"""Bytes that text does not hold, in any encoding that ASCII is part of."""
LARGEST_SHARE = 1 / 128
"""Of control bytes in text; a stray one is the reader's business."""


def is_text(head: bytes) -> bool:
    """Return whether the first bytes of a file may be text: few control bytes, or UTF-16."""
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return True
    looked_at = head[:BYTES_LOOKED_AT]
    n_control = len(looked_at) - len(looked_at.translate(None, CONTROL_BYTES))
    return n_control <= max(1, LARGEST_SHARE * len(looked_at))
