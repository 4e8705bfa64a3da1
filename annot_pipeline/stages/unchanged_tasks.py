"""Stages that work task by task do so for tasks whose rows are others than before, and no more.

Memory is the stage's latest result, if the same code made it with the same settings: its facts hold
a hash of the rows of each task in all inputs. Where that is the same, so is what the stage makes
of the task, and the rows of the latest result are taken. A rebuild for `annot verify` has no
latest result, so it makes everything.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.contracts import GOLD, TEXT
from annot_pipeline.stages.context import Made, Read, StageContext
from annot_pipeline.storage.tables import read_unharmed

MADE_OF = "tasks_made_of"
"""The fact that holds the hashes, by task."""

Work = Callable[[StageContext], Made]
Facts = dict[str, Any]
Merge = Callable[[Facts, Facts, pa.Table], Facts]
"""From facts of the latest result and of changed tasks, and the kept rows, to facts of all."""


def task_by_task(work: Work, table: str, merged: Merge) -> Work:
    """Work that makes one gold table of inputs that all have a column ``task``."""

    def made(context: StageContext) -> Made:
        hashes = _hashes(context)
        latest = context.latest()
        known = latest.facts.get(MADE_OF, {}) if latest else {}
        changed = [task for task, of in hashes.items() if known.get(task) != of]
        if latest is None or len(changed) == len(hashes):
            found = work(context)
            nothing = GOLD[table].empty()
            return Made(found.tables, merged({}, found.facts, nothing) | {MADE_OF: hashes})
        found = work(replace(context, read=_only(context.read, changed)))
        new: Any = found.tables[table]
        old = read_unharmed(latest.tables[table])
        same = pa.array([task for task in hashes if task not in changed], TEXT)
        kept = old.cast(new.schema).filter(pc.is_in(old["task"].cast(TEXT), same))
        key = [(name, "ascending") for name in GOLD[table].key]
        whole = pa.concat_tables([kept, new]).sort_by(key)
        context.progress(f"{table}: {len(changed)} of {len(hashes)} tasks are not as they were")
        facts = merged(dict(latest.facts), found.facts, kept)
        return Made({table: whole}, facts | {MADE_OF: hashes})

    return made


def agreement_facts(latest: Facts, found: Facts, kept: pa.Table) -> Facts:
    """Facts of `measure_agreement`: statistics by name, and preferences by task."""
    rows = kept.select(["task", "statistic"]).to_pylist()
    names = {f"{row['task']} {row['statistic']}" for row in rows}
    tasks = {row["task"] for row in rows}
    undefined = [name for name in latest.get("undefined_statistics", []) if name in names]
    facts = dict(found)
    facts["undefined_statistics"] = sorted(undefined + found["undefined_statistics"])
    for fact, of in (("judge_pairs_left_out", names), ("preferences", tasks)):
        old = {name: value for name, value in latest.get(fact, {}).items() if name in of}
        facts[fact] = dict(sorted((old | found[fact]).items()))
    return facts


def _hashes(context: StageContext) -> dict[str, str]:
    """A hash of the rows of each task in all inputs, in the order of the tasks."""
    from annot_pipeline.steps.ratings import of_task

    tasks = context.read("tasks")["task"].cast(TEXT).to_pylist()
    found = {task: hashlib.sha256() for task in tasks}
    for name in context.inputs:
        table = context.read(name)
        for task, hashed in found.items():
            hashed.update(_bytes(of_task(table, task)))
    return {task: hashed.hexdigest() for task, hashed in found.items()}


def _bytes(rows: pa.Table) -> pa.Buffer:
    """Rows as bytes that depend on nothing but their values: not on codes of dictionaries."""
    types = [f.type.value_type if pa.types.is_dictionary(f.type) else f.type for f in rows.schema]
    plain = rows.cast(pa.schema(zip(rows.column_names, types, strict=True))).combine_chunks()
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, plain.schema) as stream:
        stream.write_table(plain)
    return sink.getvalue()


def _only(read: Read, tasks: Collection[str]) -> Read:
    """Reads rows of some tasks."""
    wanted = pa.array(tasks, TEXT)

    def some(name: str, /, *, tasks: Collection[str] | None = None) -> pa.Table:
        asked = set(wanted.to_pylist()) & set(wanted.to_pylist() if tasks is None else tasks)
        table = read(name, tasks=asked)
        return table.filter(pc.is_in(table["task"].cast(TEXT), wanted))

    return some
