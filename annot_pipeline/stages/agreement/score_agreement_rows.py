"""Rows of the table ``agreement`` on scores, and why a number is missing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from annot_pipeline.methods.agreement.scale_agreement import BinnedAgreement
from annot_pipeline.methods.agreement.score_differences import ScoreDifferences
from annot_pipeline.methods.numerics.bootstrap import Estimate
from annot_pipeline.stages.agreement.ratings import (
    FEW_DRAWN,
    Row,
    agreement_row,
    bootstrap_interval,
)

NO_BLOCK_INTERVAL = "no interval: the task has too many scores to draw pairs of judges again"
FEW_COMMON = f"no interval: pairs of judges share fewer than {FEW_DRAWN} items on average"
NO_RANKS = "no two judges scored three common items, each with different scores"
NO_VALUES = "no item has two scores"
EQUAL_SCORES = "all scores are equal, or too many differ"
NO_RATIO = "all scores are equal, some are below 0, or too many differ"
NO_SD_INTERVAL = "no interval: none is computed for a standard deviation"


def alpha_row(task: Row, name: str, estimate: Any, n_items: int, n_judges: int, rounds: int) -> Row:
    """Return the row of an alpha."""
    undefined = NO_RATIO if name.startswith("alpha_ratio") else EQUAL_SCORES
    undefined = undefined if n_items else NO_VALUES
    return interval_row(task, name, estimate, n_items, n_judges, rounds, undefined)


def cut_rows(
    task: Row, name: str, agreement: BinnedAgreement, n_judges: int, rounds: int
) -> Iterator[Row]:
    """Yield the rows of agreement on a scale that is cut."""
    undefined = f"no item has scores by {_pairs_of(name)}" if not agreement.n_items else "one bin"
    share = name.replace("_kappa_", "_percent_agreement_")
    for row_name, estimate in ((name, agreement.kappa), (share, agreement.percent_agreement)):
        yield interval_row(task, row_name, estimate, agreement.n_items, n_judges, rounds, undefined)


def difference_rows(
    task: Row, name: str, differences: ScoreDifferences, n_judges: int, rounds: int
) -> Iterator[Row]:
    """Yield the rows of differences: mean and sd."""
    sd = Estimate(differences.sd, np.nan, np.nan)
    undefined = f"{{}} of scores by {_pairs_of(name)}"
    sizes = (differences.n_items, n_judges, rounds)
    yield interval_row(task, name, differences.mean, *sizes, undefined.format("no pair"))
    name = name.replace("_mean", "_sd")
    too_few = undefined.format("fewer than 2 pairs")
    yield interval_row(task, name, sd, *sizes, too_few, NO_SD_INTERVAL)


def interval_row(
    task: Row,
    name: str,
    estimate: Any,
    n_items: int,
    n_judges: int,
    rounds: int,
    undefined: str,
    unbounded: str | None = None,
) -> Row:
    """Return a row with a bootstrap interval over items; parameters as `bootstrap_interval`."""
    low, high, reason = bootstrap_interval(
        estimate, n_items, rounds, undefined, unbounded=unbounded
    )
    published = Estimate(estimate.value, low, high)
    return agreement_row(task, name, published, n_items, n_judges, reason)


def _pairs_of(name: str) -> str:
    return "two judges" if name.startswith("inter") else "one judge twice"
