"""The studies on certainty: of simulated crowds, and of a campaign that knows the truth."""

from __future__ import annotations

import random

import pytest

from annot_pipeline.config.campaign_file import load_campaign
from annot_pipeline.errors import ConfigError
from studies.crowds import CROWDS
from studies.registry import run_study
from tests.studies.study_runs import contents, rows, run, silent

SMALL = {"repeats": 1, "n_items": 200}


@pytest.mark.slow
def test_crowds_are_told_for_every_kind_and_the_same_again(tmp_path):
    actual = run("crowds", tmp_path / "one", **SMALL)
    run("crowds", tmp_path / "two", **SMALL)
    assert contents(tmp_path / "one") == contents(tmp_path / "two")
    table = rows(tmp_path / "one" / "certainty.csv")
    assert {row["task"] for row in table} == {f"{kind} 1" for kind in CROWDS}
    assert {row["probabilities"] for row in table} == {"Dawid-Skene", "published", "votes"}
    assert {row["items"] for row in table} == {"200"}
    loss = {(r["task"], r["probabilities"]): float(r["log_loss"]) for r in table}
    for kind in ("correlated", "sparse"):
        assert loss[f"{kind} 1", "published"] < loss[f"{kind} 1", "Dawid-Skene"]
    held_out = {row["task"]: row for row in rows(tmp_path / "one" / "held_out.csv")}
    dependence = {task: float(row["dependence"]) for task, row in held_out.items()}
    votes = {task: float(row["weight_of_votes"]) for task, row in held_out.items()}
    # what labels bear out, and .45 of the rest: they cannot show mistakes that all make
    assert all(0.45 <= value <= 0.45 + 0.55 * 0.4 for value in dependence.values())
    assert max(dependence, key=dependence.__getitem__) == "correlated 1"
    assert max(votes, key=votes.__getitem__) == "correlated 1"
    assert votes["independent 1"] < 0.1
    for row in held_out.values():
        assert float(row["published"]) > max(float(row["dawid_skene"]), float(row["votes"]))
        assert not row["expected_accuracy"]  # without known items
    assert held_out["independent 1"]["labels"] == "1600"
    assert held_out["sparse 1"]["labels"] == "1594"  # 6 judges label an item twice: one vote
    assert len(actual["numbers"]) == len(CROWDS)
    assert (tmp_path / "one" / "study.html").read_text().count("<svg") == len(CROWDS)


def campaign(folder, truth):
    rng = random.Random(4)
    lines = ["item,judge,label"]
    for item in range(60):
        for judge in rng.sample(range(12), 5):
            right = rng.random() < 0.8
            lines.append(f"i{item},w{judge},{'yes' if (item % 3 > 0) == right else 'no'}")
    (folder / "labels.csv").write_text("\n".join(lines))
    known = ["item,truth", *(f"i{n},{truth(n)}" for n in range(60))]
    (folder / "items.csv").write_text("\n".join(known))
    (folder / "campaign.yaml").write_text(
        "campaign: c\nsources:\n- path: labels.csv\n  format: csv\n"
        "  fields: {item: item, judge: judge, label: label}\n"
        "items:\n- path: items.csv\n  format: csv\n  fields: {item: item, truth: truth}\n"
    )
    return load_campaign(folder / "campaign.yaml")


def test_a_campaign_that_knows_the_truth(tmp_path):
    given = campaign(tmp_path, lambda n: "yes" if n % 3 else "no")
    actual = run_study("certainty", {}, given, None, tmp_path / "out", silent)
    (numbers,) = actual["numbers"]
    assert numbers["task"] == "c"
    assert 0.8 < numbers["published_accuracy"] <= 1
    assert not (tmp_path / "store").exists()
    (published,) = (
        row for row in rows(tmp_path / "out" / "certainty.csv")
        if row["probabilities"] == "published"
    )  # fmt: skip
    assert published["items"] == "60"


def test_a_campaign_that_does_not(tmp_path):
    given = campaign(tmp_path, lambda _: "")
    with pytest.raises(ConfigError, match="a campaign that knows no truth") as error:
        run_study("certainty", {}, given, None, tmp_path / "out", silent)
    assert "map truth in items" in str(error.value)
