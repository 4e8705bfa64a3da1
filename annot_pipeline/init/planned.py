"""Results of HITs that `annot hits` has planned: their bookkeeping says all there is to guess."""

from __future__ import annotations

import contextlib

from annot_pipeline.bounded_json import parse_bounded_json
from annot_pipeline.errors import InputError, first_of, shorten
from annot_pipeline.exports.hit_bookkeeping import NAME
from annot_pipeline.exports.hits_from_mturk import BOOKKEEPING
from annot_pipeline.init.questions import NoJudgmentsError, Reading, Task
from annot_pipeline.init.samples import Sample, read_rows
from annot_pipeline.init.table import Sheet

FORMAT = "hits"
NESTED = ("jsonl", "label_studio")
KINDS = {"score": "scalar", "compare": "pairwise", "label": "categorical"}
TOLD = ("task", "ask", "scale", "criteria", "labels")


def read_planned(sample: Sample, head: bytes, columns: list[str], limit: int) -> Sample | None:
    """Return the first rows, if a file holds planned HITs; else None.

    Parameters
    ----------
    sample
        The file, and with which options it is read.
    head
        Its first bytes.
    columns
        Of delimited text, its columns.
    limit
        Rows to read.
    """
    if sample.format in NESTED and NAME.encode() in head:
        with contextlib.suppress(InputError):  # the name stands somewhere else
            return read_rows(Sample(sample.path, FORMAT, sample.options), limit)
    elif BOOKKEEPING in columns:
        return read_rows(Sample(sample.path, FORMAT, sample.options), limit)
    return None


def planned_mapping(sheet: Sheet) -> tuple[Reading, list[Task]]:
    """Return the reading, which needs no field, and the tasks.

    Raises
    ------
    NoJudgmentsError
        Nobody is said to have judged.
    """
    judge = sheet["judge"]
    if not judge.counts:
        raise NoJudgmentsError("no row says who judged")
    task_by_name: dict[str, Task] = {}
    inconsistent: list[str] = []
    for task in _planned_tasks(sheet):
        name = task.name or ""
        if task_by_name.setdefault(name, task) != task and name not in inconsistent:
            inconsistent.append(name)
    summary = f"{sheet['hit'].n_distinct:,} HITs, {judge.n_distinct:,} judges"
    notes = [f"no fields are needed: the HITs say them; {summary}"]
    if inconsistent:
        text = first_of(list(map(shorten, inconsistent)))
        notes.append(f"HITs of one task differ in scale or criteria: {text}; the first is taken")
    named = sorted(task_by_name)
    reading = Reading("HITs of annot", kind="scalar", tasks=named, notes=notes, is_preset=True)
    return reading, [task_by_name[name] for name in named]


def _planned_tasks(sheet: Sheet) -> list[Task]:
    """Return the tasks that HITs describe, each once, in the order of the files."""
    columns = sheet.table.select(TOLD)
    rows = columns.group_by(columns.column_names, use_threads=False).aggregate([]).to_pylist()
    return [
        Task(
            row["task"],
            KINDS[row["ask"]],
            (scale[0], scale[1]) if (scale := parse_bounded_json(row["scale"] or "null")) else None,
            dict.fromkeys(parse_bounded_json(row["labels"] or "[]"), 0),
            tuple(parse_bounded_json(row["criteria"] or "[]")),
            is_planned=True,
        )
        for row in rows
    ]
