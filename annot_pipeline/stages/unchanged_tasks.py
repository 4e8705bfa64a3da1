"""Stages that work task by task do so for tasks whose rows are others than before, and no more.

Memory is the stage's latest result, if the same code made it with the same settings: its facts hold
a hash of the rows of each task in all inputs. Where that is the same, so is what the stage makes
of the task, and the rows of the latest result are taken. A rebuild for `annot verify` has no
latest result, so it makes everything.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.contracts import GOLD, TEXT
from annot_pipeline.stages.context import Made, StageContext
from annot_pipeline.storage.tables import read_unharmed

MADE_OF = "tasks_made_of"
"""The fact that holds the hashes, by task."""

Work = Callable[[StageContext], Made]
Facts = dict[str, Any]
Merge = Callable[[Facts, Facts, pa.Table], Facts]
"""From facts of the latest result and of changed tasks, and the kept rows, to facts of all."""


def task_by_task(
    work: Work, table: str, merged: Merge, *, kinds: Mapping[str, Sequence[str]]
) -> Work:
    """Work that makes one gold table of inputs that all have a column ``task``.

    ``kinds`` names the kinds of tasks that the work reads an input for, where it is not all.
    """

    def made(context: StageContext) -> Made:
        from annot_pipeline.steps.by_task import ByTask

        inputs = {
            name: ByTask(
                context.read(name, tasks=context.tasks_of(*kinds[name]) if name in kinds else None)
            )
            for name in context.inputs
        }
        tasks = context.read("tasks")["task"].cast(TEXT).to_pylist()
        hashes = {task: _hash([rows[task] for rows in inputs.values()]) for task in tasks}
        latest = context.latest()
        known = latest.facts.get(MADE_OF, {}) if latest else {}
        changed = [task for task in tasks if known.get(task) != hashes[task]]
        found = work(replace(context, read=lambda name, **_: inputs[name].only(changed)))
        facts, kept = {}, GOLD[table].empty()
        whole: Any = found.tables[table]
        if latest and len(changed) < len(tasks):
            same = pa.array(sorted({*tasks} - {*changed}), TEXT)
            old = read_unharmed(latest.tables[table]).cast(whole.schema)
            facts, kept = dict(latest.facts), old.filter(pc.is_in(old["task"], same))
            key = [(name, "ascending") for name in GOLD[table].key]
            whole = pa.concat_tables([kept, whole]).sort_by(key)
            context.progress(f"{table}: {len(changed)} of {len(tasks)} tasks are not as they were")
        return Made({table: whole}, merged(facts, found.facts, kept) | {MADE_OF: hashes})

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


def _hash(tables: Sequence[pa.Table]) -> str:
    found = hashlib.sha256()
    for rows in tables:
        found.update(_bytes(rows))
    return found.hexdigest()


def _bytes(rows: pa.Table) -> pa.Buffer:
    """Rows as bytes that depend on nothing but their values: not on codes of dictionaries."""
    types = [f.type.value_type if pa.types.is_dictionary(f.type) else f.type for f in rows.schema]
    plain = rows.cast(pa.schema(zip(rows.column_names, types, strict=True))).combine_chunks()
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, plain.schema) as stream:
        stream.write_table(plain)
    return sink.getvalue()
