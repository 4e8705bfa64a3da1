"""The order effect of one judge of comparisons: how far what is shown first is preferred.

Davidson & Beaver 1977, "On extending the Bradley-Terry model to incorporate within-pair order
effects": the log odds that what is shown first wins are the difference of strengths plus the order
effect; ties have the probability of Davidson 1970.

- ``systems``: strengths are those of systems, fitted with the effect to all comparisons
  (`adjusted_comparisons`), so that pairs shown in one order help where systems change places.
- ``items``: each pair has two items of its own, whose strengths nothing else tells of. To fit them
  would double the effect (Neyman & Scott 1948), so that it is estimated given, for each pair, how
  the two orders came out together (conditional likelihood, Andersen 1970): pairs in which one order
  favours an item and the other order favours the other item, or ties. Only pairs judged in both
  orders tell of it. Of repeated judgments all combinations of one in each order count, with a
  weight of as many as the rarer order has.

Consistency is the share of pairs judged in both orders whose answers name one and the same winner,
or a tie. Intervals of the effect are Student's, by clusters of comparisons.

Degenerate input, each with a reason: no comparison; positions that systems explain as well, as
where a system is always shown first, or no pair is judged in both orders; fewer than `FEW`
clusters; a position that always wins, whose effect is infinite.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from annot_pipeline.arrays import Codes, Floats
from annot_pipeline.methods.model_judges.clustered_estimate import ClusteredEstimate, unknown
from annot_pipeline.methods.numerics.blocks import InMemoryBlocks
from annot_pipeline.methods.rankings.adjusted_comparisons import (
    ComparisonBlock,
    adjusted_comparisons,
    pair_counts,
)
from annot_pipeline.methods.rankings.comparison_fit import estimable_orders
from annot_pipeline.methods.rankings.inference import FEW

NO_COMPARISON = "no comparison"
ONE_ORDER = "no pair is shown in both orders: position and system cannot be separated"
FEW_CLUSTERS = f"fewer than {FEW} questions that tell of it"
ALWAYS_ONE = "one position always wins or never loses: the effect has no finite value"
ROUNDS, TOLERANCE = 100, 1e-10


@dataclass(frozen=True)
class OrderEffect:
    """How far a judge prefers what is shown first.

    Parameters
    ----------
    first_wins, n_decided
        Comparisons that are no tie, and those of them that the first shown won.
    effect
        Log odds in favour of what is shown first.
    n_consistent, n_both_orders
        Pairs judged in both orders, and those with the same answer; of repeated judgments shares.
    """

    first_wins: int
    n_decided: int
    effect: ClusteredEstimate
    n_consistent: float
    n_both_orders: int


def order_effect(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    outcomes: npt.ArrayLike,
    clusters: npt.ArrayLike,
    *,
    strengths: Literal["systems", "items"] = "systems",
) -> OrderEffect:
    """Estimate the order effect of one judge.

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

    Raises
    ------
    ValueError
        Arrays of different lengths, outcomes that are none, or one compared with itself.
    """
    one, other, cluster = (np.asarray(codes, np.int64) for codes in (first, second, clusters))
    outcome = np.asarray(outcomes, np.float64)
    _check(one, other, outcome, cluster)
    first_wins, second_wins = int((outcome == 1).sum()), int((outcome == 0).sum())
    tables, questions = _both_orders(one, other, outcome, cluster)
    sizes = tables.sum(axis=2)  # of either order
    shares = (tables / sizes[:, :, None]).transpose(1, 0, 2)
    consistent = float((shares[0] * shares[1]).sum())
    if not outcome.size:
        effect = unknown(NO_COMPARISON)
    elif strengths == "items":
        effect = _given_pairs(tables, questions)
    elif not first_wins or not second_wins:
        effect = unknown(ALWAYS_ONE)
    else:
        effect = _with_systems(one, other, outcome, cluster)
    return OrderEffect(first_wins, first_wins + second_wins, effect, consistent, len(tables))


def _check(first: Codes, second: Codes, outcomes: Floats, clusters: Codes) -> None:
    if not first.size == second.size == outcomes.size == clusters.size:
        raise ValueError(
            f"{first.size} first, {second.size} second, {outcomes.size} outcomes, "
            f"{clusters.size} clusters"
        )
    if not np.isin(outcomes, (0, 0.5, 1)).all():
        raise ValueError("outcomes must be 0, 0.5 or 1")
    if (first == second).any():
        raise ValueError("an item is compared with itself")


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


def _with_systems(
    first: Codes, second: Codes, outcomes: Floats, clusters: Codes
) -> ClusteredEstimate:
    """Return the effect beside strengths of systems."""
    questions, question = np.unique(clusters, return_inverse=True)
    systems, codes = np.unique(np.stack([first, second]), return_inverse=True)
    codes = codes.reshape(2, -1)
    zeros = np.zeros(outcomes.size, np.int64)
    block = ComparisonBlock(
        question.reshape(-1), zeros, codes[0], codes[1], outcomes, zeros, questions.size, 1,
        systems.size, 1,
    )  # fmt: skip
    if not estimable_orders(pair_counts(block).n)[0]:
        return unknown(ONE_ORDER)
    if questions.size < FEW:
        return unknown(FEW_CLUSTERS)
    fit = adjusted_comparisons(InMemoryBlocks([block])).fit
    return ClusteredEstimate(
        float(fit.order_effects[0]), float(fit.order_errors[0]), fit.effect_degrees_of_freedom,
        by_judge=False, reason=None,
    )  # fmt: skip


def _given_pairs(tables: Floats, questions: Codes) -> ClusteredEstimate:
    """Return the effect from pairs judged in both orders, given how both came out together."""
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
    tells = counts.sum(axis=1) > 0
    counts, question = counts[tells], np.unique(questions[tells], return_inverse=True)[1]
    n_questions = int(question.max(initial=-1)) + 1
    if n_questions < FEW:
        return unknown(FEW_CLUSTERS)
    total = counts.sum(axis=0)
    if not total[0] + total[3] or not total[2] + total[4]:
        return unknown(ALWAYS_ONE)
    effect, scores, inverse = _conditional_fit(counts, total)
    sums = np.stack(
        [np.bincount(question.reshape(-1), column, n_questions) for column in scores.T], axis=1
    )
    variance = inverse @ (sums.T @ sums) @ inverse * n_questions / (n_questions - 1)
    return ClusteredEstimate(
        effect, float(np.sqrt(variance[0, 0])), n_questions - 1.0, by_judge=False, reason=None
    )


def _conditional_fit(counts: Floats, total: Floats) -> tuple[float, Floats, Floats]:
    """Return the effect, scores of pairs ``(n_pairs, 2)`` and the inverse information.

    Parameters are the effect d and the frequency of ties t. Where no answer, or both, are ties, the
    outcomes of two orders have weights e^d, e^t and e^-d; where one is, the odds are e^d.
    """
    parameters = np.zeros(2)
    undecided, one_tie = total[:3].sum(), total[3:].sum()
    has_ties = 0 < total[1] < undecided
    tie_precision = 0.0 if has_ties else 1.0  # has no data, and stays 0
    for _ in range(ROUNDS):
        wins, ties, losses, odds = _chances(parameters, has_ties=has_ties)
        gap = wins - losses
        gradient = np.array([
            total[0] - total[2] - (undecided - total[1] * (not has_ties)) * gap
            + total[3] - one_tie * odds,
            (total[1] - undecided * ties) * has_ties,
        ])  # fmt: skip
        n = undecided - total[1] * (not has_ties)
        information = np.array([
            [n * (wins + losses - gap**2) + one_tie * odds * (1 - odds), -n * gap * ties],
            [-n * gap * ties, n * ties * (1 - ties) + tie_precision],
        ])  # fmt: skip
        step = np.linalg.solve(information, gradient)
        parameters = parameters + np.clip(step, -2, 2)
        if np.abs(step).max() < TOLERANCE:
            break
    wins, ties, losses, odds = _chances(parameters, has_ties=has_ties)
    of_pair = counts[:, :3].sum(axis=1) if has_ties else counts[:, 0] + counts[:, 2]
    scores = np.stack([
        counts[:, 0] - counts[:, 2] - of_pair * (wins - losses)
        + counts[:, 3] - counts[:, 3:].sum(axis=1) * odds,
        (counts[:, 1] - of_pair * ties) * has_ties,
    ], axis=1)  # fmt: skip
    return float(parameters[0]), scores, np.asarray(np.linalg.inv(information), np.float64)


def _chances(parameters: Floats, *, has_ties: bool) -> tuple[float, float, float, float]:
    """Return the chances of a win, ties and a loss in both orders, and of a win beside one tie."""
    effect, tie = parameters
    weights = np.exp([effect, tie, -effect]) * [1.0, float(has_ties), 1.0]
    wins, ties, losses = (weights / weights.sum()).tolist()
    return wins, ties, losses, float(1 / (1 + np.exp(-effect)))
