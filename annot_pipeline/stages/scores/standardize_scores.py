"""Scores of a task standardised, and what they say of the judges.

z-scores are by judge and task (Graham et al. 2013, section 4.3). Judges who failed judge
control have them too: the unfiltered results stay beside the filtered ones. Statistics of judges
are sums over blocks of judgments: a table in memory, or files of one large task.

What does not belong here: the sums themselves (methods.numerics.moments).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import nlargest
from operator import itemgetter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.arrays import Codes, Floats
from annot_pipeline.config import Standardize
from annot_pipeline.contracts import DESCRIBING, FLAG, INT, ORDINARY, REAL, TEXT, TIME
from annot_pipeline.methods.numerics.blocks import Blocks, spans_by_size
from annot_pipeline.methods.numerics.moments import (
    Extent,
    FirstSums,
    GridSums,
    Moments,
    SumsByName,
    moments_of,
    squares_about,
)
from annot_pipeline.methods.scores.outlying_scores import fences
from annot_pipeline.methods.scores.zscores import longest_constant_runs
from annot_pipeline.methods.scores.zscores import standardized as z_of
from annot_pipeline.runtime.coded_task import CodedTask
from annot_pipeline.runtime.indexing import is_in, names_of
from annot_pipeline.runtime.task_partitions import TaskData, TaskResult
from annot_pipeline.stages.shared.columns import nulls_for_nan
from annot_pipeline.stages.shared.orient_scores import OrientedScores, orient_scores

MEANS = {
    "mean_ordinary": ORDINARY,
    "mean_good_reference": ("good_reference",),
    "mean_bad_reference": ("bad_reference",),
}
"""Means of a judge's scores, by the controls that they are of."""
COUNTS = "counts"
"""What is measured of the scores by which z-scores are made."""


@dataclass(frozen=True)
class JudgeScores:
    """Scores that count of a task's items, or of some: what sums over judges are made of.

    Parameters
    ----------
    rows
        The judgments.
    judges
        ``(n_rows,)`` codes of their judges, of the whole task.
    n_judges
        Of the whole task.
    oriented
        Scores turned so that more is better.
    """

    rows: CodedTask
    judges: Codes
    n_judges: int
    oriented: OrientedScores

    @classmethod
    def from_rows(cls, rows: pa.Table, tasks: pa.Table, judges: Sequence[str]) -> JudgeScores:
        """Return the scores of judgments that count."""
        coded = CodedTask("", rows)
        codes = coded.codes_among("judge", judges)
        return cls(coded, codes, len(judges), orient_scores(rows, tasks))

    def measured(self, settings: Standardize) -> dict[str, tuple[Codes, Floats]]:
        """Return judges and values of what is averaged by judge."""
        score = self.oriented.score
        at_end = (score == self.oriented.low) | (score == self.oriented.high)
        selected = {name: self.rows.is_in("control", *controls) for name, controls in MEANS.items()}
        if settings.controls == "include":
            selected[COUNTS] = np.ones(score.size, np.bool_)
        else:
            selected[COUNTS] = selected["mean_ordinary"]
        return {name: (self.judges[some], score[some]) for name, some in selected.items()} | {
            "share_at_ends": (self.judges, at_end.astype(np.float64))
        }

    def extents(self, settings: Standardize) -> SumsByName[Extent]:
        """Return the extents of values, needed of all items before sums; by what is measured."""
        return SumsByName({
            name: Extent.from_values(*values, n_groups=self.n_judges)
            for name, values in self.measured(settings).items()
        })  # fmt: skip

    def first_sums(
        self, settings: Standardize, extents: Mapping[str, Extent]
    ) -> SumsByName[FirstSums]:
        """Return sums by judge; extents are of all items."""
        return SumsByName({
            name: FirstSums.from_values(*values, extents[name])
            for name, values in self.measured(settings).items()
        })  # fmt: skip

    def squares(
        self,
        settings: Standardize,
        extents: Mapping[str, Extent],
        firsts: Mapping[str, FirstSums],
    ) -> GridSums:
        """Return squared distances from judges' means, where `first_sums` lack them."""
        values = self.measured(settings)[COUNTS]
        return squares_about(*values, extents[COUNTS], firsts[COUNTS])

    def n_of_judges(self) -> Codes:
        """Return ``(2, n_judges)`` judgments of each judge, and those that judge control left."""
        is_kept = ~self.rows.is_in("fate", "judge_failed")
        return np.stack([
            np.bincount(judges, minlength=self.n_judges)
            for judges in (self.judges, self.judges[is_kept])
        ])  # fmt: skip


@dataclass(frozen=True)
class JudgeMoments:
    """Sums over all items, by judge; see `JudgeScores`."""

    extents: Mapping[str, Extent]
    firsts: Mapping[str, FirstSums]
    squares: GridSums

    @classmethod
    def from_blocks(cls, blocks: Blocks[JudgeScores], settings: Standardize) -> JudgeMoments:
        """Return the moments of judges over blocks of items."""
        extents = blocks.sum(JudgeScores.extents, settings)
        firsts = blocks.sum(JudgeScores.first_sums, settings, extents)
        return cls(extents, firsts, blocks.sum(JudgeScores.squares, settings, extents, firsts))

    @cached_property
    def counted(self) -> Moments:
        """Return number, mean and variance of the scores that z-scores use."""
        return moments_of(self.extents[COUNTS], self.firsts[COUNTS], self.squares)

    @property
    def sd(self) -> Floats:
        """Return the standard deviation of the counted scores."""
        return np.sqrt(self.counted.variance)

    def mean(self, name: str) -> Floats:
        """Return the mean of what is measured; NaN without values."""
        return self.firsts[name].means(self.extents[name])


def has_order(rows: pa.Table) -> pa.ChunkedArray:
    """Return whether judgments have a known order; without one in a task, runs are null."""
    return pc.or_(rows["position"].is_valid(), rows["submitted_at"].is_valid())


def longest_runs(rows: CodedTask, judges: Codes, *, n_judges: int) -> Codes:
    """Return the longest constant run ``(n_judges,)`` of each judge; -1 if unknown."""
    timed = rows.is_known("submitted_at")
    time = np.where(timed, rows.times("submitted_at"), 0)
    names = ("hit", "native_id", "position", "criterion")
    order = [time, *(_ordinals(rows, name) for name in names)]
    sittings = np.where(timed, -1, order[1])  # nothing tells the order of HITs without a time
    return longest_constant_runs(judges, sittings, order, rows.numbers("score"), n_judges=n_judges)


def _ordinals(rows: CodedTask, column: str) -> Codes:
    """Return the places of names in their natural order: numbers by size, no name, then texts."""
    indexed = rows[column]
    names = [*indexed.names, ""]  # the last, which code -1 takes, is that of a null

    def natural(code: int) -> tuple[bool, int, str]:
        name = names[code]
        if not (name.isascii() and name.isdecimal()):
            return True, 0, name
        digits = name.lstrip("0")  # a longer number is larger, however long
        return False, len(digits), digits

    positions = np.empty(len(names), np.int64)
    positions[sorted(range(len(names)), key=natural)] = np.arange(len(names))
    return positions[indexed.codes]


COUNTED = ("used", "control", "judge_failed")
SCANNED = ("judge", "judge_id", "fate", "position", "submitted_at")
"""Columns by which judges are found, and whether the order of work is known."""
SUMMED = ("task", "judge", "control", "criterion", "score", "fate")
"""Columns that sums over judges are computed from."""
NAMED = ("task", "item", "judge_id", "score", "fate")
"""Columns by which outlying scores are found and named."""
FARTHEST = 5
"""Outlying scores of a task that are named."""
RUN = ("judge", "fate", "hit", "native_id", "criterion", "score", "position", "submitted_at")
"""Columns by which runs of equal scores are found."""

FIGURES = "mean sd mean_ordinary mean_good_reference mean_bad_reference share_at_ends"
JUDGE_SCORES = pa.schema(
    [("task", TEXT), ("judge", TEXT)]
    + [(name, REAL) for name in FIGURES.split()]
    + [("longest_constant_run", INT), ("no_z_reason", TEXT)]
)
"""One row is a scalar task and judge; joined into `contracts.JUDGES`."""

_TYPES = {"submitted_at": TIME, "seconds": REAL, "hit_seconds": REAL}
STANDARDIZED = {
    "standardized": pa.schema(
        [(name, _TYPES.get(name, TEXT)) for name in DESCRIBING]
        + [("kept", FLAG), ("score", REAL), ("z", REAL)]
    ),
    "judge_scores": JUDGE_SCORES,
}
"""Tables of the stage: ``standardized`` has one row a scalar judgment that counts."""


@dataclass(frozen=True)
class Standardization:
    """Holds what the judgments of all blocks say of judges, by which each block is standardised.

    Parameters
    ----------
    judges
        Names in code point order.
    moments
        Of their scores.
    judge_scores
        The table `JUDGE_SCORES`.
    without_z
        Judges without z-scores of whom judgments are kept, with the reason.
    outlying
        How many scores of judges who are kept are outlying (methods.scores.outlying_scores), and
        the farthest of them.
    """

    judges: Sequence[str]
    moments: JudgeMoments
    judge_scores: pa.Table
    without_z: list[str]
    outlying: tuple[int, list[str]]

    @classmethod
    def from_task(cls, task: TaskData, judgments_at_once: int = sys.maxsize) -> Standardization:
        """Return the statistics of the judges of a task.

        Parameters
        ----------
        task
            ``controlled``, and its row of ``tasks``.
        judgments_at_once
            Judgments of all blocks that are in memory at one time, unless they are of one judge.
        """
        settings = task.settings.standardize
        scanned = task.blocks("controlled", SCANNED).map(_scan)
        public = {name: own for names, _ in scanned for name, own in names.items()}
        judges = sorted(public)
        blocks = task.blocks("controlled", SUMMED).keep(_scores, task["tasks"], judges)
        moments = JudgeMoments.from_blocks(blocks, settings)
        n, n_kept = blocks.sum(JudgeScores.n_of_judges)
        runs = pa.nulls(len(judges), INT)
        if any(is_ordered for _, is_ordered in scanned):
            spans = spans_by_size(n.tolist(), judgments_at_once)
            longest = np.concatenate(
                task.blocks("controlled", RUN).gather(_longest_runs, judges, each=spans)
            )
            runs = pa.array(longest, INT, mask=longest < 0)
        rows = _judge_rows(task, [public[name] for name in judges], moments, runs)
        without = pc.and_(pa.array(n_kept > 0), pc.is_valid(rows["no_z_reason"]))
        without_z = [
            f"{row['task']} {row['judge']}: {row['no_z_reason']}"
            for row in rows.filter(without).to_pylist()
        ]
        return cls(judges, moments, rows, without_z, _outlying(task))


def standardize_scores(task: TaskData, of_judges: Standardization) -> TaskResult:
    """Standardise the scores of a task, or of a block of it.

    Returns
    -------
    tables, metrics
        ``standardized`` (one row per scalar judgment that counts: names, ``kept`` by judge
        control, ``score`` turned so that more is better, ``z``), ``judge_scores``.
    """
    rows, settings = _counted(task["controlled"]), task.settings.standardize
    scores = JudgeScores.from_rows(rows, task["tasks"], of_judges.judges)
    score, counted = scores.oriented.score, of_judges.moments.counted
    z = z_of(
        scores.judges, score, counted.mean, of_judges.moments.sd, arithmetic=settings.arithmetic
    )
    described = rows.select(DESCRIBING)
    table = described if task.listed is None else task.listed.describe(described)
    for name, column in (
        ("kept", pc.invert(is_in(rows["fate"], ("judge_failed",)))),
        ("score", pa.array(score)),
        ("z", nulls_for_nan(z)),
    ):
        table = table.append_column(name, column)
    z_counted = table["z"].filter(table["kept"])
    metrics: dict[str, Any] = {
        "scalar_judgments": table.num_rows,
        "kept_judgments": len(z_counted),
        "kept_without_z": z_counted.null_count,
        "judges_without_z": of_judges.without_z if task.is_first else [],
        "outlying_scores": of_judges.outlying[0] if task.is_first else 0,
        "farthest_scores": of_judges.outlying[1] if task.is_first else [],
    }
    judge_scores = of_judges.judge_scores if task.is_first else JUDGE_SCORES.empty_table()
    return {"standardized": table, "judge_scores": judge_scores}, metrics


def _counted(rows: pa.Table) -> pa.Table:
    """Return the judgments that are standardised."""
    return rows.filter(is_in(rows["fate"], COUNTED))


def _scan(rows: pa.Table) -> tuple[dict[str, str], bool]:
    """Return the public names of a block's judges by name, and whether an order is known."""
    counted = CodedTask("", _counted(rows))
    return counted.public_judges(), bool(pc.any(has_order(counted.rows)).as_py())


def _scores(rows: pa.Table, tasks: pa.Table, judges: Sequence[str]) -> JudgeScores:
    return JudgeScores.from_rows(_counted(rows), tasks, judges)


def _outlying(task: TaskData) -> tuple[int, list[str]]:
    """Return how many scores of a task are outlying, and the farthest of them.

    None is where the scale of the task is known: scores beyond it are rejected.
    """
    if any(task.declared[f"{kind}_low"] is not None for kind in ("scale", "assumed")):
        return 0, []
    blocks = task.blocks("controlled", NAMED).keep(_kept)
    beyond = blocks.map(_beyond, *fences(np.concatenate(blocks.map(itemgetter("score")))))
    rows = _farthest([row for _, rows in beyond for row in rows])
    texts = "{task} {score:,.15g} of {item} by {judge_id}"
    return sum(n for n, _ in beyond), [texts.format_map(row) for row in rows]


def _kept(rows: pa.Table) -> pa.Table:
    return rows.filter(is_in(rows["fate"], ("used", "control")))


def _beyond(rows: pa.Table, low: float, high: float) -> tuple[int, list[dict[str, Any]]]:
    """Return how many scores of a block are below or above, and the rows of the farthest."""
    is_beyond = pc.or_(pc.less(rows["score"], low), pc.greater(rows["score"], high))
    beyond = rows.filter(is_beyond).to_pylist()
    return len(beyond), _farthest(beyond)


def _farthest(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows with the largest scores in size; equal ones in the order of rows."""
    return nlargest(FARTHEST, rows, key=lambda row: abs(row["score"]))


def _longest_runs(
    blocks: Iterator[pa.Table], span: tuple[int, int], judges: Sequence[str]
) -> Codes:
    """Return the longest runs of equal scores of the judges in a span of codes; -1 if unknown."""
    names = judges[slice(*span)]
    tables = [rows.filter(is_in(rows["judge"], names)) for rows in map(_counted, blocks)]
    rows = CodedTask("", pa.concat_tables(tables).unify_dictionaries())
    return longest_runs(rows, rows.codes_among("judge", names), n_judges=len(names))


def _judge_rows(
    task: TaskData, judges: Sequence[str], moments: JudgeMoments, runs: pa.Array
) -> pa.Table:
    """Return the table `JUDGE_SCORES`; ``runs`` are the longest runs of equal scores."""
    mean, sd, n = moments.counted.mean, moments.sd, moments.counted.n
    statistics = {"mean": mean, "sd": sd} | {name: moments.mean(name) for name in MEANS}
    at_ends: Floats | pa.Array = moments.mean("share_at_ends")
    if task.declared["scale_low"] is None:
        at_ends = pa.nulls(len(judges), REAL)
    return pa.table(
        {
            "task": pa.repeat(pa.scalar(task.name, TEXT), len(judges)),
            "judge": pa.array(judges, TEXT),
            **{name: nulls_for_nan(values) for name, values in statistics.items()},
            "share_at_ends": at_ends,
            "longest_constant_run": runs,
            "no_z_reason": _reasons(n, sd, task.settings.standardize),
        },
        schema=JUDGE_SCORES,
    )


def _reasons(n: Codes, sd: Floats, settings: Standardize) -> pa.Array:
    """Return why a judge has no z; null for one who has."""
    what = "scores" if settings.controls == "include" else "ordinary scores"
    counts, positions = np.unique(n, return_inverse=True)
    texts = [f"{n} {what}; 2 are needed" if n < 2 else f"all {n} {what} are equal" for n in counts]
    return pc.if_else(pa.array(sd > 0), pa.scalar(None, TEXT), names_of(texts, positions))
