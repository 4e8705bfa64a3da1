"""A task's model becomes rows: prevalence, confusions, what it says of judges, how it was fitted.

What belongs here is what is said of a task, its classes and its judges; what is said of items is
there (label_items), and comes as sums.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.arrays import Floats
from annot_pipeline.contracts import (
    INT,
    JUDGE_CONFUSION,
    LABEL_CALIBRATION,
    PREVALENCE,
    REAL,
    TEXT,
)
from annot_pipeline.methods.labels.class_identity import ClassIdentity
from annot_pipeline.methods.labels.judge_accuracy import judge_accuracy
from annot_pipeline.methods.labels.published_labels import LabelFit, published_judges
from annot_pipeline.methods.numerics.shares import wilson_interval
from annot_pipeline.runtime.indexing import names_of
from annot_pipeline.stages.labels.check_calibration import evidence_rows
from annot_pipeline.stages.labels.label_items import LabelSums
from annot_pipeline.stages.shared.columns import nulls_for_nan

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

LABEL_FITS = pa.schema(
    [
        ("task", TEXT),
        ("model", TEXT),
        ("dependence", REAL),
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
"""How each fit of a task ended; ``trace`` is the log posterior by iteration."""


@dataclass(frozen=True)
class TaskFit:
    """Represents the fit of a task, and the sums over its items.

    Parameters
    ----------
    name, classes, judges
        Of the task; judges by their public names, in the order of codes.
    is_identified
        Whether agreement or known items say how often each judge is right.
    fit
        To its labels.
    sums
        Of the items.
    audit
        What it certifies (`certificate`); empty without answers to one.
    """

    name: str
    classes: Sequence[str]
    judges: Sequence[str]
    is_identified: bool
    fit: LabelFit
    sums: LabelSums
    audit: Mapping[str, Any] = field(default_factory=dict)

    @property
    def prevalence(self) -> Floats:
        """Return ``(K,)`` shares of items by class."""
        return self._judges[0]

    @property
    def confusion(self) -> Floats:
        """Return ``(n_judges, K, K)`` confusion matrices as [judge, true, observed]."""
        return self._judges[1]

    @cached_property
    def _judges(self) -> tuple[Floats, Floats]:
        return published_judges(self.fit, self.sums.published)


def model_tables(model: TaskFit) -> dict[str, pa.Table]:
    """Return the tables that have rows of tasks, classes and judges."""
    fit = model.fit
    evidence = evidence_rows(fit.item_fit, fit.evidence, model.sums, model.audit)
    return {
        "prevalence": PREVALENCE.from_columns(_prevalence(model)),
        "judge_confusion": JUDGE_CONFUSION.from_columns(_confusion(model)),
        "judge_figures": _judge_figures(model),
        "label_fits": _fits(model),
        "label_evidence": LABEL_CALIBRATION.from_rows(
            [{"task": model.name, **row} for row in evidence]
        ),
    }


def model_metrics(model: TaskFit, judges: pa.Table) -> dict[str, Any]:
    """Return the metrics of a model, by name.

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
        "converged": all(fit.convergence.converged for fit in model.fit.fits),
        "iterations": max(fit.convergence.iterations for fit in model.fit.fits),
        "items": model.sums.n_items,
        "items_by_judgments": [list(pair) for pair in sorted(model.sums.judged.items())],
        "certain_share": int(model.sums.n_certain.sum()) / model.sums.n_items,
        "certainty": _certainty(model),
        **({"certificates": model.audit} if model.audit else {}),
        "judges": len(model.judges),
        "judges_below_chance": judges.filter(below)["judge"].to_pylist(),
        "misnamed_classes": list(_misnamed(model)),
        "related_judges": _related(model),
        "unsupported_labels": model.sums.unsupported,
        "labels_against_the_plurality": [model.sums.against_plurality, model.sums.n_items],
    }


def _misnamed(model: TaskFit) -> Iterator[str]:
    """Return classes that no longer mean their name under Dawid-Skene, and what was done."""
    published = _of_another(model.sums.identity)
    for k in np.flatnonzero(_of_another(model.sums.dawid_skene_identity)).tolist():
        done = "under the published model too" if published[k] else "published under its name"
        yield f"{model.classes[k]} ({done})"


def _of_another(identity: ClassIdentity) -> npt.NDArray[np.bool_]:
    """Return ``(n_labels,)`` whether a class is one that judges call by another name."""
    strange = ~identity.named | (identity.is_answered & ~identity.names_truth)
    return np.asarray(identity.has_mass & strange)


def _related(model: TaskFit) -> dict[str, Any]:
    """Return the groups of judges that were found, without those that are declared alone."""
    related = model.fit.related
    if related is None or not related.n_found:
        return {"groups": [], "are_used": False}
    families = np.unique(related.families[np.concatenate([related.first, related.second])])
    groups = [np.flatnonzero(related.families == family).tolist() for family in families.tolist()]
    return {
        "groups": [sorted(model.judges[judge] for judge in group) for group in groups],
        "are_used": model.fit.item_fit.families is not None,
    }


def _certainty(model: TaskFit) -> dict[str, Any]:
    """Return what the probabilities of a task rest on."""
    recalibration, stacking = model.fit.item_fit.recalibration, model.fit.item_fit.stacking
    is_by_votes = stacking is not None and stacking.votes_alone
    is_one_family = not model.fit.evidence.n_labels and max(model.sums.judged) > 1
    return {
        "n_known": model.sums.known_items.n,
        "is_recalibrated": recalibration is not None,
        "known_items_differ": model.fit.item_fit.known_items_differ,
        "is_identified": model.is_identified and not is_one_family,
        "votes_predict_better": model.fit.evidence.votes_predict_better
        or (is_by_votes and model.is_identified and bool(model.fit.evidence.n_labels)),
        "other_label": model.sums.other_label,
    }


def _prevalence(model: TaskFit) -> dict[str, Any]:
    sums = model.sums
    votes, identity, own = sums.votes, sums.identity, sums.dawid_skene_identity
    k = len(model.classes)
    return {
        "task": pa.repeat(model.name, k),
        "label": model.classes,
        "label_order": np.arange(k),
        "prevalence": np.minimum(model.prevalence, 1.0),
        "dawid_skene_prevalence": np.minimum(model.fit.dawid_skene.prevalence, 1.0),
        "vote_share": votes.vote_share,
        "plurality_frequency": votes.plurality_frequency,
        "majority_frequency": votes.majority_frequency,
        "support": nulls_for_nan(identity.support),
        "plurality_support": nulls_for_nan(identity.plurality_support),
        "plurality_agreement": nulls_for_nan(identity.plurality_agreement),
        "named": pa.array(identity.named, mask=~identity.has_mass),
        "names_truth": pa.array(identity.names_truth, mask=~identity.is_answered),
        "dawid_skene_named": pa.array(own.named, mask=~own.has_mass),
        "dawid_skene_names_truth": pa.array(own.names_truth, mask=~own.is_answered),
        "n_items": identity.n_items,
        "n_certain": sums.n_certain,
    }


def _confusion(model: TaskFit) -> dict[str, Any]:
    j, k = len(model.judges), len(model.classes)
    return {
        "task": pa.repeat(model.name, j * k * k),
        "judge": names_of(model.judges, np.repeat(np.arange(j), k * k)),
        "true_label": names_of(model.classes, np.tile(np.repeat(np.arange(k), k), j)),
        "observed_label": names_of(model.classes, np.tile(np.arange(k), j * k)),
        "probability": np.minimum(model.confusion, 1.0).reshape(-1),
        "dawid_skene_probability": np.minimum(model.fit.dawid_skene.confusion, 1.0).reshape(-1),
    }


def _judge_figures(model: TaskFit) -> pa.Table:
    """Return figures of judges whom anything is compared with: of others the model only guesses."""
    figures = judge_accuracy(model.confusion, model.prevalence, model.sums.identity.has_mass)
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
    ).filter(pa.array(model.sums.n_compared > 0))


def _fits(model: TaskFit) -> pa.Table:
    return pa.Table.from_pylist(
        [
            {
                "task": model.name,
                "model": fit.params.model,
                "dependence": fit.params.dependence,
                "n_labels": len(model.classes),
                "n_items": model.sums.n_items,
                "n_judges": len(model.judges),
                "n_judgments": int(model.sums.judgments.sum()),
                "converged": fit.convergence.converged,
                "iterations": fit.convergence.iterations,
                "log_posterior": float(fit.convergence.log_posterior[-1]),
                "log_likelihood": float(fit.convergence.log_likelihood[-1]),
                "trace": fit.convergence.log_posterior.tolist(),
            }
            for fit in model.fit.fits
        ],
        schema=LABEL_FITS,
    )
