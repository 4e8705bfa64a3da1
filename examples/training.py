"""An asset of a user's project: trains on gold labels, whenever they changed."""

from __future__ import annotations

from pathlib import Path

import dagster as dg
import numpy as np

import annot_pipeline

GOLD = Path(__file__).parents[1] / "build" / "anaesthetists" / "gold"
FOLDS = 5


LABELS = dg.AssetKey(["anaesthetists", "gold", "labels"])  # materialized by publication only


@dg.asset(
    key=["anaesthetists", "baseline"],
    deps=[LABELS],
    group_name="training",
    kinds={"numpy"},
    automation_condition=dg.AutomationCondition.any_deps_match(
        dg.AutomationCondition.data_version_changed()
    ).since_last_handled(),
)
def baseline() -> dg.MaterializeResult[None]:
    """The simplest classifier: the commonest label. What a model has to beat."""
    table = annot_pipeline.load_gold(GOLD, "labels")  # of the newest release, checksum verified
    sure = [row for row in table.to_pylist() if row["certain"]]
    classes, labels = np.unique([row["label"] for row in sure], return_inverse=True)
    fold = np.arange(len(labels)) % FOLDS
    right = 0
    for held_out in range(FOLDS):
        commonest = np.bincount(labels[fold != held_out], minlength=len(classes)).argmax()
        right += int((labels[fold == held_out] == commonest).sum())
    return dg.MaterializeResult(
        metadata={
            "trained_on": len(labels),
            "predicts": str(classes[np.bincount(labels).argmax()]),
            "accuracy": right / len(labels),
            "gold": dg.MetadataValue.path(GOLD),
        }
    )
