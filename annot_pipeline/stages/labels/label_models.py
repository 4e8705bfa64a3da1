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


FACTS = (
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
        """The label model itself."""
        return self.fits.fit


def model_tables(of: LabelModel) -> dict[str, pa.Table]:
    """Return the tables that have rows of tasks, classes and judges."""
    return {
        "prevalence": PREVALENCE.of(_prevalence(of)),
        "judge_confusion": JUDGE_CONFUSION.of(_confusion(of)),
        "judge_figures": _judge_figures(of),
        "label_fits": _fit(of),
        "label_evidence": calibration_table(
            [{"task": of.name, **row} for row in evidence_rows(of.fits)]
        ),
    }


def model_facts(of: LabelModel, judges: pa.Table) -> dict[str, Any]:
    """What gates look at and people want to see, by name, `FACTS`.

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
        "classes": list(of.classes),
        "converged": of.fit.convergence.converged,
        "iterations": of.fit.convergence.iterations,
        "items": of.sums.n_items,
        "items_by_judgments": [list(pair) for pair in sorted(of.sums.judged.items())],
        "certain_share": of.sums.n_calibrated_certain / of.sums.n_items,
        "calibrations": _calibration(of),
        "judges": judges.num_rows,
        "judges_below_chance": judges.filter(below)["judge"].to_pylist(),
        "misnamed_classes": list(_misnamed(of)),
    }


def _misnamed(of: LabelModel) -> Iterator[str]:
    """Classes that no longer mean their name, in the model or with pooled confusions."""
    pooled = [(of.sums.pooled_identity, ", pooled")] * bool(of.fits.choice.pooling)
    for identity, where in ((of.sums.identity, ""), *pooled):
        of_another = ~identity.named | (identity.is_answered & ~identity.names_truth)
        for k in np.flatnonzero(identity.has_mass & of_another).tolist():
            yield f"{of.classes[k]}{where}"


def _calibration(of: LabelModel) -> dict[str, Any]:
    """By what it was chosen, how it does, and how many labels are not the class it prefers."""
    return {
        "chosen_by": of.fits.choice.chosen_by,
        "is_left_overconfident": of.fits.evidence.left.is_clear,
        "is_worse": of.fits.evidence.loss.is_clear,
        "other_class": of.sums.other_class,
    }


def _prevalence(of: LabelModel) -> dict[str, Any]:
    fit, votes, identity, pooled = of.fit, of.sums.votes, of.sums.identity, of.sums.pooled_identity
    k = len(of.classes)
    return {
        "task": pa.repeat(of.name, k),
        "label": of.classes,
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
        "n_certain": of.sums.n_certain,
    }


def _confusion(of: LabelModel) -> dict[str, Any]:
    fit = of.fit
    j, k = len(of.judges), len(of.classes)
    return {
        "task": pa.repeat(of.name, j * k * k),
        "judge": names_of(of.judges, np.repeat(np.arange(j), k * k)),
        "true_label": names_of(of.classes, np.tile(np.repeat(np.arange(k), k), j)),
        "observed_label": names_of(of.classes, np.tile(np.arange(k), j * k)),
        "probability": np.minimum(fit.confusion, 1.0).reshape(-1),
    }


def _judge_figures(of: LabelModel) -> pa.Table:
    fit, identity = of.fit, of.sums.identity
    figures = judge_accuracy(fit.confusion, fit.prevalence, identity.has_mass)
    return pa.table(
        {
            "task": pa.repeat(of.name, len(of.judges)),
            "judge": of.judges,
            "n_judgments": of.sums.judgments,
            "accuracy": np.minimum(figures.accuracy, 1.0),
            "mean_class_accuracy": np.minimum(figures.mean_class_accuracy, 1.0),
            "mean_met_class_accuracy": np.minimum(figures.mean_met_class_accuracy, 1.0),
            "chance_accuracy": np.minimum(figures.chance_accuracy, 1.0),
            "bias_label": names_of(of.classes, figures.bias_label),
            "bias": figures.bias,
        },
        schema=JUDGE_FIGURES,
    )


def _fit(of: LabelModel) -> pa.Table:
    course = of.fit.convergence
    return pa.Table.from_pylist(
        [
            {
                "task": of.name,
                "n_labels": len(of.classes),
                "n_items": of.sums.n_items,
                "n_judges": len(of.judges),
                "n_judgments": int(of.sums.judgments.sum()),
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
