"""A share or a mean with its interval: sums over segments, and segments drawn again.

What one segment holds (comparisons, graphs, pairs of judges) is not independent, so a round of the
bootstrap draws segments with all they hold, and never rows. The statistic is the ratio of two sums.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from annot_pipeline.arrays import Floats
from annot_pipeline.methods.numerics.bootstrap import (
    Estimate,
    ItemResamples,
    Rng,
    replicate,
    weighted,
)
from annot_pipeline.methods.numerics.moments import sums

FEWEST_SEGMENTS = 2
"""Segments below which there is no interval: one drawn again is always the same one."""


def segment_ratio(
    segments: npt.ArrayLike,
    parts: npt.ArrayLike,
    wholes: npt.ArrayLike,
    *,
    rounds: int,
    rng: Rng,
) -> Estimate:
    """Return the sum of parts over the sum of wholes, with a 95% interval over segments.

    Only segments that hold something (a whole above 0) are drawn. NaN if the wholes sum to zero.

    Parameters
    ----------
    segments
        ``(n_rows,)`` codes from 0.
    parts, wholes
        ``(n_rows,)`` numbers; a mean has ones as wholes, a share 0 or 1 as parts.
    rounds, rng
        Bootstrap rounds, 0 for no interval; generator or seed.

    Raises
    ------
    ValueError
        Arrays of different lengths, negative rounds, negative codes or wholes, numbers that are
        not finite.
    """
    segments = np.asarray(segments, np.int64)
    part, whole = np.asarray(parts, np.float64), np.asarray(wholes, np.float64)
    if segments.ndim != 1 or not segments.shape == part.shape == whole.shape:
        raise ValueError("segments, parts and wholes must be 1-d and of one length")
    if not (np.isfinite(part).all() and np.isfinite(whole).all()):
        raise ValueError("parts and wholes must be finite")
    if segments.min(initial=0) < 0 or whole.min(initial=0) < 0:
        raise ValueError("segments and wholes must be 0 or more")
    n_segments = int(segments.max(initial=-1)) + 1
    part, whole = (sums(segments, values, n_groups=n_segments) for values in (part, whole))
    return Estimate.from_replicates(
        ratio_replicates(part[whole > 0], whole[whole > 0], rounds, rng)
    )


def ratio_replicates(part: Floats, whole: Floats, rounds: int, rng: Rng) -> Floats:
    """Return ``(1 + rounds,)`` ratios of the sums of ``(n_segments,)``, that of the data first."""

    def ratio(weights: Floats) -> Floats:
        with np.errstate(invalid="ignore"):
            return (weighted(part, weights) / weighted(whole, weights))[None, :]

    resamples = segment_resamples(part.size, rounds, rng)
    return replicate(ratio, resamples, floats_per_round=part.size).ravel()


def segment_resamples(n_segments: int, rounds: int, rng: Rng) -> ItemResamples:
    """Return resamples of segments; none, but the data itself, below `FEWEST_SEGMENTS`."""
    if rounds < 0:
        raise ValueError(f"rounds is {rounds}, allowed are 0 and more")
    return ItemResamples.draw(n_segments, rounds if n_segments >= FEWEST_SEGMENTS else 0, rng)
