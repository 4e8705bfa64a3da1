"""Rankings of data that tell little, or tell it oddly: null with a reason, never a guess."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tests.conftest import Built
from tests.scalar_campaigns.judged import Row, by

HEADLINE = "adjusted"


def ranking(built: Built) -> dict[str, Row]:
    rows = [row for row in built.rows("system_rankings") if row["headline"]]
    assert {row["method"] for row in rows} == {HEADLINE}
    return by(rows, "system")


def pairs(built: Built) -> dict[tuple[str, str], Row]:
    rows = [row for row in built.rows("system_comparisons") if row["method"] == HEADLINE]
    return by(rows, "system_a", "system_b")


def scores(*rows: tuple[str, str, str, float]) -> list[Row]:
    names = ("judge", "system", "segment", "score")
    return [dict(zip(names, row, strict=True)) for row in rows]


def no_nan(built: Built) -> None:
    for table in ("system_rankings", "system_comparisons", "variance"):
        for row in built.rows(table):
            assert not any(isinstance(v, float) and not math.isfinite(v) for v in row.values())


def panel(rng: np.random.Generator, judges: int = 12, segments: int = 25) -> list[Row]:
    return scores(*[
        (f"j{j}", system, f"g{g}", round(50 + 3 * j + effect + rng.normal(0, 8), 2))
        for j in range(judges) for g in range(segments)
        for system, effect in (("x", 4.0), ("y", 0.0))
    ])  # fmt: skip


@pytest.mark.slow
def test_systems_that_share_no_judge_are_not_compared(stage: Any) -> None:
    rows = scores(*[(judge, system, f"g{g}", 50 + 7 * (g % 3) + shift)
                    for system, judges in (("x", "abcd"), ("y", "efgh"))
                    for shift, judge in enumerate(judges) for g in range(20)])  # fmt: skip
    built = stage(rows)
    for row in ranking(built).values():
        assert row["rank"] == 1
        assert row["ci_low"] is row["wins"] is row["cluster"] is None
        assert row["reason"].startswith("no judge connects all systems: ranked within component")
    for row in pairs(built).values():
        assert row["difference"] is row["p_value"] is row["a_beats_b"] is None
        assert row["reason"] == "no judge connects these systems"
    (taste,) = (r for r in built.rows("variance") if r["statistic"] == "variance_judge_system")
    assert (taste["value"], taste["reason"]) == (None, "no two systems can be compared")
    random = stage(rows, ranking={"judge_effects": "random"})
    assert pairs(random)["x", "y"]["p_value"] is not None, "judges drawn at random do connect them"
    no_nan(built)
    for campaign, level in ((built, "warn"), (random, "pass")):
        gates = campaign.runs["rank_systems"].gates
        (gate,) = (gate for gate in gates if gate.name == "judge_system_overlap")
        assert gate.level == level


@pytest.mark.slow
def test_a_judge_with_one_score_changes_nothing(stage: Any) -> None:
    rows = panel(np.random.default_rng(3))
    extra = scores(("once", "x", "g0", 100.0))
    before, after = (pairs(stage(some))["x", "y"] for some in (rows, rows + extra))
    assert after["difference"] == pytest.approx(before["difference"], abs=0.2)
    assert after["a_beats_b"] == before["a_beats_b"]


def test_segments_that_nobody_shares(stage: Any) -> None:
    """Each judgment is of a segment of its own: judges alone connect."""
    rng = np.random.default_rng(4)
    rows = scores(*[
        (f"j{j}", system, f"{j}-{system}-{g}", 50 + 5 * j + effect + float(rng.normal(0, 5)))
        for j in range(12) for g in range(20) for system, effect in (("x", 5.0), ("y", 0.0))
    ])  # fmt: skip
    built = stage(rows)
    row = pairs(built)["x", "y"]
    assert row["difference"] == pytest.approx(5, abs=1.5)
    assert row["a_beats_b"]
    assert ranking(built)["x"]["cluster"] == 1
    (variance,) = (r for r in built.rows("variance") if r["statistic"] == "icc_2_1")
    assert (variance["value"], variance["reason"]) == (None, "no item has scores of two judges")
    no_nan(built)


@pytest.mark.slow
def test_a_hit_that_is_a_whole_judge(stage: Any) -> None:
    rows = [row | {"hit": row["judge"]} for row in panel(np.random.default_rng(3))]
    without = stage(panel(np.random.default_rng(3)))
    assert pairs(stage(rows)) == pairs(without)


def test_one_score_of_a_million_on_no_scale(stage: Any) -> None:
    """It is in the mean, and the interval says that nothing is certain any more."""
    rows = panel(np.random.default_rng(3))
    built = stage([*rows[1:], rows[0] | {"score": 1e6}], tasks=[{"name": "*", "kind": "scalar"}])
    row = pairs(built)["x", "y"]
    assert row["difference"] > 1000
    assert row["ci_low"] < 0 < row["ci_high"]
    assert not row["a_beats_b"]
    no_nan(built)


@pytest.mark.slow
def test_the_order_of_rows_changes_no_bit(stage: Any) -> None:
    rows = panel(np.random.default_rng(5))
    shuffled = [rows[n] for n in np.random.default_rng(6).permutation(len(rows))]
    one, two = stage(rows), stage(shuffled)
    for table in ("system_rankings", "system_comparisons", "variance"):
        assert one.rows(table) == two.rows(table)
