"""Shares of the answers asked for that count, of the systems or judges of a task."""

from __future__ import annotations

from collections.abc import Sequence

from annot_pipeline.contracts.stage_metrics import AnsweredShares


def answered_shares(
    names: Sequence[str], n_asked: Sequence[int], n_answered: Sequence[int]
) -> AnsweredShares | None:
    """Return the lowest and the highest share, and a test of all; None if no answer is missing.

    Parameters
    ----------
    names, n_asked, n_answered
        ``(n,)`` systems or judges, answers that were asked for, and those that count.
    """
    if len(names) < 2 or list(n_asked) == list(n_answered):
        return None
    from annot_pipeline.methods.numerics.shares import share_difference

    tested = share_difference(n_answered, n_asked)
    ends = (tested.lowest, tested.highest)
    return AnsweredShares(
        names=[names[n] for n in ends],
        n_asked=[n_asked[n] for n in ends],
        n_answered=[n_answered[n] for n in ends],
        difference=tested.difference,
        p_value=tested.p_value,
        bounds=None,
    )
