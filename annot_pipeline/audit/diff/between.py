"""Judgments and verdicts of states between two releases, as work that takes a stage's place.

What does not belong here: which states there are (states), how they are built (recompute).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.contracts import FLAG, TEXT
from annot_pipeline.contracts.stage_metrics import StageMetrics
from annot_pipeline.runtime.context import StageContext, StageOutput
from annot_pipeline.runtime.indexing import is_in
from annot_pipeline.runtime.partitions import input_slices
from annot_pipeline.stages.ingest.metrics import JudgmentMetrics
from annot_pipeline.stages.ingest.raw_names import NAMES
from annot_pipeline.stages.judges.metrics import ControlMetrics
from annot_pipeline.stages.judges.stage import control_judges_of_campaign, with_verdicts
from annot_pipeline.storage.tables import StoredTable

NEW, CORRECTED, WITHDRAWN = "new judgments", "corrected judgments", "withdrawn judgments"
ADJUDICATIONS = "adjudications"
JUDGMENT_CHANGES = (NEW, CORRECTED, WITHDRAWN, ADJUDICATIONS)
"""Kinds of changes to judgments, in the order in which they are made."""

Work = Callable[[StageContext], StageOutput[StageMetrics]]


@dataclass(frozen=True)
class SettledJudgments:
    """What the stage ``settle_judgments`` made of the exports of a release."""

    judgments: StoredTable
    tasks: pa.Table
    kinds: pa.Table
    item_texts: pa.Table
    metrics: JudgmentMetrics


def settle_between(old: SettledJudgments, new: SettledJudgments, applied: Collection[str]) -> Work:
    """Return work for ``settle_judgments`` that produces a state between two others.

    Records that do not count (rejected, duplicate, superseded) are left out: no calculation looks
    at them. Tasks are those of the new state: their kinds and scales change with the first of the
    changes. Tasks that only the old state has stay until judgments are withdrawn.

    Parameters
    ----------
    old, new
        The states between which it is.
    applied
        Which of `JUDGMENT_CHANGES` are applied.
    """
    changes = {change.replace(" ", "_"): change in applied for change in JUDGMENT_CHANGES}
    tasks = new.tasks
    if WITHDRAWN not in applied:
        names = pa.array(tasks["task"].to_pylist(), TEXT)
        gone = pc.invert(pc.is_in(old.tasks["task"].cast(TEXT), names))
        tasks = pa.concat_tables([tasks, old.tasks.filter(gone)]).sort_by("task")

    is_gone = pc.invert(is_in(old.kinds["judge"], new.kinds["judge"].to_pylist()))
    kinds = pa.concat_tables([new.kinds, old.kinds.filter(is_gone)]).sort_by("judge")

    def work(context: StageContext) -> StageOutput[JudgmentMetrics]:
        inputs = {"old": old.judgments, "new": new.judgments}
        run = context.queries.run
        return StageOutput(
            {
                "settled": lambda: run("diff/settled", inputs, changes),
                "tasks": tasks,
                "names": NAMES.empty_table(),
                "judge_kinds": kinds,
                "item_texts": new.item_texts,
            },
            new.metrics,
        )

    return work


@dataclass(frozen=True)
class HeldVerdicts:
    """Whether judges were dropped in an earlier state: those known then stay so.

    ``of_judge`` is empty where judges are tested task by task; else a judge who is known keeps
    the verdict in tasks that are new to them.
    """

    of_task_and_judge: Mapping[tuple[str, str], bool]
    of_judge: Mapping[str, bool]

    def dropped(self, tests: pa.Table) -> list[bool]:
        """Return whether each judge of ``judge_tests`` is dropped: as held, else as tested."""
        names = (tests[name].to_pylist() for name in ("task", "judge", "dropped"))
        return [
            self.of_task_and_judge.get((task, judge), self.of_judge.get(judge, tested))
            for task, judge, tested in zip(*names, strict=True)
        ]

    def differ(self, tests: pa.Table) -> bool:
        """Return whether holding these verdicts makes any difference."""
        tested: list[bool] = tests["dropped"].to_pylist()
        return self.dropped(tests) != tested


def held_verdicts(tests: pa.Table, *, scope: str) -> HeldVerdicts:
    """Return the verdicts of ``judge_tests``, to be held; ``scope`` as quality.scope says."""
    names = (tests[name].to_pylist() for name in ("task", "judge", "dropped"))
    rows = list(zip(*names, strict=True))
    of_judge = {judge: dropped for _, judge, dropped in rows} if scope == "campaign" else {}
    return HeldVerdicts({(task, judge): dropped for task, judge, dropped in rows}, of_judge)


def control_with(verdicts: HeldVerdicts) -> Work:
    """Return work for ``control_judges`` that holds verdicts fixed; ``judge_tests`` is computed."""

    def work(context: StageContext) -> StageOutput[ControlMetrics]:
        output = control_judges_of_campaign(context)
        tests: Any = output.tables["judge_tests"]
        at = tests.schema.get_field_index("dropped")
        applied = tests.set_column(at, "dropped", pa.array(verdicts.dropped(tests), FLAG))
        parts = input_slices(context, "settled")
        controlled, by_part = with_verdicts(context, parts, applied)
        return replace(output, tables={**output.tables, **controlled}, partitions=by_part)

    return work
