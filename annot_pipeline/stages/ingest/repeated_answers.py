"""Answers that a judge gave to one item more than once, and columns that distinguish them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.config import Source
from annot_pipeline.contracts import TEXT
from annot_pipeline.errors import AnnotError, counted, shorten
from annot_pipeline.exports.raw_rows import RawRows
from annot_pipeline.runtime.context import Document, StageContext
from annot_pipeline.runtime.indexing import index_pairs
from annot_pipeline.stages.ingest.metrics import RepeatedAnswers
from annot_pipeline.stages.ingest.opened_exports import open_export
from annot_pipeline.stages.ingest.read_records import columns_of, read_records
from annot_pipeline.storage.archive import archived

MOST_ROWS = 20_000
"""Rows of an export that are searched for columns which distinguish answers."""
MOST_COLUMNS = 5
IDENTITY = ("task", "judge", "item", "item_a", "item_b", "criterion", "ranking", "hit",
            "native_id", "position")  # fmt: skip
"""Fields that tell judgments apart."""


def repeated_answers(
    audits: Sequence[Document], context: StageContext, record_files: pa.Table
) -> list[RepeatedAnswers]:
    """Return the tasks in which judges answered items more than once.

    Parameters
    ----------
    audits
        Documents of partitions, with rows of `sql/audit/repeated_answers.sql`.
    context, record_files
        Where the export of an example is read from.
    """
    by_task: dict[str, list[dict[str, Any]]] = {}
    pairs: Counter[str] = Counter()
    for audit in audits:
        in_partition = {row["task"]: row["pairs"] for row in audit["repeated_answers"]}
        pairs.update(in_partition)  # a large task has several partitions
        for row in audit["repeated_answers"]:
            by_task.setdefault(row["task"], []).append(row)
    exports = {
        (file["source_order"], file["source_file"]): file["source_sha256"]
        for file in record_files.to_pylist()
    }
    columns: dict[int, list[str]] = {}
    repeated = []
    for task in sorted(by_task):
        rows = by_task[task]
        source, name = rows[0]["source_order"], rows[0]["source_file"]
        if source not in columns:  # exports of one source have the same columns
            columns[source] = _suggested_columns(context, source, name, exports[source, name])
        repeated.append(
            RepeatedAnswers(
                task=task,
                pairs=pairs[task],
                examples=[_example(row) for row in rows[:3]],
                columns=columns[source],
            )
        )
    return repeated


def _example(row: Mapping[str, Any]) -> str:
    answers = counted(row["answers"], "answer")
    first = f"{row['source_file']} row {row['source_row']}"
    return f"{shorten(row['item'])}: {answers} by one judge, first in {first}"


def _suggested_columns(
    context: StageContext, source_order: int, name: str, sha256: str
) -> list[str]:
    """Return unmapped columns of an export with which its first rows repeat no answer."""
    settings = context.campaign.settings
    source = settings.sources[source_order]
    if source.each or source.format not in ("csv", "jsonl", "parquet", "json"):
        return []  # columns may be named after judges
    path = archived(context.store.archive, sha256)
    try:
        export = open_export(source, path, name, limits=settings.limits, whole=True)
        if export.has_header and not {*export.columns} - {*columns_of(source)}:
            return []  # all are mapped
        return _distinguishing_columns(export.chunks, source, name)
    except AnnotError:
        return []


def _distinguishing_columns(chunks: Iterable[RawRows], source: Source, name: str) -> list[str]:
    mapped = {*columns_of(source)}
    candidates: set[str] | None = None
    identities: list[pa.Table] = []
    raw: list[Mapping[str, pa.Array]] = []
    n_rows = 0
    for rows in chunks:
        if n_rows >= MOST_ROWS:
            break
        unmapped = {column for column in rows.columns if column not in mapped}
        candidates = unmapped if candidates is None else candidates & unmapped
        if not candidates:
            return []
        n_rows += len(rows)
        records = read_records(rows, source, path=name, campaign="-")
        usable = pc.is_null(records["reason"]).combine_chunks()
        fields = [field for field in IDENTITY if field in records.column_names]
        identities.append(records.select(fields).filter(usable))
        raw.append({column: rows.columns[column].filter(usable) for column in candidates})
    if not candidates:
        return []
    answers = np.zeros(sum(map(len, identities)), np.int64)
    for column in pa.concat_tables(identities).columns:
        answers = index_pairs(answers, _codes(column)).codes
    if answers.max(initial=-1) + 1 == answers.size:
        return []  # no answer is repeated
    n_values: dict[str, int] = {}
    for column in candidates:
        values = pa.chunked_array([part[column].cast(TEXT) for part in raw], TEXT)
        codes = _codes(values)
        if not values.null_count and index_pairs(answers, codes).first.size == answers.size:
            n_values[column] = int(codes.max()) + 1
    return sorted(n_values, key=lambda column: (n_values[column], column))[:MOST_COLUMNS]


def _codes(column: pa.ChunkedArray) -> npt.NDArray[np.int64]:
    """Return a code from 0 for each distinct value, nulls included."""
    encoded = column.combine_chunks().dictionary_encode(null_encoding="encode")
    return np.asarray(encoded.indices, np.int64)
