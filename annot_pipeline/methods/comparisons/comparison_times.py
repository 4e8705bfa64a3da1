"""How long judging takes, by the length of the source text.

Source: Pighin, Formiga & Marquez 2012, section 4.4.2 and Figure 3: annotation time by source word,
against the length of sentences, cumulative ("60 means 60 words or less"). Disjoint bins stand
beside, as in a cumulative one the short sentences hide the long.

People take breaks, and a clock runs on: in WMT15 the median ranking takes 54 seconds, the mean
is 98, the longest took 19 hours. So nothing is cut off in silence: mean and median of all times
stand beside the mean of those that are no breaks. **Reading**: a break is a time of more than
`BREAK_FACTOR` times the median of its own (disjoint) bin of lengths. Times that are missing,
negative or not finite are left out and counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from annot_pipeline.arrays import Codes, Flags, Floats

EDGES = (10, 20, 30, 40, 50, 60)
"""Upper ends of the bins, in words; those of Figure 3."""
BREAK_FACTOR = 10.0
"""Times the median of its bin, above which a time is a break."""


@dataclass(frozen=True)
class LengthTimes:
    """Times of the texts of some lengths; numbers of seconds are NaN where there is none.

    Parameters
    ----------
    longer_than, words
        The bin holds texts of more than the one and at most the other number of words; None:
        no limit. Both None: everything, texts of unknown length too.
    n, n_breaks
        Times in the bin, and how many of them are breaks.
    mean, median
        Of all of them, in seconds.
    mean_without_breaks
        Of those that are no breaks.
    mean_per_word, median_per_word, mean_per_word_without_breaks
        The same of seconds by word of the source text (where it has a word).
    """

    longer_than: int | None
    words: int | None
    n: int
    n_breaks: int
    mean: float
    median: float
    mean_without_breaks: float
    mean_per_word: float
    median_per_word: float
    mean_per_word_without_breaks: float


@dataclass(frozen=True)
class ComparisonTimes:
    """Times by length.

    Parameters
    ----------
    overall
        Of everything.
    cumulative
        Of texts of at most 10, 20, ... words.
    disjoint
        Of texts of 0 to 10, 11 to 20, ... words, and of more than the last edge.
    n_unknown_seconds
        Rows without a time that can be used.
    n_unknown_words
        Rows with a time, of texts of unknown length: in `overall` only.
    """

    overall: LengthTimes
    cumulative: tuple[LengthTimes, ...]
    disjoint: tuple[LengthTimes, ...]
    n_unknown_seconds: int
    n_unknown_words: int


def comparison_times(seconds: npt.ArrayLike, words: npt.ArrayLike) -> ComparisonTimes:
    """Summarise times by the length of the source text.

    Parameters
    ----------
    seconds
        ``(n_rows,)`` that a ranking, a comparison or a whole segment took; NaN: unknown.
    words
        ``(n_rows,)`` words of the source text; -1: unknown.

    Raises
    ------
    ValueError
        Arrays of different lengths.
    """
    seconds, words = np.asarray(seconds, np.float64), np.asarray(words, np.int64)
    if seconds.ndim != 1 or seconds.shape != words.shape:
        raise ValueError("seconds and words must be 1-d and of one length")
    usable = np.isfinite(seconds) & (seconds >= 0)
    order = np.lexsort((words[usable], seconds[usable]))  # sums in one order, whatever the rows'
    times, length = seconds[usable][order], words[usable][order]
    bins = np.where(length < 0, -1, np.searchsorted(EDGES, length))
    breaks = _breaks(times, bins)
    ends: Sequence[int | None] = (None, *EDGES, None)
    summary = _Times(times, length, breaks)
    return ComparisonTimes(
        overall=summary.within(np.ones(times.size, np.bool_), None, None),
        cumulative=tuple(
            summary.within((bins >= 0) & (bins <= k), None, edge) for k, edge in enumerate(EDGES)
        ),
        disjoint=tuple(
            summary.within(bins == k, ends[k], ends[k + 1]) for k in range(len(EDGES) + 1)
        ),
        n_unknown_seconds=int((~usable).sum()),
        n_unknown_words=int((length < 0).sum()),
    )


def _breaks(seconds: Floats, bins: Codes) -> Flags:
    breaks = np.zeros(seconds.size, np.bool_)
    for bin_ in np.unique(bins):  # a handful
        inside = bins == bin_
        breaks[inside] = seconds[inside] > BREAK_FACTOR * np.median(seconds[inside])
    return breaks


@dataclass(frozen=True)
class _Times:
    """Usable times, words, and what is a break; ``(n_times,)``."""

    seconds: Floats
    words: Codes
    breaks: Flags

    def within(self, rows: Flags, longer_than: int | None, words: int | None) -> LengthTimes:
        worded = rows & (self.words > 0)
        seconds, per_word = self.seconds[rows], self.seconds[worded] / self.words[worded]
        return LengthTimes(
            longer_than=longer_than,
            words=words,
            n=seconds.size,
            n_breaks=int(self.breaks[rows].sum()),
            mean=_mean(seconds),
            median=_median(seconds),
            mean_without_breaks=_mean(seconds[~self.breaks[rows]]),
            mean_per_word=_mean(per_word),
            median_per_word=_median(per_word),
            mean_per_word_without_breaks=_mean(per_word[~self.breaks[worded]]),
        )


def _mean(values: Floats) -> float:
    return float(values.mean()) if values.size else float("nan")


def _median(values: Floats) -> float:
    return float(np.median(values)) if values.size else float("nan")
