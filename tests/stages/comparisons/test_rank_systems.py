"""Tasks ranked side by side, each as if it were alone."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.config import Easl, Ranking, Standardize
from annot_pipeline.stages.comparisons.rank_systems import rank_systems
from annot_pipeline.stages.comparisons.ranked import RankingContext
from annot_pipeline.stages.scores.judge_sums import ORDINARY

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


def ranked(table, *, workers=1):
    return ranked_with_facts(table, workers=workers)[0]


def ranked_with_facts(table: pa.Table, *, workers: int = 1):
    low, high, none = [0.0, None, 0.0], [100.0, None, 100.0], pa.nulls(3, pa.float64())
    tasks = pa.table(
        [TASKS, low, high, none, none],
        ["task", "scale_low", "scale_high", "assumed_low", "assumed_high"],
    )
    context = RankingContext(Ranking(bootstrap=50), Easl(), 1)
    return rank_systems(table, tasks, context, standardize=Standardize(), workers=workers)


def test_judgments_without_a_system_are_counted_by_task():
    table = judged()
    named = table["system"].to_pylist()
    without = pc.and_(pc.equal(table["task"], "b"), pc.equal(table["judge"], "judge3")).to_numpy()
    names = [None if is_so else name for name, is_so in zip(named, without, strict=True)]
    _, facts = ranked_with_facts(table.set_column(1, "system", pa.array(names, pa.string())))
    assert facts["judgments_without_system"] == {"a": 0, "b": int(without.sum()), "c": 0}
    assert without.sum() > 9


def test_a_task_ranks_as_if_it_were_alone_whatever_runs_beside_it():
    table = judged()
    whole = ranked(table, workers=3)
    one_by_one = ranked(table)
    for name in whole:
        assert whole[name].equals(one_by_one[name])
        assert pc.unique(whole[name]["task"]).to_pylist() == TASKS
    for task in TASKS:
        alone = ranked(table.filter(pc.equal(table["task"], task)))
        for name in whole:
            of_task = whole[name].filter(pc.equal(whole[name]["task"], task))
            assert of_task.to_pylist() == alone[name].to_pylist()
            assert of_task.num_rows
