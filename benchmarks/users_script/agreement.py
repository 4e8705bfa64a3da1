"""Agreement of judges on labels and scores, with bootstrap intervals over items.

Ours of labels are no bootstrap: they are over judges, too.

A resample is a row that says how often each item was drawn, so that what is a sum over items, or
over pairs of judgments, is a sum with weights. All resamples of a table stand in one array
``(1 + rounds, n_items)``; its first row is the data itself.
"""

from __future__ import annotations

from collections.abc import Iterator

import krippendorff
import numpy as np
import numpy.typing as npt
import pandas as pd

from annot_pipeline.arrays import Floats
from benchmarks.users_script.pairs import coded, judge_pairs, of_judge_pairs, spearman
from benchmarks.users_script.score_alphas import alphas_by_library, score_alphas

Row = tuple[str, float, float, float]
"""Statistic, value, ends of its 95% interval."""


def resamples(n_items: int, rounds: int) -> Floats:
    """How often items are drawn, by round; the first row draws each once."""
    rng = np.random.default_rng(17)
    drawn = rng.multinomial(n_items, np.full(n_items, 1 / n_items), size=rounds)
    return np.concatenate([np.ones((1, n_items)), drawn])


def estimate(name: str, values: Floats) -> Row:
    """The value, and the interval of the rounds behind it, if there are any."""
    some = values.size > 1
    low, high = np.nanpercentile(values[1:], [2.5, 97.5]) if some else (np.nan, np.nan)
    return name, float(values[0]), float(low), float(high)


def mean_of(parts: pd.Series, items: pd.Series, drawn: Floats) -> Floats:
    """Mean over rows that belong to items."""
    n = drawn.shape[1]
    totals = np.bincount(items, weights=parts, minlength=n)
    return (drawn @ totals) / (drawn @ np.bincount(items, minlength=n))


def label_agreement(rows: pd.DataFrame, rounds: int) -> Iterator[Row]:
    """Statistics of the labels of one task: ``item``, ``judge``, ``label``."""
    rows = coded(rows)
    labels, names = pd.factorize(rows.label, sort=True)
    k = len(names)
    n_items = rows["item"].max() + 1
    counts = np.bincount(rows["item"] * k + labels, minlength=n_items * k).reshape(-1, k)
    drawn = resamples(n_items, rounds)
    pairs = judge_pairs(rows.assign(label=labels))
    pooled = mean_of(pairs.label_x == pairs.label_y, pairs["item"], drawn)
    yield estimate("pooled_percent_agreement", pooled)
    yield estimate("fleiss_kappa", _fleiss_kappa(counts, drawn))
    yield estimate("alpha_nominal", _nominal_alphas(counts, drawn))
    percent, kappa = of_judge_pairs(pairs, k, drawn)
    yield estimate("percent_agreement", percent)
    yield estimate("cohen_kappa", kappa)
    yield estimate("gwet_ac1", _gwet_ac1(counts, drawn))


def _fleiss_kappa(counts: npt.NDArray[np.int64], drawn: Floats) -> Floats:
    n = counts.sum(axis=1)
    agreeing = (counts * (counts - 1)).sum(axis=1) / (n * (n - 1))
    observed = (drawn @ agreeing) / drawn.sum(axis=1)
    chance = (((drawn @ counts) / (drawn @ n)[:, None]) ** 2).sum(axis=1)
    kappa: Floats = (observed - chance) / (1 - chance)
    return kappa


def _gwet_ac1(counts: npt.NDArray[np.int64], drawn: Floats) -> Floats:
    n = counts.sum(axis=1)
    agreeing = (counts * (counts - 1)).sum(axis=1) / (n * (n - 1))
    rounds = drawn.sum(axis=1)
    shares = drawn @ (counts / n[:, None]) / rounds[:, None]
    chance = (shares * (1 - shares)).sum(axis=1) / (counts.shape[1] - 1)
    ac1: Floats = (drawn @ agreeing / rounds - chance) / (1 - chance)
    return ac1


def _nominal_alphas(counts: npt.NDArray[np.int64], drawn: Floats) -> Floats:
    return np.array(
        [
            krippendorff.alpha(
                value_counts=np.repeat(counts, times, axis=0), level_of_measurement="nominal"
            )
            for times in drawn.astype(np.int64)
        ]
    )


def score_agreement(
    rows: pd.DataFrame, repeats: pd.DataFrame, rounds: int, *, by_library: bool
) -> Iterator[Row]:
    """Statistics of the scores of one task.

    ``rows`` have ``item``, ``judge``, ``control``, ``score``, ``z``; ``repeats`` both scores and z
    of outputs that a judge saw twice. ``by_library``: alphas by krippendorff, without intervals.
    """
    first = coded(rows.loc[rows.control == "none", ["item", "judge", "score", "z"]])
    drawn = resamples(first["item"].max() + 1, rounds)
    found = alphas_by_library(first) if by_library else score_alphas(first, drawn)
    for level, alphas in found.items():
        yield estimate(f"alpha_{level}", alphas)
    yield estimate("inter_spearman", spearman(first, drawn))
    all_z = np.sort(rows.z.dropna())
    yield from _of_pairs("inter", judge_pairs(first), drawn, all_z)
    again = repeats.assign(item=pd.factorize(repeats.item_x)[0])
    yield from _of_pairs("intra", again, resamples(again["item"].max() + 1, rounds), all_z)


def _of_pairs(kind: str, of: pd.DataFrame, drawn: Floats, all_z: Floats) -> Iterator[Row]:
    """Differences of scores; shares of pairs whose z fall into one of k bins, and kappas."""
    gaps = (of.score_x - of.score_y).abs()
    yield estimate(f"{kind}_difference_mean", mean_of(gaps, of["item"], drawn))
    yield f"{kind}_difference_sd", gaps.std(), np.nan, np.nan
    of = of.dropna(subset=["z_x", "z_y"])
    for k in (5, 4, 2):
        edges = np.quantile(all_z, np.arange(1, k) / k, method="inverted_cdf")
        agree = np.searchsorted(edges, of.z_x) == np.searchsorted(edges, of.z_y)
        shares = mean_of(agree, of["item"], drawn)
        yield estimate(f"{kind}_percent_agreement_z_{k}", shares)
        yield estimate(f"{kind}_kappa_z_{k}", (shares - 1 / k) / (1 - 1 / k))
