"""The study `labels`: recorded labels of public sets, asked for as `annot hits` would.

Each item starts with a few of its recorded labels, drawn at random. Round by round the labels are
inferred, and items below a level get one more, until none is left to ask. The control spreads as
many labels evenly. What does not belong here: which items are asked (annot_pipeline.hits).
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import annot_pipeline as annot
from annot_pipeline.config.sections import NextHits
from annot_pipeline.errors import ConfigError, Problem
from annot_pipeline.hits.plan_labels import plan_labels
from annot_pipeline.stages.planning.hit_plan import Question
from annot_pipeline.stages.planning.plan_comparisons import NothingLeftError
from benchmarks.careless_judges import Answers, Truths, public_sets
from studies.item_rounds import stream
from studies.params import CANNOT_BE, LabelReplay
from studies.progress import Progress
from studies.tables import Cell, Table
from studies.write import Result, Section

LABELS = "labels"
COLUMNS = (
    "set", "items", "labels", "level", "asked", "share_of_labels", "accuracy", "spread_evenly",
    "with_all_labels",
)  # fmt: skip
NOTES = (
    "accuracy: of labels by the answers that were asked, mean over repeats; spread_evenly: by as "
    "many answers, equally many for each item as far as that goes; share_of_labels: answers asked "
    "of those recorded.",
)
NONE_FAILED = pa.schema([("item", pa.string()), ("fate", pa.string())]).empty_table()
"""Judgments of judges who failed: with quality.labels: measure, all count."""


class ReplayedSet:
    """A set whose recorded answers are handed out in a random order, item by item.

    Parameters
    ----------
    answers, truths
        Of the set.
    rng
        Draws the order.
    """

    def __init__(self, answers: Answers, truths: Truths, rng: np.random.Generator) -> None:
        self.truths, self.classes = truths, sorted({row[2] for row in answers})
        self.by_item: dict[str, Answers] = {}
        for code in rng.permutation(len(answers)).tolist():
            self.by_item.setdefault(answers[code][0], []).append(answers[code])
        self.items = sorted(self.by_item)

    def gold(self, counts: Mapping[str, int]) -> Any:
        """Return gold by the first answers of each item, so many as ``counts`` says."""
        rows = [row for item in self.items for row in self.by_item[item][: counts[item]]]
        columns = map(pa.array, zip(*rows, strict=True))
        frame = pa.table(dict(zip(("item", "judge", "label"), columns, strict=True)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of rows that do not count
            measured = {"quality": {"labels": "measure"}}
            return annot.infer_labels(frame, labels=self.classes, settings=measured).gold

    def accuracy(self, gold: Any) -> float:
        """Return the share of labels that are right."""
        rows = gold.table("labels").to_pylist()
        right = [row["label"] == self.truths[row["item"]] for row in rows
                 if row["item"] in self.truths]  # fmt: skip
        return float(np.mean(right))

    def ask_by_gain(self, start: int, level: float) -> tuple[dict[str, int], float]:
        """Ask until no item below the level has an answer left; counts of items, and accuracy."""
        most = max(map(len, self.by_item.values()))
        next_hits = NextHits(per_item=most)
        question = Question("t", ask="label", labels=tuple(self.classes))
        counts = {item: min(start, len(self.by_item[item])) for item in self.items}
        while True:
            gold = self.gold(counts)
            names = ("labels", "label_distributions", "judge_confusion")
            tables = {name: gold.table(name) for name in names}
            tables["controlled"] = NONE_FAILED
            try:
                plan = plan_labels(question, tables, {}, next_hits, level, [])
            except NothingLeftError:
                return counts, self.accuracy(gold)
            asked = [plan.items.names[code] for code in plan.slots.items.tolist()]
            asked = [item for item in asked if counts[item] < len(self.by_item[item])]
            if not asked:
                return counts, self.accuracy(gold)
            counts |= {item: counts[item] + 1 for item in asked}

    def spread(self, n: int, rng: np.random.Generator) -> dict[str, int]:
        """Return as equal counts as n answers allow; the rest goes to items by lot."""
        counts = dict.fromkeys(self.items, 0)
        while n > 0:
            open_ = [item for item in self.items if counts[item] < len(self.by_item[item])]
            for code in rng.permutation(len(open_))[:n].tolist():
                counts[open_[code]] += 1
            n -= len(open_)
        return counts


def run_label_replay(params: LabelReplay, progress: Progress) -> Result:
    """Replay the sets that are named.

    Raises
    ------
    ConfigError
        The folder has none of them.
    """
    folder = Path(params.folder or os.environ.get("ANNOT_REAL_DATA", ""))
    names = params.sets.split(",")
    rows = [
        _replayed(name, answers, truths, level, params, progress)
        for name, answers, truths in public_sets(folder)
        for level in params.levels
        if name in names
    ]
    if not rows:
        what = f"{folder} has none of {', '.join(names)}"
        do = "see tests/real_data/README.md"
        raise ConfigError(CANNOT_BE, [Problem("folder", what, do=do)])
    table = Table(LABELS, COLUMNS, tuple(rows))
    numbers = [dict(zip(COLUMNS, row, strict=True)) for row in rows]
    findings = [
        f"{row['set']}: at level {row['level']:g}, {row['share_of_labels']:.0%} of the labels give "
        f"an accuracy of {row['accuracy']:.4f}, spread evenly {row['spread_evenly']:.4f}, and all "
        f"{row['with_all_labels']:.4f}."
        for row in numbers
    ]
    section = Section("Labels by gain", [], {}, [table])
    return Result(findings, NOTES, [table], [section], numbers)


def _replayed(
    name: str, answers: Answers, truths: Truths, level: float, params: LabelReplay,
    progress: Progress,
) -> tuple[Cell, ...]:  # fmt: skip
    figures = []
    for repeat in range(params.repeats):
        progress(f"{name} at {level:g}, {repeat + 1} of {params.repeats}")
        rng = stream(params.seed, LABELS, f"{name} {level} {repeat}")
        replayed = ReplayedSet(answers, truths, rng)
        counts, accuracy = replayed.ask_by_gain(params.start, level)
        n = sum(counts.values())
        even = replayed.accuracy(replayed.gold(replayed.spread(n, rng)))
        figures.append((n, n / len(answers), accuracy, even))
    whole = replayed.accuracy(replayed.gold({k: len(v) for k, v in replayed.by_item.items()}))
    means = np.mean(figures, axis=0).tolist()
    return (name, len(replayed.items), len(answers), level, *means, whole)
