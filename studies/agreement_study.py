"""The study `agreement`: a table of how far intervals of agreement hold."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator

from studies.agreement_coverage import DESIGNS as LABEL_DESIGNS
from studies.agreement_coverage import (
    AgreementCoverage,
    LabelDesign,
    coverage_rows,
)
from studies.params import AgreementIntervals
from studies.progress import Progress, Steps
from studies.score_agreement_coverage import DESIGNS as SCORE_DESIGNS
from studies.score_agreement_coverage import ScoreDesign, score_coverage_rows
from studies.tables import Cell, Table
from studies.write import Result

AGREEMENT = "agreement"
"""Name of the study."""
TABLE = "agreement_coverage"
KINDS = LABELS, SCORES = ("labels", "scores")
LEAST_ITEMS = 30
"""Items from which a build publishes bootstrap intervals (stages.agreement.ratings)."""

NOTES = (
    "coverage: share of 95% intervals that contain the truth, of those that there are "
    "(has_interval); bias: mean of the statistic less the truth.",
    "The truth of scores, and of labels by fewer than 4 judges, is that of these judges on many "
    "more items; of labels by more judges that of all judges.",
    "A build publishes fewer intervals than scores have here: none with fewer than 30 items, and "
    "none of inter_spearman where pairs of judges share fewer than 30 items on average.",
)

_Measured = tuple[str, LabelDesign | ScoreDesign, str, AgreementCoverage]


def run_agreement(params: AgreementIntervals, progress: Progress) -> Result:
    """Measure all designs of labels and of scores."""
    designs = (*LABEL_DESIGNS, *SCORE_DESIGNS)
    steps, measured = Steps(progress, AGREEMENT, len(designs)), list[_Measured]()
    for one in _measurements(params):
        if measured and one[1] is not measured[-1][1]:
            steps.step()
        measured.append(one)
    steps.step()
    columns = (
        "kind", "n_items", "n_judges", "per_item", "prevalence", "statistic", "coverage",
        "has_interval", "bias",
    )  # fmt: skip
    rows = [_row(*one) for one in measured]
    numbers = [dict(zip(columns, row, strict=True)) for row in rows]
    return Result(_findings(measured), NOTES, [Table(TABLE, columns, tuple(rows))], [], numbers)


def _measurements(params: AgreementIntervals) -> Iterator[_Measured]:
    for label_design, name, coverage in coverage_rows(params.repeats, params.seed):
        yield LABELS, label_design, name, coverage
    for design, name, coverage in score_coverage_rows(params.repeats, params.rounds, params.seed):
        yield SCORES, design, name, coverage


def _row(
    kind: str, design: LabelDesign | ScoreDesign, name: str, measured: AgreementCoverage
) -> tuple[Cell, ...]:
    prevalence = design.prevalence if isinstance(design, LabelDesign) else None
    return (
        kind, design.n_items, design.n_judges, design.per_item, prevalence, name,
        *(None if math.isnan(value) else value for value in dataclasses.astuple(measured)),
    )  # fmt: skip


def _findings(measured: list[_Measured]) -> list[str]:
    """Return the range of coverage over designs and statistics that a build publishes."""
    published = [
        (kind, one.coverage)
        for kind, design, name, one in measured
        if not math.isnan(one.coverage)
        and (kind == LABELS or design.n_items >= LEAST_ITEMS)
        and (name != "inter_spearman" or design.per_item == design.n_judges)
    ]
    return [
        f"Intervals of {kind} that a build publishes: coverage {min(values):.3f} to "
        f"{max(values):.3f}."
        for kind in KINDS
        if (values := [coverage for of_kind, coverage in published if of_kind == kind])
    ]
