"""Scalar campaigns: seconds, runs, intervals, and settings that would do nothing."""

from __future__ import annotations

from typing import Any

import pytest

from annot_pipeline.commands.release_list import list_releases
from annot_pipeline.config.campaign_file import load_campaign
from annot_pipeline.errors import ConfigError
from tests.conftest import Staged

NAMES = ("judge", "hit", "native_id", "position", "system", "segment", "score", "control",
         "seconds", "hit_seconds")  # fmt: skip
SCALE = [{"name": "*", "kind": "scalar", "scale": [0, 100]}]


def export(*rows: dict[str, Any]) -> dict[str, str]:
    lines = [",".join(str(row.get(name, "")) for name in NAMES) for row in rows]
    return {"a.csv": "\n".join([",".join(NAMES), *lines]) + "\n"}


def source() -> list[dict[str, Any]]:
    fields = {name: name for name in NAMES}
    return [{"path": "exports/*.csv", "format": "csv", "fields": fields}]


def row(n: int, judge: str = "ann", **more: Any) -> dict[str, Any]:
    return {"judge": judge, "system": "x", "segment": f"s{n}", "score": 10 + n} | more


def with_rows(build: Any) -> Any:
    def run(*rows: dict[str, Any], sets: tuple[str, ...] = (), **settings: Any) -> Any:
        given = {"tasks": SCALE, "gates": {"rejected_share": {"error": None}}} | settings
        return build(export(*rows), *sets, sources=source(), **given)

    return run


@pytest.fixture
def build(build_campaign: Any) -> Any:
    return with_rows(build_campaign)


@pytest.fixture
def stage(stage_campaign: Any) -> Any:
    return with_rows(stage_campaign)


def only_judge(built: Staged) -> dict[str, Any]:
    (judge,) = built.rows("judges")
    return judge


# --- seconds -------------------------------------------------------------------------------


def test_the_seconds_of_a_hit_are_shared_out(stage):
    rows = [row(n, hit="h", native_id=f"r{n}", hit_seconds=60) for n in range(4)]
    assert only_judge(stage(*rows))["seconds_per_judgment"] == 15


@pytest.mark.slow
def test_two_assignments_of_a_hit_are_told_apart_by_their_ids(stage):
    rows = [row(n, hit="h", native_id=f"a{n // 10}", hit_seconds=600) for n in range(20)]
    assert only_judge(stage(*rows))["seconds_per_judgment"] == 60


@pytest.mark.slow
def test_rejected_judgments_of_an_assignment_took_time_too(stage):
    rows = [row(n, hit="h", hit_seconds=600) for n in range(10)]
    for rejected in rows[5:]:
        rejected["score"] = "much"
    judge = only_judge(stage(*rows))
    assert (judge["n_judgments"], judge["seconds_per_judgment"]) == (5, 60)


@pytest.mark.slow
def test_a_judgments_own_seconds_come_first(stage):
    rows = [row(0, hit="h", seconds=5, hit_seconds=600), row(1, hit="h", seconds=7)]
    assert only_judge(stage(*rows))["seconds_per_judgment"] == 6


@pytest.mark.slow
def test_negative_seconds_are_rejected(stage):
    built = stage(row(0, seconds=5), row(1, seconds=-5))
    reasons = [r["reason"] for r in built.rows("lineage") if r["fate"] == "rejected"]
    assert reasons == ["seconds is negative: '-5'"]
    assert only_judge(built)["seconds_per_judgment"] == 5


# --- runs ----------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_constant_run_ends_with_its_hit_where_no_time_is_known(stage):
    rows = [row(n, hit=f"h{n // 5}", position=n % 5, score=50) for n in range(20)]
    assert only_judge(stage(*rows))["longest_constant_run"] == 5


# --- intervals -----------------------------------------------------------------------------


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize("n", [19, 20])
def test_means_have_intervals_where_segments_are_all_that_repeats(stage, n):
    """Each judge judged one segment, of 20 or more."""
    rows = [row(k, judge=f"j{k}-{system}", system=system, score=10 + k % 7)
            for k in range(n) for system in "xy"]  # fmt: skip
    ranked = {(r["system"], r["method"]): r for r in stage(*rows).rows("system_rankings")}
    for method in ("raw_mean", "filtered_mean"):
        actual = ranked["x", method]
        if n < 20:
            assert actual["ci_low"] is None
            assert actual["reason"] == "no interval: fewer than 20 segments"
        else:
            assert actual["ci_low"] < actual["score"] < actual["ci_high"]
            assert actual["reason"] is None


@pytest.mark.slow
def test_judges_who_repeat_leave_means_without_intervals(stage):
    built = stage(*[row(n) for n in range(30)])
    rows = [r for r in built.rows("system_rankings") if r["method"] == "raw_mean"]
    assert [(r["score"], r["ci_low"], r["rank_low"]) for r in rows] == [(24.5, None, None)]
    assert rows[0]["reason"] == "no interval: judges judge several segments, see the headline"


@pytest.mark.slow
def test_segments_with_unequal_criteria_weigh_alike(stage_campaign):
    """A segment with five criteria weighs as much as one with one, also in adjusted scores."""
    text = "judge,system,segment,criterion,score\n"
    for judge in range(6):
        text += "".join(f"j{judge},A,s1,c{k},{90 + judge}\n" for k in range(5))
        text += f"j{judge},A,s2,c0,{10 + judge}\nj{judge},B,s1,c0,{50 + judge}\n"
        text += f"j{judge},B,s2,c0,{55 - judge}\n"
    fields = {n: n for n in ("judge", "system", "segment", "criterion", "score")}
    sources = [{"path": "exports/*.csv", "format": "csv", "fields": fields}]
    built = stage_campaign({"a.csv": text}, sources=sources)
    rows = {r["method"]: r for r in built.rows("system_rankings") if r["system"] == "A"}
    assert rows["raw_mean"]["score"] == pytest.approx((92.5 + 12.5) / 2)
    assert rows["adjusted"]["n_judgments"] == 12, "a judge's score of an output, over criteria"


# --- agreement -----------------------------------------------------------------------------


@pytest.mark.slow
def test_a_statistic_says_which_items_it_rests_on(stage):
    """Those with scores by two judges: a judge who repeats himself agrees with nobody by that."""
    alone = [row(n, native_id=f"{n}-{k}", score=10 * n + k) for n in range(4) for k in range(2)]
    others = [row(n, judge, score=9 * n) for n, judge in ((0, "bob"), (1, "bob"), (7, "cas"))]
    for rows, expected in ((alone, (0, 0)), (alone + others, (2, 2))):
        actual = {r["statistic"]: r for r in stage(*rows).rows("agreement")}
        for name in ("alpha_interval", "inter_kappa_raw_5"):
            counts = actual[name]["n_items"], actual[name]["n_judges"]
            assert counts == expected, name
        why = actual["alpha_interval"]["reason"]
        assert (why == "no item has scores by two judges") == (rows is alone)


# --- settings ------------------------------------------------------------------------------


def gates(built: Staged, stage: str) -> dict[str, Any]:
    return {gate.name: gate for gate in built.runs[stage].gates}


def test_degraded_copies_that_no_test_uses_are_told(stage):
    rows = [row(0), row(0, control="bad_reference", score=1)]
    used = stage(*rows, quality={"test": "paired_t"})
    assert gates(used, "control_judges")["unused_controls"].level == "pass"
    unused = stage(*rows, quality={"test": "known_answer"})
    gate = gates(unused, "control_judges")["unused_controls"]
    assert (gate.level, gate.value) == ("warn", 1)
    wanted = stage(*rows, quality={"test": "none"})
    assert gates(wanted, "control_judges")["unused_controls"].level == "pass"


def test_task_settings_that_match_no_task_are_told(stage):
    tasks = [{"name": "fluency*", "kind": "scalar"}, *SCALE, {"name": "small", "kind": "scalar"}]
    gate = gates(stage(row(0), tasks=tasks), "settle_judgments")["unused_task_settings"]
    assert (gate.level, gate.detail) == ("warn", "fluency*, small")  # the first match wins


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("quality.known_accuracy=0.7", "known_accuracy belongs to test: known_answer"),
        ("ranking.resample=rankings", "ranking.resample"),
    ],
)
def test_settings_that_would_do_nothing_are_refused(stage, tmp_path, setting, words):
    stage(row(0))
    with pytest.raises(ConfigError) as error:
        load_campaign(tmp_path / "campaign", sets=[setting])
    assert words in str(error.value)


@pytest.mark.slow
def test_a_release_of_other_settings_says_so(build, tmp_path):
    rows = [row(n) for n in range(3)]
    build(*rows)
    build(*rows, sets=("ranking.correction=holm",))
    listed = list_releases(load_campaign(tmp_path / "campaign"))["releases"]
    assert [r["settings_changed"] for r in listed] == [False, True]
