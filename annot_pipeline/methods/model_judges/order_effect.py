"""The order effect of one judge of comparisons: how far what is shown first is preferred.

Davidson & Beaver 1977, "On extending the Bradley-Terry model to incorporate within-pair order
effects": the log odds that what is shown first wins are the difference of strengths plus the order
effect; ties have the probability of Davidson 1970.

- ``systems``: strengths are those of systems, fitted with the effect to all comparisons
  (`judge_coefficients`), so that pairs shown in one order help where systems change places.
- ``items``: each pair has two items of its own, whose strengths nothing else tells of. To fit them
  would double the effect (Neyman & Scott 1948), so that it is estimated given, for each pair, how
  the two orders came out together (conditional likelihood, Andersen 1970): pairs in which one order
  favours an item and the other order favours the other item, or ties. Only pairs judged in both
  orders tell of it. Of repeated judgments all combinations of one in each order count, with a
  weight of as many as the rarer order has.

Intervals are Student's, by clusters of comparisons.

Degenerate input, each with a reason: no comparison; positions that systems explain as well, as
where a system is always shown first, or no pair is judged in both orders; fewer than `FEW`
clusters; a position that always wins, whose effect is infinite.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from annot_pipeline.arrays import Codes, Floats
from annot_pipeline.methods.model_judges.clustered_estimate import ClusteredEstimate, unknown
from annot_pipeline.methods.model_judges.judge_coefficients import JudgeComparisons
from annot_pipeline.methods.rankings.comparison_fit import estimable_orders
from annot_pipeline.methods.rankings.inference import FEW

NO_COMPARISON = "no comparison"
ONE_ORDER = "no pair is shown in both orders: position and system cannot be separated"
FEW_CLUSTERS = f"fewer than {FEW} questions that tell of it"
ALWAYS_ONE = "one position always wins or never loses: the effect has no finite value"


def prepare_order_effect(
    first: Codes,
    second: Codes,
    outcomes: Floats,
    clusters: Codes,
    *,
    strengths: Literal["systems", "items"],
) -> JudgeComparisons | ClusteredEstimate:
    """Return what `fit_judges` estimates one judge's order effect from, or why there is none.

    Parameters
    ----------
    first, second
        ``(n,)`` codes from 0 of what was shown first and second: systems, or items.
    outcomes
        ``(n,)`` 1: the first shown wins, 0: the second, 0.5: a tie.
    clusters
        ``(n,)`` codes of the question: judgments of one err together. A pair is two codes of one
        question.
    strengths
        Whose strengths the model has: systems that many questions compare, or the items of a pair.

    Returns
    -------
    JudgeComparisons | ClusteredEstimate
        The effect is log odds in favour of what is shown first.
    """
    if not outcomes.size:
        return unknown(NO_COMPARISON)
    if strengths == "items":
        return _given_pairs(*_both_orders(first, second, outcomes, clusters))
    if not (outcomes == 1).any() or not (outcomes == 0).any():
        return unknown(ALWAYS_ONE)
    systems, codes = np.unique(np.stack([first, second]), return_inverse=True)
    one, other = codes.reshape(2, -1)
    cells = np.bincount(one * systems.size + other, minlength=systems.size**2)
    compared = cells.reshape(1, systems.size, systems.size).astype(np.float64)
    if not estimable_orders(np.concatenate([np.zeros_like(compared), compared]))[0]:
        return unknown(ONE_ORDER)
    questions, question = np.unique(clusters, return_inverse=True)
    if questions.size < FEW:
        return unknown(FEW_CLUSTERS)
    ones = np.ones(one.size)
    return JudgeComparisons(one, other, outcomes, question.reshape(-1), ones, ones > 0, ones)


def _both_orders(
    first: Codes, second: Codes, outcomes: Floats, clusters: Codes
) -> tuple[Floats, Codes]:
    """Return counts of pairs judged in both orders, and their questions.

    ``(n_pairs, 2, 3)``: by order, whether the lower code is shown first or second, and by outcome:
    the higher code wins, tie, the lower wins.
    """
    is_turned = (first > second).astype(np.int64)
    pairs = np.stack([clusters, np.minimum(first, second), np.maximum(first, second)])
    keys, pair = np.unique(pairs, axis=1, return_inverse=True)
    lower_wins = np.where(is_turned, 1 - outcomes, outcomes)
    cell = (pair.reshape(-1) * 2 + is_turned) * 3 + (2 * lower_wins).astype(np.int64)
    tables = np.bincount(cell, minlength=keys.shape[1] * 6).reshape(-1, 2, 3).astype(np.float64)
    is_both = (tables.sum(axis=2) > 0).all(axis=1)
    return tables[is_both], keys[0][is_both]


def _given_pairs(tables: Floats, questions: Codes) -> JudgeComparisons | ClusteredEstimate:
    """Return pairs judged in both orders as comparisons, given how both came out together.

    Where no answer, or both, are ties, the outcomes of two orders have weights e^d, e^t and e^-d,
    as those of one comparison with log odds of 2 d; where one is a tie, the odds are e^d.
    """
    if not len(tables):
        return unknown(ONE_ORDER)
    sizes = tables.sum(axis=2).max(axis=1)
    both = tables[:, 0, :, None] * tables[:, 1, None, :] / sizes[:, None, None]
    # columns: the first wins in both orders, ties in both, the second in both; one tie, and the
    # first wins; one tie, and the second
    counts = np.stack([
        both[:, 2, 0], both[:, 1, 1], both[:, 0, 2],
        both[:, 2, 1] + both[:, 1, 0], both[:, 1, 2] + both[:, 0, 1],
    ], axis=1)  # fmt: skip
    pair, outcome = np.nonzero(counts)
    question = np.unique(questions[pair], return_inverse=True)[1].reshape(-1)
    if int(question.max(initial=-1)) + 1 < FEW:
        return unknown(FEW_CLUSTERS)
    if not np.isin(outcome, (0, 3)).any() or not np.isin(outcome, (2, 4)).any():
        return unknown(ALWAYS_ONE)
    may_tie = outcome < 3
    of_both = 2.0 if (outcome[may_tie] != 1).any() else 0.0  # ties alone tell nothing
    zeros = np.zeros(outcome.size, np.int64)
    return JudgeComparisons(
        zeros, zeros, np.array([1, 0.5, 0, 1, 0])[outcome], question,
        np.where(may_tie, of_both, 1.0), may_tie, counts[pair, outcome],
    )  # fmt: skip
