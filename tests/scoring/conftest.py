"""A release with labels, without a build: every figure can be worked by hand."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from annot_pipeline.cli import main
from annot_pipeline.contracts import ITEMS, LABEL_DISTRIBUTIONS, LABELS, PREVALENCE
from annot_pipeline.scoring import score

Shares = dict[str, dict[str, dict[str, float]]]
"""Task, item, class: probability."""

TWO_TASKS: Shares = {
    "mood": {
        "a": {"yes": 0.8, "no": 0.2},
        "b": {"yes": 0.5, "no": 0.5},
        "c": {"yes": 0.03, "no": 0.97},
    },
    "tone": {"a": {"1": 0.9, "2": 0.1, "10": 0.0}, "d": {"1": 0.0, "2": 0.0, "10": 1.0}},
}


@dataclass(frozen=True)
class InMemory:
    """What `annot score` asks a release for."""

    version: str
    tables: dict[str, pa.Table]
    manifest_sha256: str = "0" * 64

    def table(self, name: str) -> pa.Table:
        return self.tables[name]


Decided = dict[tuple[str, str], str]


def release(
    version: str,
    shares: Shares,
    decisions: Decided | None = None,
    majority: Decided | None = None,
    dawid_skene: Callable[[float], float] = float,
    truths: Mapping[str, str] | None = None,
    schema: int = 5,
) -> InMemory:
    """A release of tasks; classes are in the order of the task's first item.

    ``dawid_skene`` makes Dawid-Skene's probabilities of the published ones, ``truths`` are by item,
    and ``schema`` is that of the columns.
    """
    decided, voted = decisions or {}, majority or {}
    orders = {task: list(next(iter(items.values()))) for task, items in shares.items()}
    keys = sorted({(t, i) for t, items in shares.items() for i in items} | decided.keys())
    labels: dict[str, list[Any]] = {column.name: [] for column in LABELS.columns}
    for task, item in keys:
        actual = shares[task].get(item, {})
        best = max(actual, key=lambda name: actual[name]) if actual else None
        row = {
            "task": task,
            "item": item,
            "label": decided.get((task, item), best),
            "probability": actual.get(str(best)),
            "certain": False,
            "dawid_skene_label": best,
            "dawid_skene_probability": dawid_skene(actual[best]) if best else None,
            "dawid_skene_certain": False,
            "n_judgments": 3 if actual else 0,
            "n_judges": 3 if actual else 0,
            "majority_label": voted.get((task, item), best),
            "adjudicated": (task, item) in decided,
            "model_label": best,
        }
        for name, values in labels.items():
            values.append(row.get(name))
    cells = [
        (task, item, name, p)
        for task, items in shares.items()
        for item, actual in items.items()
        for name, p in actual.items()
    ]
    classes = [(t, name, n) for t, order in orders.items() for n, name in enumerate(order)]
    zeros = ("prevalence", "dawid_skene_prevalence", "vote_share", "plurality_frequency",
             "majority_frequency")  # fmt: skip
    items = sorted({item for _, item in keys} | (truths or {}).keys())
    tables = {
        "labels": LABELS.from_columns(labels),
        "label_distributions": LABEL_DISTRIBUTIONS.from_columns(
            {
                "task": [c[0] for c in cells],
                "item": [c[1] for c in cells],
                "label": [c[2] for c in cells],
                "probability": [c[3] for c in cells],
                "dawid_skene_probability": [dawid_skene(c[3]) for c in cells],
                "votes": [0 for _ in cells],
            }
        ),
        "prevalence": PREVALENCE.from_columns(
            {
                "task": [c[0] for c in classes],
                "label": [c[1] for c in classes],
                "label_order": [c[2] for c in classes],
                **{name: [0.0 for _ in classes] for name in zeros},
                "n_items": [0 for _ in classes],
                "n_certain": [0 for _ in classes],
            }
        ),
        "items": ITEMS.from_columns(
            {"item": items, "truth": [(truths or {}).get(item) for item in items]}
        ),
    }
    return InMemory(version, {name: of_schema(table, schema) for name, table in tables.items()})


def of_schema(table: pa.Table, schema: int) -> pa.Table:
    """The columns of probabilities as an older schema has them."""
    if schema >= 5:
        return table
    published = {"probability", "certain"} & set(table.column_names)
    older = {f"dawid_skene_{name}": name for name in published}
    if schema >= 3:
        older |= {name: f"calibrated_{name}" for name in published}
    left = {name for name in table.column_names if name.startswith("dawid_skene_")}
    gone = (left | published) - older.keys()
    kept = table.drop_columns(sorted(gone))
    return kept.rename_columns([older.get(name, name) for name in kept.column_names])


Scorer = Callable[..., tuple[int, dict[str, Any], str]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    campaign = {
        "campaign": "small",
        "sources": [
            {"path": "x.csv", "format": "csv",
             "fields": {"item": "item", "judge": "judge", "label": "label"}}
        ],
    }  # fmt: skip
    (tmp_path / "campaign.yaml").write_text(json.dumps(campaign))
    return tmp_path


Publish = Callable[..., None]


@pytest.fixture
def publish(monkeypatch: pytest.MonkeyPatch) -> Publish:
    """Makes the next release of the campaign, from what `release` takes."""
    there: dict[str, InMemory] = {}

    class Releases:
        @classmethod
        def for_campaign(cls, _: object) -> Releases:
            return cls()

        def get(self, version: str) -> InMemory:
            return list(there.values())[-1] if version == "latest" else there[version]

    monkeypatch.setattr(sys.modules[score.__module__], "Releases", Releases)

    def add(*given: Any, **more: Any) -> None:
        version = f"v{len(there) + 1:04d}"
        there[version] = release(version, *given, **more)

    return add


@pytest.fixture
def scored(folder: Path, capsys: pytest.CaptureFixture[str]) -> Scorer:
    """Scores a text as a file of that name: exit status, document, what went to stderr."""

    def run(name: str, text: str | bytes, *more: object) -> tuple[int, dict[str, Any], str]:
        path = folder / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        status = main([str(a) for a in ("score", folder, path, "--json", *more)])
        out = capsys.readouterr()
        return status, json.loads(out.out), out.err

    return run
