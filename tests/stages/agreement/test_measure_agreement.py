"""Agreement of small campaigns, held against plain loops and worked examples."""

from __future__ import annotations

from itertools import combinations

import krippendorff
import numpy as np
import pytest
from scipy.stats import spearmanr

from annot_pipeline.stages.agreement.measure_score_agreement import FEW_COMMON
from annot_pipeline.stages.agreement.ratings import THESE_JUDGES
from tests.conftest import Built

SCALAR = {
    "sources": [
        {
            "path": "exports/*.csv",
            "format": "csv",
            "fields": {
                "judge": "judge", "hit": "hit", "system": "system", "segment": "segment",
                "score": "score", "control": "control",
            },
        }
    ],
    "tasks": [{"name": "*", "kind": "scalar", "scale": [0, 100]}],
    "quality": {"test": "none"},
    "gates": {},
}  # fmt: skip
HEAD = "judge,hit,system,segment,score,control\n"


def simulated(n_judges: int = 6, n_segments: int = 30, points: int = 101) -> list[list[object]]:
    rng = np.random.default_rng(5)
    worth = rng.uniform(0.2, 0.8, n_segments)
    rows: list[list[object]] = []
    for judge in range(n_judges):
        for segment in range(n_segments):
            if rng.random() < 0.7:
                for control in ("none", *(["ask_again"] if rng.random() < 0.3 else [])):
                    score = int(np.clip(rng.normal(worth[segment], 0.15), 0, 1) * (points - 1))
                    rows.append([f"j{judge}", f"h{judge}", "s", f"g{segment}", score, control])
    return rows


def export(rows: list[list[object]]) -> dict[str, str]:
    return {"a.csv": HEAD + "".join(",".join(map(str, row)) + "\n" for row in rows)}


def statistics(built: Built, task: str = "small") -> dict[str, float]:
    return {r["statistic"]: r["value"] for r in built.rows("agreement") if r["task"] == task}


def test_a_judge_who_repeats_a_score_agrees_with_nobody(stage_campaign):
    """His scores of an output count as their mean, as one value in the table of `krippendorff`."""
    rows = simulated()
    again = [[*row[:4], (row[4] + 7 * n) % 101, "none"] for n, row in enumerate(rows) if n % 3]
    rows = [row for row in rows if row[5] == "none"] + again
    cells: dict[tuple[str, str], list[int]] = {}
    for judge, _, _, segment, score, _ in rows:
        cells.setdefault((str(judge), str(segment)), []).append(int(str(score)))
    judges, segments = (sorted({*names}) for names in zip(*cells, strict=True))
    table = [[np.mean(cells.get((j, s), [np.nan])) for s in segments] for j in judges]
    actual = statistics(stage_campaign(export(rows), **SCALAR))
    for metric in ("ordinal", "interval", "ratio"):
        expected = krippendorff.alpha(np.array(table), level_of_measurement=metric)
        assert actual[f"alpha_{metric}"] == pytest.approx(expected, rel=1e-9), metric


def test_scores_cut_into_categories(stage_campaign):
    rows = simulated()
    actual = statistics(stage_campaign(export(rows), **SCALAR))
    first = {(r[0], r[3]): r[4] for r in rows if r[5] == "none"}
    again = {(r[0], r[3]): r[4] for r in rows if r[5] == "ask_again"}
    by_judge: dict[str, list[int]] = {}
    for row in rows:
        by_judge.setdefault(row[0], []).append(row[4])

    def z(judge, score):
        return (score - np.mean(by_judge[judge])) / np.std(by_judge[judge], ddof=1)

    all_z = sorted(z(row[0], row[4]) for row in rows)
    for k in (5, 4, 2):
        edges = [all_z[-(-j * len(all_z) // k) - 1] for j in range(1, k)]
        cuts = {
            "raw": lambda _, score, k=k: min(score * k // 100, k - 1),
            "z": lambda judge, score, edges=edges: sum(z(judge, score) > e for e in edges),
        }
        for kind, cut in cuts.items():
            same = [
                cut(a[0], first[a]) == cut(b[0], first[b])
                for a, b in combinations(sorted(first), 2)
                if a[1] == b[1]
            ]
            share = np.mean(same)
            assert actual[f"inter_percent_agreement_{kind}_{k}"] == pytest.approx(share)
            assert actual[f"inter_kappa_{kind}_{k}"] == pytest.approx((share - 1 / k) / (1 - 1 / k))
            share = np.mean([cut(a[0], first[a]) == cut(a[0], again[a]) for a in again])
            assert actual[f"intra_percent_agreement_{kind}_{k}"] == pytest.approx(share)
            assert actual[f"intra_kappa_{kind}_{k}"] == pytest.approx((share - 1 / k) / (1 - 1 / k))
    between = [abs(first[a] - first[b]) for a, b in combinations(sorted(first), 2) if a[1] == b[1]]
    within = [abs(first[a] - again[a]) for a in again]
    assert actual["inter_difference_mean"] == pytest.approx(np.mean(between))
    assert actual["inter_difference_sd"] == pytest.approx(np.std(between, ddof=1))
    assert actual["intra_difference_mean"] == pytest.approx(np.mean(within))
    assert actual["intra_difference_sd"] == pytest.approx(np.std(within, ddof=1))


def test_alphas_of_scores_are_those_of_the_peer(stage_campaign):
    rows = simulated()
    actual = statistics(stage_campaign(export(rows), **SCALAR))
    table = np.full((6, 30), np.nan)
    for judge, _, _, segment, score, control in rows:
        if control == "none":
            table[int(judge[1:]), int(segment[1:])] = score
    for metric in ("ordinal", "interval", "ratio"):
        theirs = krippendorff.alpha(reliability_data=table, level_of_measurement=metric)
        assert actual[f"alpha_{metric}"] == pytest.approx(theirs, rel=1e-9)


def test_ranks_of_judges_are_those_of_scipy(stage_campaign):
    """Of first showings; a pair of judges weighs its common items - 1."""
    rows = simulated(n_segments=80, points=21)  # ties
    rows += [["j6", "h6", "s", f"g{n}", 7, "none"] for n in range(20)]  # one score
    rows += [["j7", "h7", "s", f"g{n}", n, "none"] for n in range(2)]  # too few
    built = stage_campaign(export(rows), **SCALAR)
    by_judge: dict[str, dict[str, int]] = {}
    for judge, _, _, segment, score, control in rows:
        if control == "none":
            by_judge.setdefault(judge, {})[segment] = score
    rhos, weights = [], []
    for a, b in combinations([f"j{n}" for n in range(6)], 2):
        common = sorted(by_judge[a].keys() & by_judge[b].keys())
        x, y = ([by_judge[j][segment] for segment in common] for j in (a, b))
        rhos.append(spearmanr(x, y).statistic)
        weights.append(len(common) - 1)
    (row,) = [r for r in built.rows("agreement") if r["statistic"] == "inter_spearman"]
    assert row["value"] == pytest.approx(np.average(rhos, weights=weights), rel=1e-12)
    assert 0 < row["ci_low"] < row["value"] < row["ci_high"] < 1
    assert (row["n_items"], row["n_judges"]) == (79, 6)
    facts = built.metrics("measure_agreement")
    assert facts["judge_pairs_left_out"] == {"small": {"inter_spearman": 6 + 6}}


@pytest.mark.slow
def test_judges_who_share_few_items_have_no_interval_of_ranks(stage_campaign):
    """Each pair shares some 20 of 80 items: intervals cover .69 where they share 6."""
    rows = [row for n, row in enumerate(simulated(n_segments=80)) if n % 4]
    rows = [row for row in rows if (int(row[3][1:]) + int(row[0][1:])) % 3]
    built = stage_campaign(export(rows), **SCALAR)
    (row,) = [r for r in built.rows("agreement") if r["statistic"] == "inter_spearman"]
    assert row["n_items"] > 50
    assert (row["ci_low"], row["ci_high"], row["reason"]) == (None, None, FEW_COMMON)
    (row,) = [r for r in built.rows("agreement") if r["statistic"] == "alpha_interval"]
    assert (row["ci_low"] < row["ci_high"], row["reason"]) == (True, THESE_JUDGES)


@pytest.mark.slow
def test_ranks_are_within_a_criterion(stage_campaign):
    """Both judges find all items more fluent than fun; the ranks do not know."""
    fields = {n: n for n in ("judge", "item", "criterion", "score")}
    sources = [{"path": "exports/*.csv", "format": "csv", "fields": fields}]
    given = {
        "fluent": {"a": (71, 72, 73, 74), "b": (73, 74, 71, 72)},
        "fun": {"a": (11, 12, 13, 14), "b": (11, 12, 14, 13)},
    }
    text = "judge,item,criterion,score\n" + "".join(
        f"{judge},i{n},{criterion},{score}\n"
        for criterion, judges in given.items()
        for judge, scores in judges.items()
        for n, score in enumerate(scores)
    )
    built = stage_campaign({"a.csv": text}, **SCALAR | {"sources": sources})
    (row,) = [r for r in built.rows("agreement") if r["statistic"] == "inter_spearman"]
    fluent, fun = 1 - 6 * 16 / (4 * 15), 1 - 6 * 2 / (4 * 15)
    assert row["value"] == pytest.approx((fluent + fun) / 2)
    assert (row["n_items"], row["n_judges"]) == (4, 2)


@pytest.mark.slow
def test_radio_buttons_are_not_cut(stage_campaign):
    """A scale of five whole points has its five categories, and no coarser ones."""
    rows = simulated(points=5)
    settings = SCALAR | {"tasks": [{"name": "*", "kind": "scalar", "scale": [0, 4]}]}
    actual = statistics(stage_campaign(export(rows), **settings))
    assert {name for name in actual if "kappa_raw" in name} == {
        "inter_kappa_raw_5", "intra_kappa_raw_5"
    }  # fmt: skip
    first = {(r[0], r[3]): r[4] for r in rows if r[5] == "none"}
    same = [first[a] == first[b] for a, b in combinations(sorted(first), 2) if a[1] == b[1]]
    assert actual["inter_percent_agreement_raw_5"] == pytest.approx(np.mean(same))


@pytest.mark.slow
def test_without_a_scale_raw_scores_are_not_cut(stage_campaign):
    settings = SCALAR | {"tasks": [{"name": "*", "kind": "scalar"}]}
    actual = statistics(stage_campaign(export(simulated()), **settings))
    assert not [name for name in actual if "_raw_" in name]
    assert actual["inter_kappa_z_2"] is not None


def test_what_is_undefined_is_null(stage_campaign):
    """One judge, nothing repeated, all scores alike."""
    rows = [["j", "h", "s", f"g{n}", 50, "none"] for n in range(4)]
    built = stage_campaign(export(rows), **SCALAR)
    assert set(statistics(built).values()) == {None}
    assert {(r["n_items"], r["n_judges"]) for r in built.rows("agreement")} == {(0, 0)}
    reasons = {row["statistic"]: row["reason"] for row in built.rows("agreement")}
    assert reasons["inter_difference_mean"] == "no pair of scores by two judges"
    assert reasons["inter_difference_sd"] == "fewer than 2 pairs of scores by two judges"
    assert reasons["intra_difference_mean"] == "no pair of scores by one judge twice"


@pytest.mark.sampled
@pytest.mark.parametrize("rounds", [0, 20])
def test_every_null_has_a_reason(stage_campaign, rounds):
    one_judge = [["j", "h", "s", f"g{n}", 50, "none"] for n in range(4)]
    for rows in (simulated(), one_judge):
        built = stage_campaign(export(rows), f"agreement.bootstrap={rounds}", **SCALAR)
        for row in built.rows("agreement"):
            has_null = None in (row["value"], row["ci_low"], row["ci_high"])
            assert has_null == (row["reason"] not in (None, THESE_JUDGES)), row


@pytest.mark.slow
def test_all_judges_stand_beside_those_who_count(stage_campaign):
    rows = simulated()
    rng = np.random.default_rng(1)
    for judge in range(6):  # degraded copies: the last judge does not see them
        for n, row in enumerate([r for r in rows if r[0] == f"j{judge}" and r[5] == "none"][:12]):
            drop = 0 if judge == 5 else 15 + int(rng.integers(10))
            sign = (-1) ** n if judge == 5 else 1
            score = int(np.clip(row[4] - drop + 3 * sign, 0, 100))
            rows.append([*row[:4], score, "bad_reference"])
    settings = {k: v for k, v in SCALAR.items() if k != "quality"}
    built = stage_campaign(export(rows), **settings)
    assert {r["judge"]: r["verdict"] for r in built.rows("judge_tests")}
    failed = [r for r in built.rows("judges") if r["verdict"] == "failed"]
    assert len(failed) == 1
    actual = statistics(built)
    only = [r for r in rows if r[0] != "j5"]
    without = statistics(stage_campaign(export(only), **settings))
    everyone = statistics(stage_campaign(export(rows), **SCALAR))
    for name in without:
        assert actual[name] == pytest.approx(without[name])
        assert actual[f"{name}_unfiltered"] == pytest.approx(everyone[name])
    assert actual["inter_difference_mean"] != actual["inter_difference_mean_unfiltered"]


LABELS = [
    ("i1", "a", "x"), ("i1", "b", "x"), ("i2", "a", "x"), ("i2", "b", "y"), ("i3", "a", "y"),
    ("i3", "b", "y"), ("i4", "a", "y"), ("i4", "b", "x"), ("i5", "a", "x"), ("i5", "b", "x"),
]  # fmt: skip


def test_labels_of_two_judges_by_hand(stage_campaign):
    """a: 3 x, 2 y; b: 3 x, 2 y; 3 of 5 agree; chance .36 + .16 = .52, kappa .08 / .48."""
    text = "item,judge,label\n" + "".join(",".join(row) + "\n" for row in LABELS)
    actual = statistics(stage_campaign({"a.csv": text}))
    assert actual["percent_agreement"] == actual["pooled_percent_agreement"] == 0.6
    assert actual["cohen_kappa"] == pytest.approx(0.08 / 0.48)
    assert actual["fleiss_kappa"] == pytest.approx(0.08 / 0.48)  # the same pooled shares
    # alpha: 1 - (n - 1) * 2 * 2 / (6 * 4): ten labels, four ordered disagreeing pairs
    assert actual["alpha_nominal"] == pytest.approx(1 - 9 * 4 / (2 * 6 * 4))
    assert "alpha_ordinal" not in actual
    ordinal = [{"name": "*", "kind": "categorical", "labels": ["x", "y"], "ordinal": True}]
    actual = statistics(stage_campaign({"a.csv": text}, tasks=ordinal))
    assert actual["alpha_ordinal"] == pytest.approx(actual["alpha_nominal"])  # of two classes


AGREE = "item,judge,label\n" + "".join(
    f"i{n},{judge},{'xy'[n % 2]}\n" for n in range(20) for judge in ("a", "b", "c")
)
DIFFER = "item,judge,label\n" + "".join(
    f"i{n},{judge},{'xy'[(n // 2) % 2]}\n" for n in range(20) for judge in ("d", "e", "f")
)


@pytest.mark.slow
def test_a_fall_of_agreement_is_told(build_campaign, stage_campaign):
    first = build_campaign({"a.csv": AGREE})
    gates = {g.name: g for g in first.runs["compare_releases"].gates}
    assert (gates["agreement_fall"].level, gates["agreement_fall"].value) == ("pass", 0)
    second = stage_campaign({"a.csv": AGREE, "b.csv": DIFFER}, "gates.agreement_fall.error=1")
    second.metrics("compare_releases")
    gates = {g.name: g for g in second.runs["compare_releases"].gates}
    assert gates["agreement_fall"].level == "warn"
    before, now = statistics(first), statistics(second)
    falls = {name: before[name] - now[name] for name in now if "kappa" in name or "alpha" in name}
    assert gates["agreement_fall"].value == pytest.approx(max(falls.values()))
    assert "small cohen_kappa" in gates["agreement_fall"].detail


@pytest.mark.slow
def test_a_fall_of_agreement_is_told_once(build_campaign):
    """New people agree with each other alone, which other gates stop: it is accepted here."""
    exports = {"a.csv": AGREE, "b.csv": DIFFER}
    accepted = tuple(
        f"gates.{name}.error=1" for name in ("agreement_fall", "doubtful_items", "label_flips")
    )
    build_campaign({"a.csv": AGREE})
    second = build_campaign(exports, *accepted)
    gates = {g.name: g for g in second.runs["compare_releases"].gates}
    assert (gates["agreement_fall"].level, gates["doubtful_items"].level) == ("warn", "warn")
    third = build_campaign(exports, *accepted)
    gates = {g.name: g for g in third.runs["compare_releases"].gates}
    assert gates["agreement_fall"].value == 0
    assert not third.publication.published
