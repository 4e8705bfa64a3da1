"""Scores turned so that more is better, and what their criterion says of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.arrays import Floats
from annot_pipeline.contracts import TEXT


@dataclass(frozen=True)
class OrientedScores:
    """Holds scores turned so that more is better; arrays are ``(n_rows,)``.

    Parameters
    ----------
    score
        Points of the scale; of a reversed criterion: lowest + highest - score.
    in_control
        Whether the criterion takes part in judge control.
    low, high
        Ends of the scale; NaN where the task declares none.
    """

    score: Floats
    in_control: npt.NDArray[np.bool_]
    low: Floats
    high: Floats


def orient_scores(rows: pa.Table, tasks: pa.Table) -> OrientedScores:
    """Orient the scores of scalar judgments.

    Parameters
    ----------
    rows
        ``task``, ``criterion``, ``score``; no score is null.
    tasks
        ``task``, ``scale_low``, ``scale_high``, ``criteria``.
    """
    names = tasks["task"].to_pylist()
    task = _codes(rows["task"], names)
    score = rows["score"].to_numpy(zero_copy_only=False).astype(np.float64)
    low, high = (
        np.array([np.nan if end is None else end for end in tasks[column].to_pylist()], np.float64)
        for column in ("scale_low", "scale_high")
    )
    settings = [
        {c["criterion"]: c for c in (criteria or [])} for criteria in tasks["criteria"].to_pylist()
    ]
    criteria = sorted({name for declared in settings for name in declared})
    reverse = np.zeros((len(names), len(criteria) + 1), np.bool_)
    in_control = np.ones_like(reverse)
    for t, declared in enumerate(settings):
        for name, criterion in declared.items():
            reverse[t, criteria.index(name)] = criterion["reverse"]
            in_control[t, criteria.index(name)] = criterion["quality"]
    criterion_codes = _codes(
        rows["criterion"], criteria
    )  # -1, the last column: none, or not declared
    low_of, high_of = low[task], high[task]
    # the ends change places exactly, and rounding must not lead beyond them
    inner = np.clip(low_of + high_of - score, low_of, high_of)
    other_side = np.select([score == low_of, score == high_of], [high_of, low_of], inner)
    turned = np.where(reverse[task, criterion_codes], other_side, score)
    return OrientedScores(turned, in_control[task, criterion_codes], low_of, high_of)


def _codes(column: pa.ChunkedArray, names: list[str]) -> npt.NDArray[np.int64]:
    """Return the place of each value among the names; -1 if null or not among them."""
    codes = pc.index_in(column.cast(TEXT), pa.array(names, TEXT))
    return np.asarray(pc.fill_null(codes, -1).to_numpy(), np.int64)
