"""The study `model_judges`: how far intervals from model and human judgments hold."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from annot_pipeline.errors import ConfigError, Problem
from studies.curve_figures import Drawn
from studies.figures.coverage import coverage_svg
from studies.item_rounds import stream
from studies.model_judge_coverage import (
    COMPARISONS,
    HUMAN,
    LABELS,
    METHODS,
    MODEL,
    PREDICTION_POWERED,
    Draw,
    IntervalCoverage,
    measure_coverage,
)
from studies.params import CANNOT_BE, ModelJudgeCoverage
from studies.progress import Progress, Steps
from studies.recorded_model_judges import read_model_judges
from studies.simulated_model_judges import draw_comparisons, draw_labels
from studies.tables import Cell, Table
from studies.write import Result, Section

MODEL_JUDGES = "model_judges"
"""Name of the study, and of its table by model."""
BY_QUANTITY = "model_judge_coverage"
N_HUMAN = {LABELS: 200, COMPARISONS: 1_000}
LEVEL = 0.95

NOTES = (
    "coverage: share of 95% intervals that contain the truth, of those that there are "
    "(has_interval). Methods: human, people alone; model, the model alone on all items; "
    "prediction_powered, both; rogan_gladen, the model corrected by its errors on people's labels.",
    "effective_ratio: human judgments alone that would have the same standard error, for each real "
    "one. error_ratio: mean squared error of people alone over that of the method.",
)
ABOUT_FILE = (
    "The truth is that of all people's judgments of the file; each draw takes {n_human:,} of its "
    "{n_items:,} {what} at random, and intervals are for the mean over these {what} alone. Only "
    "those of the model alone take them for a sample of more."
)
ABOUT_SIMULATION = (
    "Judges are simulated: {labels:,} items with labels and {comparisons:,} comparisons, each by "
    "three of 40 people, 10 times as many in all. The truth is that of all people and items."
)


def run_model_judges(params: ModelJudgeCoverage, progress: Progress) -> Result:
    """Measure intervals on a file's judgments, or on simulated ones."""
    draws, notes = _recorded(params) if params.file else _simulated(params)
    steps = Steps(progress, MODEL_JUDGES, params.repeats * len(draws))
    measured = [
        one
        for kind, draw in draws
        for one in measure_coverage(
            draw, params.repeats, stream(params.seed, MODEL_JUDGES, kind), steps.step
        )
    ]
    tables = [_by_model(measured), _by_quantity(measured)]
    numbers = [dict(zip(tables[0].columns, row, strict=True)) for row in tables[0].rows]
    return Result(
        [sentence for kind, _ in draws for sentence in _findings(kind, measured)],
        [*notes, *NOTES],
        tables,
        [Section(kind, [_figure(kind, measured)]) for kind, _ in draws],
        numbers,
    )


def _recorded(params: ModelJudgeCoverage) -> tuple[list[tuple[str, Draw]], list[str]]:
    judges = read_model_judges(Path(params.file))
    n_human = N_HUMAN[judges.kind] if params.n_human is None else params.n_human
    if n_human >= judges.n_items:
        what = f"is {n_human:,}; people judged {judges.n_items:,} {_unit(judges.kind)}"
        do = "draw fewer with --set n_human=N"
        raise ConfigError(
            CANNOT_BE, [Problem("n_human", what, f"up to {judges.n_items - 1:,}", do)]
        )
    notes = [ABOUT_FILE.format(n_human=n_human, n_items=judges.n_items, what=_unit(judges.kind))]
    if judges.n_without_truth:
        notes.append(f"{judges.n_without_truth:,} items without a majority of people left out.")
    return [(judges.kind, partial(judges.draw, n_human))], notes


def _simulated(params: ModelJudgeCoverage) -> tuple[list[tuple[str, Draw]], list[str]]:
    sizes = {kind: params.n_human or default for kind, default in N_HUMAN.items()}
    draws: list[tuple[str, Draw]] = [
        (LABELS, partial(draw_labels, sizes[LABELS])),
        (COMPARISONS, partial(draw_comparisons, sizes[COMPARISONS])),
    ]
    return draws, [ABOUT_SIMULATION.format(**sizes)]


def _unit(kind: str) -> str:
    return "items" if kind == LABELS else kind


def _by_quantity(measured: Sequence[IntervalCoverage]) -> Table:
    columns = (
        "kind", "judge", "quantity", "method", "truth", "coverage", "has_interval", "mean_width",
        "bias", "effective_ratio", "error_ratio",
    )  # fmt: skip
    rows = [
        (
            one.question.kind, one.question.judge, one.question.quantity, one.method,
            *map(_cell, (
                one.truth, one.coverage, one.has_interval, one.width, one.bias,
                one.effective_ratio,
            )),
            _error_ratio([one]),
        )
        for one in measured
    ]  # fmt: skip
    return Table(BY_QUANTITY, columns, tuple(rows))


def _by_model(measured: Sequence[IntervalCoverage]) -> Table:
    """Return means over quantities, by model and method."""
    columns = (
        "kind", "judge", "method", "quantities", "coverage", "least_coverage", "largest_coverage",
        "mean_width", "effective_ratio", "error_ratio",
    )  # fmt: skip
    rows: list[tuple[Cell, ...]] = []
    for kind, judge, method in _keys(measured):
        group = _select(measured, kind, judge, method)
        coverage = [one.coverage for one in group if not math.isnan(one.coverage)]
        rows.append((
            kind, judge, method, len(group), _mean(coverage), min(coverage, default=None),
            max(coverage, default=None), _mean(one.width for one in group),
            _mean(one.effective_ratio for one in group), _error_ratio(group),
        ))  # fmt: skip
    return Table(MODEL_JUDGES, columns, tuple(rows))


def _error_ratio(group: Sequence[IntervalCoverage]) -> float | None:
    """Return people's squared errors over those of the method, summed over quantities."""
    own = sum(one.squared_error for one in group)
    return _cell(sum(one.human_squared_error for one in group) / own) if own > 0 else None


def _keys(measured: Sequence[IntervalCoverage]) -> list[tuple[str, str, str]]:
    keys = ((one.question.kind, one.question.judge, one.method) for one in measured)
    return list(dict.fromkeys(keys))


def _select(
    measured: Iterable[IntervalCoverage], kind: str, judge: str, method: str
) -> list[IntervalCoverage]:
    return [
        one
        for one in measured
        if (one.question.kind, one.question.judge, one.method) == (kind, judge, method)
    ]


def _figure(kind: str, measured: Sequence[IntervalCoverage]) -> Drawn:
    keys = [key for key in _keys(measured) if key[0] == kind]
    names = [f"{judge}, {method.replace('_', '-')}" for _, judge, method in keys]
    coverages = [[one.coverage for one in _select(measured, *key)] for key in keys]
    return Drawn(f"Coverage of 95% intervals, {kind}", coverage_svg(names, coverages, LEVEL))


def _findings(kind: str, measured: Sequence[IntervalCoverage]) -> list[str]:
    """Return the range of the models' coverage by method, and what the models save."""
    ranges = {
        method: _range([
            _mean(one.coverage for one in _select(measured, *key))
            for key in _keys(measured) if key[0] == kind and key[2] == method
        ])
        for method in METHODS[kind]
    }  # fmt: skip
    ratios = [
        _mean(one.effective_ratio for one in _select(measured, *key))
        for key in _keys(measured) if key[0] == kind and key[2] == PREDICTION_POWERED
    ]  # fmt: skip
    return [
        f"Intervals of {kind} by model: prediction-powered {ranges[PREDICTION_POWERED]} cover, "
        f"people alone {ranges[HUMAN]}, the model alone {ranges[MODEL]}.",
        f"One human judgment of {kind} counts as {_range(ratios, 1, 2)} with a model's help.",
    ]


def _range(values: Iterable[float | None], times: float = 100, digits: int = 1) -> str:
    valid = [times * value for value in values if value is not None]
    unit = "%" if times != 1 else ""
    if not valid:
        return "unknown"
    ends = dict.fromkeys(f"{end(valid):.{digits}f}" for end in (min, max))
    return " to ".join(ends) + unit


def _mean(values: Iterable[float]) -> float | None:
    valid = [value for value in values if not math.isnan(value)]
    return float(np.mean(valid)) if valid else None


def _cell(value: float) -> float | None:
    return None if math.isnan(value) else float(value)
