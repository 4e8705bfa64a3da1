"""Scalar judgments standardised, and what their scores say of the judges.

z-scores are by judge and task (Graham et al. 2013, section 4.3). Judges who failed judge
control have them too: the unfiltered results stay beside the filtered ones.

Statistics of judges are computed over blocks of judgments: one table in memory, or files of one
large task.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.arrays import Codes, Floats
from annot_pipeline.config import Standardize
from annot_pipeline.contracts import DESCRIBING, INT, REAL, TEXT
from annot_pipeline.methods.numerics.blocks import Blocks, InMemoryBlocks
from annot_pipeline.methods.numerics.spans import spans_by_size
from annot_pipeline.methods.scores.zscores import standardized as z_of
from annot_pipeline.runtime.indexing import is_in, names_of
from annot_pipeline.stages.comparisons.runs_of_work import has_order, longest_runs
from annot_pipeline.stages.ingest.listed_items import ListedItems
from annot_pipeline.stages.scores.judge_sums import (
    MEANS,
    JudgeMoments,
    Judges,
    ScoreBlock,
    judge_moments,
    kept_of_judges,
    n_of_judges,
)
from annot_pipeline.stages.scores.metrics import StandardizeMetrics

COUNTED = ("used", "control", "judge_failed")
SCANNED = ("task", "judge", "judge_id", "fate", "position", "submitted_at")
"""Columns by which judges and tasks with a known order are found."""
SUMMED = ("task", "judge", "judge_id", "control", "criterion", "score", "fate")
"""Columns that sums over judges are computed from."""
RUN = (
    "task", "judge", "fate", "hit", "native_id", "criterion", "score", "position", "submitted_at",
)  # fmt: skip
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


@dataclass(frozen=True)
class Standardization:
    """Holds what the judgments of all blocks say of judges, by which each block is standardised.

    Parameters
    ----------
    judges, moments
        Of all blocks.
    judge_scores
        The table `JUDGE_SCORES`.
    without_z
        As `judges_without_z` gives it.
    """

    judges: Judges
    moments: JudgeMoments
    judge_scores: pa.Table
    without_z: list[str]

    @classmethod
    def from_blocks(
        cls,
        open_blocks: Callable[[Sequence[str]], Blocks[pa.Table]],
        tasks: pa.Table,
        settings: Standardize,
        judgments_at_once: int = sys.maxsize,
    ) -> Standardization:
        """Return the statistics of judges; tables are those of `standardize_scores`.

        Parameters
        ----------
        open_blocks
            Returns some columns of the judgments that take part (`takes_part`).
        tasks, settings
            Parameters of `standardize_scores`.
        judgments_at_once
            Judgments of all blocks that are in memory at one time, unless they are of one judge.
        """
        scanned = open_blocks(SCANNED).map(_scan)
        judges = Judges.joined([block_judges for block_judges, _ in scanned])
        scores = open_blocks(SUMMED).keep(ScoreBlock.from_rows, tasks, judges)
        moments = judge_moments(scores, settings)
        ordered = {task for _, tasks_of_block in scanned for task in tasks_of_block}
        runs = pa.nulls(len(judges.judges), INT)
        if ordered:
            spans = spans_by_size(scores.sum(n_of_judges).tolist(), judgments_at_once)
            n = np.concatenate(open_blocks(RUN).gather(_longest_runs, judges, each=spans))
            without = np.array([task not in ordered for task in judges.tasks], np.bool_)
            runs = pa.array(n, INT, mask=(n < 0) | without)
        rows = judge_rows(judges, moments, tasks, runs, settings)
        without_z = judges_without_z(rows, scores.sum(kept_of_judges))
        return cls(judges, moments, rows, without_z)


def _scan(rows: pa.Table) -> tuple[Judges, list[str]]:
    """Return the judges of a block, and its tasks with a known order of work."""
    ordered = pc.unique(rows["task"].filter(has_order(rows)))
    return Judges.from_rows(rows), ordered.to_pylist()


def _longest_runs(blocks: Iterator[pa.Table], span: tuple[int, int], judges: Judges) -> Codes:
    """Return the longest runs of equal scores of the judges in a span of codes; -1 if unknown."""
    start, end = span
    tables, codes = [], []
    for rows in blocks:
        codes_of_block = judges.codes(rows)
        in_span = (codes_of_block >= start) & (codes_of_block < end)
        tables.append(rows.filter(pa.array(in_span)))
        codes.append(codes_of_block[in_span] - start)
    rows = pa.concat_tables(tables).unify_dictionaries()
    return longest_runs(rows, np.concatenate(codes), n_judges=end - start)


def standardize_scores(
    judgments: pa.Table, tasks: pa.Table, listed: ListedItems, *, settings: Standardize
) -> tuple[dict[str, pa.Table], StandardizeMetrics]:
    """Standardise all scalar judgments.

    Parameters
    ----------
    judgments
        The columns ``DESCRIBING``, ``score``, ``fate``, and ``native_id``, which with ``position``
        tells the order in which a judge worked.
    tasks
        ``task``, ``kind``, ``scale_low``, ``scale_high``, ``criteria``.
    listed
        What item tables say, which wins over what records say.
    settings
        Whether controls count for a judge's mean and sd, and how numbers are rounded.

    Returns
    -------
    tables, metrics
        ``standardized`` (one row per scalar judgment that counts: names, ``kept`` by judge
        control, ``score`` turned so that more is better, ``z``), ``judge_scores``.
    """
    rows = judgments.filter(takes_part(judgments, tasks))
    del judgments  # both at once are a gigabyte of ten million judgments
    of_judges = Standardization.from_blocks(lambda _: InMemoryBlocks([rows]), tasks, settings)
    standardized = standardized_rows(rows, tasks, of_judges, listed, settings)
    metrics = standardize_metrics(standardized, of_judges.without_z)
    return {"standardized": standardized, "judge_scores": of_judges.judge_scores}, metrics


def standardized_rows(
    rows: pa.Table,
    tasks: pa.Table,
    of_judges: Standardization,
    listed: ListedItems,
    settings: Standardize,
) -> pa.Table:
    """Return ``standardized`` of a block of judgments that take part."""
    block, moments = ScoreBlock.from_rows(rows, tasks, of_judges.judges), of_judges.moments
    score = block.oriented.score
    z = z_of(block.judges, score, moments.counted.mean, moments.sd, arithmetic=settings.arithmetic)
    table = listed.describe(rows.select(DESCRIBING))
    for name, column in (
        ("kept", pc.invert(is_in(rows["fate"], ("judge_failed",)))),
        ("score", pa.array(score)),
        ("z", pa.array(z, mask=np.isnan(z))),
    ):
        table = table.append_column(name, column)
    return table


def judge_rows(
    judges: Judges, moments: JudgeMoments, tasks: pa.Table, runs: pa.Array, settings: Standardize
) -> pa.Table:
    """Return the table ``judge_scores``; ``runs`` are the longest runs of equal scores."""
    mean, sd, n = moments.counted.mean, moments.sd, moments.counted.n
    statistics = {"mean": mean, "sd": sd} | {name: moments.mean(name) for name in MEANS}
    scaled = {row["task"] for row in tasks.to_pylist() if row["scale_low"] is not None}
    without = np.array([task not in scaled for task in judges.tasks], np.bool_)
    return pa.table(
        {
            "task": pa.array(judges.tasks, TEXT),
            "judge": pa.array(judges.public, TEXT),
            **{
                name: pa.array(values, mask=np.isnan(values)) for name, values in statistics.items()
            },
            # null where no scale is declared
            "share_at_ends": pa.array(moments.mean("share_at_ends"), mask=without),
            "longest_constant_run": runs,
            "no_z_reason": _reasons(n, sd, settings),
        },
        schema=JUDGE_SCORES,
    )


def standardize_metrics(standardized: pa.Table, without_z: list[str]) -> StandardizeMetrics:
    """Return the counts of standardised judgments, beside the judges without z-scores."""
    counted = standardized.filter(standardized["kept"])
    return StandardizeMetrics(
        standardized.num_rows, counted.num_rows, counted["z"].null_count, without_z
    )


def judges_without_z(judge_scores: pa.Table, n_kept: Codes) -> list[str]:
    """Return the judges without z-scores who have ``n_kept`` judgments, with the reason.

    Parameters
    ----------
    judge_scores
        The table of that name.
    n_kept
        Kept judgments of each judge, ``(n_judges,)``.
    """
    without = pc.and_(pa.array(n_kept > 0), pc.is_valid(judge_scores["no_z_reason"]))
    return [
        f"{row['task']} {row['judge']}: {row['no_z_reason']}"
        for row in judge_scores.filter(without).to_pylist()
    ]


def takes_part(judgments: pa.Table, tasks: pa.Table) -> pa.ChunkedArray:
    """Return whether each judgment is standardised: it is scalar, and it counts.

    Parameters
    ----------
    judgments
        ``task``, ``fate``.
    tasks
        ``task``, ``kind``.
    """
    scalar = tasks.filter(is_in(tasks["kind"], ("scalar",)))["task"].combine_chunks()
    return pc.and_(is_in(judgments["task"], scalar.cast(TEXT)), is_in(judgments["fate"], COUNTED))


def _reasons(n: Codes, sd: Floats, settings: Standardize) -> pa.Array:
    """Return why a judge has no z; null for one who has."""
    what = "scores" if settings.controls == "include" else "ordinary scores"
    counts, positions = np.unique(n, return_inverse=True)
    texts = [f"{n} {what}; 2 are needed" if n < 2 else f"all {n} {what} are equal" for n in counts]
    return pc.if_else(pa.array(sd > 0), pa.scalar(None, TEXT), names_of(texts, positions))
