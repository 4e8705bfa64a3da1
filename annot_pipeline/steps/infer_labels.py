"""Judgments of categorical tasks become labels: votes and Dawid-Skene, all tasks in one batch.

What experts decided takes no part in the model; it is put in the place of labels (adjudicate).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
from annot_pipeline.methods.class_identity import ClassIdentity, class_identity
from annot_pipeline.methods.dawid_skene import (
    DawidSkeneParams,
    DawidSkeneResult,
    dawid_skene_batch,
)
from annot_pipeline.methods.distinct import distinct
from annot_pipeline.methods.judge_accuracy import judge_accuracy
from annot_pipeline.methods.label_matrix import LabelCodes
from annot_pipeline.methods.votes import Votes, count_votes
from annot_pipeline.steps.adjudicate import adjudicate
from annot_pipeline.steps.indexing import class_order, index, index_pairs, is_any, names_of

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


@dataclass(frozen=True)
class _Task:
    """One task: its names, its codes, its results."""

    name: str
    items: list[str]
    judges: list[str]  # public names, in the order of the codes
    classes: list[str]
    codes: LabelCodes


def infer_labels(
    judgments: pa.Table,
    tasks: pa.Table,
    *,
    params: DawidSkeneParams,
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
    progress
        Told what is going on.

    Returns
    -------
    tables, facts
        ``labels``, ``label_distributions``, ``prevalence``, ``judge_confusion``,
        ``judge_figures``, ``label_fits``; and what gates and people want to know.
    """
    found = _tasks(judgments, tasks)

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
    identities = [class_identity(f.posterior, v) for f, v in zip(fits, votes, strict=True)]
    results = list(zip(found, fits, votes, identities, strict=True))
    tables = {
        "labels": _stack(LABELS.schema, [LABELS.of(_labels(*r)) for r in results]),
        "label_distributions": _stack(
            LABEL_DISTRIBUTIONS.schema,
            [LABEL_DISTRIBUTIONS.of(_distributions(t, f, v)) for t, f, v, _ in results],
        ),
        "prevalence": _stack(PREVALENCE.schema, [PREVALENCE.of(_prevalence(*r)) for r in results]),
        "judge_confusion": _stack(
            JUDGE_CONFUSION.schema,
            [JUDGE_CONFUSION.of(_confusion(t, f)) for t, f, _, _ in results],
        ),
        "judge_figures": _stack(JUDGE_FIGURES, [_judge_figures(t, f, i) for t, f, _, i in results]),
        "label_fits": _stack(FITS, [_fit(t, f) for t, f, _, _ in results]),
    }
    facts = _facts(tables, results)
    tables["labels"], decided = adjudicate(
        tables["labels"], tables["label_distributions"], judgments
    )
    items = tables["labels"].num_rows
    return tables, facts | decided | {"items": items}


def _tasks(judgments: pa.Table, tasks: pa.Table) -> list[_Task]:
    """Categorical tasks in code point order, each with its codes."""
    declared = {
        row["task"]: row["labels"] for row in tasks.to_pylist() if row["kind"] == "categorical"
    }
    kept = judgments.filter(
        pc.and_(
            is_any(judgments["fate"], ("used",)),
            is_any(judgments["task"], list(declared)),
        )
    )
    if not kept.num_rows:
        return []
    task, label = index(kept["task"]), index(kept["label"])
    item, judge = index(kept["item"]), index(kept["judge"])
    rows_of_judges = np.empty(len(judge.names), np.int64)  # any one: a judge has one public name
    rows_of_judges[judge.codes] = np.arange(kept.num_rows)
    public = kept["judge_id"].take(pa.array(rows_of_judges)).cast(TEXT).to_pylist()
    items, judges = index_pairs(task.codes, item.codes), index_pairs(task.codes, judge.codes)
    order = np.argsort(task.codes, kind="stable")
    row_ends = np.searchsorted(task.codes[order], np.arange(len(task.names) + 1))
    item_ends = np.searchsorted(items.first, np.arange(len(task.names) + 1))
    judge_ends = np.searchsorted(judges.first, np.arange(len(task.names) + 1))
    found = []
    for t, name in enumerate(task.names):
        rows = order[row_ends[t] : row_ends[t + 1]]
        given = label.codes[rows]
        answers = distinct(given)[0].tolist()
        classes = list(declared[name] or class_order([label.names[c] for c in answers]))
        place = np.full(len(label.names), -1, np.int64)
        for code in answers:
            place[code] = classes.index(label.names[code])
        codes = LabelCodes(
            items.codes[rows] - item_ends[t],
            judges.codes[rows] - judge_ends[t],
            place[given],
            int(item_ends[t + 1] - item_ends[t]),
            int(judge_ends[t + 1] - judge_ends[t]),
            len(classes),
        )
        names = [item.names[c] for c in items.second[item_ends[t] : item_ends[t + 1]]]
        shown = [public[c] for c in judges.second[judge_ends[t] : judge_ends[t + 1]]]
        found.append(_Task(name, names, shown, classes, codes))
    return found


def _labels(
    task: _Task, fit: DawidSkeneResult, votes: Votes, identity: ClassIdentity
) -> dict[str, Any]:
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
    }


def _distributions(task: _Task, fit: DawidSkeneResult, votes: Votes) -> dict[str, Any]:
    n, k = fit.posterior.shape
    return {
        "task": pa.repeat(task.name, n * k),
        "item": names_of(task.items, np.repeat(np.arange(n), k)),
        "label": names_of(task.classes, np.tile(np.arange(k), n)),
        "probability": np.minimum(fit.posterior, 1.0).reshape(-1),
        "votes": votes.counts.reshape(-1),
    }


def _prevalence(
    task: _Task, fit: DawidSkeneResult, votes: Votes, identity: ClassIdentity
) -> dict[str, Any]:
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
        "n_items": identity.n_items,
        "n_certain": np.bincount(identity.inferred[certain], minlength=k),
    }


def _confusion(task: _Task, fit: DawidSkeneResult) -> dict[str, Any]:
    j, k = len(task.judges), len(task.classes)
    return {
        "task": pa.repeat(task.name, j * k * k),
        "judge": names_of(task.judges, np.repeat(np.arange(j), k * k)),
        "true_label": names_of(task.classes, np.tile(np.repeat(np.arange(k), k), j)),
        "observed_label": names_of(task.classes, np.tile(np.arange(k), j * k)),
        "probability": np.minimum(fit.confusion, 1.0).reshape(-1),
    }


def _judge_figures(task: _Task, fit: DawidSkeneResult, identity: ClassIdentity) -> pa.Table:
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


def _fit(task: _Task, fit: DawidSkeneResult) -> pa.Table:
    course = fit.convergence
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
    results: Sequence[tuple[_Task, DawidSkeneResult, Votes, ClassIdentity]],
) -> dict[str, Any]:
    """What gates look at and people want to see."""
    labels, figures = tables["labels"], tables["judge_figures"]
    below = pc.less(figures["accuracy"], figures["chance_accuracy"])
    judged = np.bincount(labels["n_judgments"].to_numpy())
    return {
        "tasks": len(results),
        "classes": {task.name: task.classes for task, *_ in results},
        "unsettled": [t.name for t, fit, *_ in results if not fit.convergence.converged],
        "iterations": {t.name: fit.convergence.iterations for t, fit, *_ in results},
        "certain_share": {
            t.name: float((fit.posterior.max(axis=1) >= CERTAIN).mean()) for t, fit, *_ in results
        },
        "items_by_judgments": [[int(n), int(judged[n])] for n in np.flatnonzero(judged) if n],
        "judges": figures.num_rows,
        "judges_below_chance": [
            f"{row['task']} {row['judge']}" for row in figures.filter(below).to_pylist()
        ],
        "misnamed_classes": [
            f"{task.name} {task.classes[k]}"
            for task, _, _, identity in results
            for k in np.flatnonzero(
                (identity.has_mass & ~identity.named)
                | (identity.has_mass & identity.is_answered & ~identity.names_truth)
            )
        ],
    }
