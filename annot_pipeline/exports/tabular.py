"""Delimited text: csv, tsv and MTurk batch results; any delimiter, quoting and encoding.

Cells are kept as written; nothing is guessed but the delimiter. A row with too many or too
few fields, or with bytes that are not text, is an unreadable row with its number.
"""

from __future__ import annotations

import codecs
import contextlib
import csv
import io
import itertools
import re
from collections.abc import Iterator, Sequence
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from annot_pipeline.errors import InputError
from annot_pipeline.exports.raw_rows import (
    CHUNK_BYTES,
    Export,
    Opening,
    RawRows,
    distinct,
    unreadable,
)

DELIMITERS = ",\t;|"
FIRST_BLOCK = 4 << 20
LAST_BLOCK = 1 << 30
EXCEL_DELIMITER = re.compile('"?sep=."?\\s*', re.IGNORECASE)
UNDECODABLE = re.compile("[\udc80-\udcff]")
"""Bytes that an encoding does not know, as surrogates stand for them."""
NEW_LINE = "\n"
END = "end-of-export-8a1f6c0e"
"""Starts the row that is put after the last one: see `_Ended`."""


def read_csv(opening: Opening, *, left_out: Sequence[str] = ()) -> Export:
    """Open delimited text; see `raw_rows.Export`.

    ``left_out`` are last columns of the header that the rows may end without.
    """
    head, n_blank = _head(opening)
    if not head:
        return Export(iter(()), list(opening.header or ()))
    try:
        delimiter = opening.delimiter or _likely_delimiter(opening, head)
        names = distinct(opening.header or _header(opening, head, delimiter))
        if left_out and names[-len(left_out) :] == [*left_out]:
            short = len(names) - len(left_out)
            if len(_fields(opening, head, delimiter, skip=1)) == short:
                names = names[:short]
    except csv.Error as error:
        raise opening.broken(f"the header cannot be read ({error})", "check the file") from None
    opening.check_columns(len(names))
    export = Export(iter(()), names)
    export.chunks = _chunks(opening, export, delimiter, n_blank)
    return export


def _head(opening: Opening) -> tuple[str, int]:
    """Return the beginning of the text, from the first line that is not blank; how many are.

    A first line that tells Excel the delimiter counts as blank.
    """
    n_blank, block = 0, opening.block_bytes or FIRST_BLOCK
    with (
        opening.open_bytes() as raw,
        io.TextIOWrapper(raw, opening.encoding, errors="replace", newline="") as text,
    ):
        while line := text.readline(block):
            if not n_blank and EXCEL_DELIMITER.fullmatch(line.removeprefix("\ufeff")):
                n_blank += 1
                continue
            if line.strip("\ufeff\r\n \t"):
                return line.removeprefix("\ufeff") + text.read(block), n_blank
            n_blank += 1
    return "", n_blank


def csv_delimiter(opening: Opening) -> str | None:
    """Return the delimiter of an export; None of one that is empty."""
    head, _ = _head(opening)
    return (opening.delimiter or _likely_delimiter(opening, head)) if head else None


def _fields(
    opening: Opening, head: str, delimiter: str, *, skip: int = 0, strict: bool = False
) -> list[str]:
    """Return the fields of the first record, or of a later one."""
    csv.field_size_limit(max(csv.field_size_limit(), LAST_BLOCK))  # of 131,072 characters: no bound
    quoting: dict[str, Any] = (
        {"quotechar": opening.quote} if opening.quote else {"quoting": csv.QUOTE_NONE}
    )
    lines = io.StringIO(head, newline="")
    records = csv.reader(lines, delimiter=delimiter, strict=strict, **quoting)
    return next(itertools.islice(records, skip, None), [])


def _header(opening: Opening, head: str, delimiter: str) -> list[str]:
    try:
        names = _fields(opening, head, delimiter, strict=True)
    except csv.Error as error:
        if "end of data" in str(error):
            raise _unclosed(opening, "the header") from None
        names = _fields(opening, head, delimiter)  # a quote that ends before its field does
    if any("\0" in name for name in names):
        raise opening.broken(
            f"is not text in {opening.encoding}: the header holds NUL characters",
            "set options.encoding to the file's encoding, as utf-16",
        )
    return names


def _likely_delimiter(opening: Opening, head: str) -> str:
    """Return the delimiter that splits the first line most often; a comma if none does."""
    first = io.StringIO(head, newline="").readline()
    return max(DELIMITERS, key=lambda delimiter: len(_fields(opening, first, delimiter)))


class _InvalidRows:
    """Collects the rows that the parser skips, by row number."""

    def __init__(self, first_row: int) -> None:
        self.first_row = first_row
        self.reasons: dict[int, str] = {}
        self.pending: list[tuple[int, str]] = []
        self.longest = 0, 0  # bytes of the longest row, its number
        self.n_rows: int | None = None  # known when the end was met

    def __call__(self, row: Any) -> str:
        if row.text.startswith(END):
            self.n_rows = row.number - self.first_row
            return "skip"
        number = row.number - self.first_row + 1
        self.longest = max(self.longest, (len(row.text), number))
        fields = "field" if row.actual_columns == 1 else "fields"
        self.reasons[number] = (
            f"ragged row: {row.actual_columns} {fields}, the header has {row.expected_columns}"
        )
        self.pending.append((number, self.reasons[number]))
        return "skip"

    def take_new_rows(self, columns: list[str]) -> Iterator[tuple[bool, RawRows]]:
        """Yield the rows found since the last call."""
        pending, self.pending = self.pending, []
        if pending:
            yield False, unreadable(columns, pending)


class _Ended(io.RawIOBase):
    """Bytes of an export, then a row that no export holds and the parser must find invalid.

    If it does not, a quote was still open at the end of the file: the last row swallowed the
    rows after it, which would otherwise be lost without a word.

    Raises `_NotUtf8Error` where the bytes are not UTF-8: pyarrow cannot hand such a row to the
    handler of invalid rows.
    """

    def __init__(self, source: Any, n_columns: int, delimiter: str) -> None:
        self.source = source
        self.end = f"\n{END}{delimiter * (n_columns + 1)}\n".encode()
        self.remainder = b""
        self.decoder = codecs.getincrementaldecoder("utf-8")()

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        """Return as many bytes as asked for, or one less.

        The parser takes a line feed that starts a block for the second half of a line end, also
        inside quotes.
        """
        parts, room = [self.remainder], size - len(self.remainder)
        while room > 0:
            part = self.source.read(room)
            self._check(part)
            if not part:
                part, self.end = self.end[:room], self.end[room:]
            if not part:
                break
            parts.append(part)
            room -= len(part)
        data = b"".join(parts)
        self.remainder = b"\r" if len(data) > 1 and data.endswith(b"\r") else b""
        return data.removesuffix(self.remainder)

    def _check(self, part: bytes) -> None:
        try:
            self.decoder.decode(part, final=not part)
        except UnicodeDecodeError:
            raise _NotUtf8Error from None


class _NotUtf8Error(Exception):
    """The export holds bytes that are not UTF-8: it is read again, byte by byte."""


def _chunks(opening: Opening, export: Export, delimiter: str, n_blank: int) -> Iterator[RawRows]:
    """Yield the rows; starts again with a larger block when a row does not fit into one.

    Arrow takes rows that two blocks hold together, so rows are measured where two blocks are longer
    than the limit. Bytes that are read as Latin-1 may take twice the room.
    """
    block = min(opening.block_bytes or FIRST_BLOCK, opening.limits.row_bytes)
    done, bytewise = {True: 0, False: 0}, False
    while True:
        try:
            for readable, chunk in _blocks(opening, export, delimiter, n_blank, block, bytewise):
                keep = chunk.row > done[readable]
                if keep.any():
                    yield chunk if keep.all() else _where(chunk, keep)
                    done[readable] = int(chunk.row[-1])
            return
        except _NotUtf8Error:
            bytewise = True
        except pa.ArrowInvalid as error:
            if "straddling" not in str(error):
                raise opening.broken(str(error), "check that the file is the export") from None
            longest = opening.limits.row_bytes * (1 + bytewise)
            if block >= longest:
                raise _too_long(opening, "a row") from None
            block = min(4 * block, longest)
        except UnicodeError:
            raise opening.broken(
                f"is not text in {opening.encoding}{_first_undecodable(opening)}",
                "set options.encoding to the file's encoding",
            ) from None


def _blocks(
    opening: Opening, export: Export, delimiter: str, n_blank: int, block: int, bytewise: bool
) -> Iterator[tuple[bool, RawRows]]:
    """Yield (whether the rows could be split into fields, the rows), each kind in row order.

    ``bytewise``: each byte is a character to the parser (Latin-1), so that it takes any bytes;
    `_as_text` turns them back.
    """
    with opening.open_bytes() as raw:
        text: Any = raw
        if bytewise:
            text = _transcoded(_without_mark(raw), "latin-1")
        elif not opening.is_utf8:
            text = _transcoded(raw, opening.encoding)
        ended = _Ended(text, len(export.columns), delimiter)
        options = pa_csv.ReadOptions(
            use_threads=False,  # row numbers of invalid rows are known on one thread only
            block_size=block,
            column_names=export.columns,
            skip_rows=n_blank,
            skip_rows_after_names=int(opening.header is None),
        )
        yield from _parsed(opening, export, ended, delimiter, options, bytewise)


def _transcoded(raw: IO[bytes], encoding: str) -> Any:
    readable = pa.PythonFile(raw, mode="r")  # not as guessed: a gzip's own mode is a number
    return pa.transcoding_input_stream(readable, encoding, "utf-8")


def _without_mark(raw: IO[bytes]) -> IO[bytes]:
    if raw.read(len(codecs.BOM_UTF8)) != codecs.BOM_UTF8:
        raw.seek(0)
    return raw


def _parsed(
    opening: Opening,
    export: Export,
    text: _Ended,
    delimiter: str,
    options: pa_csv.ReadOptions,
    bytewise: bool,
) -> Iterator[tuple[bool, RawRows]]:
    names = options.column_names
    invalid = _InvalidRows(1 + options.skip_rows + options.skip_rows_after_names)
    used_columns = [
        name for name in names if opening.used_columns is None or name in opening.used_columns
    ]
    longest = opening.limits.row_bytes
    may_be_too_long = 2 * options.block_size > longest
    places = {name: n for n, name in enumerate(names, start=1) if name in used_columns}
    reader = pa_csv.open_csv(
        text,
        read_options=options,
        parse_options=pa_csv.ParseOptions(
            delimiter=delimiter,
            quote_char=opening.quote or False,
            newlines_in_values=True,
            invalid_row_handler=invalid,
        ),
        convert_options=pa_csv.ConvertOptions(
            check_utf8=False,
            strings_can_be_null=False,
            include_columns=names if may_be_too_long else used_columns,
            column_types=dict.fromkeys(names, pa.binary()),
        ),
    )
    row = 0
    with reader:  # its threads end with it, also when nobody reads on
        for batch in reader:
            numbers, row = _number(batch.num_rows, row, invalid.reasons)
            if may_be_too_long:
                lengths = _lengths(batch, bytewise)
                if (too_long := [*numbers[lengths > longest]]) or invalid.longest[0] > longest:
                    first = too_long[0] if too_long else invalid.longest[1]
                    raise _too_long(opening, f"row {first}")
                batch = batch.select(used_columns)
            if batch.num_rows:
                yield True, _as_text(batch, places, numbers, bytewise)
            yield from invalid.take_new_rows(used_columns)
    yield from invalid.take_new_rows(used_columns)  # a block without a good row makes no batch
    if may_be_too_long and invalid.longest[0] > longest:
        raise _too_long(opening, f"row {invalid.longest[1]}")
    if invalid.n_rows is None:
        raise _unclosed(opening, f"row {max(row, 1, *invalid.reasons)}")
    export.n_rows = invalid.n_rows


def _lengths(batch: pa.RecordBatch, bytewise: bool) -> np.ndarray:
    """Return the bytes of each row: of its cells, without quotes, and the delimiters."""
    lengths = np.full(batch.num_rows, batch.num_columns - 1)
    for cells in batch.columns:
        if bytewise:  # a byte is a character
            lengths += pc.utf8_length(cells.cast(pa.string())).to_numpy()
        else:
            lengths += pc.binary_length(cells).to_numpy()
    return lengths


def _number(count: int, last: int, invalid: dict[int, str]) -> tuple[np.ndarray, int]:
    """Return numbers of the next ``count`` good rows after row ``last``, without invalid ones."""
    if not invalid:
        return np.arange(last + 1, last + count + 1), last + count
    numbers = np.arange(last + 1, last + count + len(invalid) + 1)
    numbers = numbers[~np.isin(numbers, np.fromiter(invalid, np.int64))][:count]
    return numbers, int(numbers[-1]) if count else last


def _as_text(
    batch: pa.RecordBatch, places: dict[str, int], numbers: np.ndarray, bytewise: bool
) -> RawRows:
    columns: dict[str, pa.Array] = {}
    problems: dict[int, str] = {}
    for name in places:
        columns[name] = batch.column(name).cast(pa.string())
        if bytewise and not pc.all(pc.string_is_ascii(columns[name])).as_py():
            values = columns[name].to_pylist()
            for position, value in enumerate(values):
                try:
                    values[position] = value.encode("latin-1").decode("utf-8")
                except UnicodeDecodeError:
                    values[position] = None
                    # a column may be named after a judge: its place is told
                    problems[position] = f"not UTF-8 in column {places[name]}; see options.encoding"
            columns[name] = pa.array(values, pa.string())
    problem = pa.nulls(len(numbers), pa.string())
    if problems:
        problem = pa.array([problems.get(i) for i in range(len(numbers))], pa.string())
    return RawRows(columns, numbers, problem)


def _where(chunk: RawRows, keep: np.ndarray) -> RawRows:
    mask = pa.array(keep)
    return RawRows(
        {name: column.filter(mask) for name, column in chunk.columns.items()},
        chunk.row[keep],
        chunk.problem.filter(mask),
    )


def _unclosed(opening: Opening, where: str) -> InputError:
    return opening.broken(
        f"{where} opens a quote that is never closed; the rest of the file is read as one value",
        'close the quote, or set options.quote: "" where quotes are ordinary characters',
    )


def _too_long(opening: Opening, row: str) -> InputError:
    return opening.broken(
        f"{row} is longer than {opening.limits.row_bytes:,} bytes, or opens a quote that is never "
        "closed",
        'close the quote, or set options.quote: "" where quotes are ordinary characters; if such '
        "rows are right, raise limits.row_bytes (campaign.yaml)",
    )


def _first_undecodable(opening: Opening) -> str:
    """Return the first line with bytes that the encoding does not know; a line may be long."""
    number = 1
    with (
        opening.open_bytes() as raw,
        io.TextIOWrapper(raw, opening.encoding, errors="surrogateescape") as text,
        contextlib.suppress(UnicodeError),
    ):
        while characters := text.read(CHUNK_BYTES):
            if match := UNDECODABLE.search(characters):
                return f", line {number + characters.count(NEW_LINE, 0, match.start())}"
            number += characters.count(NEW_LINE)
    return ""
