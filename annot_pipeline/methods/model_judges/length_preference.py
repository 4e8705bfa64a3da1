"""How far one judge of comparisons prefers the longer text, systems' strengths held.

The log odds that a text wins are the difference of its system's strength to the other's, plus a
coefficient times the natural logarithm of the ratio of their lengths; ties are half wins. With
strengths in the model, better systems that write longer texts are no preference for length.

Source: Dubois et al. 2024, "Length-Controlled AlpacaEval", and the style control of LMArena (Li et
al. 2024), which add lengths to the Bradley-Terry model; here as the ratio, fitted by
`judge_coefficients`. Intervals are Student's, by clusters of comparisons.

Assumes that lengths are no consequence of what else makes a text better within its system: where
good texts are long because they say more, the coefficient holds that as well.

Degenerate input, each with a reason: no comparison with two lengths (texts of length 0 have no
logarithm and are left out), fewer than `FEWEST_COMPARISONS`, lengths that do not differ or differ
by system alone, fewer than `FEW` clusters, and a longer text that always wins or always loses.
"""

from __future__ import annotations

import numpy as np

from annot_pipeline.arrays import Codes, Floats
from annot_pipeline.methods.model_judges.clustered_estimate import ClusteredEstimate, unknown
from annot_pipeline.methods.model_judges.judge_coefficients import JudgeComparisons
from annot_pipeline.methods.rankings.comparison_fit import varies_within_systems
from annot_pipeline.methods.rankings.inference import FEW

FEWEST_COMPARISONS = 20
NO_LENGTHS = "no comparison of two texts of known lengths"
TOO_FEW = f"fewer than {FEWEST_COMPARISONS} comparisons of texts of known lengths"
NO_VARIATION = "the two texts of each comparison are equally long"
BY_SYSTEM = "lengths differ by system alone: length and system cannot be separated"
FEW_CLUSTERS = f"fewer than {FEW} questions"
ALWAYS_ONE = "the longer text always wins or never wins: the preference has no finite value"


def prepare_length_preference(
    first_lengths: Floats,
    second_lengths: Floats,
    outcomes: Floats,
    clusters: Codes,
    systems: tuple[Codes, Codes] | None,
) -> tuple[float, JudgeComparisons | ClusteredEstimate]:
    """Return what `fit_judges` estimates one judge's preference from, or why there is none.

    Parameters
    ----------
    first_lengths, second_lengths
        ``(n,)`` characters of the two texts; NaN where not known.
    outcomes
        ``(n,)`` 1: the first wins, 0: the second, 0.5: a tie, a half win.
    clusters
        ``(n,)`` codes of the question: judgments of one err together.
    systems
        Codes from 0 of the systems of the first and the second text, ``(n,)`` each. None: systems
        are not known, and all strengths are taken to be equal.

    Returns
    -------
    longer_share
        Of decided comparisons of texts of unequal length that the longer won; NaN without any.
    prepared
        Of log odds for one unit of difference in log length: of a text e times as long.
    """
    has_lengths = (first_lengths > 0) & (second_lengths > 0)
    ratio = np.log(first_lengths[has_lengths]) - np.log(second_lengths[has_lengths])
    outcome, cluster = outcomes[has_lengths], clusters[has_lengths]
    is_decided = (outcome != 0.5) & (ratio != 0)
    longer_wins = int((is_decided & ((outcome == 1) == (ratio > 0))).sum())
    n_decided = int(is_decided.sum())
    is_separable = longer_wins in (0, n_decided) and not (outcome[ratio != 0] == 0.5).any()
    pairs = systems or (np.zeros_like(clusters),) * 2
    sides = [codes[has_lengths] for codes in pairs]
    prepared = _prepare(ratio, outcome, cluster, sides, is_separable=is_separable)
    return longer_wins / n_decided if n_decided else np.nan, prepared


def _prepare(
    ratio: Floats, outcomes: Floats, clusters: Codes, systems: list[Codes], *, is_separable: bool
) -> JudgeComparisons | ClusteredEstimate:
    """Return what the coefficient is fitted to, or why there is none."""
    if not ratio.size:
        return unknown(NO_LENGTHS)
    if ratio.size < FEWEST_COMPARISONS:
        return unknown(TOO_FEW)
    if not ratio.any():
        return unknown(NO_VARIATION)
    codes = np.unique(np.stack(systems), return_inverse=True)[1]
    first, second = codes.reshape(2, -1)
    if not varies_within_systems(ratio, first, second):
        return unknown(BY_SYSTEM)
    questions, question = np.unique(clusters, return_inverse=True)
    if questions.size < FEW:
        return unknown(FEW_CLUSTERS)
    if is_separable:
        return unknown(ALWAYS_ONE)
    return JudgeComparisons(
        first, second, outcomes, question.reshape(-1), ratio, np.zeros(ratio.size, bool),
        np.ones(ratio.size),
    )  # fmt: skip
