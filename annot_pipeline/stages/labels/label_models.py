"""A task's model becomes rows: prevalence, confusions, what it says of judges, how it was fitted.

What belongs here is what is said of a task, its classes and its judges; what is said of items is
there (label_items), and comes as sums.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.contracts import INT, JUDGE_CONFUSION, PREVALENCE, REAL, TEXT
from annot_pipeline.methods.labels.dawid_skene import DawidSkeneModel
from annot_pipeline.methods.labels.judge_accuracy import judge_accuracy
from annot_pipeline.methods.labels.label_calibration import CalibratedFit
from annot_pipeline.methods.numerics.wilson import wilson_interval
from annot_pipeline.runtime.indexing import names_of
from annot_pipeline.stages.labels.calibrate_labels import calibration_table, evidence_rows
from annot_pipeline.stages.labels.label_items import LabelSums

JUDGE_FIGURES = pa.schema(
    [
        ("task", TEXT),
        ("judge", TEXT),
        ("n_judgments", INT),
        ("accuracy", REAL),
        ("mean_class_accuracy", REAL),
        ("mean_met_class_accuracy", REAL),
        ("chance_accuracy", REAL),
        ("bias_label", TEXT),
        ("bias", REAL),
    ]
)
"""What the model says of judges; joined into `contracts.JUDGES`."""

FITS = pa.schema(
    [
        ("task", TEXT),
        ("n_labels", INT),
        ("n_items", INT),
        ("n_judges", INT),
        ("n_judgments", INT),
        ("converged", pa.bool_()),
        ("iterations", INT),
        ("log_posterior", REAL),
        ("log_likelihood", REAL),
        ("trace", pa.list_(REAL)),
    ]
)
"""How each task's fit ended; ``trace`` is the log posterior by iteration."""


TASK_METRICS = (
    "classes", "converged", "iterations", "items", "items_by_judgments", "certain_share",
    "calibrations", "judges", "judges_below_chance", "misnamed_classes",
)  # fmt: skip


@dataclass(frozen=True)
class LabelModel:
    """What was fitted to a task, and what its items add up to under it.

    Parameters
    ----------
    name, classes, judges
        Of the task; judges by their public names, in the order of codes.
    fits
        To its labels.
    sums
        Of the items.
    """

    name: str
    classes: Sequence[str]
    judges: Sequence[str]
    fits: CalibratedFit
    sums: LabelSums

    @property
    def fit(self) -> DawidSkeneModel:
        """Return the label model itself."""
        return self.fits.fit


def model_tables(model: LabelModel) -> dict[str, pa.Table]:
    """Return the tables that have rows of tasks, classes and judges."""
    return {
        "prevalence": PREVALENCE.from_columns(_prevalence(model)),
        "judge_confusion": JUDGE_CONFUSION.from_columns(_confusion(model)),
        "judge_figures": _judge_figures(model),
        "label_fits": _fit(model),
        "label_evidence": calibration_table(
            [{"task": model.name, **row} for row in evidence_rows(model.fits)]
        ),
    }


def model_metrics(model: LabelModel, judges: pa.Table) -> dict[str, Any]:
    """Return the metrics of a model, by name, as `TASK_METRICS` lists them.

    Parameters
    ----------
    judges
        ``judge_figures`` of the task.
    """
    n = judges["n_judgments"].to_numpy()
    _, high = wilson_interval(judges["accuracy"].to_numpy() * n, n)
    # of few labels the accuracy is a guess: they tell nothing of a judge
    below = pc.less(pa.array(high), judges["chance_accuracy"])
    return {
        "classes": list(model.classes),
        "converged": model.fit.convergence.converged,
        "iterations": model.fit.convergence.iterations,
        "items": model.sums.n_items,
        "items_by_judgments": [list(pair) for pair in sorted(model.sums.judged.items())],
        "certain_share": model.sums.n_calibrated_certain / model.sums.n_items,
        "calibrations": _calibration(model),
        "judges": judges.num_rows,
        "judges_below_chance": judges.filter(below)["judge"].to_pylist(),
        "misnamed_classes": list(_misnamed(model)),
    }


def _misnamed(model: LabelModel) -> Iterator[str]:
    """Return classes that no longer mean their name, in the model or the pooled one."""
    pooled = [(model.sums.pooled_identity, ", pooled")] * bool(model.fits.choice.pooling)
    for identity, where in ((model.sums.identity, ""), *pooled):
        of_another = ~identity.named | (identity.is_answered & ~identity.names_truth)
        for k in np.flatnonzero(identity.has_mass & of_another).tolist():
            yield f"{model.classes[k]}{where}"


def _calibration(model: LabelModel) -> dict[str, Any]:
    """Return how calibration was chosen and fits, and how many labels it disagrees with."""
    return {
        "chosen_by": model.fits.choice.chosen_by,
        "is_left_overconfident": model.fits.evidence.residual_overconfidence.is_clear,
        "is_worse": model.fits.evidence.loss.is_clear,
        "other_class": model.sums.other_class,
    }


def _prevalence(model: LabelModel) -> dict[str, Any]:
    fit, votes, identity, pooled = (
        model.fit,
        model.sums.votes,
        model.sums.identity,
        model.sums.pooled_identity,
    )
    k = len(model.classes)
    return {
        "task": pa.repeat(model.name, k),
        "label": model.classes,
        "label_order": np.arange(k),
        "prevalence": np.minimum(fit.prevalence, 1.0),
        "vote_share": votes.vote_share,
        "plurality_frequency": votes.plurality_frequency,
        "majority_frequency": votes.majority_frequency,
        "support": _null_nan(identity.support),
        "plurality_support": _null_nan(identity.plurality_support),
        "plurality_agreement": _null_nan(identity.plurality_agreement),
        "named": pa.array(identity.named, mask=~identity.has_mass),
        "names_truth": pa.array(identity.names_truth, mask=~identity.is_answered),
        "pooled_named": pa.array(pooled.named, mask=~pooled.has_mass),
        "pooled_names_truth": pa.array(pooled.names_truth, mask=~pooled.is_answered),
        "n_items": identity.n_items,
        "n_certain": model.sums.n_certain,
    }


def _confusion(model: LabelModel) -> dict[str, Any]:
    fit = model.fit
    j, k = len(model.judges), len(model.classes)
    return {
        "task": pa.repeat(model.name, j * k * k),
        "judge": names_of(model.judges, np.repeat(np.arange(j), k * k)),
        "true_label": names_of(model.classes, np.tile(np.repeat(np.arange(k), k), j)),
        "observed_label": names_of(model.classes, np.tile(np.arange(k), j * k)),
        "probability": np.minimum(fit.confusion, 1.0).reshape(-1),
    }


def _judge_figures(model: LabelModel) -> pa.Table:
    fit, identity = model.fit, model.sums.identity
    figures = judge_accuracy(fit.confusion, fit.prevalence, identity.has_mass)
    return pa.table(
        {
            "task": pa.repeat(model.name, len(model.judges)),
            "judge": model.judges,
            "n_judgments": model.sums.judgments,
            "accuracy": np.minimum(figures.accuracy, 1.0),
            "mean_class_accuracy": np.minimum(figures.mean_class_accuracy, 1.0),
            "mean_met_class_accuracy": np.minimum(figures.mean_met_class_accuracy, 1.0),
            "chance_accuracy": np.minimum(figures.chance_accuracy, 1.0),
            "bias_label": names_of(model.classes, figures.bias_label),
            "bias": figures.bias,
        },
        schema=JUDGE_FIGURES,
    )


def _fit(model: LabelModel) -> pa.Table:
    course = model.fit.convergence
    return pa.Table.from_pylist(
        [
            {
                "task": model.name,
                "n_labels": len(model.classes),
                "n_items": model.sums.n_items,
                "n_judges": len(model.judges),
                "n_judgments": int(model.sums.judgments.sum()),
                "converged": course.converged,
                "iterations": course.iterations,
                "log_posterior": float(course.log_posterior[-1]),
                "log_likelihood": float(course.log_likelihood[-1]),
                "trace": course.log_posterior.tolist(),
            }
        ],
        schema=FITS,
    )


def _null_nan(values: np.ndarray) -> pa.Array:
    return pa.array(values, mask=np.isnan(values))
