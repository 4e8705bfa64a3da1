"""The recorded judgments of a campaign, as far as they count: what a replay draws from.

They come from the stages of the pipeline up to standardised scores, built in a temporary
folder, so judges who failed are out, criteria are turned, and controls are left aside (repeats
of an output count, as they do in its mean). Scores are mapped to 0 to 1 by the task's scale.
The campaign's own store and releases are not touched.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.arrays import Codes, Floats
from annot_pipeline.config import LoadedCampaign
from annot_pipeline.contracts import TEXT
from annot_pipeline.errors import ConfigError, Problem
from annot_pipeline.runtime.indexing import Index, index
from annot_pipeline.stages.build import Progress
from studies.oracles import number_in, on_scale
from studies.temporary_build import temporary_build

WANTED = {
    "standardized": (
        "task", "item", "segment", "system", "judge", "control", "kept", "score", "z",
        "judgment_id",
    ),
    "tasks": ("task", "scale_low", "scale_high"),
    "controlled": ("task", "item", "truth"),
    "item_rows": ("task", "item", "truth", "place"),
}  # fmt: skip
RANKED = ("task", "method", "system", "score")
ORDINARY = ("none", "ask_again")
TITLE = "a campaign that cannot be replayed"


@dataclass(frozen=True, eq=False)
class RecordedTask:
    """Recorded judgments of one scalar task, by item, judge and id.

    Parameters
    ----------
    task
        Its name.
    scale
        Its ends.
    items, judges, segments, systems
        Names by code, in code point order.
    item, judge, segment, system
        ``(n_judgments,)`` codes; segment and system -1 where there is none.
    score
        ``(n_judgments,)`` in [0, 1].
    z
        ``(n_judgments,)`` standardised score, NaN where there is none.
    truth
        ``(n_items,)`` as the campaign says it, in its own unit; NaN where it says none.
    """

    task: str
    scale: tuple[float, float]
    items: list[str]
    judges: list[str]
    segments: list[str]
    systems: list[str]
    item: Codes
    judge: Codes
    segment: Codes
    system: Codes
    score: Floats
    z: Floats
    truth: Floats


@dataclass(frozen=True, eq=False)
class Recorded:
    """Recorded judgments of all scalar tasks, and gates that would stop a build."""

    tasks: list[RecordedTask]
    failed_gates: list[str]
    z_means: dict[str, dict[str, float]]
    """By task and system, the mean standardised score as `rank_systems` has it, if asked for."""


def read_recorded(campaign: LoadedCampaign, progress: Progress, *, rank: bool = False) -> Recorded:
    """Build what is needed in a temporary folder.

    Parameters
    ----------
    campaign, progress
        What to read, and who is told.
    rank
        Whether systems are ranked too.

    Raises
    ------
    AnnotError
        An export is missing or cannot be read; no scalar task, a task without a scale, a truth
        that is no number.
    """
    columns_by_table = WANTED | ({"system_rankings": RANKED} if rank else {})
    tables, failed = temporary_build(campaign, columns_by_table, progress)
    judged = tables["standardized"]
    judged = judged.filter(judged["kept"])
    judged = judged.filter(_among(judged["control"], ORDINARY))
    scales = {
        row["task"]: (row["scale_low"], row["scale_high"]) for row in tables["tasks"].to_pylist()
    }
    names = index(judged["task"]).names if judged.num_rows else []
    if not names:
        what = "no judgment with a score counts"
        raise ConfigError(TITLE, [Problem("", what, do="annot validate says what there is")])
    _check_scales(names, scales)
    truths = _truths(tables["controlled"], tables["item_rows"])
    ranked = tables["system_rankings"].to_pylist() if rank else []
    z_means: dict[str, dict[str, float]] = {}
    for row in ranked:
        if row["method"] == "z_mean" and row["score"] is not None:
            z_means.setdefault(row["task"], {})[row["system"]] = row["score"]
    return Recorded([_task(n, judged, scales[n], truths) for n in names], failed, z_means)


def _check_scales(names: Sequence[str], scales: dict[str, Any]) -> None:
    without = tuple(name for name in names if scales[name][0] is None)
    if without:
        do = "declare it under tasks: {name: ..., kind: scalar, scale: [lowest, highest]}"
        what = "no scale is declared, so scores cannot be put on 0 to 1"
        raise ConfigError(TITLE, [Problem("tasks", what, do=do, values=without)])


def _among(column: pa.ChunkedArray, names: Sequence[str]) -> pa.ChunkedArray:
    return pc.is_in(column.cast(TEXT), pa.array(names, TEXT))


def _task(
    name: str, judged: pa.Table, scale: tuple[float, float], truths: dict[str, dict[str, float]]
) -> RecordedTask:
    rows = judged.filter(_among(judged["task"], [name]))
    item, judge = index(rows["item"]), index(rows["judge"])
    segment, system = _codes(rows["segment"]), _codes(rows["system"])
    order = np.lexsort((index(rows["judgment_id"]).codes, judge.codes, item.codes))
    score = on_scale(rows["score"].to_numpy(), scale)
    truth_by_item = truths.get(name, {})
    return RecordedTask(
        task=name,
        scale=scale,
        items=item.names,
        judges=judge.names,
        segments=segment.names,
        systems=system.names,
        item=item.codes[order],
        judge=judge.codes[order],
        segment=segment.codes[order],
        system=system.codes[order],
        score=np.clip(score, 0, 1)[order],  # rounding may lead beyond the ends
        z=rows["z"].to_numpy()[order],
        truth=np.array([truth_by_item.get(i, np.nan) for i in item.names]),
    )


def _codes(column: pa.ChunkedArray) -> Index:
    """Return the codes of names; -1 for null."""
    valid = column.is_valid().to_numpy()
    names = index(column.filter(pa.array(valid)))
    codes = np.full(valid.size, -1)
    codes[valid] = names.codes
    return Index(names.names, codes)


def _truths(judgments: pa.Table, item_rows: pa.Table) -> dict[str, dict[str, float]]:
    """Return truth by task and item: an item table's truth wins over that of records.

    A row of an item table without a task speaks for all tasks. Where the records of one task
    differ about an item, they say nothing.
    """
    recorded: dict[tuple[str, str], set[str]] = {}
    texts = judgments.filter(judgments["truth"].is_valid())
    texts = texts.group_by(["task", "item", "truth"]).aggregate([]).to_pylist()
    for row in texts:
        recorded.setdefault((row["task"], row["item"]), set()).add(row["truth"])
    record_truths = {key: min(truths) for key, truths in recorded.items() if len(truths) == 1}
    listed: dict[tuple[str | None, str], str] = {}
    for row in sorted(item_rows.to_pylist(), key=lambda row: row["place"]):
        if row["truth"] is not None:
            listed.setdefault((row["task"], row["item"]), row["truth"])
    tasks = judgments.group_by(["task", "item"]).aggregate([]).to_pylist()
    bad: list[str] = []
    truth_by_task: dict[str, dict[str, float]] = {}
    for task, item in {(row["task"], row["item"]): None for row in tasks}:
        text = listed.get((task, item), listed.get((None, item), record_truths.get((task, item))))
        if text is None or task is None or item is None:
            continue
        number = number_in(text)
        if number is None:
            bad.append(text)
        else:
            truth_by_task.setdefault(task, {})[item] = number
    if bad:
        values = tuple(sorted(set(bad)))
        raise ConfigError(TITLE, [Problem("truth", "is no number", "a number", values=values)])
    return truth_by_task
