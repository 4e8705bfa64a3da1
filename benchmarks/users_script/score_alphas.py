"""Krippendorff's alphas of scores from 0 to 100, by the library, or from coincidences by numpy.

The library's function holds items x values x values numbers several times: with a hundred values
and a task of 100,000 scores that is 5 GB and 5 s each call, so there is no bootstrap with it.
"""

from __future__ import annotations

from typing import Literal, get_args

import krippendorff
import numpy as np
import pandas as pd

from annot_pipeline.arrays import Floats

Level = Literal["ordinal", "interval", "ratio"]
LEVELS: tuple[Level, ...] = get_args(Level)


def alphas_by_library(rows: pd.DataFrame) -> dict[str, Floats]:
    """Alphas by level, the data's alone, of ``item``, ``score``."""
    values, code = np.unique(rows.score, return_inverse=True)
    n_items, width = rows["item"].max() + 1, len(values)
    counts = np.bincount(rows["item"] * width + code, minlength=n_items * width)
    given = {"value_counts": counts.reshape(-1, width), "value_domain": values}
    return {
        level: np.array([krippendorff.alpha(**given, level_of_measurement=level)])
        for level in LEVELS
    }


def score_alphas(rows: pd.DataFrame, drawn: Floats) -> dict[str, Floats]:
    """Alphas by level and round of ``item``, ``score``; every item has two scores or more."""
    values, code = np.unique(rows.score, return_inverse=True)
    coded = pd.DataFrame({"item": rows["item"], "code": code, "row": np.arange(len(rows))})
    pairs = coded.merge(coded, on="item")
    pairs = pairs[pairs.row_x != pairs.row_y]
    items = pairs["item"].to_numpy()
    others = (rows.groupby("item").size() - 1).to_numpy()
    width = len(values)
    cells = (pairs.code_x * width + pairs.code_y).to_numpy()
    alphas: dict[Level, list[float]] = {level: [] for level in LEVELS}
    for weights in drawn:
        of = np.bincount(cells, weights=(weights / others)[items], minlength=width * width)
        observed = of.reshape(width, width)
        n = observed.sum(axis=0)
        expected = (np.outer(n, n) - np.diag(n)) / (n.sum() - 1)
        for level, found in alphas.items():
            distances = _distances(level, values, n)
            found.append(1 - (observed * distances).sum() / (expected * distances).sum())
    return {str(level): np.array(found) for level, found in alphas.items()}


def _distances(level: Level, values: Floats, n: Floats) -> Floats:
    """Squared distances of all pairs of values."""
    if level == "ordinal":
        values = n.cumsum() - n / 2
    gaps = values[:, None] - values
    if level == "ratio":
        sums = values[:, None] + values
        gaps = gaps / np.where(sums == 0, 1, sums)
    return gaps**2
