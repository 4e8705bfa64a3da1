"""Scores of a task standardised, and what they say of the judges.

z-scores are by judge and task (Graham et al. 2013, section 4.3). Judges who failed judge
control have them too: the unfiltered results stay beside the filtered ones. Statistics of judges
are sums over blocks of judgments: a table in memory, or files of one large task.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.arrays import Codes, Floats
from annot_pipeline.config import Standardize
from annot_pipeline.contracts import DESCRIBING, FLAG, INT, REAL, TEXT, TIME
from annot_pipeline.methods.numerics.spans import spans_by_size
from annot_pipeline.methods.scores.zscores import standardized as z_of
from annot_pipeline.runtime.coded_task import CodedTask
from annot_pipeline.runtime.indexing import is_in, names_of
from annot_pipeline.runtime.task_partitions import TaskData, TaskResult
from annot_pipeline.stages.scores.judge_sums import MEANS, JudgeMoments, JudgeScores
from annot_pipeline.stages.scores.runs_of_work import has_order, longest_runs

COUNTED = ("used", "control", "judge_failed")
SCANNED = ("judge", "judge_id", "fate", "position", "submitted_at")
"""Columns by which judges are found, and whether the order of work is known."""
SUMMED = ("task", "judge", "control", "criterion", "score", "fate")
"""Columns that sums over judges are computed from."""
RUN = ("judge", "fate", "hit", "native_id", "criterion", "score", "position", "submitted_at")
"""Columns by which runs of equal scores are found."""

JUDGE_SCORES = pa.schema(
    [
        ("task", TEXT),
        ("judge", TEXT),
        ("mean", REAL),
        ("sd", REAL),
        ("mean_ordinary", REAL),
        ("mean_good_reference", REAL),
        ("mean_bad_reference", REAL),
        ("share_at_ends", REAL),
        ("longest_constant_run", INT),
        ("no_z_reason", TEXT),
    ]
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
    """

    judges: Sequence[str]
    moments: JudgeMoments
    judge_scores: pa.Table
    without_z: list[str]

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
        return cls(judges, moments, rows, without_z)


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
        ("z", pa.array(z, mask=np.isnan(z))),
    ):
        table = table.append_column(name, column)
    z_counted = table["z"].filter(table["kept"])
    metrics: dict[str, Any] = {
        "scalar_judgments": table.num_rows,
        "kept_judgments": len(z_counted),
        "kept_without_z": z_counted.null_count,
        "judges_without_z": of_judges.without_z if task.is_first else [],
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
            **{
                name: pa.array(values, mask=np.isnan(values)) for name, values in statistics.items()
            },
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
