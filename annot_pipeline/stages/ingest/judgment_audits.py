"""Metrics of judgments: counts and examples by partition, added up over all of them.

Among them answers that a judge gave to one item more than once, with the columns of the export that
distinguish them.

What does not belong here: how judgments get their ids and fates (judgments).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.config import Source
from annot_pipeline.contracts import FATES, TEXT
from annot_pipeline.errors import AnnotError, counted, counted_kind, first_of, row_and_line, shorten
from annot_pipeline.exports.raw_rows import RawRows
from annot_pipeline.runtime.context import Document, StageContext
from annot_pipeline.runtime.indexing import index_pairs, is_in
from annot_pipeline.stages.ingest.archived_lines import MOST_BYTES, export_lines
from annot_pipeline.stages.ingest.metrics import RepeatedAnswers
from annot_pipeline.stages.ingest.opened_exports import open_export
from annot_pipeline.stages.ingest.raw_names import appearance, look_alikes, may_be_alike
from annot_pipeline.stages.ingest.read_records import columns_of, read_records
from annot_pipeline.stages.shared.account_records import COLUMNS as ACCOUNTED
from annot_pipeline.stages.shared.account_records import account
from annot_pipeline.storage.archive import archived
from annot_pipeline.storage.queries import Queries
from annot_pipeline.storage.tables import StoredTable, TableFile, read_groups

ACCOUNT = "account"
"""Key of an audit that holds fates by file."""
CLASSES = "classes"
"""Key of an audit that holds the number of labels by task."""
UNDECLARED, MOST_OF_LABEL = "label is not a declared class", 60
"""Begins the reason of a rejected record, with so many characters of the label
(sql/ingest/key_records.sql)."""
SHOW_NAMES = "annot validate --set privacy.pseudonymize=false"


def classes_by_task(named: pa.Table) -> dict[str, int]:
    """Return how many different labels each task of some records has."""
    labelled = named.select(["task", "label"]).filter(pc.is_valid(named["label"]))
    counts = labelled.group_by("task").aggregate([("label", "count_distinct")]).to_pylist()
    return {row["task"]: row["label_count_distinct"] for row in counts}


def undeclared_classes(
    audits: Sequence[Document], tasks: pa.Table, judgments: StoredTable
) -> dict[str, int]:
    """Return the number of classes of tasks that declare none."""
    open_tasks = {
        row["task"]
        for row in tasks.to_pylist()
        if row["kind"] == "categorical" and row["labels"] is None
    }
    counts: dict[str, list[int]] = {}
    for audit in audits:
        for task, n in audit[CLASSES].items():
            if task in open_tasks:
                counts.setdefault(task, []).append(n)
    # slices of a large task share classes: the labels themselves are counted
    in_slices = {task: set[str]() for task, of_slices in counts.items() if len(of_slices) > 1}
    for rows in read_groups(judgments, ["task", "label"]) if in_slices else ():
        for task, labels in in_slices.items():
            answers = rows.filter(is_in(rows["task"], [task]))["label"].cast(TEXT)
            labels.update(label for label in pc.unique(answers).to_pylist() if label is not None)
    return {
        task: len(in_slices[task]) if task in in_slices else n for task, [n, *_] in counts.items()
    }


def audit_records(
    queries: Queries, judgments_file: TableFile, record_files: pa.Table, tasks: pa.Table
) -> Document:
    """Return counts and examples of a partition's records for reports."""
    accounts = account(read_groups(judgments_file.path, ACCOUNTED))
    fates = {fate for fate in FATES for row in accounts if row[fate]}
    inputs = {"judgments": judgments_file.path, "record_files": record_files, "tasks": tasks}

    def rows_of(query: str, *relevant: str) -> list[dict[str, Any]]:
        if not fates.intersection(relevant):
            return []
        rows: list[dict[str, Any]] = queries.table(f"audit/{query}", inputs).to_pylist()
        return rows

    return {
        ACCOUNT: accounts,
        "rejections": rows_of("rejections", "rejected"),
        "superseded_by_order": rows_of("superseded_by_order", "superseded"),
        "experts_disagree": rows_of("expert_disagreements", "adjudication"),
        "repeated_answers": rows_of("repeated_answers", "used"),
    }


def superseded_by_order(audits: Sequence[Document]) -> list[dict[str, Any]]:
    """Count answers that were superseded by the order of files alone, by both files."""
    records: Counter[tuple[str, str]] = Counter()
    for row in (row for audit in audits for row in audit["superseded_by_order"]):
        records[row["file"], row["over"]] += row["records"]
    in_order = sorted(records, key=lambda pair: (-records[pair], *pair))
    return [{"file": file, "over": over, "records": records[file, over]} for file, over in in_order]


def rejection_kinds(
    audits: Sequence[Document], judgments: StoredTable, files: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Return why records were rejected, with example values, the most frequent first."""
    file_order = {(file["source_order"], file["source_file"]): n for n, file in enumerate(files)}
    kinds: dict[str, list[dict[str, Any]]] = {}
    for row in (row for audit in audits for row in audit["rejections"]):
        kinds.setdefault(row["kind"], []).append(row)
    if not kinds:
        return []
    counts: Counter[str] = Counter()
    for rows in read_groups(judgments, ["fate", "reason"]):
        reasons = rows.filter(pc.equal(rows["fate"].cast(TEXT), "rejected"))["reason"].cast(TEXT)
        counts.update({row["values"]: row["counts"] for row in reasons.value_counts().to_pylist()})
    values: dict[str, list[str]] = {}
    for reason in sorted(counts, key=lambda reason: (-counts[reason], reason)):
        kind, _, value = reason.partition(": ")
        values.setdefault(kind, []).append(value)
    rejections = []
    for kind, kind_rows in kinds.items():
        first = min(
            kind_rows,
            key=lambda r: (file_order[r["source_order"], r["source_file"]], r["source_row"]),
        )
        rejections.append({
            "kind": kind,
            "records": sum(row["records"] for row in kind_rows),
            "reason": ": ".join(filter(None, (kind, first_of(values[kind], between="; ")))),
            "source_order": first["source_order"],
            "source_file": first["source_file"],
            "source_row": first["source_row"],
        })  # fmt: skip
    return sorted(rejections, key=lambda row: (-row["records"], row["kind"]))


def respelled_classes(
    audits: Sequence[Document], judgments: StoredTable, tasks: pa.Table
) -> list[dict[str, Any]]:
    """Return rejected classes that look like a declared one, by export, the most frequent first."""
    if not any(row["kind"] == UNDECLARED for audit in audits for row in audit["rejections"]):
        return []
    declared = {
        (row["task"], appearance(label[:MOST_OF_LABEL])): label
        for row in tasks.to_pylist()
        for label in row["labels"] or ()
    }
    names = ["task", "source_file", "reason"]
    counts: Counter[tuple[str, str, str]] = Counter()
    for rows in read_groups(judgments, names):
        rejected = rows.filter(pc.starts_with(rows["reason"].cast(TEXT), UNDECLARED))
        for row in rejected.group_by(names).aggregate([([], "count_all")]).to_pylist():
            spelling = row["reason"].removeprefix(UNDECLARED)[3:-1]
            if label := declared.get((row["task"], appearance(spelling))):
                counts[row["source_file"], spelling, label] += row["count_all"]
    return [
        {"file": file, "spelling": spelling, "declared": label, "records": counts[key]}
        for key in sorted(counts, key=lambda key: (-counts[key], *key))
        for file, spelling, label in [key]
    ]


def rejections_with_lines(
    context: StageContext,
    rejections: Sequence[Mapping[str, Any]],
    files: Sequence[Mapping[str, Any]],
) -> list[dict[str, Any]]:
    """Return kinds of rejected records, the row of the example with its line number."""
    settings = context.campaign.settings
    exports = {(file["source_order"], file["source_file"]): file for file in files}
    rows: dict[tuple[int, str], set[int]] = {}
    for kind in rejections:
        key = kind["source_order"], kind["source_file"]
        rows.setdefault(key, set()).add(kind["source_row"])
    lines: dict[tuple[int, str], dict[int, int]] = {}
    for key, row_numbers in rows.items():
        path = archived(context.store.archive, exports[key]["source_sha256"])
        source, limits = settings.sources[key[0]], settings.limits
        lines[key] = export_lines(path, key[1], source, limits, row_numbers, MOST_BYTES)
    return [
        {key: kind[key] for key in ("kind", "records", "reason", "source_file", "source_row")}
        | {"line": line, "example": f"{name} {row_and_line(row, line)}"}
        for kind in rejections
        for name, row in [(kind["source_file"], kind["source_row"])]
        for line in [lines[kind["source_order"], name].get(row)]
    ]


def all_look_alikes(names: StoredTable, *, hide_judges: bool) -> tuple[int, list[str]]:
    """Return the number of groups of look-alike names, and texts on them by what they name.

    Names of judges who have pseudonyms are only counted.
    """
    hashes = ["what", "name_hash", "appearance_hash"]
    alike = may_be_alike(read_groups(names, hashes))
    names_by_kind: dict[str, list[str]] = defaultdict(list)
    for rows in read_groups(names) if len(alike) else ():
        for row in rows.filter(pc.is_in(rows["appearance_hash"], alike)).to_pylist():
            names_by_kind[row["what"]].append(row["name"])
    groups = {what: look_alikes(names_by_kind[what]) for what in sorted(names_by_kind)}
    n_hidden = len(groups.pop("judge", ())) if hide_judges else 0
    texts = [f"{what} {group}" for what, group_texts in groups.items() for group in group_texts]
    if n_hidden:
        texts.insert(0, f"{counted_kind(n_hidden, 'groups of judge names')} ({SHOW_NAMES})")
    return n_hidden + sum(map(len, groups.values())), texts


def judges_as_items(names: StoredTable) -> int:
    """Return how many names are those of a judge and of an item; numbers may be both."""
    judges = {name for rows in read_groups(names) for name in _named(rows, "judge")}
    judges = {name for name in judges if any(map(str.isalpha, name))}
    items = (
        _named(rows.filter(is_in(rows["name"], judges)), "item") for rows in read_groups(names)
    )
    return len({name for some in items for name in some})


def _named(rows: pa.Table, what: str) -> list[str]:
    named: list[str] = rows.filter(is_in(rows["what"], [what]))["name"].to_pylist()
    return named


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
