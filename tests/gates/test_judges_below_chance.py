"""Judges are said to do worse than chance only where their labels are enough to tell."""

from __future__ import annotations

import numpy as np
import pytest

FIELDS = {"item": "item", "judge": "judge", "label": "label"}


def campaign():
    return {
        "sources": [{"path": "exports/*.csv", "format": "csv", "fields": FIELDS}],
        "tasks": [{"name": "*", "kind": "categorical", "labels": ["n", "y"]}],
        "quality": {"test": "none"},
    }


def export(n_of_contrarian: int) -> str:
    """Four judges who agree on 60 items, and one who says the opposite on some of them."""
    draw = np.random.default_rng(5)
    rows = ["item,judge,label"]
    for n in range(60):
        truth = int(draw.integers(2))
        rows += [f"i{n},j{judge},{'ny'[truth]}" for judge in range(4)]
        if n < n_of_contrarian:
            rows.append(f"i{n},contrary,{'ny'[1 - truth]}")
    return "\n".join(rows) + "\n"


@pytest.mark.sampled
@pytest.mark.parametrize(("n_labels", "named"), [(1, 0), (2, 0), (30, 1)])
def test_few_labels_name_nobody(n_labels, named, stage_campaign):
    settings = campaign() | {"label_model": "dawid_skene"}
    built = stage_campaign({"a.csv": export(n_labels)}, **settings)
    (row,) = (r for r in built.rows("judges") if r["accuracy"] is not None and r["below_chance"])
    assert row["n_judgments"] == n_labels
    below = built.metrics("infer_labels")["judges_below_chance"]
    assert sum(map(len, below.values())) == named


@pytest.mark.parametrize(("n_labels", "named"), [(2, 0), (30, 1)])
def test_judges_of_few_labels_are_as_the_others(n_labels, named, stage_campaign):
    """The published model has them borrow from all judges: their accuracy is not below chance."""
    built = stage_campaign({"a.csv": export(n_labels)}, **campaign())
    below = [row for row in built.rows("judges") if row["accuracy"] and row["below_chance"]]
    assert len(below) == named
    assert sum(map(len, built.metrics("infer_labels")["judges_below_chance"].values())) == named
