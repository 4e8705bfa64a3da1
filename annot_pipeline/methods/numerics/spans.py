"""Spans of consecutive codes that share the work of several jobs."""

from __future__ import annotations

from collections.abc import Sequence


def spans_by_size(counts: Sequence[int], most: int) -> list[tuple[int, int]]:
    """Return spans of consecutive codes, each from its first to before its second number.

    Parameters
    ----------
    counts
        Of each code, what it adds to the work of a job.
    most
        Of a span, unless it is one code.
    """
    spans, start, total = [], 0, 0
    for code, n in enumerate(counts):
        if total and total + n > most:
            spans.append((start, code))
            start, total = code, 0
        total += n
    return [*spans, (start, len(counts))]
