"""Label items by majority vote, in tasks with too many classes and judges for the label model.

These tasks have no model: no probability, no row of prevalence or judge_confusion, and
label_distributions holds the classes that an item has votes for.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from annot_pipeline.contracts import LABEL_DISTRIBUTIONS, LABELS
from annot_pipeline.methods.labels.votes import count_judges
from annot_pipeline.runtime.indexing import names_of
from annot_pipeline.stages.labels.label_tasks import LabelTask


def vote_tables(task: LabelTask) -> dict[str, pa.Table]:
    """Return ``labels`` and ``label_distributions`` of a task, from its votes alone.

    Memory grows with the number of judgments, not with items times classes. Ties are broken by
    class order, as they are in ``majority_label`` of other tasks.
    """
    codes = task.codes
    cells, votes = np.unique(codes.items * codes.n_labels + codes.labels, return_counts=True)
    items, labels = cells // codes.n_labels, cells % codes.n_labels
    n_judgments = np.bincount(codes.items, minlength=codes.n_items)
    by_votes = np.lexsort((labels, -votes, items))
    first = by_votes[np.searchsorted(items, np.arange(codes.n_items))]
    label = names_of(task.classes, labels[first])
    share = votes[first] / n_judgments
    no = np.zeros(codes.n_items, np.bool_)
    rows: dict[str, Any] = {
        "task": pa.repeat(task.name, codes.n_items),
        "item": task.items,
        "label": label,
        "certain": no,
        "n_judgments": n_judgments,
        "n_judges": count_judges(codes),
        "majority_label": label,
        "majority_share": share,
        "support": share,
        "adjudicated": no,
        "dawid_skene_certain": no,
    }
    distributions = {
        "task": pa.repeat(task.name, len(cells)),
        "item": names_of(task.items, items),
        "label": names_of(task.classes, labels),
        "votes": votes,
    }
    return {
        "labels": LABELS.from_columns(rows),
        "label_distributions": LABEL_DISTRIBUTIONS.from_columns(distributions),
    }


def vote_metrics(tables: Mapping[str, pa.Table]) -> dict[str, Any]:
    """Return ``items`` and ``items_by_judgments`` of a task that `vote_tables` labelled."""
    n_judgments = tables["labels"]["n_judgments"].to_numpy()
    sizes, counts = np.unique(n_judgments, return_counts=True)
    pairs = zip(sizes.tolist(), counts.tolist(), strict=True)
    return {"items": len(n_judgments), "items_by_judgments": [list(pair) for pair in pairs]}
