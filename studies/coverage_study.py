"""The study `coverage`: a table of how far intervals, tests and clusters of rankings hold."""

from __future__ import annotations

import dataclasses
import math

from studies.item_rounds import stream
from studies.params import RankingCoverage
from studies.progress import Progress, Steps
from studies.ranking_coverage import Coverage, Measurement, measurements
from studies.tables import Cell, Table
from studies.write import Result

COVERAGE = "coverage"
"""Name of the study, and of its table."""

NOTES = (
    "coverage: share of 95% intervals of differences that contain the truth; system_coverage: of "
    "intervals of one system against the mean of the others.",
    "size, familywise, false_boundary: where all systems are equal, share of one-sided tests "
    "below .05, of replications with a win (adjusted and bradley_terry: after Holm), and with more "
    "than one cluster.",
    "power: of one-sided tests at .05; power_at_size: at the critical value that has a size of .05 "
    "in these replications.",
    "confirmed: share of pairs with enough judges and segments for clusters. Where it is 0, "
    "clusters are null.",
)


def run_coverage(params: RankingCoverage, progress: Progress) -> Result:
    """Measure all designs."""
    selection = [one for one in measurements() if params.design in ("", one.design)]
    steps = Steps(progress, COVERAGE, len(selection))
    rows: list[tuple[Cell, ...]] = []
    measured: list[tuple[Measurement, Coverage]] = []
    for one in selection:
        # methods of one design see the same draws
        coverage = one.run(params.repeats, stream(params.seed, COVERAGE, one.design))
        measured.append((one, coverage))
        rows.append((one.design, one.method, *map(_cell, dataclasses.astuple(coverage))))
        steps.step()
    names = [field.name.removeprefix("is_") for field in dataclasses.fields(Coverage)]
    table = Table(COVERAGE, ("design", "method", *names), tuple(rows))
    numbers = [
        {"design": one.design, "method": one.method}
        | {name: _cell(value) for name, value in dataclasses.asdict(coverage).items()}
        for one, coverage in measured
    ]
    return Result(_findings(measured), NOTES, [table], [], numbers)


def _cell(value: float) -> float | None:
    return None if math.isnan(value) else value


def _findings(measured: list[tuple[Measurement, Coverage]]) -> list[str]:
    """Say the range of coverage and size of the headline where it is confirmed, and of rank-sum."""
    coverages = [
        coverage for one, coverage in measured
        if one.method in ("adjusted", "bradley_terry") and coverage.is_confirmed > 0
    ]  # fmt: skip
    sentences = []
    if coverages:
        low, high = (end(one.coverage for one in coverages) for end in (min, max))
        size = max(one.size for one in coverages)
        boundary = max(one.false_boundary for one in coverages)
        sentences.append(
            f"Headline, where pairs are confirmed: coverage {low:.3f} to {high:.3f}, size at most "
            f"{size:.3f}, false boundaries at most {boundary:.3f}."
        )
    rank_sum = [coverage for one, coverage in measured if one.method.startswith("z_mean")]
    if rank_sum:
        sentences.append(
            "Rank-sum tests of z-scores: size up to "
            f"{max(one.size for one in rank_sum):.3f}, false boundaries up to "
            f"{max(one.false_boundary for one in rank_sum):.3f}."
        )
    return sentences
