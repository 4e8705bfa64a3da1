"""Rows of exports: three items, three judges, and the labels that they should give."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.compute as pc

from tests.init.conftest import Guess

Rows = Sequence[Mapping[str, Any]]
ANSWERS = {
    "mars": {"ada": "rock", "bea": "rock", "cy": "gas"},
    "venus": {"ada": "gas", "bea": "rock", "cy": "gas"},
    "ceres": {"ada": "rock", "bea": "rock"},
}
"""Item to judge to label; the majority is rock, gas, rock."""

MAJORITY = {"mars": "rock", "venus": "gas", "ceres": "rock"}
TRIPLES = [(i, j, label) for i, judged in ANSWERS.items() for j, label in judged.items()]


def majority(actual: Guess) -> dict[Any, str]:
    """Return the most frequent label of each task's items; of items alone if there is one task."""
    used = actual.judgments.filter(pc.equal(actual.judgments["fate"], "used"))
    votes: dict[tuple[str, str], Counter[str]] = {}
    for row in used.select(["task", "item", "label"]).to_pylist():
        votes.setdefault((row["task"], row["item"]), Counter())[row["label"]] += 1
    best = {key: votes[key].most_common(1)[0][0] for key in votes}
    if len({task for task, _ in best}) == 1:
        return {item: label for (_, item), label in best.items()}
    return best


def write(path: Path, rows: Rows) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".json":
        path.write_text(json.dumps(rows, indent=1))
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        with path.open("w", newline="") as file:
            delimiter = "\t" if path.suffix == ".tsv" else ","
            writer = csv.DictWriter(file, list(rows[0]), delimiter=delimiter)
            writer.writeheader()
            writer.writerows(rows)
    return path


class Row(NamedTuple):
    """One judgment."""

    n: int
    item: str
    judge: str
    label: str


def judged_rows(**columns: Any) -> list[dict[str, Any]]:
    """Return a row for each judgment; a column is a function of it, or a constant."""
    return [
        {name: make(Row(n, *triple)) if callable(make) else make for name, make in columns.items()}
        for n, triple in enumerate(TRIPLES)
    ]


def figure_eight(**more: Any) -> list[dict[str, Any]]:
    return judged_rows(
        _unit_id=lambda r: r.item, _id=lambda r: 9000 + r.n,
        _created_at=lambda r: f"10/25/2014 13:26:{10 + r.n}",
        _golden=lambda r: "true" if r.item == "ceres" else "false",
        _tainted="false", _trust="0.9", _worker_id=lambda r: r.judge,
        **more,
    )  # fmt: skip
