"""Judgments of categorical tasks become labels: votes and Dawid-Skene, all tasks in one batch.

What experts decided takes no part in the model; it is put in the place of labels (adjudicate).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.contracts import (
    CERTAIN,
    INT,
    JUDGE_CONFUSION,
    LABEL_DISTRIBUTIONS,
    LABELS,
    PREVALENCE,
    REAL,
    TEXT,
)
from annot_pipeline.methods.calibration_choice import Choice
from annot_pipeline.methods.class_identity import ClassIdentity, class_identity
from annot_pipeline.methods.dawid_skene import (
    DawidSkeneParams,
    DawidSkeneResult,
    dawid_skene_batch,
)
from annot_pipeline.methods.judge_accuracy import judge_accuracy
from annot_pipeline.methods.label_calibration import Calibration, CalibrationParams
from annot_pipeline.methods.votes import Votes, count_votes
from annot_pipeline.steps.adjudicate import adjudicate
from annot_pipeline.steps.by_task import ByTask
from annot_pipeline.steps.calibrate_labels import calibrate_labels, evidence_table
from annot_pipeline.steps.indexing import index_pairs, names_of
from annot_pipeline.steps.label_tasks import LabelTask, label_tasks

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
class _Labelled:
    """One task with its results; identities of classes as judges and as pooled judges have them."""

    task: LabelTask
    fit: DawidSkeneResult
    votes: Votes
    identity: ClassIdentity
    calibration: Calibration
    pooled_identity: ClassIdentity


def infer_labels(
    judgments: pa.Table,
    tasks: pa.Table,
    *,
    params: DawidSkeneParams,
    calibration: CalibrationParams,
    seed: int,
    together: Mapping[str, Choice] | None = None,
    progress: Callable[[str], None] | None = None,
) -> tuple[dict[str, pa.Table], dict[str, Any]]:
    """Infer the labels of every categorical task.

    Parameters
    ----------
    judgments
        ``task``, ``item``, ``judge``, ``judge_id``, ``label``, ``control``, ``fate``,
        ``submitted_at``, ``why``; those used count, and adjudications override what comes of them.
    tasks
        ``task``, ``kind``, ``labels`` (declared classes in order, or null).
    params
        Settings of Dawid-Skene.
    calibration, seed
        How certainty is calibrated, and the seed of which labels are held out together.
    together
        What tasks chose together, where these are not all tasks of the campaign.
    progress
        Told what is going on.

    Returns
    -------
    tables, facts
        ``labels``, ``label_distributions``, ``prevalence``, ``judge_confusion``,
        ``judge_figures``, ``label_fits``, ``label_evidence``; and what gates and people want to
        know, each by task.
    """
    found = label_tasks(judgments, tasks)

    def told(finished: int, iteration: int) -> None:
        if progress:
            progress(f"Dawid-Skene: iteration {iteration}, {finished}/{len(found)} tasks settled")

    fits = dawid_skene_batch([t.codes for t in found], params=params, progress=told)
    votes = [
        count_votes(
            t.codes.items, t.codes.labels, n_items=t.codes.n_items, n_labels=t.codes.n_labels
        )
        for t in found
    ]
    if progress:
        progress("Dawid-Skene: calibrating by labels that are held out")
    names, codes = [t.name for t in found], [t.codes for t in found]
    calibrated = calibrate_labels(
        names, codes, fits, params=calibration, seed=seed, together=together
    )
    results = [
        _Labelled(t, f, v, class_identity(f.posterior, v), c, class_identity(c.fit.posterior, v))
        for t, f, v, c in zip(found, fits, votes, calibrated, strict=True)
    ]
    tables = {
        "labels": _stack(LABELS.schema, [LABELS.of(_labels(r)) for r in results]),
        "label_distributions": _stack(
            LABEL_DISTRIBUTIONS.schema,
            [LABEL_DISTRIBUTIONS.of(_distributions(r)) for r in results],
        ),
        "prevalence": _stack(PREVALENCE.schema, [PREVALENCE.of(_prevalence(r)) for r in results]),
        "judge_confusion": _stack(
            JUDGE_CONFUSION.schema, [JUDGE_CONFUSION.of(_confusion(r)) for r in results]
        ),
        "judge_figures": _stack(JUDGE_FIGURES, [_judge_figures(r) for r in results]),
        "label_fits": _stack(FITS, [_fit(r) for r in results]),
        "label_evidence": evidence_table(names, codes, fits, calibrated, seed=seed),
    }
    facts = _facts(tables, results)
    tables["labels"], decided = adjudicate(
        tables["labels"], tables["label_distributions"], judgments
    )
    return tables, facts | decided


def _labels(of: _Labelled) -> dict[str, Any]:
    task, fit, votes, identity = of.task, of.fit, of.votes, of.identity
    calibrated = of.calibration.posterior[np.arange(len(task.items)), identity.inferred]
    probability = fit.posterior.max(axis=1)
    logs = np.log(fit.posterior, where=fit.posterior > 0, out=np.zeros_like(fit.posterior))
    pairs = index_pairs(task.codes.items, task.codes.judges)
    label = names_of(task.classes, identity.inferred)
    n = len(task.items)
    return {
        "task": pa.repeat(task.name, n),
        "item": task.items,
        "label": label,
        "probability": np.minimum(probability, 1.0),
        "certain": probability >= CERTAIN,
        "entropy": np.maximum(-(fit.posterior * logs).sum(axis=1), 0.0),
        "n_judgments": votes.counts.sum(axis=1),
        "n_judges": np.bincount(pairs.first, minlength=n),
        "majority_label": names_of(task.classes, votes.majority),
        "majority_share": votes.majority_share,
        "support": identity.item_support,
        "adjudicated": np.zeros(n, np.bool_),
        "model_label": label,
        "model_probability": np.minimum(probability, 1.0),
        "calibrated_probability": np.minimum(calibrated, 1.0),
        "calibrated_certain": (calibrated >= CERTAIN) & (len(task.classes) > 1),
    }


def _distributions(of: _Labelled) -> dict[str, Any]:
    task, fit, votes = of.task, of.fit, of.votes
    n, k = fit.posterior.shape
    return {
        "task": pa.repeat(task.name, n * k),
        "item": names_of(task.items, np.repeat(np.arange(n), k)),
        "label": names_of(task.classes, np.tile(np.arange(k), n)),
        "probability": np.minimum(fit.posterior, 1.0).reshape(-1),
        "calibrated_probability": np.minimum(of.calibration.posterior, 1.0).reshape(-1),
        "votes": votes.counts.reshape(-1),
    }


def _prevalence(of: _Labelled) -> dict[str, Any]:
    task, fit, votes, identity = of.task, of.fit, of.votes, of.identity
    k = len(task.classes)
    certain = fit.posterior.max(axis=1) >= CERTAIN
    return {
        "task": pa.repeat(task.name, k),
        "label": task.classes,
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
        "pooled_named": pa.array(of.pooled_identity.named, mask=~of.pooled_identity.has_mass),
        "pooled_names_truth": pa.array(
            of.pooled_identity.names_truth, mask=~of.pooled_identity.is_answered
        ),
        "n_items": identity.n_items,
        "n_certain": np.bincount(identity.inferred[certain], minlength=k),
    }


def _confusion(of: _Labelled) -> dict[str, Any]:
    task, fit = of.task, of.fit
    j, k = len(task.judges), len(task.classes)
    return {
        "task": pa.repeat(task.name, j * k * k),
        "judge": names_of(task.judges, np.repeat(np.arange(j), k * k)),
        "true_label": names_of(task.classes, np.tile(np.repeat(np.arange(k), k), j)),
        "observed_label": names_of(task.classes, np.tile(np.arange(k), j * k)),
        "probability": np.minimum(fit.confusion, 1.0).reshape(-1),
    }


def _judge_figures(of: _Labelled) -> pa.Table:
    task, fit, identity = of.task, of.fit, of.identity
    figures = judge_accuracy(fit.confusion, fit.prevalence, identity.has_mass)
    return pa.table(
        {
            "task": pa.repeat(task.name, len(task.judges)),
            "judge": task.judges,
            "n_judgments": np.bincount(task.codes.judges, minlength=len(task.judges)),
            "accuracy": np.minimum(figures.accuracy, 1.0),
            "mean_class_accuracy": np.minimum(figures.mean_class_accuracy, 1.0),
            "mean_met_class_accuracy": np.minimum(figures.mean_met_class_accuracy, 1.0),
            "chance_accuracy": np.minimum(figures.chance_accuracy, 1.0),
            "bias_label": names_of(task.classes, figures.bias_label),
            "bias": figures.bias,
        },
        schema=JUDGE_FIGURES,
    )


def _fit(of: _Labelled) -> pa.Table:
    task, course = of.task, of.fit.convergence
    return pa.Table.from_pylist(
        [
            {
                "task": task.name,
                "n_labels": len(task.classes),
                "n_items": len(task.items),
                "n_judges": len(task.judges),
                "n_judgments": task.codes.items.size,
                "converged": course.converged,
                "iterations": course.iterations,
                "log_posterior": float(course.log_posterior[-1]),
                "log_likelihood": float(course.log_likelihood[-1]),
                "trace": course.log_posterior.tolist(),
            }
        ],
        schema=FITS,
    )


def _stack(schema: pa.Schema, parts: Sequence[pa.Table]) -> pa.Table:
    """Tables of tasks, in task order, as one."""
    return pa.concat_tables(parts).combine_chunks() if parts else schema.empty_table()


def _null_nan(values: np.ndarray) -> pa.Array:
    return pa.array(values, mask=np.isnan(values))


def _facts(
    tables: dict[str, pa.Table],
    results: Sequence[_Labelled],
) -> dict[str, Any]:
    """What gates look at and people want to see, by task."""
    of_judges = ByTask(tables["judge_figures"])
    by_task = {of.task.name: _facts_of_task(of, of_judges[of.task.name]) for of in results}
    return {name: {task: found[name] for task, found in by_task.items()} for name in FACTS}


def _facts_of_task(of: _Labelled, judges: pa.Table) -> dict[str, Any]:
    below = pc.less(judges["accuracy"], judges["chance_accuracy"])
    judged = np.bincount(of.votes.counts.sum(axis=1))
    return {
        "classes": of.task.classes,
        "converged": of.fit.convergence.converged,
        "iterations": of.fit.convergence.iterations,
        "items": len(of.task.items),
        "items_by_judgments": [[int(n), int(judged[n])] for n in np.flatnonzero(judged)],
        "certain_share": float((of.fit.posterior.max(axis=1) >= CERTAIN).mean()),
        "calibrations": _calibration(of),
        "judges": judges.num_rows,
        "judges_below_chance": judges.filter(below)["judge"].to_pylist(),
        "misnamed_classes": list(_misnamed(of)),
    }


def _misnamed(of: _Labelled) -> Iterator[str]:
    """Classes that no longer mean their name, in the model or with pooled confusions."""
    pooled = [(of.pooled_identity, ", pooled")] * bool(of.calibration.choice.pooling)
    for identity, where in ((of.identity, ""), *pooled):
        of_another = ~identity.named | (identity.is_answered & ~identity.names_truth)
        for k in np.flatnonzero(identity.has_mass & of_another):
            yield f"{of.task.classes[k]}{where}"


def _calibration(of: _Labelled) -> dict[str, Any]:
    """By what it was chosen, how it does, and how many labels are not the class it prefers."""
    evidence, posterior = of.calibration.evidence, of.calibration.posterior
    return {
        "chosen_by": of.calibration.choice.chosen_by,
        "is_left_overconfident": evidence.left.is_clear,
        "is_worse": evidence.loss.is_clear,
        "other_class": int((posterior.argmax(axis=1) != of.identity.inferred).sum()),
    }
