"""Scalar judgments standardised, and what their scores say of the judges.

z-scores are by judge and task (Graham et al. 2013, section 4.3). Judges who failed judge
control have them too: the unfiltered results stay beside the filtered ones.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.config import Standardize
from annot_pipeline.contracts import DESCRIBING, INT, REAL, TEXT
from annot_pipeline.methods.numerics.blocks import InMemoryBlocks
from annot_pipeline.methods.scores.zscores import standardized as z_of
from annot_pipeline.runtime.indexing import is_in, names_of
from annot_pipeline.stages.comparisons.runs_of_work import runs_of_work
from annot_pipeline.stages.ingest.listed_items import ListedItems
from annot_pipeline.stages.scores.judge_sums import (
    MEANS,
    JudgeMoments,
    Judges,
    ScoreBlock,
    judge_moments,
    kept_of_judges,
)
from annot_pipeline.stages.scores.metrics import StandardizeMetrics

COUNTED = ("used", "control", "judge_failed")
Codes = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

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
    judges = Judges.from_rows(rows)
    block = ScoreBlock.from_rows(rows, tasks, judges)
    moments = judge_moments(InMemoryBlocks([block]), settings)
    table = judge_rows(judges, moments, tasks, runs_of_work(rows, block.judges, judges), settings)
    standardized = standardized_rows(block, moments, listed, settings)
    metrics = standardize_metrics(standardized, judges_without_z(table, kept_of_judges(block)))
    return {"standardized": standardized, "judge_scores": table}, metrics


def standardized_rows(
    block: ScoreBlock, moments: JudgeMoments, listed: ListedItems, settings: Standardize
) -> pa.Table:
    """Return ``standardized`` of a block; parameters are those of `standardize_scores`."""
    score = block.oriented.score
    z = z_of(block.judges, score, moments.counted.mean, moments.sd, arithmetic=settings.arithmetic)
    table = listed.describe(block.rows.select(DESCRIBING))
    for name, column in (
        ("kept", pc.invert(is_in(block.rows["fate"], ("judge_failed",)))),
        ("score", pa.array(score)),
        ("z", pa.array(z, mask=np.isnan(z))),
    ):
        table = table.append_column(name, column)
    return table


def judge_rows(
    judges: Judges, moments: JudgeMoments, tasks: pa.Table, runs: pa.Array, settings: Standardize
) -> pa.Table:
    """Return the table ``judge_scores``; ``runs`` are those of `runs_of_work`."""
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
