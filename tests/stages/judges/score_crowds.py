"""Crowds of judges of scores, and what judge control says of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from annot_pipeline.config import Quality
from annot_pipeline.contracts import TEXT
from annot_pipeline.methods.numerics.blocks import InMemoryBlocks
from annot_pipeline.stages.judges.control_judges import apply_control_test, finish_control
from annot_pipeline.stages.judges.control_scores import (
    ScoredJudges,
    SeriesNames,
    ordinary_scores,
    shared_scores,
)
from annot_pipeline.stages.judges.metrics import VerdictMetrics

CRITERIA = pa.list_(
    pa.struct([("criterion", TEXT), ("reverse", pa.bool_()), ("quality", pa.bool_())])
)
REAL = pa.float64()
PAIRS = pa.schema([
    ("task", TEXT), ("judge_id", TEXT), ("control", TEXT), ("criterion", TEXT), ("item", TEXT),
    ("hit", TEXT), ("score", REAL), ("ordinary_score", REAL), ("reason", TEXT),
    ("in_control", pa.bool_()),
])  # fmt: skip
ANSWERS = pa.schema([
    ("task", TEXT), ("judge_id", TEXT), ("item", TEXT), ("hit", TEXT), ("label", TEXT),
    ("truth", TEXT), ("n_classes", pa.int64()), ("reason", TEXT),
])  # fmt: skip

Row = dict[str, Any]


def row(judge: str, item: str, score: float, **more: Any) -> Row:
    return {"task": "t", "judge": judge, "item": item, "score": float(score)} | more


def controlled(
    rows: Sequence[Row], *, criteria: Any = None, seed: int = 17, **quality: Any
) -> tuple[dict[Any, Row], VerdictMetrics]:
    """Judge tests of ordinary scores, by judge (by task and judge, where there are several)."""
    names = ("task", "judge", "criterion", "item", "hit")
    scores = pa.table({name: pa.array([r.get(name) for r in rows], TEXT) for name in names})
    scores = scores.append_column("judge_id", scores["judge"])
    scores = scores.append_column("control", pa.array([r.get("control", "none") for r in rows]))
    scores = scores.append_column("score", pa.array([r["score"] for r in rows], REAL))
    tasks = sorted({r["task"] for r in rows})
    declared = pa.table({
        "task": tasks, "kind": ["scalar"] * len(tasks),
        "scale_low": pa.nulls(len(tasks), REAL), "scale_high": pa.nulls(len(tasks), REAL),
        "criteria": pa.array([criteria] * len(tasks), CRITERIA),
    })  # fmt: skip
    met = scores.select(["task", "judge_id", "control"])
    settings = Quality(**{"test": "consistency", **quality})
    tested = apply_control_test(
        met, PAIRS.empty_table(), ANSWERS.empty_table(), declared, scores, quality=settings
    )
    ordinary = ordinary_scores(scores, declared)
    series = SeriesNames.from_rows(ordinary)
    judges = ScoredJudges(series, InMemoryBlocks([shared_scores(ordinary, declared, series)]))
    table, metrics = finish_control(tested, judges, declared, quality=settings, seed=seed)
    listed = table.to_pylist()
    if len(tasks) == 1:
        return {r["judge"]: r for r in listed}, metrics
    return {(r["task"], r["judge"]): r for r in listed}, metrics


def panel(
    rng: np.random.Generator, n_items: int, noise: Sequence[float], n_random: int, **more: Any
) -> list[Row]:
    """Everybody judges all items: honest judges h0, h1, ... with a noise each, random r0, ..."""
    quality = rng.normal(60, 18, n_items)
    rows = []
    for judge, sd in enumerate(noise):
        scores = np.clip(np.rint(quality + rng.normal(0, 8) + rng.normal(0, sd, n_items)), 0, 100)
        rows += [row(f"h{judge}", f"i{n:03}", s, **more) for n, s in enumerate(scores.tolist())]
    for judge in range(n_random):
        scores = rng.integers(0, 101, n_items)
        rows += [row(f"r{judge}", f"i{n:03}", s, **more) for n, s in enumerate(scores.tolist())]
    return rows


def crowd(
    rng: np.random.Generator,
    n_judges: int,
    per_judge: int,
    per_item: int,
    n_random: int,
    *,
    in_order: bool = False,
) -> list[Row]:
    """Each item goes to some judges; the first ``n_random`` answer at random.

    ``in_order``: the first judges judge all items before others do, so that random ones have none
    but others beside them, and honest ones mostly random ones.
    """
    n_items = n_judges * per_judge // per_item
    quality, bias = rng.normal(60, 18, n_items), rng.normal(0, 8, n_judges)
    places = np.concatenate([rng.permutation(n_items) for _ in range(per_item)])
    judges = (np.arange(n_judges) if in_order else rng.permutation(n_judges)).repeat(per_judge)
    rows = []
    for item, judge in zip(places.tolist(), judges.tolist(), strict=True):
        score = np.rint(quality[item] + bias[judge] + rng.normal(0, 15))
        if judge < n_random:
            score = rng.integers(0, 101)
        name = f"{'r' if judge < n_random else 'h'}{judge}"
        rows.append(row(name, f"i{item:04}", float(np.clip(score, 0, 100))))
    return rows


def shares(
    make: Callable[[np.random.Generator], list[Row]], rounds: int, **quality: Any
) -> dict[str, dict[str, float]]:
    """Share of verdicts of random (r) and honest (h) judges."""
    counts: dict[str, Counter[str]] = {"r": Counter(), "h": Counter()}
    for seed in range(rounds):
        judges, _ = controlled(make(np.random.default_rng(seed)), **quality)
        for name, judge in judges.items():
            counts[name[0]][judge["verdict"]] += 1
    return {
        kind: {verdict: n / max(count.total(), 1) for verdict, n in count.items()}
        for kind, count in counts.items()
    }
