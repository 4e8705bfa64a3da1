"""Scores of outputs; systems ranked by them, tested in pairs, cut into clusters."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pandas as pd
import scipy.stats

ROUNDS, ALPHA = 1_000, 0.05
LOW, HIGH = 0, 100
"""Ends of the scale."""


def score_items(shown: pd.DataFrame) -> pd.DataFrame:
    """A row a task and output that was shown: means, and EASL's Beta distribution."""
    names = ["task", "item", "segment", "system"]
    everybody = shown.groupby(names).score.agg(n_unfiltered="size", unfiltered_mean="mean")
    kept = shown[shown.fate == "used"]
    kept = kept.assign(share=((kept.score - LOW) / (HIGH - LOW)).clip(0, 1))
    by_item = kept.groupby(names)
    scores = by_item.agg(
        n_judgments=("score", "size"), raw_mean=("score", "mean"), z_mean=("z", "mean"),
        easl_score=("share", "mean"), easl_sum=("share", "sum"),
    )  # fmt: skip
    a = 1 + scores.pop("easl_sum")
    b = 2 + scores.n_judgments - a
    easl = {"alpha": a, "beta": b, "variance": scipy.stats.beta(a, b).var()}
    scores = scores.assign(**{f"easl_{name}": value for name, value in easl.items()})
    both: pd.DataFrame = everybody.join(scores).reset_index()
    return both.assign(n_judgments=both.n_judgments.fillna(0).astype(int))


METHODS = {"easl": "easl_score", "filtered_mean": "raw_mean", "raw_mean": "unfiltered_mean",
           "z_mean": "z_mean"}  # fmt: skip
"""Column of an output's score, by name of the ranking."""


def rank_systems(
    scores: pd.DataFrame, rng: np.random.Generator
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Rankings and comparisons of the systems of one task, by all methods."""
    rankings, comparisons = {}, {}
    for method, column in METHODS.items():
        cells = scores.pivot(index="system", columns="segment", values=column)
        n = "n_unfiltered" if method == "raw_mean" else "n_judgments"
        p_values = _p_values(cells.round(9))  # equal means are to be ties
        ranking = _ranking(cells, p_values, rng)
        rankings[method] = ranking.assign(n_judgments=scores.groupby("system")[n].sum())
        comparisons[method] = _compared(cells.mean(axis=1), p_values)
    return (
        pd.concat(rankings, names=["method"]).reset_index(),
        pd.concat(comparisons, names=["method"]).reset_index(),
    )


def _ranking(cells: pd.DataFrame, p_values: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Mean over segments with an interval of rounds over segments, rank and cluster."""
    values, known = cells.fillna(0).to_numpy(), cells.notna().to_numpy().astype(float)
    n = values.shape[1]
    drawn = rng.multinomial(n, np.full(n, 1 / n), size=ROUNDS).T
    rounds = (values @ drawn) / (known @ drawn)
    places = scipy.stats.rankdata(-rounds, axis=0, method="min")
    tails = [2.5, 97.5]
    low, high = np.percentile(rounds, tails, axis=1)
    rank_low, rank_high = np.percentile(places, tails, axis=1)
    score = cells.mean(axis=1)
    rank = score.rank(ascending=False, method="min").astype(int)
    wins = (p_values < ALPHA).sum(axis=1)
    ordered = rank.sort_values().index
    below = np.arange(len(ordered))[::-1]
    ends = wins[ordered] == below
    return pd.DataFrame(
        {
            "rank": rank, "score": score, "ci_low": low, "ci_high": high,
            "rank_low": np.floor(rank_low), "rank_high": np.ceil(rank_high), "wmt_wins": wins,
            "wmt_cluster": 1 + ends.cumsum() - ends, "n_segments": cells.notna().sum(axis=1),
        },
        index=cells.index,
    )  # fmt: skip


def _p_values(cells: pd.DataFrame) -> pd.DataFrame:
    """One-sided rank-sum tests of every system (row) against every other."""
    of = {system: row.dropna().to_numpy() for system, row in cells.iterrows()}
    p_values = pd.DataFrame(np.nan, cells.index, cells.index)
    for a, b in permutations(cells.index, 2):
        test = scipy.stats.mannwhitneyu(of[a], of[b], alternative="greater", method="asymptotic")
        p_values.loc[a, b] = test.pvalue
    return p_values


def _compared(score: pd.Series, p_values: pd.DataFrame) -> pd.DataFrame:
    """All ordered pairs, with Holm's adjusted p-values."""
    pairs = p_values.rename_axis(index="system_a").reset_index()
    pairs = pairs.melt("system_a", var_name="system_b", value_name="wmt_p_value").dropna()
    ordered = pairs.wmt_p_value.sort_values()
    adjusted = (ordered * np.arange(len(ordered), 0, -1)).cummax().clip(upper=1)
    difference = score[pairs.system_a].to_numpy() - score[pairs.system_b].to_numpy()
    return pairs.assign(
        difference=difference, wmt_p_adjusted=adjusted, wmt_a_beats_b=pairs.wmt_p_value < ALPHA
    )
