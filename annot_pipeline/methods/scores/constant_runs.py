"""The longest run of equal scores of each judge, in the order in which they were given."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from annot_pipeline.arrays import Codes, Floats


def longest_constant_runs(
    judges: Codes,
    sittings: Codes,
    order: Sequence[npt.NDArray[np.int64]],
    scores: Floats,
    *,
    n_judges: int,
) -> Codes:
    """Return the longest run ``(n_judges,)``; -1 where the order is not known.

    Parameters
    ----------
    judges
        ``(n_judgments,)`` codes of judges from 0.
    sittings
        ``(n_judgments,)`` codes of stretches of work whose order among each other is not known;
        no run goes over from one to the next.
    order
        Arrays ``(n_judgments,)`` that say which judgment came first, the most important first.
        A judge with two judgments equal in all of them has no known order.
    scores
        ``(n_judgments,)``.
    """
    keys = [judges, sittings, *order]
    sequence = np.lexsort(keys[::-1])
    who, ordered_scores = judges[sequence], scores[sequence]
    same = np.ones(max(sequence.size - 1, 0), np.bool_)
    for key in keys:
        same &= key[sequence][1:] == key[sequence][:-1]
    unknown = np.zeros(n_judges, np.bool_)
    unknown[who[1:][same]] = True
    starts = np.ones(sequence.size, np.bool_)
    when = sittings[sequence]
    same_sitting = (who[1:] == who[:-1]) & (when[1:] == when[:-1])
    starts[1:] = ~same_sitting | (ordered_scores[1:] != ordered_scores[:-1])
    first = np.flatnonzero(starts)
    lengths = np.diff(np.append(first, sequence.size))
    longest = np.zeros(n_judges, np.int64)
    np.maximum.at(longest, who[first], lengths)
    return np.where(unknown, -1, longest)
