"""Rankings, agreement and judges of frames, held against other packages and releases."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.stats

import annot_pipeline as annot
from annot_pipeline.errors import ConfigError

SCORES = {"segment": "document", "system": "model", "judge": "worker", "score": "points"}
PAIRS = {"system_a": "left", "system_b": "right", "judge": "worker", "preference": "winner"}


def test_scores_rank_systems(points):
    result = annot.rank(points, **SCORES, scale=(0, 100))
    assert result.method == "adjusted"
    assert result.ranking["model"].tolist() == ["m3", "m2", "m1", "m0"]
    means = points.groupby("model")["points"].mean()
    by_raw_mean = result.all_methods.query("method == 'raw_mean'").set_index("model")["score"]
    assert by_raw_mean.to_dict() == pytest.approx(means.to_dict())
    rows = result.comparisons.set_index(["system_a", "system_b"])
    assert rows.loc[("m3", "m0"), "a_beats_b"]
    assert rows.loc[("m3", "m0"), "ci_low"] > 0


def test_comparisons_rank_systems_as_their_wins_do(battles):
    result = annot.rank(pl.from_pandas(battles), **PAIRS)
    assert result.method == "bradley_terry"
    assert isinstance(result.ranking, pl.DataFrame)
    left = battles["winner"].map({"a": 1.0, "b": 0.0, "tie": 0.5})
    wins = left.groupby(battles["left"]).sum() + (1 - left).groupby(battles["right"]).sum()
    n = battles["left"].value_counts() + battles["right"].value_counts()
    best = (wins / n).sort_values(ascending=False)
    assert result.ranking["system"].to_list() == best.index.tolist()
    assert result.ranking["n_judgments"].to_list() == n[best.index].tolist()


def test_systems_that_cannot_be_told_apart_have_a_reason(battles):
    few = battles[:6]
    result = annot.rank(few, **PAIRS)
    assert result.ranking["ci_low"].isna().all()
    assert result.ranking["reason"].notna().any()


def test_scores_and_comparisons_at_once(points, battles):
    with pytest.raises(ConfigError, match="scores or comparisons"):
        annot.rank(pd.concat([points, battles]), **SCORES | PAIRS)


def test_agreement_on_labels_is_that_of_krippendorff(votes):
    krippendorff = pytest.importorskip("krippendorff")
    result = annot.agreement(votes, item="question", judge="worker", label="answer")
    matrix = votes.pivot(index="worker", columns="question", values="answer").to_numpy()
    expected = krippendorff.alpha(matrix, level_of_measurement="nominal", value_domain=[0, 1, 2])
    assert result["alpha_nominal"] == pytest.approx(expected)
    with pytest.raises(KeyError, match="there are"):
        result["alpha"]


@pytest.mark.slow
def test_agreement_on_scores_is_that_of_krippendorff(points):
    krippendorff = pytest.importorskip("krippendorff")
    frame = points.assign(item=points["document"] + "/" + points["model"])
    frame = frame.drop(columns="document")
    result = annot.agreement(frame, judge="worker", score="points")
    matrix = frame.pivot(index="worker", columns="item", values="points").to_numpy()
    expected = krippendorff.alpha(matrix, level_of_measurement="interval")
    assert result["alpha_interval"] == pytest.approx(expected)


@pytest.mark.slow
def test_judges_of_labels_and_scores(votes, points):
    labels = annot.judges(votes, item="question", judge="worker", label="answer").judges
    assert labels.set_index("worker")["n_judgments"].to_dict() == (
        votes["worker"].value_counts().to_dict()
    )
    assert labels["accuracy"].between(0.4, 1).all()
    harsh = points.assign(points=points["points"] - np.where(points["worker"] == "j1", 15, 0))
    scores = annot.judges(
        harsh.rename(columns={"document": "segment", "model": "system"}),
        judge="worker", score="points",
    ).judges.set_index("worker")  # fmt: skip
    assert scores["bias"].idxmin() == "j1"


@pytest.mark.slow
def test_judges_of_labels_have_no_test_of_scores(votes, points):
    labels = annot.judges(votes, item="question", judge="worker", label="answer").judges
    assert "contrast" not in labels.columns
    assert set(labels["test"].dropna()) <= {"chance", "constant", "copies"}
    scores = annot.judges(
        points.rename(columns={"document": "segment", "model": "system"}),
        judge="worker", score="points",
    ).judges  # fmt: skip
    assert set(scores["test"]) == {"paired_t"}


def test_labels_or_scores(votes):
    with pytest.raises(ConfigError, match="labels or scores"):
        annot.agreement(votes.assign(label=1, score=2), item="question", judge="worker")
    with pytest.raises(ConfigError, match="name it with label= or score="):
        annot.agreement(votes, item="question", judge="worker")


@pytest.mark.slow
def test_plots_are_the_figures_of_reports(points, votes):
    ranking = annot.rank(points, **SCORES).plot()
    assert "Ranking by adjusted" in ranking
    assert all(f">m{n}<" in ranking for n in range(4))
    names = {"item": "question", "judge": "worker", "label": "answer"}
    assert "alpha_nominal" in annot.agreement(votes, **names).plot()
    judges = annot.judges(votes, **names).plot()
    assert "Accuracy by the labels" in judges
    assert "chance" in judges
    assert judges._repr_html_() == judges


def scored_by(bias: dict[str, float], n_items: int = 40) -> pd.DataFrame:
    """Return scores by judges with a bias, of which two criteria of an item err together."""
    rng = np.random.default_rng(4)
    rows = [
        (f"i{n}", judge, criterion, 50 + 10 * np.sin(n) + shift + error)
        for n in range(n_items) for judge, shift in bias.items()
        for error in [rng.normal(0, 4)] for criterion in ("clear", "true")
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=["item", "judge", "criterion", "score"])


def test_the_bias_of_scores_has_an_interval():
    """The interval is that of scipy for one mean, over items: criteria of an item are one."""
    scores = scored_by({"low": -12, "mild": 0, "mean": 0.5, "usual": 0, "high": 15})
    result = annot.judges(scores)
    rows = result.judges.set_index("judge")
    wide = scores.pivot_table(index="item", columns="judge", values="score")
    for judge in wide:
        difference = wide[judge] - wide.drop(columns=judge).mean(axis=1)
        expected = scipy.stats.ttest_1samp(difference, 0).confidence_interval(0.95)
        actual = rows.loc[judge, ["bias_low", "bias_high"]].to_list()
        assert actual == pytest.approx([*expected])
    with pytest.raises(ConfigError, match=r"its figures are in \.judges"):
        result.plot()


def test_a_judge_of_too_few_shared_items_has_no_bias():
    scores = scored_by({"a": 0, "b": 1, "c": 2}, 12)
    alone = pd.DataFrame([("alone", "d", "true", 50.0)], columns=scores.columns)
    result = annot.judges(pd.concat([scores, alone]))
    rows = result.judges.set_index("judge")
    assert rows.loc["d", ["bias", "bias_low", "bias_high"]].isna().all()


def test_a_plot_of_judges_counts_those_whose_answers_do_not_count(votes):
    rng = np.random.default_rng(0)
    at_random = pd.DataFrame({"question": votes["question"].unique(), "worker": "dice"})
    at_random["answer"] = rng.integers(0, 3, len(at_random))
    with pytest.warns(UserWarning, match="do not count"):
        judges = annot.judges(
            pd.concat([votes, at_random]), item="question", judge="worker", label="answer"
        )
    assert "without 1 whose answers do not count" in judges.plot()


@pytest.mark.slow
def test_statistics_in_points_are_not_drawn_among_shares(points):
    frame = points.rename(columns={"document": "segment", "model": "system"})
    result = annot.agreement(frame, judge="worker", score="points")
    assert result["inter_difference_mean"] > 1
    assert "_difference_" not in result.plot()
