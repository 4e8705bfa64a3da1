"""Systems of small tasks ranked by scores."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.contracts import ORDINARY, SEGMENT_RANKS
from annot_pipeline.runtime.indexing import ByTask
from annot_pipeline.stages.rankings.rank_systems import rank_systems
from annot_pipeline.stages.shared.comparisons import COMPARISONS
from tests.task_data import settings, task_data

N, TASKS = 900, ["a", "b", "c"]


def judged() -> pa.Table:
    """Scores of three tasks, mixed; some of no segment, some that do not count."""
    rng = np.random.default_rng(3)
    codes = {name: rng.integers(n, size=N) for name, n in (("task", 3), ("system", 4))}
    codes |= {"segment": rng.integers(30, size=N), "judge": rng.integers(9, size=N)}
    text = {name: [f"{name}{code}" for code in of] for name, of in codes.items()}
    text["task"] = [TASKS[code] for code in codes["task"]]
    text["item"] = [f"{a} {b}" for a, b in zip(text["segment"], text["system"], strict=True)]
    text["segment"] = [None if rng.random() < 0.1 else name for name in text["segment"]]
    score = rng.integers(101, size=N).astype(float)
    nulls = pa.nulls(N, pa.string())
    return pa.table(text).append_column("criterion", nulls).append_column(
        "document", nulls
    ).append_column(
        "control", pa.array([ORDINARY[0]] * N)
    ).append_column("kept", pa.array(rng.random(N) < 0.9)).append_column(
        "score", pa.array(score)
    ).append_column("z", pa.array(score / 20 - 2))  # fmt: skip


def ranked(table: pa.Table) -> dict[str, tuple[dict[str, pa.Table], dict]]:
    by_task, campaign = ByTask(table), settings(ranking={"bootstrap": 50}, seed=1)
    nothing = {"comparisons": COMPARISONS.empty_table(), "segment_ranks": SEGMENT_RANKS.empty()}
    scales = {"a": (0.0, 100.0), "b": (None, None), "c": (0.0, 100.0)}
    return {
        task: rank_systems(
            task_data(
                task, {"standardized": by_task[task]} | nothing, campaign, kind="scalar",
                scale_low=scales[task][0], scale_high=scales[task][1],
            )
        )
        for task in by_task.names
    }  # fmt: skip


def test_judgments_without_a_system_are_counted_by_task():
    table = judged()
    named = table["system"].to_pylist()
    without = pc.and_(pc.equal(table["task"], "b"), pc.equal(table["judge"], "judge3")).to_numpy()
    names = [None if is_so else name for name, is_so in zip(named, without, strict=True)]
    results = ranked(table.set_column(1, "system", pa.array(names, pa.string())))
    facts = {task: metrics["judgments_without_system"] for task, (_, metrics) in results.items()}
    assert facts == {"a": 0, "b": int(without.sum()), "c": 0}
    assert without.sum() > 9


def test_the_order_of_rows_does_not_matter():
    table = judged()
    order = np.random.default_rng(4).permutation(N)
    mixed = ranked(table.take(pa.array(order)))
    for task, (tables, metrics) in ranked(table).items():
        assert metrics == mixed[task][1]
        assert all(tables[name].equals(mixed[task][0][name]) for name in tables)
        assert all(table.num_rows for table in tables.values())
