"""Replays of recorded judgments, of items and of systems, from whole campaigns."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from annot_pipeline.config import LoadedCampaign
from annot_pipeline.config.campaign_file import load_campaign
from annot_pipeline.errors import ConfigError
from studies.item_replay import Drawn, RecordedAnswers, run_item_replay
from studies.params import ItemReplay, SystemReplay
from studies.recorded import read_recorded
from studies.system_replay import run_system_replay

QUICK = ItemReplay(repeats=2, rounds=5)


def silent(_: str) -> None:
    pass


def rng(seed: int = 6) -> np.random.Generator:
    return np.random.default_rng(seed)


# --- drawing -------------------------------------------------------------------------------


def test_each_recorded_judgment_is_drawn_before_any_is_drawn_again() -> None:
    items, judges = np.repeat(np.arange(4), 3), np.arange(12)
    scores = np.arange(12) / 12
    answers = RecordedAnswers(items, judges, scores, 4, rng(), Drawn())
    actual = np.stack([answers.score_items(np.arange(4)) for _ in range(3)])
    np.testing.assert_allclose(np.sort(actual, axis=0).T.reshape(-1), scores)
    assert answers.draws == Drawn(12, 0, 0, 0)
    again = np.stack([answers.score_items(np.arange(4)) for _ in range(3)])
    np.testing.assert_allclose(np.sort(again, axis=0), np.sort(actual, axis=0))
    assert answers.draws == Drawn(24, 12, 0, 0)


def test_a_hit_is_answered_by_one_judge_where_one_has_judged_all() -> None:
    # judge 7 scored all three items, others one each; scores give judge and item away
    items = np.array([0, 1, 2, 0, 1, 2])
    judges = np.array([7, 7, 7, 1, 2, 3])
    scores = np.array([0.70, 0.71, 0.72, 0.10, 0.21, 0.32])
    answers = RecordedAnswers(items, judges, scores, 3, rng(), Drawn())
    hit = np.array([[2, 0, 1]])
    assert answers.score_hits(hit).tolist() == [[0.72, 0.70, 0.71]]
    assert answers.score_hits(hit).tolist() == [[0.32, 0.10, 0.21]]  # no one judge is left
    assert answers.draws == Drawn(6, 0, 2, 1)
    assert answers.score_hits(hit).tolist() in ([[0.72, 0.70, 0.71]], [[0.32, 0.10, 0.21]])
    assert answers.draws.repeats == 3


# --- campaigns -----------------------------------------------------------------------------


def campaign(folder: Path, rows: list[dict[str, Any]], **settings: Any) -> LoadedCampaign:
    folder.mkdir(parents=True, exist_ok=True)
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    (folder / "judgments.csv").write_text(text.getvalue())
    document: dict[str, Any] = {
        "campaign": "small",
        "sources": [
            {
                "path": "judgments.csv",
                "format": "csv",
                "fields": {name: name for name in rows[0]},
            }
        ],
        "tasks": [{"name": "*", "kind": "scalar", "scale": [0, 10]}],
    } | settings
    (folder / "campaign.yaml").write_text(json.dumps(document))
    return load_campaign(folder)


def item_rows(*, task: str = "size", truth: bool = True, n_items: int = 15) -> list[dict[str, Any]]:
    """Six judges score all items; the truth of item i is i/2."""
    return [
        {
            "task": task, "item": f"item {i:02d}", "judge": f"judge {j}",
            "score": min(10, max(0, round(i / 2 + (7 * i + 3 * j) % 5 - 2))),
        }
        | ({"truth": i / 2} if truth else {})
        for i in range(n_items)
        for j in range(6)
    ]  # fmt: skip


def test_items_are_held_against_their_truth(tmp_path: Path) -> None:
    (task,), notes = run_item_replay(campaign(tmp_path, item_rows()), QUICK, None, silent)
    assert task.items[:2] == ("item 00", "item 01")
    np.testing.assert_allclose(task.truth, np.arange(15) / 20)
    assert task.correlations.value.shape == (2, 2, 6, 6)  # six judgments an item: six rounds
    assert task.facts["oracle"] == "truth"
    assert task.facts["recorded_judgments"] == 90
    draws = task.facts["draws"]
    assert isinstance(draws, dict)
    assert draws["DA"] == {"drawn_again_share": 0.0, "hits_of_one_judge_share": None}
    assert draws["random"]["drawn_again_share"] == 0
    assert draws["EASL"]["drawn_again_share"] > 0  # some items are asked more often than six times
    assert draws["EASL"]["hits_of_one_judge_share"] > 0.5
    again, one_judge = draws["RA"]["drawn_again_share"], draws["RA"]["hits_of_one_judge_share"]
    assert f"{again:.1%} of RA's" in notes[0]
    assert f"{one_judge:.1%} of RA's HITs" in notes[1]
    # when all are drawn, DA has the means of all, and the same ones as the control
    scores = Counter[str]()
    for row in item_rows():
        scores[row["item"]] += row["score"]
    means = [scores[item] / 60 for item in task.items]
    np.testing.assert_allclose(task.final()["DA"], means)
    np.testing.assert_allclose(task.final()["random"], means)


@pytest.mark.slow
def test_the_order_of_rows_changes_nothing(tmp_path: Path) -> None:
    rows = item_rows()
    one, other = (
        run_item_replay(campaign(tmp_path / name, given), QUICK, None, silent)[0][0]
        for name, given in (("a", rows), ("b", rows[::-1]))
    )
    assert (one.correlations.value == other.correlations.value).all()
    assert (one.correlations.rounds == other.correlations.rounds).all()


def test_an_oracle_wins_over_the_truth_and_says_which_items_count(tmp_path: Path) -> None:
    oracle = tmp_path / "oracle.csv"
    oracle.write_text("item,truth\n" + "".join(f"item {i:02d},{-i}\n" for i in range(7)))
    (task,), _ = run_item_replay(campaign(tmp_path, item_rows()), QUICK, oracle, silent)
    assert len(task.items) == 7
    assert task.facts["items_without_truth"] == 8
    assert task.facts["oracle"] == "oracle.csv"
    assert task.facts["oracle_mapped_by_its_ends"] is True  # -6 to 0 is not on 0 to 10
    assert (task.truth.min(), task.truth.max()) == (0, 1)
    # 7 items, HITs of 5: every method asks 5 a round
    np.testing.assert_allclose(task.correlations.judgments, 5 / 7 * np.arange(1, 7))
    assert (task.first["RA"].n_asked.sum(axis=1) == 5 * np.arange(1, 7)).all()


@pytest.mark.slow
def test_records_that_differ_about_the_truth_say_nothing(tmp_path: Path) -> None:
    rows = item_rows()
    rows[0]["truth"] = 3.25
    (task,) = read_recorded(campaign(tmp_path, rows), silent).tasks
    assert np.isnan(task.truth[0])
    assert not np.isnan(task.truth[1:]).any()


def test_judges_who_failed_and_controls_are_left_aside(tmp_path: Path) -> None:
    rows = []
    for judge in ("careful", "careless"):
        for n in range(8):
            for control in ("none", "bad_reference"):
                score = 8 - 4 * (control != "none") + n % 2 if judge == "careful" else 5
                rows.append(
                    {"task": "t", "item": f"i{n}", "judge": judge, "hit": judge, "score": score,
                     "control": control}
                )  # fmt: skip
    (task,) = read_recorded(campaign(tmp_path, rows), silent).tasks
    assert task.judges == ["careful"]
    np.testing.assert_allclose(task.score, [(8 + n % 2) / 10 for n in range(8)])


def refusal(given: LoadedCampaign, oracle: Path | None = None) -> str:
    with pytest.raises(ConfigError) as caught:
        run_item_replay(given, QUICK, oracle, silent)
    return str(caught.value)


@pytest.mark.slow
def test_what_cannot_be_replayed(tmp_path: Path) -> None:
    unscaled = campaign(tmp_path / "a", item_rows(), tasks=[{"name": "*", "kind": "scalar"}])
    assert "no scale is declared" in refusal(unscaled)
    rows = [row | {"truth": "big" if row["item"] == "item 03" else 1} for row in item_rows()]
    assert "'big'" in refusal(campaign(tmp_path / "b", rows))
    assert "size is left out: 3 items" in refusal(campaign(tmp_path / "c", item_rows(n_items=3)))
    labels = [{"item": "a", "judge": "b", "label": "c"}]
    assert "no judgment with a score" in refusal(campaign(tmp_path / "d", labels, tasks=[]))


@pytest.mark.slow
def test_nothing_is_written_beside_the_campaign(tmp_path: Path) -> None:
    given = campaign(tmp_path, item_rows())
    run_item_replay(given, QUICK, None, silent)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["campaign.yaml", "judgments.csv"]


# --- systems -------------------------------------------------------------------------------


def system_rows(n_segments: int = 30) -> list[dict[str, Any]]:
    """Four judges score all outputs of four systems; system d is the best."""
    return [
        {
            "task": "cs-en", "segment": str(segment), "system": system, "judge": f"judge {judge}",
            "score": 2 * place + (segment * (place + 3) + judge) % 3,
        }
        for segment in range(n_segments)
        for place, system in enumerate("abcd")
        for judge in range(4)
    ]  # fmt: skip


def test_systems_are_held_against_their_z_means(tmp_path: Path) -> None:
    params = SystemReplay(repeats=2, rounds=5, per_system=0, points=4, scores="raw")
    (task,), notes = run_system_replay(campaign(tmp_path, system_rows()), params, None, silent)
    assert notes == []
    assert task.systems == ("a", "b", "c", "d")
    assert (np.diff(task.truth) > 0).all()
    assert task.correlations.judgments.tolist() == [30, 60, 90, 120]
    assert (task.correlations.value[0, :, :, -1] > 1 - 1e-12).all()
    means = [np.mean([r["score"] for r in system_rows() if r["system"] == s]) / 10 for s in "abcd"]
    for method in ("DA", "EASL", "random"):  # all are drawn, by every method
        np.testing.assert_allclose(task.final[method], means)
    assert task.facts["recorded_judgments"] == 480
    assert task.facts["oracle"] == "mean z-score of all judgments"
