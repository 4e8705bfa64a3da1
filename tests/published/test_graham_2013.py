"""Graham et al. 2013: the raw MTurk batch in which the method was tried."""

from __future__ import annotations

import csv

import pytest

from tests.conftest import Staged, stage_file


@pytest.fixture(scope="module")
def built(shared_campaigns, tmp_path_factory) -> Staged:
    folder = tmp_path_factory.mktemp("graham")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ANNOT_KEY", "a key for tests, long enough to be one")
        return stage_file(
            shared_campaigns / "graham.yaml",
            f"store={folder / 'store'}",
            f"gold={folder / 'gold'}",
            "privacy.pseudonymize=false",
        )


@pytest.fixture(scope="module")
def workers(shared_data) -> dict[str, dict[str, str]]:
    """Rows of the batch of 29 assignments, by worker."""
    path = shared_data / "graham-mturk-da" / "Batch_1234_batch_results.csv"
    with path.open(encoding="utf-8", newline="") as file:
        return {row["WorkerId"]: row for row in csv.DictReader(file)}


def test_a_hit_holds_100_judgments_with_their_controls(built):
    hits: dict[tuple[str, str], list[str]] = {}
    for row in built.rows("controlled"):
        hits.setdefault((row["judge"], row["hit"]), []).append(row["control"])
    assert len(hits) == 31
    for controls in hits.values():
        assert {kind: controls.count(kind) for kind in set(controls)} == {
            "none": 70, "ask_again": 10, "bad_reference": 10, "good_reference": 10,
        }  # fmt: skip


def test_empty_answers_are_none(built, workers):
    empty = {name for name, row in workers.items() if not row["Answer.Q1"]}
    assert len(empty) == 2
    blank = [r for r in built.rows("controlled") if r["fate"] == "not_asked"]
    assert {r["judge"] for r in blank} == empty
    assert len(blank) == 200
    assert {r["reason"] for r in blank} == {"score is blank"}
    assert built.metrics("control_judges")["fates"]["rejected"] == 0


def test_every_control_finds_its_pair(built):
    pairs = built.rows("control_pairs")
    assert len(pairs) == 29 * 30
    assert all(row["reason"] is None and row["ordinary_id"] for row in pairs)


def test_p_per_worker(built, workers):
    """23 of 26 who can be tested are below .05; two of the rejected ones have .12 and .26."""
    judges = {row["judge"]: row for row in built.rows("judges") if row["judge"] in workers}
    assert len(judges) == 27
    assert {row["n_pairs"] for row in judges.values()} == {10}
    constant = [r for r in judges.values() if r["verdict_reason"]]
    assert [(r["verdict"], r["effect"]) for r in constant] == [("failed", 0.0)]
    tested = [r["p_value"] for r in judges.values() if not r["verdict_reason"]]
    assert len(tested) == 26
    assert sum(p < 0.05 for p in tested) == 23
    dismissed = sorted(
        round(judges[name]["p_value"], 2)
        for name, row in workers.items()
        if row["AssignmentStatus"] == "Rejected" and name in judges
    )
    assert {0.12, 0.26, 1.0} <= set(dismissed)


@pytest.mark.slow
def test_rejected_assignments_can_be_dropped(shared_campaigns, shared_data, tmp_path, workers):
    """With the status mapped, what the requester rejected is rejected, and no gate minds."""
    campaign = (shared_campaigns / "graham.yaml").read_text()
    campaign = campaign.replace("hit: HITId\n", "hit: HITId\n    status: AssignmentStatus\n")
    campaign = campaign.replace("../data", str(shared_data))
    path = tmp_path / "campaign.yaml"
    path.write_text(campaign)
    dropped = stage_file(path)
    rejected = [r for r in dropped.rows("controlled") if r["fate"] == "rejected"]
    reasons = {r["reason"]: 0 for r in rejected}
    for row in rejected:
        reasons[row["reason"]] += 1
    n_dismissed = sum(row["AssignmentStatus"] == "Rejected" for row in workers.values())
    assert reasons["assignment was rejected: 'Rejected'"] >= 100 * (n_dismissed - 1)
    gates = {g.name: g for g in dropped.runs["settle_judgments"].gates}
    assert gates["rejected_share"].value < 0.07
    with_rejected = stage_file(path, "quality.rejected_assignments=keep")
    assert with_rejected.metrics("control_judges")["fates"]["rejected"] == 0
