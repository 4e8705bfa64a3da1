"""Pairs of judges: their judgments of common items, and means over pairs."""

from __future__ import annotations

import numpy as np
import pandas as pd

from annot_pipeline.arrays import Floats


def coded(rows: pd.DataFrame) -> pd.DataFrame:
    """Items and judges as numbers; items that were judged once are left out."""
    rows = rows[rows.duplicated("item", keep=False)]
    return rows.assign(**{name: pd.factorize(rows[name])[0] for name in ("item", "judge")})


def judge_pairs(rows: pd.DataFrame) -> pd.DataFrame:
    """Pairs of judgments (``_x``, ``_y``) of one item by two judges, each pair once."""
    pairs = rows.merge(rows, on="item")
    return pairs[pairs.judge_x < pairs.judge_y]


def of_judge_pairs(pairs: pd.DataFrame, k: int, drawn: Floats) -> tuple[Floats, Floats]:
    """Mean share of agreement over pairs of judges, and Cohen's kappa pooled over them.

    Of k x k labels of each pair; a judge's own shares of labels are of all pairs with that judge.
    """
    by_pair = pairs.groupby(["judge_x", "judge_y"])
    pair = by_pair.ngroup().to_numpy()
    first, second = np.array([*by_pair.groups]).T
    n_judges = max(first.max(), second.max()) + 1
    x, y, items = (pairs[name].to_numpy() for name in ("label_x", "label_y", "item"))
    cells, size = (pair * k + x) * k + y, (pair.max() + 1) * k * k
    percent, kappa = np.empty(len(drawn)), np.empty(len(drawn))
    for i, weight in enumerate(drawn):
        of = np.bincount(cells, weights=weight[items], minlength=size).reshape(-1, k, k)
        n = of.sum(axis=(1, 2))
        shares = np.zeros((n_judges, k))
        np.add.at(shares, first, of.sum(axis=2))
        np.add.at(shares, second, of.sum(axis=1))
        shares /= np.maximum(shares.sum(axis=1), 1)[:, None]
        chance = n @ (shares[first] * shares[second]).sum(axis=1) / n.sum()
        agreeing = np.einsum("pii->p", of)
        percent[i] = (agreeing[n > 0] / n[n > 0]).mean()
        kappa[i] = (agreeing.sum() / n.sum() - chance) / (1 - chance)
    return percent, kappa


def spearman(rows: pd.DataFrame, drawn: Floats) -> Floats:
    """Mean over pairs of judges with three common items or more; n items weigh n - 1.

    Ranks are those among all common items, in each round.
    """
    pairs = judge_pairs(rows.groupby(["item", "judge"]).score.mean().reset_index())
    by_pair = pairs.groupby(["judge_x", "judge_y"])
    x, y = by_pair.score_x.rank().to_numpy(), by_pair.score_y.rank().to_numpy()
    pair, items = by_pair.ngroup().to_numpy(), pairs["item"].to_numpy()
    found = np.empty(len(drawn))
    for i, weights in enumerate(drawn):
        w = weights[items]
        summed = (w, w > 0, w * x, w * y, w * x * x, w * y * y, w * x * y)
        n, distinct, sx, sy, sxx, syy, sxy = (np.bincount(pair, weights=of) for of in summed)
        x_varies, y_varies = n * sxx - sx * sx, n * syy - sy * sy
        some = (distinct >= 3) & (x_varies > 1e-9) & (y_varies > 1e-9)
        rho = (n * sxy - sx * sy)[some] / np.sqrt(x_varies[some] * y_varies[some])
        found[i] = np.average(rho, weights=n[some] - 1)
    return found
