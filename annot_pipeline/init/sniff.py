"""Opens an export without knowing how: format, encoding, delimiter, quotes, header, records.

Reading itself is the readers' business; here are only the questions which reader, and with
which options.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import accumulate, dropwhile, takewhile
from pathlib import Path
from typing import Any

import pyarrow as pa

from annot_pipeline.bounded_json import JsonError, parse_bounded_json
from annot_pipeline.errors import InputError
from annot_pipeline.exports import READERS
from annot_pipeline.exports.appraise import LAYOUTS, NAMED
from annot_pipeline.exports.json_document import JsonBytes
from annot_pipeline.exports.label_studio import task_of
from annot_pipeline.exports.raw_rows import HTML, is_text
from annot_pipeline.exports.tabular import DELIMITERS
from annot_pipeline.init import names
from annot_pipeline.init.formats import read_planned
from annot_pipeline.init.groups import ROWS_READ, Sample, opening_of, read_rows
from annot_pipeline.init.table import Column
from annot_pipeline.storage.files import first_bytes

RECORDS_LOOKED_AT = 20
DEEPEST = 4
"""Levels of a document that are searched for records."""

TITLE_CELLS = 1
"""Filled cells of a line that is no header, but a title above it."""

ANY_ANSWER = ("", "Response", "Open-Ended Response")
"""Stand below a heading that needs no second."""

SHARED_KEYS = 0.5
"""Objects of which two share fewer of their keys are no records of one kind."""


def json_format(head: bytes) -> tuple[str, str | None]:
    """Return the format of a text that starts with a bracket, and the path of its records.

    Parameters
    ----------
    head
        The first bytes; a longer document may end within them.
    """
    lines = head.decode("utf-8-sig", "replace").lstrip().split("\n", 2)
    first: Any = None
    with suppress(JsonError):
        first = parse_bounded_json(lines[0])
    if isinstance(first, dict) and (len(lines) > 1 and lines[1].strip()):
        return "jsonl", None
    document = first if first is not None else _beginning(head)
    if isinstance(document, list):
        return ("label_studio" if is_label_studio(document) else "json"), None
    if not isinstance(document, dict):
        return "jsonl", None
    if ("result" in document or "annotations" in document) and is_label_studio([task_of(document)]):
        return "label_studio", None  # synchronized storage: a task, or an annotation
    if first is not None and not _is_records([*document.values()]) and not _paths(document):
        return "jsonl", None  # one record, in a line
    if _is_records([*document.values()]) and len(document) > 1:
        return "json", "*"
    paths = sorted(_paths(document), key=lambda pair: -pair[1])
    if paths:
        return "json", paths[0][0]
    return ("json", "*") if _is_records([*document.values()]) else ("jsonl", None)


def is_label_studio(document: list[Any]) -> bool:
    """Return whether a list holds tasks of Label Studio, each with its annotations."""
    tasks = document[:RECORDS_LOOKED_AT]
    return bool(tasks) and all(
        isinstance(task, dict)
        and isinstance(task.get("annotations"), list)
        and ("data" in task or "id" in task)
        and all(
            isinstance(annotation, dict)
            and ("result" in annotation or "was_cancelled" in annotation)
            for annotation in task["annotations"]
        )
        for task in tasks
    )


def _paths(document: dict[str, Any], path: str = "", depth: int = 1) -> list[tuple[str, int]]:
    """Return the dotted paths of lists and tables of objects, with their lengths."""
    paths: list[tuple[str, int]] = []
    lists = [value for value in document.values() if isinstance(value, list) and value]
    if 1 < len(lists) == len(document) and _is_records([value[0] for value in lists]):
        return [(f"{path}*", sum(map(len, lists)))]  # of one kind: each is of its key
    for key, value in document.items():
        if "." in key or key == "*":
            continue
        inner = [*value.values()] if isinstance(value, dict) else value
        if isinstance(value, list) and _is_records(value):
            paths.append((path + key, len(value)))
        elif isinstance(value, dict) and len(value) > 1 and _is_records(inner):
            paths.append((f"{path}{key}.*", len(value)))
        elif isinstance(value, dict) and depth < DEEPEST:
            paths += _paths(value, f"{path}{key}.", depth + 1)
    return paths


def _is_records(values: list[Any]) -> bool:
    """Return whether values are objects that share most of their keys."""
    looked_at = values[:RECORDS_LOOKED_AT]
    if not looked_at or not all(isinstance(value, dict) and value for value in looked_at):
        return False
    first = looked_at[0].keys()
    most = [(value, max(len(first), len(value))) for value in looked_at]
    return all(len(first & value.keys()) >= SHARED_KEYS * n for value, n in most)


def _beginning(head: bytes) -> Any:
    """Return what the first bytes of a document say; what they cut off is missing."""
    import ijson

    builder = ijson.ObjectBuilder()
    with suppress(ijson.JSONError, ValueError):
        source = JsonBytes(io.BytesIO(head), "utf-8")
        for kind, value in ijson.basic_parse(source, use_float=True):
            builder.event(kind, value)
    return getattr(builder, "value", None)


ROWS_TRIED = 1_000
"""Rows that delimiter and header are found with."""

BYTES_TRIED = 8 << 20
"""Bytes that format and encoding are found with."""


RANKING_TASK = b"<ranking-task"
"""What tells the rankings of Appraise from other XML."""


def _what_zip(path: Path) -> str:
    """Return what a file that starts as ZIP archives do is, and what to do with it."""
    name = path.name.lower()
    if name.endswith(".eval"):
        return (
            "is a binary log of Inspect; convert it: inspect log convert --to json "
            "--output-dir exports FILE.eval"
        )
    is_sheet = name.endswith((".xlsx", ".xlsm", ".ods"))
    do = ": a spreadsheet; save it as CSV (UTF-8)" if is_sheet else "; unpack it, or export csv"
    return f"is a zip or Excel file{do}"


class UnusableError(Exception):
    """A file that no reader makes rows of; the text says why."""


def read_sample(path: Path, limit: int = ROWS_READ) -> Sample:
    """Read the first rows of an export.

    Raises
    ------
    UnusableError
        Nothing to read, or nothing that a reader knows.
    """
    try:
        head = first_bytes(path, BYTES_TRIED)
        format_ = _format(path, head)
        if format_ == "csv":
            sample = _read_delimited(path, head, limit)
        else:
            is_json = format_ in ("jsonl", "label_studio")
            format_, records = _json_shape(path, head) if is_json else (format_, None)
            unread = Sample(path, format_, records=records)
            sample = read_planned(unread, head, [], limit) or read_rows(unread, limit)
    except InputError as error:
        raise UnusableError("; ".join(p.what for p in error.problems) or error.title) from None
    except (OSError, EOFError, UnicodeError) as error:
        raise UnusableError(f"cannot be read ({error})") from None
    if not sample.table.num_rows:
        raise UnusableError(_why_no_rows(sample, head))
    return sample


def _json_shape(path: Path, head: bytes) -> tuple[str, str | None]:
    """Return the format of JSON, and the path of the records of one document."""
    ending = path.name.lower().removesuffix(".gz")
    if ending.endswith((".jsonl", ".ndjson")):
        return "jsonl", None
    return json_format(head)


def _why_no_rows(sample: Sample, head: bytes) -> str:
    why = ", ".join(f"{n:,} x {reason}" for reason, n in sample.unreadable.most_common(3))
    if not why and sample.format == "csv" and len(head.splitlines()) > 1:
        why = "none has as many fields as the header"
    return f"no row can be read: {why}" if why else "holds no rows"


def _format(path: Path, head: bytes) -> str:
    ending = "".join(Path(path.name.lower().removesuffix(".gz")).suffixes[-1:])
    start = head.removeprefix(codecs.BOM_UTF8).lstrip()[:4]
    if start == b"PAR1":
        return "parquet"
    if start[:2] == b"\x1f\x8b":
        raise UnusableError("is gzipped, but its name does not end in .gz")
    if start == b"PK\x03\x04":
        raise UnusableError(_what_zip(path))
    if not start:
        raise UnusableError("is empty")
    if not is_text(head):
        raise UnusableError("is not text")
    if HTML.match(head):
        raise UnusableError("is an HTML page, not an export: log in, and download it again")
    if ending not in (".csv", ".tsv", ".tab"):
        if start[:1] == b"{":
            return "jsonl"
        if start[:1] == b"[":
            return "label_studio"
        if start[:1] == b"<":
            if RANKING_TASK not in head:
                raise UnusableError("is XML or HTML, and has no ranking-task")
            return "wmt_ranking"
    if b"\0" in head and not head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise UnusableError("is not text")
    return "csv"


def _read_delimited(path: Path, head: bytes, limit: int) -> Sample:
    encoding = _encoding(head)
    plain = Sample(path, "csv", {} if encoding == "utf-8" else {"encoding": encoding})
    delimiter, columns = _delimiter(plain)
    tried = replace(plain, options={"delimiter": delimiter, **plain.options})
    names_found = READERS["csv"](opening_of(tried)).columns
    is_default = delimiter == "," and READERS["csv"](opening_of(plain)).columns == names_found
    options = ({} if is_default else {"delimiter": delimiter}) | plain.options
    if planned := read_planned(replace(plain, options=options), head, names_found, limit):
        return planned
    if _is_appraise(tried):
        return _read_quoted(Sample(path, "appraise", options), limit)
    if _is_mturk(names_found):  # its rows may end early
        return _read_quoted(Sample(path, "mturk", options), limit)
    if below := _below_title(head.decode(encoding, "replace"), delimiter):
        sample = _read_quoted(replace(plain, options=options | below), limit)
        n_header = min(sample.unreadable["repeated_header"], 1)  # is no row of the table
        return replace(sample, table=sample.table.slice(below["skip_rows"] - n_header))
    header = _missing_header(tried, columns)
    options |= {} if header is None else {"columns": list(header)}
    return _read_quoted(replace(plain, options=options), limit)


NOT_CP1252 = frozenset(b"\x81\x8d\x8f\x90\x9d")


def _encoding(head: bytes) -> str:
    """Return UTF-8, unless a byte order mark or what UTF-8 cannot read says otherwise."""
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    text = codecs.getincrementaldecoder("utf-8")("replace").decode(head)
    if 2 * text.count("\ufffd") <= sum(not c.isascii() for c in text):
        return "utf-8"  # some bytes may be broken; their rows are rejected
    return "latin-1" if {*head} & NOT_CP1252 else "cp1252"


def _delimiter(sample: Sample) -> tuple[str, int]:
    """Return the delimiter that leaves the fewest rows ragged, then makes the most columns."""
    n_columns: dict[str, int] = {}
    for delimiter in (*DELIMITERS, " "):
        tried = replace(sample, options=sample.options | {"delimiter": delimiter})
        try:
            n = len(READERS["csv"](opening_of(tried)).columns)
        except InputError:  # quotes of the header end within cells
            continue
        if n > 1 and not (delimiter == " " and n_columns):
            n_columns[delimiter] = n
    ranks = {}
    for delimiter in n_columns if len(n_columns) > 1 else ():
        tried = replace(sample, options=sample.options | {"delimiter": delimiter})
        read = _read_quoted(tried, ROWS_TRIED)
        n_read = read.table.num_rows
        share = 1 - n_read / max(n_read + read.unreadable.total(), 1)
        cells = [cell.strip() for c in read.table.columns for cell in c.to_pylist() if cell]
        n_cut = sum(cell.startswith("[") != cell.endswith("]") for cell in cells)
        is_other = delimiter != "\t" and re.search(r"(?i)\.(tsv|tab)(\.gz)?$", sample.path.name)
        ranks[delimiter] = (share, n_cut, bool(is_other), -n_columns[delimiter])  # of lists, too
    best = min(ranks, key=ranks.__getitem__, default=next(iter(n_columns), ","))
    return best, n_columns.get(best, 1)


TREC = ("topic", "iteration", "document", "label")
"""Columns of relevance judgments, of which the second says nothing."""


def _below_title(text: str, delimiter: str) -> dict[str, Any]:
    """Return options of a file whose header stands below a title: one cell a line, or a comment."""
    lines = text[: csv.field_size_limit()].splitlines()[:ROWS_TRIED]  # the reader takes no more
    written = dropwhile(lambda line: line[0] == "#", filter(str.strip, lines))  # as readers do
    rows = [[cell.strip() for cell in row] for row in csv.reader(written, delimiter=delimiter)]
    n = next((n for n, row in enumerate(rows) if sum(map(bool, row)) > TITLE_CELLS), 0)
    header, n_rows = _joined_header(rows[n : n + 2])
    n += n_rows
    if n == 1 or len(rows[0]) <= TITLE_CELLS + 1 or len({*header} - {""}) < len(header):
        return {}
    return {"columns": header, "skip_rows": n}


def _joined_header(rows: list[list[str]]) -> tuple[list[str], int]:
    """Return names of columns and how many rows hold them: the first of two may name groups."""
    header, below = [*rows, [""]][:2]
    unnamed = [one for name, one in zip(header, below, strict=False) if not name]
    if len(header) != len(below) or not header[0] or below[0] or not all(unnamed or [""]):
        return header, 1
    groups: Iterator[str] = accumulate(header, lambda group, name: name or group)
    pairs = zip(groups, below, strict=True)
    return [g if one in ANY_ANSWER else f"{g} [{one}]" for g, one in pairs], 2


def _missing_header(sample: Sample, n_columns: int) -> tuple[str, ...] | None:
    """Return names for the columns of a file without a header line; None if it has one."""
    numbered = tuple(f"c{position}" for position in range(1, n_columns + 1))
    options = sample.options | {"columns": numbered}
    table = _read_quoted(replace(sample, options=options), ROWS_TRIED).table
    if table.num_rows < 2:
        return None
    first_row, *rows = zip(*table.to_pydict().values(), strict=True)
    if first_row in rows and any(names.roles(cell or "") for cell in first_row):
        return None  # it stands there again, as headers of files that were joined do
    is_header = is_data = 0
    for name in numbered:
        first = (table.column(name)[0].as_py() or "").strip()
        rest = Column(name, name, table.column(name).slice(1))
        if not first or not len(rest.filled):
            continue
        is_number = Column(name, name, pa.chunked_array([[first]])).numeric_share == 1
        has_role = bool(names.roles(first))
        if rest.numeric_share > 0.9:
            is_data += is_number
            is_header += not is_number
        else:
            is_data += first in rest.counts and not has_role
        is_header += has_role and first not in rest.counts
    if is_data <= is_header:
        return None
    is_trec = len(numbered) == len(TREC) and len({*table.column("c2").to_pylist()}) == 1
    return _commented_header(sample, n_columns) or (TREC if is_trec else numbered)


def _commented_header(sample: Sample, n_columns: int) -> tuple[str, ...] | None:
    """Return the columns that the last comment before the rows names, if it has as many words."""
    lines = first_bytes(sample.path, ROWS_TRIED).decode(errors="replace").splitlines()
    comments = list(takewhile(lambda line: line.startswith("#"), lines))
    words = re.split(r"\t|,|\s{2,}", comments[-1].lstrip("# ")) if comments else []
    return tuple(words) if len({*words}) == len(words) == n_columns else None


def _is_appraise(sample: Sample) -> bool:
    """Return whether it has the header or the rows of an Appraise export."""
    first = READERS["csv"](opening_of(sample)).columns
    if not NAMED.issubset(first) and len(first) not in map(len, LAYOUTS):
        return False
    with suppress(InputError):
        READERS["appraise"](opening_of(sample))
        return True
    return False


def _is_mturk(columns: Sequence[str]) -> bool:
    nested = any(name.startswith(("Input.", "Answer.")) for name in columns)
    return {"HITId", "WorkerId", *(() if nested else ("AssignmentStatus",))} <= {*columns}


QUOTING: tuple[dict[str, str], ...] = ({}, {"escape": "\\"}, {"quote": ""}, {"quote": "'"})
"""Options that quotes are read with, the first that reject the fewest rows: as csv says, with a
backslash before quotes (Spark), as ordinary characters, or single.
"""


def _read_quoted(sample: Sample, limit: int) -> Sample:
    """Read with the options of `QUOTING` that spare the most rows."""
    best: Sample | None = None
    first_error: InputError | None = None
    for options in QUOTING:
        try:
            read = read_rows(replace(sample, options=sample.options | options), limit)
        except InputError as error:
            first_error = first_error or error
            continue
        if best is None or read.unreadable.total() < best.unreadable.total():
            best = read
        if not best.unreadable:
            break
    if best is None:
        raise first_error or UnusableError("cannot be read")
    return best
