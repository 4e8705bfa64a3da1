"""Labelled sets whose truth is known, from the real data: Snow et al. 2008, Zheng et al. 2017."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from annot_pipeline.methods.labels.label_matrix import LabelCodes


def labels_and_gold(data: Path, name: str) -> tuple[pd.DataFrame, pd.Series]:
    """Columns item, judge, label; and the truth by item."""
    if name in ("rte", "temp", "wsd"):
        path = data / "snow2008" / "all_collected_data" / f"{name}.standardized.tsv"
        table = pd.read_csv(path, sep="\t")
        table = table.rename(
            columns={"orig_id": "item", "!amt_worker_ids": "judge", "response": "label"}
        )
        return table, table.groupby("item").gold.first()
    folder = data / {"dog": "dog-4class", "face": "face-sentiment"}[name]
    table = pd.read_csv(folder / "answer.csv")
    table.columns = pd.Index(["item", "judge", "label"])
    return table, pd.read_csv(folder / "truth.csv").set_index("question").truth


def task_and_truth(data: Path, name: str) -> tuple[LabelCodes, np.ndarray]:
    """Labels in codes, and codes ``(n_items,)`` of the truth."""
    table, gold = labels_and_gold(data, name)
    item, items = pd.factorize(table.item, sort=True)
    judge, judges = pd.factorize(table.judge, sort=True)
    label, classes = pd.factorize(table.label, sort=True)
    task = LabelCodes(item, judge, label, len(items), len(judges), len(classes))
    return task, np.searchsorted(classes, gold.reindex(items))
