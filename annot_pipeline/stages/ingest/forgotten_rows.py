"""Exports without the rows of forgotten people: what is archived and read in place of the file.

Copies lie in ``<store>/without_forgotten``, named by a keyed digest of the bytes of the file.
"""

from __future__ import annotations

import gzip
import json
import re
from codecs import BOM_UTF8
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from itertools import count
from pathlib import Path
from string import punctuation
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from annot_pipeline.bounded_json import parse_bounded_json
from annot_pipeline.config import ItemSource, LoadedCampaign, Source
from annot_pipeline.config.signature import digest
from annot_pipeline.errors import InputError, Problem
from annot_pipeline.exports import Opening
from annot_pipeline.exports.label_studio import task_of
from annot_pipeline.exports.line_numbers import STARTS
from annot_pipeline.runtime.indexing import is_in
from annot_pipeline.stages.ingest.opened_exports import open_export
from annot_pipeline.stages.ingest.raw_names import BETWEEN, CELLS
from annot_pipeline.stages.ingest.read_records import read_records
from annot_pipeline.stages.shared.name_search import holds_name, is_distinctive
from annot_pipeline.storage.archive import export_sha256
from annot_pipeline.storage.checked_export import MatchedExport
from annot_pipeline.storage.files import atomic_write
from annot_pipeline.storage.forgotten import Forgotten, forgotten_among
from annot_pipeline.storage.keys import derive, judge_key
from annot_pipeline.storage.marked_folder import WITHOUT_FORGOTTEN

WORKED_ON_BY = {"annotators", "comment_authors", "drafts", "last_created_by", "updated_by"}
"""Keys of Label Studio, read by nobody here, that name people who worked on a task."""

LONE_RETURN = re.compile(rb"\r(?!\n)")
COPY = 2
"""Format of copies: since 2 those that lose all rows hold a line end, an empty one means none."""


def without_forgotten(
    campaign: LoadedCampaign, source: Source, export: MatchedExport, people: Sequence[Forgotten]
) -> MatchedExport:
    """Return an export without the rows of forgotten people; itself where it has none.

    Raises
    ------
    InputError
        It holds such rows, and they cannot be removed without harm.
    """
    if not people:
        return export
    key = judge_key(campaign.settings, campaign.store)
    state = [derive(key, export_sha256(export.real)), source.model_dump_json(), *map(str, people)]
    name = digest([COPY, *state])[:32] + ".gz" * _is_packed(export)
    copy = campaign.store / WITHOUT_FORGOTTEN / name
    if not copy.exists():
        copy.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with atomic_write(copy) as temporary:  # if empty, the file itself is read
            temporary.write_bytes(remaining_bytes(campaign, source, export, people))
    return replace(export, real=copy) if copy.stat().st_size else export


def remaining_bytes(
    campaign: LoadedCampaign, source: Source, export: MatchedExport,
    people: Sequence[Forgotten], name: str = "",
) -> bytes:  # fmt: skip
    """Return an export without the rows of forgotten people, packed as it is; empty: it has none.

    What is returned was read again: it has all other rows, and none of theirs.

    Raises
    ------
    InputError
        The rows cannot be removed without harm, or a ``name`` stands elsewhere in the export.
    """
    names, rows, n_rows = rows_of_forgotten(campaign, source, export, people)
    rest = without_rows(export, source, rows, {*names, name}) or b"\n" if rows or name else b""
    if not rows:
        return b""
    packed = gzip.compress(rest, mtime=0) if _is_packed(export) else rest
    with TemporaryDirectory() as folder:
        copy = replace(export, real=Path(folder, Path(export.relative).name))
        copy.real.write_bytes(packed)
        _, remaining, n_remaining = rows_of_forgotten(campaign, source, copy, people)
    if remaining or n_remaining != n_rows - len(rows):
        raise _refused(export, "without the rows, it is not read as the same file with fewer rows")
    return packed


def refuse_forgotten_item(
    campaign: LoadedCampaign, source: ItemSource, export: MatchedExport,
    people: Sequence[Forgotten], name: str = "",
) -> None:  # fmt: skip
    """Make sure that no cell of an item table names a forgotten person, or holds a ``name``.

    Of forgotten people there are digests only: whole cells and words are compared, as they stand.

    Raises
    ------
    InputError
        One does.
    """
    key, limits = judge_key(campaign.settings, campaign.store), campaign.settings.limits
    opened = open_export(source, export.real, export.relative, limits=limits, whole=True)
    for chunk in opened.chunks:
        for column in chunk.columns.values():
            cells = [cell.strip() for cell in column.unique().to_pylist() if cell]
            words = {word.strip(punctuation) for cell in cells for word in cell.split()}
            names = forgotten_among({*cells, *filter(is_distinctive, words)}, people, key)
            if names or holds_name("\n".join(cells), [name]):
                raise _refused(export, "a cell of the item table names a forgotten person")


def rows_of_forgotten(
    campaign: LoadedCampaign, source: Source, export: MatchedExport,
    people: Sequence[Forgotten],
) -> tuple[set[str], set[int], int]:  # fmt: skip
    """Return what an export calls forgotten people, the numbers of their rows, how many it has."""
    key, limits = judge_key(campaign.settings, campaign.store), campaign.settings.limits
    opened = open_export(source, export.real, export.relative, limits=limits, whole=True)
    names: set[str] = set()
    rows: set[int] = set()
    n_rows = 0
    for chunk in opened.chunks:
        records = read_records(
            chunk, source, path=export.relative, campaign=campaign.settings.campaign
        )
        n_rows += pc.count_distinct(records["row"]).as_py()
        if "judge" not in records.schema.names:
            continue
        judges = records["judge"].cast(pa.string())
        forgotten = forgotten_among(filter(None, judges.unique().to_pylist()), people, key)
        theirs = records.filter(is_in(judges, sorted(forgotten)))
        rows.update(theirs["row"].to_pylist())
        names |= forgotten
        in_rows = judges.filter(pc.is_in(records["row"], theirs["row"].combine_chunks()))
        if not forgotten.issuperset(in_rows.drop_null().to_pylist()):
            raise _refused(export, "its rows hold answers of several judges")
        if CELLS in theirs.schema.names:
            for cells in theirs[CELLS].drop_null().unique().to_pylist():
                names.update(filter(None, cells.split(BETWEEN)))
    return names, rows, n_rows


def without_rows(export: MatchedExport, source: Source, rows: set[int], names: set[str]) -> bytes:
    """Return the bytes of an export, unpacked, without some rows.

    Parameters
    ----------
    export, source
        The export and how it is read.
    rows
        Row numbers, from 1.
    names
        Of the people who are forgotten: none may stand in what is returned (`holds_name`), or in
        the name of the file.

    Raises
    ------
    InputError
        Rows cannot be removed from this format, or a name stands elsewhere in the file.
    """
    remove, data = WRITERS.get(source.format), _unpacked(export)
    if remove is None and rows:
        raise _refused(export, f"rows cannot be removed from format: {source.format}")
    is_read = rows or source.format == "parquet"  # which may be compressed: it is written plainly
    rest = remove(export, source, data, rows) if remove and is_read else data
    if holds_name(f"{export.relative}\n{rest.decode(source.options.encoding, 'ignore')}", names):
        what = "the name of a forgotten person stands in other places of the file"
        raise _refused(export, what, "the name from other cells and the name of the file")
    return rest


def text_digest(export: MatchedExport) -> str:
    """Return SHA-256 of the text of an export, however its lines end and whether it is packed."""
    text = _unpacked(export).removeprefix(BOM_UTF8).replace(b"\r\n", b"\n").rstrip(b"\r\n")
    return sha256(text).hexdigest()


def _is_packed(export: MatchedExport) -> bool:
    return export.relative.lower().endswith(".gz")


def _unpacked(export: MatchedExport) -> bytes:
    data = export.real.read_bytes()
    return gzip.decompress(data) if _is_packed(export) else data


def _refused(export: MatchedExport, what: str, delete: str = "the person's answers") -> InputError:
    do = f"delete {delete} at the source and export again, or exclude the export"
    title = f"{export.relative}: holds answers or the name of a person who is forgotten"
    return InputError(title, [Problem("", what, do=do)])


def _without_lines(export: MatchedExport, source: Source, data: bytes, rows: set[int]) -> bytes:
    """Return delimited text or JSON lines without some rows: from its line to that of the next."""
    opening = Opening.with_options(export.real, export.relative, source.options)
    wanted = rows | {row + 1 for row in rows}
    starts = {row: line for row, line in STARTS[source.format](opening, wanted) if row in wanted}
    if LONE_RETURN.search(data):  # which may end a line for the readers, and does not here
        raise _refused(
            export, "a carriage return without a newline: its lines cannot be told apart"
        )
    # the newline at the end stays
    lines, end = data.split(b"\n"), data.count(b"\n") + 2 - data.endswith(b"\n")
    if not rows <= starts.keys() or "\n".encode(source.options.encoding) != b"\n":
        raise _refused(export, "the lines of its rows are not known")
    removed = {n for row in rows for n in range(starts[row], starts.get(row + 1, end))}
    return b"\n".join(line for n, line in enumerate(lines, 1) if n not in removed)


def _without_parquet_rows(_: MatchedExport, __: Source, data: bytes, rows: set[int]) -> bytes:
    """Return Parquet without rows, its values written plainly: dictionaries hold removed ones."""
    table = pq.read_table(pa.BufferReader(data))
    types = [t.value_type if pa.types.is_dictionary(t) else t for t in table.schema.types]
    table = table.cast(pa.schema(zip(table.column_names, types, strict=True)))
    is_left = pa.array(np.isin(np.arange(table.num_rows) + 1, list(rows), invert=True))
    sink = pa.BufferOutputStream()
    pq.write_table(table.filter(is_left), sink, compression="none", use_dictionary=False)
    return bytes(sink.getvalue())


def _without_elements(export: MatchedExport, source: Source, data: bytes, rows: set[int]) -> bytes:
    """Return a JSON document without some elements of its list of records."""
    document: dict[str, Any] = {"": parse_bounded_json(data)}
    holder, last = document, ""
    for step in filter(None, (source.records or "").split(".")):
        holder, last = holder[last], step
        if not isinstance(holder, dict):
            raise _refused(export, "its records lie in lists of lists")
    if not isinstance(holder.get(last), list):
        raise _refused(export, "its records are no list")
    holder[last] = [record for n, record in enumerate(holder[last], 1) if n not in rows]
    return json.dumps(document[""], ensure_ascii=False).encode()


def _without_annotations(_: MatchedExport, source: Source, data: bytes, rows: set[int]) -> bytes:
    """Return tasks of Label Studio without some annotations, and without notes on who worked."""
    document = parse_bounded_json(data.decode(source.options.encoding).removeprefix("\ufeff"))
    tasks = [task_of(document)] if isinstance(document, dict) else document
    numbers = count(1)
    for task in tasks:
        task["annotations"] = [one for one in task["annotations"] if next(numbers) not in rows]
        for holder in (task, *task["annotations"]):
            for name in WORKED_ON_BY & holder.keys():
                del holder[name]
    return json.dumps(tasks, ensure_ascii=False).encode(source.options.encoding)


Remove = Callable[[MatchedExport, Source, bytes, set[int]], bytes]
WRITERS: Mapping[str, Remove] = {
    **dict.fromkeys(("csv", "mturk", "appraise", "jsonl"), _without_lines),
    "parquet": _without_parquet_rows,
    "json": _without_elements,
    "label_studio": _without_annotations,
}
"""How rows are removed, by format."""
