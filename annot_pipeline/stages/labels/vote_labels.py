"""Label items by majority vote: tasks without a label model.

These are tasks whose votes come as counts, of judges whom nobody names, and tasks with too many
classes and judges for the model. They have no probability, no row of prevalence or judge_confusion,
and label_distributions holds the classes that an item has votes for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.arrays import Codes, Floats
from annot_pipeline.contracts import LABEL_DISTRIBUTIONS, LABELS
from annot_pipeline.methods.labels.votes import DIGITS, vote_weights
from annot_pipeline.runtime.coded_task import NONE, CodedTask
from annot_pipeline.runtime.indexing import names_of


def vote_tables(used: pa.Table, task: str, classes: Sequence[str]) -> dict[str, pa.Table]:
    """Return ``labels`` and ``label_distributions`` of a task, from its votes alone.

    Memory grows with the number of judgments, not with items times classes. Ties are broken by
    class order, as they are in ``majority_label`` of other tasks.

    Parameters
    ----------
    used
        ``item``, ``judge``, ``label``, ``votes`` of the task's judgments that count. A judge's
        answer, whose ``votes`` is null, is one vote.
    task
        Its name.
    classes
        In their order, all that occur.
    """
    rows = CodedTask(task, used)
    item, n_items, n_labels = rows["item"], rows.n("item"), max(len(classes), 1)
    codes = rows.codes_among("label", classes)
    cells, cell_of_row = np.unique(item.codes * n_labels + codes, return_inverse=True)
    votes = np.zeros(cells.size, np.int64)
    np.add.at(votes, cell_of_row.reshape(-1), pc.fill_null(used["votes"], 1).to_numpy())
    items, labels = cells // n_labels, cells % n_labels
    n_judgments = np.zeros(n_items, np.int64)
    np.add.at(n_judgments, items, votes)
    by_votes = np.lexsort((labels, -_judges_votes(rows, cell_of_row.reshape(-1), votes), items))
    first = by_votes[np.searchsorted(items, np.arange(n_items))]
    majority = names_of(classes, labels[first])
    share = votes[first] / n_judgments
    no = np.zeros(n_items, np.bool_)
    labelled: dict[str, Any] = {
        "task": pa.repeat(task, n_items),
        "item": item.names,
        "label": majority,
        "certain": no,
        "n_judgments": n_judgments,
        "n_judges": _count_judges(rows),
        "majority_label": majority,
        "majority_share": share,
        "support": share,
        "adjudicated": no,
        "dawid_skene_certain": no,
    }
    distributions = {
        "task": pa.repeat(task, cells.size),
        "item": names_of(item.names, items),
        "label": names_of(classes, labels),
        "votes": votes,
    }
    return {
        "labels": LABELS.from_columns(labelled),
        "label_distributions": LABEL_DISTRIBUTIONS.from_columns(distributions),
    }


def vote_metrics(tables: Mapping[str, pa.Table]) -> dict[str, Any]:
    """Return ``items`` and ``items_by_judgments`` of a task that `vote_tables` labelled."""
    n_judgments = tables["labels"]["n_judgments"].to_numpy()
    sizes, counts = np.unique(n_judgments, return_counts=True)
    pairs = zip(sizes.tolist(), counts.tolist(), strict=True)
    return {"items": len(n_judgments), "items_by_judgments": [list(pair) for pair in pairs]}


def count_anonymous(used: pa.Table) -> int:
    """Return how many votes are of judges whom nobody names."""
    return int(pc.sum(used["votes"]).as_py() or 0)


def _judges_votes(rows: CodedTask, cells: Codes, votes: Codes) -> Floats:
    """Return votes where the answers of a judge whom a name tells share one vote."""
    judge, item = rows["judge"].codes, rows["item"].codes
    is_named = judge != NONE
    surplus = vote_weights(item[is_named], judge[is_named]) - 1
    return np.round(votes + np.bincount(cells[is_named], surplus, votes.size), DIGITS)


def _count_judges(rows: CodedTask) -> Codes:
    """Return the number of named judges of each item, in the order of items by name."""
    judge, item = rows["judge"].codes, rows["item"].codes
    n_judges, is_named = max(rows.n("judge"), 1), judge != NONE
    pairs = np.unique((item * n_judges + judge)[is_named])
    return np.bincount(pairs // n_judges, minlength=rows.n("item"))
