"""Rounds of rankings: intervals, tests of pairs, clusters, and what is too little for them."""

from __future__ import annotations

import numpy as np
import pytest

from annot_pipeline.config import Ranking
from annot_pipeline.methods.comparisons.trueskill import TrueSkillParams
from annot_pipeline.stages.comparisons import online_scores, task_comparisons
from tests.stages.comparisons.ranked import CLEAR, METHODS, ONLINE, column, rows_of, run, table


def test_pairs_are_tested_by_rounds():
    _, pairs, _ = run(table(*CLEAR))
    of = {(r["method"], r["system_a"], r["system_b"]): r for r in pairs}
    for method in METHODS:
        better, worse = of[method, "a", "c"], of[method, "c", "a"]
        rounds = 40 if method in ONLINE else 200
        assert better["p_value"] == pytest.approx(1 / (1 + rounds))
        assert worse["p_value"] == 1
        assert better["a_beats_b"]
        assert not worse["a_beats_b"]
        assert better["difference"] == -worse["difference"]
        assert better["p_adjusted"] == pytest.approx(min(1, 6 * better["p_value"]), rel=0.5)
        assert better["p_adjusted"] > better["p_value"]


def test_the_level_and_the_correction_decide_who_beats_whom():
    beats = []
    for settings in ({}, {"alpha": 0.001}, {"alpha": 0.02}, {"correction": "holm", "alpha": 0.02}):
        found, pairs, _ = run(table(*CLEAR), **settings)
        row = next(
            r for r in pairs if (r["method"], r["system_a"], r["system_b"]) == ("wins", "a", "c")
        )
        assert 0.001 < row["p_value"] < 0.02 < row["p_adjusted"] < 0.05
        beats.append(row["a_beats_b"])
        assert found["wins"]["a"]["wins"] == (0 if not beats[-1] else 2)
    assert beats == [True, False, True, False]


def test_holm_needs_rounds():
    """Six tests at .05: 1 / 121 is enough, 1 / 120 is not, and that is said."""
    for rounds, says in ((119, "119 rounds are too few"), (120, None)):
        found, _, _ = run(table(*CLEAR), correction="holm", bootstrap=rounds)
        row = found["wins"]["a"]
        assert (row["wins"] > 0) == (says is None)
        assert (row["reason"] is None) == (says is None)
        assert says is None or row["reason"].startswith(says)


def test_without_rounds():
    found, pairs, _ = run(table(*CLEAR), bootstrap=0, online_rounds=0)
    assert list(found) == [m for m in METHODS if m != "trueskill_permuted"]
    assert found["wins"]["a"]["reason"] == "ranking.bootstrap is 0: no interval"
    assert found["trueskill"]["a"]["reason"] == "ranking.online_rounds is 0: no interval"
    for method in found:
        assert column(found, method, "rank") == [1, 2, 3]
        assert column(found, method, "cluster") == [None] * 3
    assert all(r["p_value"] is None and r["difference"] is not None for r in pairs)


def test_one_comparison_has_ranks_and_no_interval():
    found, pairs, _ = run(table(("a", "b", 1)))
    for method in METHODS:
        assert column(found, method, "rank") == [1, 2]
        for row in found[method].values():
            assert row["ci_low"] is row["rank_low"] is row["wins"] is row["cluster"] is None
            assert "fewer than two rankings: no interval" in row["reason"]
    assert all(r["p_value"] is None and not r["a_beats_b"] for r in pairs)


def test_one_judge_has_no_interval_over_judges():
    comparisons = table(*CLEAR, judge=["j"] * len(CLEAR))
    found, _, _ = run(comparisons, resample_comparisons="judges")
    for method in METHODS:
        assert column(found, method, "rank") == [1, 2, 3]
        assert column(found, method, "reason") == ["fewer than two judges: no interval"] * 3
    found, _, _ = run(comparisons)
    assert found["wins"]["a"]["ci_low"] is not None


def test_what_is_drawn_decides_the_width():
    """Rankings of ten equal comparisons vary more than comparisons alone; so do segments."""
    rows = [("a", "b", 1 if i % 3 else -1) for i in range(20) for _ in range(10)]
    tens = [i // 10 for i in range(200)]
    width = {}
    for name, columns, settings in (
        ("alone", {}, {}),
        ("rankings", {"ranking": tens}, {}),
        ("segments", {"segment": [str(t) for t in tens]}, {"resample_comparisons": "segments"}),
        ("no segment", {"segment": [None] * 200}, {"resample_comparisons": "segments"}),
    ):
        row = run(table(*rows, **columns), **settings)[0]["wins"]["a"]
        width[name] = row["ci_high"] - row["ci_low"]
    assert width["rankings"] > 2 * width["alone"]
    assert width["segments"] == pytest.approx(width["rankings"], rel=0.3)
    assert width["no segment"] == pytest.approx(width["alone"], rel=0.3)


def test_clusters_are_of_ranges_that_do_not_overlap():
    """a far above b and c, which are all but equal."""
    rows = rows_of(ab=40, ba=3, ac=40, ca=3, bc=21, cb=20)
    found, _, _ = run(table(*rows))
    for method in METHODS:
        assert column(found, method, "cluster") == [1, 2, 2]
        assert found[method]["a"]["wins"] == 2
        ends = {(r["rank_low"], r["rank_high"]) for r in found[method].values()}
        assert ends == {(1, 1), (2, 3)}


@pytest.mark.parametrize("n", [2, 4, 5, 6, 12])
@pytest.mark.parametrize("units", ["rankings", "judges", "segments"])
def test_units_that_agree_say_no_more_than_two_to_the_minus_n(n, units):
    """n units of two preferences each, all of them for a."""
    rows = [("a", "b", 1)] * (2 * n)
    unit = [i // 2 for i in range(2 * n)]
    each = {"ranking": unit, "judge": [str(u) for u in unit], "segment": [str(u) for u in unit]}
    found, pairs, _ = run(table(*rows, **each), resample_comparisons=units)
    for row in pairs:
        rounds = 40 if row["method"] in ONLINE else 200
        if row["system_a"] == "a":
            assert row["p_value"] == pytest.approx(max(1 / 2**n, 1 / (1 + rounds)))
            assert row["p_adjusted"] == pytest.approx(min(1, 2 * row["p_value"]))
            assert row["a_beats_b"] == (n >= 5)
        else:
            assert row["p_value"] == 1
    for method in METHODS:
        of = [column(found, method, name) for name in ("rank_low", "rank_high", "cluster")]
        assert of == [[None, None] if n < 6 else [1, 2]] * 3
        assert column(found, method, "wins") == [int(n >= 5), 0]
        for reason in column(found, method, "reason"):
            assert (f"fewer than 6 {units}: no cluster" in (reason or "")) == (n < 6)


def test_a_pair_has_the_units_of_the_system_with_fewer():
    """c has three comparisons; a and b, with 30 and more, keep their clusters."""
    found, pairs, _ = run(table(*rows_of(ab=30, ba=1, bc=2, ac=1)))
    p = {(r["system_a"], r["system_b"]): r["p_value"] for r in pairs if r["method"] == "wins"}
    assert p["a", "b"] == pytest.approx(1 / 201)
    assert p["a", "c"] == p["b", "c"] == 1 / 2**3
    assert column(found, "wins", "cluster") == [1, 2, None]
    assert column(found, "wins", "rank_high")[2] is None


def test_a_system_that_is_not_drawn_stays_where_it_is():
    """c won its only two comparisons: one round in eight draws neither, and a is no first then."""
    found, _, _ = run(table(*rows_of(ab=12, ba=5, ca=2)))
    for method in ("wins", "wins_ties_half"):
        assert column(found, method, "rank") == [2, 3, 1]
        assert column(found, method, "rank_low") == [2, 2, None]
        assert column(found, method, "cluster") == [1, 1, None]
        assert found[method]["c"]["reason"] == "fewer than 6 rankings: no cluster"


def test_the_level_of_all_systems_together_is_no_part_of_trueskills_interval():
    """Every round has the mean of the score, part by part, over the systems that it draws."""
    rows = rows_of(ab=12, ba=5, ab_=4, ac=9, de=4, ed=2)
    codes = {"a": 0, "b": 1, "c": 2, "d": 3, "e": 4}
    first, second, outcome = (
        np.array([codes.get(x, x) for x in side]) for side in zip(*rows, strict=True)
    )
    alone = np.arange(len(rows))
    task = task_comparisons.TaskComparisons(
        names=list(codes), first=first, second=second, outcome=outcome, ranking=alone, unit=alone,
        segment=alone, dominance=None, units="rankings", seed=[1],
    )  # fmt: skip
    for found in online_scores.trueskill_scores(
        task, Ranking(online_rounds=40), TrueSkillParams(mean=0.5), lambda _: None
    ):
        for part in (slice(0, 3), slice(3, 5)):
            gaps = found.rounds[:, part] - found.score[part]
            assert np.nanmean(gaps, axis=1) == pytest.approx(np.zeros(40), abs=1e-9)
            assert np.nanstd(gaps) > 0.01
            if found.method == "trueskill_permuted":
                assert found.score[part].mean() == pytest.approx(0.5)
