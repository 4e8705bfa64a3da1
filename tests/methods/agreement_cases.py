"""Agreement: what its tests share."""

from __future__ import annotations

from dataclasses import fields

import numpy as np

from annot_pipeline.methods.agreement.label_agreement import AgreementStatistic, nominal_agreement

METRICS = ["nominal", "ordinal", "interval", "ratio"]


NAN = np.nan


def agree(items, judges, labels, n_labels=0):
    """All statistics, code ranges taken from the data."""
    sizes = [int(max(codes, default=-1)) + 1 for codes in (items, judges, labels)]
    return nominal_agreement(
        items,
        judges,
        labels,
        n_items=sizes[0],
        n_judges=sizes[1],
        n_labels=max(sizes[2], n_labels),
    )


def from_counts(counts):
    """Ratings of a table units x categories; judges are the places in the unit."""
    counts = np.asarray(counts)
    items, labels = (np.repeat(c, counts[counts > 0]) for c in np.nonzero(counts))
    judges = np.concatenate([np.arange(n) for n in counts.sum(axis=1)])
    return items, judges, labels


def from_table(table):
    """Long form of a table judges x units with NaN for missing values."""
    table = np.asarray(table, np.float64)
    judges, units = np.nonzero(~np.isnan(table))
    return units, judges, table[judges, units]


def two_judges(confusion):
    """Labels of two judges with these counts [first label, second label]."""
    confusion = np.asarray(confusion)
    first, second = (np.repeat(c, confusion[confusion > 0]) for c in np.nonzero(confusion))
    items = np.arange(first.size)
    labels = np.concatenate([first, second])
    return np.tile(items, 2), np.repeat([0, 1], first.size), labels


def crowd(seed=0, n_items=60, n_judges=12, n_labels=4, per_item=5, right=0.6):
    rng = np.random.default_rng(seed)
    judges = np.argsort(rng.random((n_items, n_judges)), axis=1)[:, :per_item].ravel()
    items = np.repeat(np.arange(n_items), per_item)
    truth = rng.integers(n_labels, size=n_items)[items]
    labels = np.where(
        rng.random(items.size) < right, truth, rng.integers(n_labels, size=items.size)
    )
    return items, judges, labels


def statistics(result):
    return {
        f.name: getattr(result, f.name)
        for f in fields(result)
        if isinstance(getattr(result, f.name), AgreementStatistic)
    }


def values(result):
    return [s.value for s in statistics(result).values()]
