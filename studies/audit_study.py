"""The study `audits`: how often a sample of labels certifies, and how often it does so wrongly.

Labels of public sets are inferred as in a build, without their truths; these answer the samples,
as experts who never err. What does not belong here: the certificate (methods.labels.label_audit).
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import annot_pipeline as annot
from annot_pipeline.arrays import Flags, Floats
from annot_pipeline.errors import ConfigError, Problem
from annot_pipeline.methods.labels.label_audit import (
    LEVELS,
    audit_design,
    level_bands,
    level_tests,
)
from annot_pipeline.methods.planning.validation_sample import draw_strata
from benchmarks.careless_judges import Answers, Truths, public_sets
from studies.item_rounds import stream
from studies.params import CANNOT_BE, Audits
from studies.progress import Progress
from studies.tables import Table
from studies.write import Result, Section

AUDITS = "audits"
SIZES = (60, 200)
COLUMNS = (
    "set", "labels", "right", "sample", "drawn_above", "labels_above", "right_above", "certified",
    "share_of_labels", "wrong", "right_where_certified",
)  # fmt: skip
NOTES = (
    "drawn_above: the loosest level of the sample, labels_above: labels from it on; certified: "
    "share of the samples that certify; share_of_labels: of those certified, mean; wrong: share of "
    "all samples that certify labels of which fewer than certain_at are right (at most .05 is "
    "promised); right_where_certified: share of the samples that certify in which certain_at or "
    "more are right.",
)


@dataclass(frozen=True)
class Audited:
    """Samples of one size: which certify, what share of the labels, and which are wrong."""

    level: float
    above: Flags
    share: Floats
    is_wrong: Flags


def audit_labels(
    probability: Floats, right: Flags, n: int, certain_at: float, repeats: int,
    rng: np.random.Generator,
) -> Audited | None:  # fmt: skip
    """Draw samples and test the levels; None where no sample can certify.

    Parameters
    ----------
    probability, right
        ``(n_items,)`` of labels.
    n, certain_at
        As `audit_design` takes them.
    repeats
        Samples.
    rng
        Draws them.
    """
    bands = level_bands(probability)
    design = audit_design(np.bincount(bands, minlength=len(LEVELS)), n, certain_at)
    if design is None:
        return None
    stratum = design.strata(bands)
    shares: list[float] = []
    is_wrong: list[bool] = []
    for _ in range(repeats):
        wrong = stratum[draw_strata(stratum, design.drawn, rng) & ~right]
        errors = np.bincount(wrong, minlength=design.bands.size)
        levels = [
            test.level for test in level_tests(design, errors, certain_at)
            if test.bound <= 1 - certain_at
        ]  # fmt: skip
        if levels:
            above = probability >= levels[-1]
            shares.append(float(above.mean()))
            is_wrong.append(bool(right[above].mean() < certain_at))
    return Audited(
        LEVELS[design.bands[-1]], stratum >= 0, np.array(shares), np.array(is_wrong, np.bool_)
    )


def run_audits(params: Audits, progress: Progress) -> Result:
    """Audit the labels of every public set.

    Raises
    ------
    ConfigError
        The folder has none.
    """
    folder = Path(params.folder or os.environ.get("ANNOT_REAL_DATA", ""))
    rows = []
    for name, answers, truths in public_sets(folder):
        progress(f"labels of {name}")
        probability, right = _labels(answers, truths)
        for n in SIZES:
            rng = stream(params.seed, AUDITS, f"{name} {n}")
            audited = audit_labels(probability, right, n, params.certain_at, params.repeats, rng)
            rows.append((name, right.size, float(right.mean()), n, *_cells(audited, right, params)))
    if not rows:
        problem = Problem("folder", f"{folder} has no set", do="see tests/real_data/README.md")
        raise ConfigError(CANNOT_BE, [problem])
    table = Table(AUDITS, COLUMNS, tuple(rows))
    numbers = [dict(zip(COLUMNS, row, strict=True)) for row in rows]
    sections = [Section("Samples of labels", [], {}, [table])]
    return Result([*_findings(numbers)], NOTES, [table], sections, numbers)


def _labels(answers: Answers, truths: Truths) -> tuple[Floats, Flags]:
    """Return probabilities of labels, and whether they are right, of items with a truth."""
    names = ("item", "judge", "label")
    frame = pa.table(dict(zip(names, map(pa.array, zip(*answers, strict=True)), strict=True)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of rows that do not count
        classes, measured = sorted({row[2] for row in answers}), {"quality": {"labels": "measure"}}
        gold = annot.infer_labels(frame, labels=classes, settings=measured).gold
    assert gold is not None
    rows = [row for row in gold.table("labels").to_pylist() if row["item"] in truths]
    return np.array([row["probability"] for row in rows]), np.array(
        [row["label"] == truths[row["item"]] for row in rows]
    )


def _cells(audited: Audited | None, right: Flags, params: Audits) -> tuple[float | None, ...]:
    if audited is None:
        return (None,) * 3 + (0.0, None, 0.0, None)
    n_certified, n_wrong = audited.share.size, int(audited.is_wrong.sum())
    above = audited.above
    return (
        audited.level, int(above.sum()), float(right[above].mean()), n_certified / params.repeats,
        float(audited.share.mean()) if n_certified else None, n_wrong / params.repeats,
        1 - n_wrong / n_certified if n_certified else None,
    )  # fmt: skip


def _findings(numbers: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for n in SIZES:
        own = [row for row in numbers if row["sample"] == n]
        often = [row["set"] for row in own if row["certified"] > 0.05]
        worst = max(own, key=lambda row: row["wrong"])
        yield (
            f"Samples of {n} certify labels of {', '.join(often) or 'no set'} in more than 5% of "
            f"the draws; the most wrong certificates are {worst['wrong']:.1%} of the draws "
            f"({worst['set']})."
        )
