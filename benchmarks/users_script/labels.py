"""Labels of a task by crowd-kit's Dawid-Skene, with votes beside."""

from __future__ import annotations

import numpy as np
import pandas as pd
import scipy.stats
from crowdkit.aggregation import DawidSkene

CERTAIN = 0.99


def infer_labels(rows: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Tables of one task: `labels`, `label_distributions`, `prevalence`, `judge_confusion`.

    Also `accuracy`, for the table of judges: the share of a judge's labels that are right, by the
    model, and the mean over classes.
    """
    columns = {"item": "task", "judge": "worker", "label": "label"}
    model = DawidSkene(n_iter=5_000, tol=1e-10)
    posterior = model.fit_predict_proba(rows[list(columns)].rename(columns=columns))
    votes = rows.groupby(["item", "label"]).size().unstack(fill_value=0)
    posterior = posterior.rename_axis(index="item").loc[votes.index, votes.columns]
    labels = _labels(rows, posterior, votes)
    distributions = posterior.reset_index().melt("item", value_name="probability")
    distributions["votes"] = votes.melt().value
    confusion = pd.DataFrame(model.errors_).reset_index()
    confusion = confusion.rename(columns={"worker": "judge", "label": "observed_label"}).melt(
        ["judge", "observed_label"], var_name="true_label", value_name="probability"
    )
    return {
        "labels": labels.reset_index(),
        "label_distributions": distributions,
        "prevalence": _prevalence(labels, posterior, votes),
        "judge_confusion": confusion,
        "accuracy": _accuracy(rows, distributions, confusion),
    }


def _labels(rows: pd.DataFrame, posterior: pd.DataFrame, votes: pd.DataFrame) -> pd.DataFrame:
    by_item, n = rows.groupby("item"), votes.sum(axis=1)
    inferred = posterior.to_numpy().argmax(axis=1)
    probability = posterior.max(axis=1)
    return pd.DataFrame(
        {
            "label": votes.columns[inferred],
            "probability": probability,
            "certain": probability >= CERTAIN,
            "entropy": scipy.stats.entropy(posterior, axis=1),
            "n_judgments": n,
            "n_judges": by_item.judge.nunique(),
            "majority_label": votes.idxmax(axis=1),
            "majority_share": votes.max(axis=1) / n,
            "support": votes.to_numpy()[np.arange(len(votes)), inferred] / n,
        }
    )


def _prevalence(labels: pd.DataFrame, posterior: pd.DataFrame, votes: pd.DataFrame) -> pd.DataFrame:
    by_label = labels.groupby("label")
    majority = labels[labels.majority_share > 0.5].majority_label
    found = pd.DataFrame(
        {
            "prevalence": posterior.mean(),
            "vote_share": votes.sum() / votes.sum().sum(),
            "plurality_frequency": labels.majority_label.value_counts() / len(labels),
            "majority_frequency": majority.value_counts() / len(labels),
            "support": by_label.support.mean(),
            "plurality_support": by_label.majority_share.mean(),
            "n_items": by_label.size(),
            "n_certain": by_label.certain.sum(),
        }
    )
    return found.rename_axis(index="label").reset_index()


def _accuracy(
    rows: pd.DataFrame, distributions: pd.DataFrame, confusion: pd.DataFrame
) -> pd.DataFrame:
    right = rows[["judge", "item", "label"]].merge(distributions, on=["item", "label"])
    diagonal = confusion[confusion.observed_label == confusion.true_label]
    found = pd.DataFrame(
        {
            "accuracy": right.groupby("judge").probability.mean(),
            "mean_class_accuracy": diagonal.groupby("judge").probability.mean(),
        }
    )
    return found.reset_index()
