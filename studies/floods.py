"""The study `floods`: how careless people change labels, and whether a build stops.

Judges are tested, and labels inferred, as in a build. A build stops if a gate exceeds its
default error level. What does not belong here: who floods (simulators.floods).
"""

from __future__ import annotations

import itertools
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa

from annot_pipeline.config import Quality
from annot_pipeline.config.sections import Resources
from annot_pipeline.contracts import TEXT, TIME
from annot_pipeline.gates import GATES
from annot_pipeline.methods.labels.dawid_skene import DawidSkeneParams
from annot_pipeline.methods.numerics.blocks import InMemoryBlocks
from annot_pipeline.stages.gold.unlike_judges import doubtful_items
from annot_pipeline.stages.judges.control_scores import Units
from annot_pipeline.stages.judges.judge_verdicts import FAILED
from annot_pipeline.stages.judges.label_judges import LabelJudges, label_judges
from annot_pipeline.stages.labels.infer_labels import LabelSettings
from annot_pipeline.stages.labels.label_items import JudgedTask
from annot_pipeline.storage.queries import Queries
from studies.item_rounds import stream
from studies.label_inference import infer_labels
from studies.params import Floods
from studies.progress import Progress, Steps
from studies.simulators.floods import KINDS, Flood, FloodParams, draw_flood
from studies.tables import Cell, Table
from studies.write import Result

FLOODS = "floods"
"""Name of the study."""
SHARES = (0.25, 0.5, 0.75)
DESIGNS = tuple(itertools.product((False, True), (False, True), (2, 4)))
"""Whether in a later release, whether items are the flood's alone, and how many classes."""
ALLOWED = 0.02
"""By which labels of the careful judges' items may be worse than without the flood."""
LEVELS = {gate.name: gate.error for gate in GATES}
NOTES = (
    "12 judges, right with .7 to .9, label 180 items, five each; a flood answers some of the items "
    "too, or items of its own: in the first release, or in a later one with 60 more items.",
    "accuracy: of labels of the items that careful judges label, without the flood (clean) and "
    "with it (published), of builds that do not stop; worse: share of these builds in which it "
    f"falls by more than {ALLOWED:g}.",
)
COLUMNS = (
    "release", "items", "classes", "flood", "share", "builds", "stopped", "accuracy_clean",
    "accuracy_published", "worse",
)  # fmt: skip


def run_floods(params: Floods, progress: Progress) -> Result:
    """Flood crowds in every way."""
    cases = [*itertools.product(DESIGNS, KINDS, SHARES)]
    steps, rows = Steps(progress, FLOODS, len(cases)), list[tuple[Cell, ...]]()
    for (is_later, is_separate, n_classes), kind, share in cases:
        case = FloodParams(kind, share, is_later, is_separate, n_classes)
        builds = [
            right_labels(draw_flood(case, stream(params.seed, FLOODS, f"{case} {n}")))
            for n in range(params.repeats)
        ]
        shares = np.array([both for both in builds if both is not None]).reshape(-1, 2)
        clean, published = (float(x) for x in shares.mean(axis=0)) if shares.size else (None, None)
        worse = float((shares[:, 0] - shares[:, 1] > ALLOWED).mean()) if shares.size else None
        rows.append((
            "later" if is_later else "first", "of the flood" if is_separate else "of all",
            n_classes, kind, share, len(builds), 1 - len(shares) / len(builds), clean, published,
            worse,
        ))  # fmt: skip
        steps.step()
    numbers = [dict(zip(COLUMNS, row, strict=True)) for row in rows]
    return Result(_findings(numbers), NOTES, [Table(FLOODS, COLUMNS, tuple(rows))], [], numbers)


def _findings(numbers: list[dict[str, Cell]]) -> list[str]:
    n = sum(int(row["builds"] or 0) for row in numbers)
    stopped = sum(int(row["builds"] or 0) * float(row["stopped"] or 0) for row in numbers)
    worse = sum(
        int(row["builds"] or 0) * (1 - float(row["stopped"] or 0)) * float(row["worse"] or 0)
        for row in numbers
    )
    return [
        f"Of {n:,} floods {stopped:,.0f} stop the build.",
        f"{worse:,.0f} do not, and make labels worse by more than {ALLOWED:g}.",
    ]


def right_labels(flood: Flood) -> tuple[float, float] | None:
    """Return the share of right labels without the flood and with it; None if the build stops."""
    rows = _rows(flood)
    units = Units.of_controls(rows, Quality(labels="drop"))
    labelled = label_judges(rows, {}, set(), units, Quality(labels="drop"))
    names = units.judge.names
    failed = [names[n] for n in np.flatnonzero(labelled.verdict == FAILED).tolist()]
    used = rows.filter(~np.isin(rows["judge"].to_numpy(zero_copy_only=False), failed))
    shares = {
        "suspected_labels": labelled.suspected_share,
        "failed_labels": labelled.failed_share,
        "doubtful_items": _doubtful(used, flood, labelled, names) if flood.n_before else 0.0,
    }
    if any(share > (LEVELS[name] or np.inf) for name, share in shares.items()):
        return None
    clean = rows.filter(flood.is_careful)
    return _share_right(clean, clean, flood), _share_right(used, clean, flood)


def _rows(flood: Flood) -> pa.Table:
    n = flood.items.size
    judges = [f"j{code:03}" for code in flood.judges.tolist()]
    return pa.table({
        "task": ["t"] * n, "item": [f"i{code:03}" for code in flood.items.tolist()],
        "judge": judges, "judge_id": judges, "label": [str(c) for c in flood.labels.tolist()],
        "control": ["none"] * n, "fate": ["used"] * n, "submitted_at": pa.nulls(n, TIME),
        "why": pa.nulls(n, TEXT), "adjudicated": [False] * n,
    })  # fmt: skip


def _doubtful(used: pa.Table, flood: Flood, labelled: LabelJudges, names: list[str]) -> float:
    """Return the share of checked items that the gate `doubtful_items` measures."""
    released = [f"j{code:03}" for code in range(flood.n_judges)]
    judges = pa.table({
        "task": ["t"] * len(names), "judge": names, "kind": pa.nulls(len(names), TEXT),
        "suspected": labelled.is_suspected,
    })  # fmt: skip
    inputs = {
        "judgments": used, "judges": judges, "released": judges.filter(np.isin(names, released)),
        "released_labels": pa.table({
            "task": ["t"] * flood.n_before, "item": [f"i{n:03}" for n in range(flood.n_before)],
        }),
        "labels": pa.table({
            "task": pa.array([], TEXT), "item": pa.array([], TEXT),
            "adjudicated": pa.array([], pa.bool_()),
        }),
    }  # fmt: skip
    with tempfile.TemporaryDirectory() as spill:
        rows = Queries(Resources(), Path(spill)).table("audit/unlike_judges", inputs)
    of_tasks = [row["decided"] / max(row["items"], 1) for row in doubtful_items(rows)]
    return max(of_tasks, default=0.0)


def _share_right(used: pa.Table, clean: pa.Table, flood: Flood) -> float:
    """Return the share of right labels, of the items that careful judges label."""
    settings = LabelSettings(DawidSkeneParams(model="hierarchical"))
    labels = infer_labels(JudgedTask("t", InMemoryBlocks([used])), settings)[0]["labels"]
    by_item = dict(zip(labels["item"].to_pylist(), labels["label"].to_pylist(), strict=True))
    items = sorted({*clean["item"].to_pylist()})
    return float(np.mean([by_item.get(i) == str(flood.truth[int(i[1:])]) for i in items]))
