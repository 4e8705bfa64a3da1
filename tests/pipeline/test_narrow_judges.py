"""Judges whose scores rise with those of the others, on a far smaller scale."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

SOURCE = {
    "path": "exports/*.csv", "format": "csv",
    "fields": {"item": "item", "judge": "judge", "score": "score"},
}  # fmt: skip


def export(written: Callable[[int, float], float]) -> str:
    """Return scores of 20 items by 6 judges, as each of them writes what was seen."""
    rng = random.Random(3)
    truths = [rng.uniform(5, 95) for _ in range(20)]
    seen = [
        (n, judge, truth + rng.gauss(0, 8)) for n, truth in enumerate(truths) for judge in range(6)
    ]
    rows = [f"i{n},j{judge},{written(judge, value):.3f}\n" for n, judge, value in seen]
    return "item,judge,score\n" + "".join(rows)


@pytest.mark.parametrize(
    ("written", "named"),
    [
        (lambda judge, value: value / 100 if judge == 2 else value, True),
        (lambda judge, value: 40 + value / 5 if judge == 2 else value, False),  # near the middle
        (lambda _, value: value, False),
        (lambda judge, value: 50 if judge == 2 else value, False),  # who gives one score
    ],
)
def test_a_judge_on_another_scale_is_named(
    stage_campaign: Any, written: Callable[[int, float], float], *, named: bool
) -> None:
    settings = {"sources": [SOURCE], "privacy": {"pseudonymize": False}}
    staged = stage_campaign({"1.csv": export(written)}, **settings)
    staged.rows("judges")
    [gate] = (g for g in staged.runs["describe_judges"].gates if g.name == "narrow_judges")
    assert gate.level == ("warn" if named else "pass")
    assert gate.value == named
    assert gate.detail.startswith("small j2 (0.007") == named
