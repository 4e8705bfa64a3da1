"""New judges of labels whose agreement differs from that of judges in the newest release.

New people may be right and the others wrong; what they decide is held back until somebody looks.
What does not belong here: judges whom the build itself suspects (stages.judges.suspicions).
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from annot_pipeline.methods.judges.label_camps import (
    ONE_SIDED,
    CampAgreement,
    agreement_of_counts,
)
from annot_pipeline.runtime.indexing import ByTask, index
from annot_pipeline.stages.gold.metrics import DoubtfulItems

FEWEST_PAIRS = 50
ONE_TRUTH = 0.7
"""Upper limit of the ratio of `CampAgreement`, below which new people are unlike the others."""
FAR_LESS = 0.25
"""Share of the others' kappa below which new people agree by chance only."""
RELIABLE = 0.15
COPYING, USUAL = 0.75, 0.6
"""Kappa of new people above, and of others below which new people may be copies."""


def doubtful_items(rows: pa.Table) -> list[DoubtfulItems]:
    """Return by task how many items suspected people decided, or new people who differ.

    Parameters
    ----------
    rows
        As sql/audit/unlike_judges.sql gives them.
    """
    by_task = ByTask(rows)
    return [_of_task(task, by_task[task]) for task in by_task.names]


def _of_task(task: str, rows: pa.Table) -> DoubtfulItems:
    item, label = index(rows["item"]), index(rows["label"])
    shape = len(item.names), len(label.names)
    counts = np.zeros((3, *shape))
    for at, name in enumerate(("n_new", "n_others", "n_suspected")):
        counts[at, item.codes, label.codes] = rows[name].to_numpy()
    is_checked = np.zeros(shape[0], np.bool_)
    is_checked[item.codes] = rows["is_checked"].to_numpy()
    n_new, n_others, n_suspected = counts.sum(axis=2)
    agreement = agreement_of_counts(counts[:2])
    why = _unlike(agreement)
    doubted = n_suspected if why is None else np.maximum(n_suspected, n_new)
    decided = is_checked & (2 * doubted >= n_new + n_others) & (doubted > 0)
    return DoubtfulItems(
        task=task, items=int(is_checked.sum()), decided=int(decided.sum()), unlike=why
    )


def _unlike(agreement: CampAgreement) -> str | None:
    """Return how new people differ from others; None if nothing tells that they do."""
    new, old, between = agreement.first, agreement.second, agreement.between
    if min(agreement.pairs[:2]) < FEWEST_PAIRS or np.isnan(new) or np.isnan(old):
        return None
    if agreement.pairs[2] >= FEWEST_PAIRS and not np.isnan(between):
        if old > RELIABLE and between + ONE_SIDED * agreement.between_error < FAR_LESS * old:
            return (
                f"new people agree with people of the newest release (kappa {between:.2f}) hardly "
                f"better than by chance; these agree among themselves (kappa {old:.2f})"
            )
        if agreement.ratio_high < ONE_TRUTH and new > RELIABLE:
            return (
                f"new people agree with each other (kappa {new:.2f}) but too little with people of "
                f"the newest release (kappa {between:.2f}), who agree among themselves (kappa "
                f"{old:.2f}): with one truth behind all answers, they would agree more"
            )
        return None
    low = new - ONE_SIDED * agreement.first_error
    high = new + ONE_SIDED * agreement.first_error
    alike = low >= COPYING and old + ONE_SIDED * agreement.second_error < USUAL
    if alike or (old > RELIABLE and high < FAR_LESS * old):
        return (
            f"new people agree with each other with kappa {new:.2f}, people of the newest release "
            f"with kappa {old:.2f}, and the two share too few items to compare"
        )
    return None
