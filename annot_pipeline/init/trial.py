"""Readings tried on the rows before they are written: what a build would make of them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.config import EachColumn, Source
from annot_pipeline.config.sources import FieldName
from annot_pipeline.init import names
from annot_pipeline.init.abstentions import abstentions, failed_entries, failures, without_nan
from annot_pipeline.init.answers import MOST_LABELS, labels_seen
from annot_pipeline.init.groups import Group, read_rows
from annot_pipeline.init.optional_fields import with_item_text
from annot_pipeline.init.questions import NoJudgmentsError, Option, Question, Reading, Roles
from annot_pipeline.init.readings import unmapped_note
from annot_pipeline.init.table import Choice, Sheet, value_counts
from annot_pipeline.init.views import frozen, raw_rows
from annot_pipeline.stages.ingest.expressions import columns_used
from annot_pipeline.stages.ingest.read_records import columns_of, read_records
from annot_pipeline.stages.ingest.record_cells import combinations, matching_columns

MOST_REJECTED = 0.1
"""Share of records, as the gate rejected_share has it."""

ROWS_TRIED = 20_000
"""Rows of a file that a draft is tried on."""

TASK = "(campaign)"
IDENTITY: list[str] = names.VOCABULARY["identity"]


def source_of(reading: Reading, **more: Any) -> Source:
    """Return the source that a reading is; ``more``: how its files are opened."""
    document: dict[str, Any] = {
        "path": "*", "format": "csv", "each": reading.each, "where": reading.where,
        "abstain": reading.abstain, "failed": failed_entries(reading.failed),
        "strength": reading.strength,
        "fields": {name: expression for name, expression, _ in reading.lines},
    }  # fmt: skip
    return Source.model_validate(frozen(document | more))


def used_columns(reading: Reading, columns: Sequence[str]) -> set[str]:
    """Return the columns that a line, ``each`` or ``where`` of a reading names."""
    source = source_of(reading)
    patterns = [each for each in source.each.values() if isinstance(each, EachColumn)]
    matched = [name for each in patterns for name in matching_columns(each, [*columns])]
    return {*columns} & {*columns_of(source), *matched}


def _answer_columns(reading: Reading, columns: Sequence[str]) -> list[str]:
    """Return the columns whose whole cells are the labels, or the scores, of a reading."""
    source = source_of(reading)
    fields: list[FieldName] = ["label", "score"]
    whole = [source.fields[n] for n in fields if isinstance(reading.expression(n), str)]
    bindings = combinations(source, [*columns])
    read = {name for e in whole[:1] for b in bindings for name in columns_used(e, b)}
    return [name for name in columns if name in read]


@dataclass(frozen=True)
class Trial:
    """What a reading makes of the rows.

    Parameters
    ----------
    used
        Records that are judgments.
    n_records
        All but filtered ones and those not asked.
    reasons
        Why others are rejected, with their number.
    """

    used: pa.Table
    n_records: int
    reasons: Counter[str]

    def counts(self, name: str) -> dict[str, int]:
        """Return the values of a field with their numbers, the most frequent first."""
        if name not in self.used.column_names:
            return {}
        return value_counts(self.used.column(name).cast(pa.string()).drop_null())

    def combinations(self, *names: str) -> int:
        """Return how many different rows some fields have."""
        chosen = self.used.select([n for n in names if n in self.used.column_names])
        return int(chosen.group_by(chosen.column_names).aggregate([]).num_rows)


def try_reading(reading: Reading, group: Group) -> Trial:
    """Return what a reading makes of the rows of a group, read as a build would read them."""
    first = group.first
    options = first.options | {"skip_rows": 0} | reading.options  # samples are read without these
    source = source_of(reading, format=first.format, options=options, records=first.records)
    tables = []
    for sample in group.samples:
        if "document_fields" in reading.options:  # columns that the sample lacks
            options = sample.options | reading.options
            sample = read_rows(replace(sample, options=options), ROWS_TRIED)
        rows = raw_rows(sample.table.slice(0, ROWS_TRIED))
        path = os.path.relpath(sample.path, group.folder)
        tables.append(read_records(rows, source, path=path, campaign=TASK))
    records = pa.concat_tables(tables, promote_options="permissive")
    judged_records = records.filter(pc.is_null(records["early_fate"]))
    is_used = pc.is_null(judged_records["reason"])
    reasons = Counter(r for r in judged_records["reason"].to_pylist() if r)
    return Trial(judged_records.filter(is_used), judged_records.num_rows, reasons)


def objections(reading: Reading, trial: Trial) -> list[str]:
    """Return why a mapping cannot be right, judged by what it makes of the rows."""
    n_used = trial.used.num_rows
    if not n_used:
        why = "; ".join(reason for reason, _ in trial.reasons.most_common(2))
        return ["no row would be a judgment" + (f": {why}" if why else "")]
    n_rejected = trial.n_records - n_used
    if n_rejected > MOST_REJECTED * trial.n_records:
        reason, count = trial.reasons.most_common(1)[0]
        what = f"{n_rejected:,} of {trial.n_records:,} records would be rejected"
        return [f"{what} ({count:,} times: {reason})"]
    if reading.kind in ("pairwise", "ranking") or reading.has("votes"):
        return []
    n_items = trial.combinations("task", "item")
    n_judges = trial.combinations("task", "judge")
    if n_items == trial.combinations("task") and n_used > 1.5 * n_judges:
        return [f"there is one item in each task, and judges have {n_used / n_judges:.1f} rows"]
    distinct = trial.combinations(*IDENTITY)
    if distinct <= 0.5 * n_used and reading.repeats is None:
        what = f"judges would answer one item {n_used / distinct:.1f} times on average"
        return [f"{what}; a column that distinguishes these rows is not mapped"]
    return []


def tried(reading: Reading, group: Group, sheet: Sheet, by_role: Roles) -> Reading:
    """Return a reading with what rows show of it: counts, words that are no answers, questions.

    Raises
    ------
    NoJudgmentsError
        What it makes of the rows cannot be right.
    """
    if reading.questions or any(e == "?" for _, e, _ in reading.lines):
        return reading
    if reading.title:
        reading = _with_values(reading, group, sheet)
    trial = try_reading(reading, group)
    if problems := objections(reading, trial)[: None if reading.title or not trial.used else 0]:
        looks = f"looks like {reading.title}, but " if reading.title else ""
        raise NoJudgmentsError(f"{looks}{'; '.join(problems)}")
    if reading.has("task") and not reading.tasks:
        reading = replace(reading, tasks=sorted(trial.counts("task")))
    if reading.kind == "categorical" and not reading.labels:
        reading = replace(reading, labels=trial.counts("label"))
    lines = [(n, e, why or _counted(trial, n)) for n, e, why in reading.lines]
    reading = replace(reading, lines=lines)
    question = _classes_doubt(reading, trial, by_role)
    if question is None and not reading.is_preset:
        question = _doubt(reading, trial, by_role)
    return replace(reading, questions=[question]) if question else reading


def _with_values(reading: Reading, group: Group, sheet: Sheet) -> Reading:
    """Return a reading of several columns or of a preset with the kind of its answers."""
    counts: Counter[str] = Counter()
    for name in _answer_columns(reading, sheet.names):
        counts.update(sheet[name].counts)
    words = without_nan(abstentions(counts), group.first.format)
    words = {v: n for v, n in words.items() if v not in reading.abstain}
    abstain = [*reading.abstain, *sorted(words)]
    reading = replace(reading, abstain=abstain, abstained=words, failed=failures(counts))
    if not reading.has("text"):
        used = used_columns(reading, sheet.names)
        choice = Choice(sheet, [name for name in sheet.names if name not in used])
        item = reading.expression("item")
        is_whole = bool(reading.each) and item in sheet.names and sheet.is_unique(item)
        if item in sheet.names:
            reading = with_item_text(reading, choice, is_whole=is_whole)
    return reading


def with_unmapped_note(readings: list[Reading], sheet: Sheet) -> list[Reading]:
    """Return readings of whole rows, the first with the columns that none maps."""
    first, *others = readings
    if not first.title:
        return readings
    used = {name for reading in readings for name in used_columns(reading, sheet.names)}
    note = unmapped_note([sheet[n] for n in sheet.names if n not in used])
    return [replace(first, notes=[*first.notes, *note]), *others]


def _counted(trial: Trial, name: str) -> str:
    """Return how many values a field has, for its comment."""
    counts = trial.counts(name)
    if name in ("label", "task", "preference", "system", "control"):
        return labels_seen(counts)
    return f"{len(counts):,} different"


def _doubt(reading: Reading, trial: Trial, by_role: Roles) -> Question | None:
    """Return the question that the judgments raise: one judge alone, or items that none share."""
    judge, item = reading.expression("judge"), reading.expression("item")
    if reading.has("votes") or "judge" in by_role or judge == "anonymous":
        return None
    if isinstance(judge, dict) and "capture" in judge:
        return None
    n_judges, n_used = trial.combinations("judge"), trial.used.num_rows
    name = judge if isinstance(judge, str) else ""
    if n_judges == 1 and n_used > 1:
        if names.likelihood(name, "judge") >= SURELY_NAMED:
            return None
        options = [Option({"judge": (name,)}, "there is one judge")] * bool(name)
        options.append(Option({"judge": ("anonymous",)}, "every row is another person's"))
        text = f"all rows are of one judge, if {name or 'it'} is the judge"
        return Question("judge", text, options, "Who judged?")
    is_plain = reading.kind in ("categorical", "scalar") and not reading.has("system")
    is_known = "item" in by_role and names.likelihood(name, "judge") >= SURELY_NAMED
    if not is_plain or reading.has("control") or is_known:
        return None
    n_items = trial.combinations("task", "item")
    if n_items < 2 or n_items < trial.combinations("task", "item", "judge"):
        return None
    text = f"no item has two judges, if {name or 'the judge'} judged"
    items = by_role.get("item", (item,) * isinstance(item, str))
    options = [Option({"judge": (name,), "item": items}, "it is so")] * bool(name and items)
    options.append(Option({"judge": ("anonymous",)}, "every row is another person's"))
    text += f" {item if isinstance(item, str) else 'them'}"
    return Question("item", text, options, "Is it so, or is another column what was judged?")


LONGEST_CLASS = 25
"""Characters that many classes have on average at most; sentences have more."""
SURELY_NAMED = 0.886  # worker_id, participant_id; not user_id


def _classes_doubt(reading: Reading, trial: Trial, by_role: Roles) -> Question | None:
    """Return the question that labels raise that are no classes, since each is of one item."""
    is_asked = reading.kind == "categorical" and "label" not in by_role
    if not is_asked or reading.has("votes") or len(reading.columns) != 1:
        return None
    pairs = trial.used.select(["task", "label", "item"]).group_by(["task", "label", "item"])
    counted = pairs.aggregate([([], "count_all")]).group_by(["task", "label"])
    labels = counted.aggregate([("count_all", "sum"), ("item", "count")])
    again = labels.filter(pc.greater(labels["count_all_sum"], 1))
    n_own = pc.sum(pc.equal(again["item_count"], 1)).as_py() or 0
    column = reading.columns[0]
    length = pc.mean(pc.utf8_length(labels["label"].cast(pa.string()))).as_py() or 0
    are_texts = labels.num_rows > MOST_LABELS and length > LONGEST_CLASS
    if (again.num_rows <= MOST_LABELS or n_own <= 0.5 * again.num_rows) and not are_texts:
        return None
    text = f"{n_own:,} of {again.num_rows:,} answers in {column} are given to one item only"
    text = f"{column} holds {labels.num_rows:,} different sentences" if are_texts else text
    keep = Option({"label": (column,)}, "they are classes all the same")
    return Question("label", f"{text}: texts or places in it, and no classes", [keep], "Are they?")
