"""How far one judge of comparisons prefers the longer text, systems' strengths held.

The log odds that a text wins are the difference of its system's strength to the other's, plus a
coefficient times the natural logarithm of the ratio of their lengths; ties are half wins. With
strengths in the model, better systems that write longer texts are no preference for length.

Source: Dubois et al. 2024, "Length-Controlled AlpacaEval", and the style control of LMArena (Li et
al. 2024), which add lengths to the Bradley-Terry model; here as the ratio, fitted by
`adjusted_comparisons`. Intervals are Student's, by clusters of comparisons.

Assumes that lengths are no consequence of what else makes a text better within its system: where
good texts are long because they say more, the coefficient holds that as well.

Degenerate input, each with a reason: no comparison with two lengths (texts of length 0 have no
logarithm and are left out), fewer than `FEWEST_COMPARISONS`, lengths that do not differ or differ
by system alone, fewer than `FEW` clusters, and a longer text that always wins or always loses.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from annot_pipeline.arrays import Codes, Floats
from annot_pipeline.methods.model_judges.clustered_estimate import ClusteredEstimate, unknown
from annot_pipeline.methods.numerics.blocks import InMemoryBlocks
from annot_pipeline.methods.rankings.adjusted_comparisons import (
    ComparisonBlock,
    adjusted_comparisons,
)
from annot_pipeline.methods.rankings.comparison_fit import varies_within_systems
from annot_pipeline.methods.rankings.inference import FEW

FEWEST_COMPARISONS = 20
NO_LENGTHS = "no comparison of two texts of known lengths"
TOO_FEW = f"fewer than {FEWEST_COMPARISONS} comparisons of texts of known lengths"
NO_VARIATION = "the two texts of each comparison are equally long"
BY_SYSTEM = "lengths differ by system alone: length and system cannot be separated"
FEW_CLUSTERS = f"fewer than {FEW} questions"
ALWAYS_ONE = "the longer text always wins or never wins: the preference has no finite value"


@dataclass(frozen=True)
class LengthPreference:
    """How far a judge prefers the longer text.

    Parameters
    ----------
    longer_wins, n_decided
        Comparisons of texts of unequal length that are no tie, and those that the longer won.
    effect
        Log odds for one unit of difference in log length: of a text e times as long.
    n_comparisons
        Comparisons of texts of known lengths.
    """

    longer_wins: int
    n_decided: int
    effect: ClusteredEstimate
    n_comparisons: int

    @property
    def longer_share(self) -> float:
        """Return the share of decided comparisons that the longer text won; NaN without any."""
        return self.longer_wins / self.n_decided if self.n_decided else float("nan")


def length_preference(
    first_lengths: npt.ArrayLike,
    second_lengths: npt.ArrayLike,
    outcomes: npt.ArrayLike,
    clusters: npt.ArrayLike,
    *,
    systems: tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
) -> LengthPreference:
    """Estimate one judge's preference for longer texts.

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

    Raises
    ------
    ValueError
        Arrays of different lengths, or outcomes that are none.
    """
    lengths = [np.asarray(values, np.float64) for values in (first_lengths, second_lengths)]
    outcome, cluster = np.asarray(outcomes, np.float64), np.asarray(clusters, np.int64)
    no_systems = np.zeros(outcome.size, np.int64)
    pairs = (no_systems, no_systems) if systems is None else systems
    codes = [np.asarray(values, np.int64) for values in pairs]
    sizes = {values.size for values in (*lengths, outcome, cluster, *codes)}
    if len(sizes) > 1:
        raise ValueError(f"arrays of different lengths: {sorted(sizes)}")
    if not np.isin(outcome, (0, 0.5, 1)).all():
        raise ValueError("outcomes must be 0, 0.5 or 1")
    has_lengths = (lengths[0] > 0) & (lengths[1] > 0)
    first, second = (values[has_lengths] for values in lengths)
    outcome, cluster = outcome[has_lengths], cluster[has_lengths]
    ratio = np.log(first) - np.log(second)
    is_decided = (outcome != 0.5) & (ratio != 0)
    longer_wins = int((is_decided & ((outcome == 1) == (ratio > 0))).sum())
    n_decided = int(is_decided.sum())
    is_separable = longer_wins in (0, n_decided) and not (outcome[ratio != 0] == 0.5).any()
    effect = _effect(
        ratio, outcome, cluster, [values[has_lengths] for values in codes],
        is_separable=is_separable,
    )  # fmt: skip
    return LengthPreference(longer_wins, n_decided, effect, int(outcome.size))


def _effect(
    ratio: Floats, outcomes: Floats, clusters: Codes, systems: list[Codes], *, is_separable: bool
) -> ClusteredEstimate:
    """Return the coefficient, or why there is none."""
    if not ratio.size:
        return unknown(NO_LENGTHS)
    if ratio.size < FEWEST_COMPARISONS:
        return unknown(TOO_FEW)
    if not ratio.any():
        return unknown(NO_VARIATION)
    names, codes = np.unique(np.stack(systems), return_inverse=True)
    first, second = codes.reshape(2, -1)
    if not varies_within_systems(ratio, first, second):
        return unknown(BY_SYSTEM)
    questions, question = np.unique(clusters, return_inverse=True)
    if questions.size < FEW:
        return unknown(FEW_CLUSTERS)
    if is_separable:
        return unknown(ALWAYS_ONE)
    block = ComparisonBlock(
        question.reshape(-1), np.zeros(ratio.size, np.int64), first, second, outcomes,
        np.full(ratio.size, -1), questions.size, 1, names.size, 0, covariates=ratio[:, None],
    )  # fmt: skip
    fit = adjusted_comparisons(InMemoryBlocks([block]), has_ties=False).fit
    return ClusteredEstimate(
        float(fit.coefficients[0]), float(fit.coefficient_errors[0]),
        fit.effect_degrees_of_freedom, by_judge=False, reason=None,
    )  # fmt: skip
