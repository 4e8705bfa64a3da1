"""Scalar judgments standardised, and what their scores say of the judges.

z-scores are by judge and task (Graham et al. 2013, section 4.3). Judges who failed judge
control have them too: the unfiltered results stay beside the filtered ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.config import Standardize
from annot_pipeline.contracts import CONTROLS, DESCRIBING, INT, REAL, TEXT
from annot_pipeline.methods.constant_runs import longest_constant_runs
from annot_pipeline.methods.moments import means
from annot_pipeline.methods.zscores import ZScores, z_scores
from annot_pipeline.steps.indexing import index, index_pairs, is_any, names_of
from annot_pipeline.steps.listed_items import ListedItems
from annot_pipeline.steps.orient_scores import OrientedScores, orient_scores

COUNTED = ("used", "control", "judge_failed")
ORDINARY = ("none", "ask_again")

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
) -> tuple[dict[str, pa.Table], dict[str, Any]]:
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
    tables, facts
        ``standardized`` (a row a scalar judgment that counts: names, ``kept`` by judge
        control, ``score`` turned so that more is better, ``z``), ``judge_scores``.
    """
    rows = judgments.filter(takes_part(judgments, tasks))
    del judgments  # both at once are a gigabyte of ten million judgments
    task, judge = index(rows["task"]), index(rows["judge"])
    judges = index_pairs(task.codes, judge.codes)
    n_judges = judges.first.size
    oriented = orient_scores(rows, tasks)
    ordinary = _is(rows, *ORDINARY)
    z = z_scores(
        judges.codes,
        oriented.score,
        n_judges=n_judges,
        counts=None if settings.controls == "include" else ordinary,
        arithmetic=settings.arithmetic,
    )
    standardized = listed.describe(rows.select(DESCRIBING))
    standardized = standardized.append_column(
        "kept", pc.invert(is_any(rows["fate"], ("judge_failed",)))
    )
    standardized = standardized.append_column("score", pa.array(oriented.score))
    standardized = standardized.append_column("z", pa.array(z.z, mask=np.isnan(z.z)))
    first_rows = np.unique(judges.codes, return_index=True)[1]
    table = pa.table(
        {
            "task": names_of(task.names, judges.first),
            "judge": rows["judge_id"].cast(TEXT).take(pa.array(first_rows)),
            **_means(rows, judges.codes, oriented.score, z, n_judges),
            "share_at_ends": _share_at_ends(judges.codes, oriented, n_judges),
            "longest_constant_run": _runs(rows, task.codes, judges.codes, judges.first),
            "no_z_reason": _reasons(z, settings),
        },
        schema=JUDGE_SCORES,
    )
    kept = standardized["kept"].to_numpy()
    counts = pa.array(np.bincount(judges.codes[kept], minlength=n_judges) > 0)
    without = table.filter(pc.and_(counts, pc.is_valid(table["no_z_reason"])))
    facts = {
        "scalar_judgments": rows.num_rows,
        "kept_judgments": int(kept.sum()),
        "kept_without_z": int(np.isnan(z.z[kept]).sum()),
        "judges_without_z": [
            f"{row['task']} {row['judge']}: {row['no_z_reason']}" for row in without.to_pylist()
        ],
    }
    return {"standardized": standardized, "judge_scores": table}, facts


def takes_part(judgments: pa.Table, tasks: pa.Table) -> pa.ChunkedArray:
    """Whether each judgment is one of those that are standardised: scalar, and it counts.

    Parameters
    ----------
    judgments
        ``task``, ``fate``.
    tasks
        ``task``, ``kind``.
    """
    scalar = tasks.filter(is_any(tasks["kind"], ("scalar",)))["task"].combine_chunks()
    return pc.and_(is_any(judgments["task"], scalar.cast(TEXT)), is_any(judgments["fate"], COUNTED))


def _is(rows: pa.Table, *controls: str) -> npt.NDArray[np.bool_]:
    found = is_any(rows["control"], controls)
    return np.asarray(found.to_numpy(), np.bool_)


def _reasons(z: ZScores, settings: Standardize) -> pa.Array:
    """Why a judge has no z; null for one who has."""
    what = "scores" if settings.controls == "include" else "ordinary scores"
    counts, place = np.unique(z.n, return_inverse=True)
    texts = [f"{n} {what}; 2 are needed" if n < 2 else f"all {n} {what} are equal" for n in counts]
    return pc.if_else(pa.array(z.sd > 0), pa.scalar(None, TEXT), names_of(texts, place))


def _means(
    rows: pa.Table, judges: npt.NDArray[np.int64], scores: npt.NDArray[np.float64], z: ZScores,
    n_judges: int,
) -> dict[str, pa.Array]:  # fmt: skip
    """Mean score by kind of judgment; mean and sd as z-scores take them."""
    found = {"mean": z.mean, "sd": z.sd}
    for name, controls in (
        ("mean_ordinary", ORDINARY),
        ("mean_good_reference", CONTROLS[3:4]),
        ("mean_bad_reference", CONTROLS[2:3]),
    ):
        of = _is(rows, *controls)
        found[name] = means(judges[of], scores[of], n_groups=n_judges)
    return {name: pa.array(values, mask=np.isnan(values)) for name, values in found.items()}


def _share_at_ends(
    judges: npt.NDArray[np.int64], oriented: OrientedScores, n_judges: int
) -> pa.Array:
    """Share of scores at the lowest or highest point; null where no scale is declared."""
    at_end = (oriented.score == oriented.low) | (oriented.score == oriented.high)
    share = means(judges, at_end.astype(np.float64), n_groups=n_judges)
    scaled = np.zeros(n_judges, np.bool_)
    scaled[judges] = ~np.isnan(oriented.low)
    return pa.array(share, mask=~scaled)


def _runs(
    rows: pa.Table, tasks: npt.NDArray[np.int64], judges: npt.NDArray[np.int64],
    task_of: npt.NDArray[np.int64],
) -> pa.Array:  # fmt: skip
    """Longest constant runs; null in tasks of which nothing tells the order of work."""
    n_judges = task_of.size
    told = pc.or_(rows["position"].is_valid(), rows["submitted_at"].is_valid()).to_numpy()
    if not told.any():
        return pa.nulls(n_judges, INT)
    has_order = np.zeros(tasks.max() + 1, np.bool_)
    has_order[tasks[told]] = True
    time = pc.fill_null(rows["submitted_at"].cast(pa.int64()), 0).to_numpy()
    names = ("hit", "native_id", "position", "criterion")
    order = [time, *(_ordinals(rows[name]) for name in names)]
    timed = rows["submitted_at"].is_valid().to_numpy()
    sittings = np.where(timed, -1, order[1])  # nothing tells the order of HITs without a time
    given = rows["score"].to_numpy(zero_copy_only=False)
    runs = longest_constant_runs(judges, sittings, order, given, n_judges=n_judges)
    return pa.array(runs, INT, mask=(runs < 0) | ~has_order[task_of])


def _ordinals(column: pa.ChunkedArray) -> npt.NDArray[np.int64]:
    """Places of names in their natural order: numbers by size, then texts."""
    found = index(column, null="")

    def natural(code: int) -> tuple[bool, int, str]:
        name = found.names[code]
        if not (name.isascii() and name.isdecimal()):
            return True, 0, name
        digits = name.lstrip("0")  # a longer number is larger, however long
        return False, len(digits), digits

    order = sorted(range(len(found.names)), key=natural)
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    return place[found.codes]
