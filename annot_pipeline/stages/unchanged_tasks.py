"""Stages that work task by task do so for tasks whose rows are others than before, and no more.

Memory is the stage's latest result, if the same code made it with the same settings: its facts hold
a hash of the rows of each task in all inputs. Where that is the same, so is what the stage makes
of the task, and the rows and facts of the latest result are taken. Tasks that look at each other
share a hash. A rebuild for `annot verify` has no latest result, so it makes everything.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from annot_pipeline.contracts import TEXT
from annot_pipeline.signature import digest
from annot_pipeline.stages.context import Made, StageContext
from annot_pipeline.steps.by_task import ByTask
from annot_pipeline.steps.hash_values import hash_values
from annot_pipeline.storage.tables import StoredTable, read_unharmed

MADE_OF = "tasks_made_of"
"""The fact that holds the hashes, by task."""

Work = Callable[[StageContext], Made]
Facts = dict[str, Any]


def task_by_task(
    work: Work,
    *,
    kinds: Mapping[str, Sequence[str]] | None = None,
    together: Callable[[Mapping[str, pa.Table]], Collection[str]] | None = None,
) -> Work:
    """Work that makes tables of inputs; all of these have a column ``task``, and lie in its order.

    Its facts are by task; one that is no dictionary follows from settings alone.

    Parameters
    ----------
    kinds
        Kinds of tasks that the work reads an input for, where it is not all.
    together
        Names, by the inputs, the tasks whose results depend on each other's rows; none do.
    """
    of_kinds = kinds or {}

    def made(context: StageContext) -> Made:
        inputs = {
            name: ByTask(
                context.read(
                    name, tasks=context.tasks_of(*of_kinds[name]) if name in of_kinds else None
                )
            )
            for name in context.inputs
        }
        tasks = context.read("tasks")["task"].cast(TEXT).to_pylist()
        hashes = {task: hash_values([rows[task] for rows in inputs.values()]) for task in tasks}
        if together:
            rows_of = {name: rows.only(tasks) for name, rows in inputs.items()}
            shared = sorted(together(rows_of))
            hashes |= dict.fromkeys(shared, digest([(task, hashes[task]) for task in shared]))
        latest = context.latest()
        known = latest.facts.get(MADE_OF, {}) if latest else {}
        changed = [task for task in tasks if known.get(task) != hashes[task]]
        found = work(replace(context, read=lambda name, **_: inputs[name].only(changed)))
        same = sorted({*tasks} - {*changed})
        if not latest or not same:
            return Made(found.tables, found.facts | {MADE_OF: hashes})
        context.progress(f"{len(changed)} of {len(tasks)} tasks are not as they were")
        tables = {
            name: _with_rows_of(latest.tables[name], same, rows)
            for name, rows in found.tables.items()
        }
        facts = {
            name: _with_facts_of(latest.facts[name], same, fact)
            for name, fact in found.facts.items()
        }
        return Made(tables, facts | {MADE_OF: hashes})

    return made


def _with_rows_of(latest: StoredTable, tasks: Sequence[str], found: Any) -> pa.Table:
    """Rows of a table, and those of some tasks as they were."""
    old, new = ByTask(read_unharmed(latest).cast(found.schema)), ByTask(found)
    rows = {task: old[task] for task in tasks} | {task: new[task] for task in new.names}
    return pa.concat_tables([found.slice(0, 0), *(rows[task] for task in sorted(rows))])


def _with_facts_of(latest: Any, tasks: Sequence[str], found: Any) -> Any:
    """Facts by task, and those of some tasks as they were."""
    if not isinstance(found, dict):
        return found
    return dict(sorted((found | {task: latest[task] for task in tasks if task in latest}).items()))
