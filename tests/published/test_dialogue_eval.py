"""Dialogue-Eval (Ji et al. 2022), free topics, run 1: verdicts and system z from the raw batch."""

from __future__ import annotations

import json

import pytest

from tests.conftest import Staged, stage_file

SYSTEM_Z = {
    "biencoder": 0.534, "polyencoder": 0.419, "biencoder_p": 0.318, "kvmemnn": 0.262,
    "kvmemnn_p": 0.189, "polyencoder_p": 0.173, "seq2seq": -0.087, "seq2seq_p": -0.201,
    "lan_model_p": -0.217, "lan_model": -0.243,
}  # fmt: skip
"""As the note beside the data has them: mean over HITs of passed workers, seven criteria."""


@pytest.fixture(scope="module")
def built(shared_campaigns, tmp_path_factory) -> Staged:
    folder = tmp_path_factory.mktemp("dialogue")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ANNOT_KEY", "a key for tests, long enough to be one")
        return stage_file(
            shared_campaigns / "dialogue.yaml",
            f"store={folder / 'store'}",
            f"gold={folder / 'gold'}",
            "privacy.pseudonymize=false",
        )


@pytest.fixture(scope="module")
def verdicts(shared_data) -> dict[str, str]:
    actual = {}
    for verdict, name in (("passed", "pass"), ("failed", "fail")):
        text = (shared_data / "dialogue-eval-run1" / f"{name}.json").read_text()
        actual |= dict.fromkeys((hit["WorkerId"] for hit in json.loads(text)), verdict)
    return actual


@pytest.mark.slow
def test_all_248_verdicts(built, verdicts):
    """Mann-Whitney, pooled, on five of seven criteria; two are about something else."""
    assert len(verdicts) == 248
    assert sum(v == "passed" for v in verdicts.values()) == 173
    assert {row["judge"]: row["verdict"] for row in built.rows("judges")} == verdicts


@pytest.mark.slow
def test_the_assignment_without_answers_is_not_asked(built):
    blank = [r for r in built.rows("controlled") if r["fate"] == "not_asked"]
    assert {r["source_file"].rpartition("/")[2] for r in blank} == {"Combined_Batches_305hits.csv"}
    assert {r["reason"] for r in blank} == {"score is blank"}
    assert (len(blank), len({r["source_row"] for r in blank})) == (42, 1)
    assert built.metrics("control_judges")["fates"]["rejected"] == 0


def test_system_z(built):
    """To the three digits that are known."""
    rows = [r for r in built.rows("system_rankings") if r["method"] == "z_mean"]
    assert {r["system"]: round(r["score"], 3) for r in rows if r["rank"]} == SYSTEM_Z
    assert {r["n_segments"] for r in rows} <= set(range(90, 125))


@pytest.mark.slow
def test_the_judgments_of_those_who_failed_stay_beside(built, verdicts):
    failed = {judge for judge, verdict in verdicts.items() if verdict == "failed"}
    rows = [r for r in built.rows("controlled") if r["fate"] == "judge_failed"]
    assert {r["judge"] for r in rows} == failed
    reasons = {r["reason"].split(" = ")[0] for r in rows}
    assert reasons == {
        "judge control: failed (mann_whitney, p",
        "judge control: failed (the scores do not vary: decided by the means)",
    }
    n = {
        method: sum(
            r["n_judgments"] for r in built.rows("system_rankings") if r["method"] == method
        )
        for method in ("raw_mean", "filtered_mean")
    }
    ordinary = [r for r in rows if r["control"] == "none"]
    assert n["raw_mean"] - n["filtered_mean"] == len(ordinary) > 0
