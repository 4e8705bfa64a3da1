"""A random sample of labels for experts, whose answers certify labels of a release.

Drawn evenly within strata of probability (methods.labels.label_audit), from the labels of the
model that a release has published. The answers are no judgments of the task (control ``audit``).
What does not belong here: what they certify (stages.labels.label_items).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.config import Campaign
from annot_pipeline.contracts import INT, REAL, TEXT, share_text
from annot_pipeline.errors import counted
from annot_pipeline.hits.plan_labels import NO_MODEL, PlannedLabels, label_slots
from annot_pipeline.methods.labels.label_audit import (
    LEVELS,
    AuditDesign,
    audit_design,
    fewest_items,
    level_bands,
    level_tests,
)
from annot_pipeline.methods.planning.validation_sample import draw_strata
from annot_pipeline.runtime.audit_answers import AUDIT, AuditSample, labels_checksum
from annot_pipeline.runtime.indexing import is_in
from annot_pipeline.stages.planning.hit_plan import SAMPLED, CannotPlanError, Question

LABELLED = pa.schema(
    [("item", TEXT), ("model_label", TEXT), ("model_probability", REAL), ("n_judgments", INT)]
)
MOST_ERRORS = 3
"""Numbers of errors, from 0, whose consequence people are told."""


def plan_audit(
    question: Question,
    labels: pa.Table,
    answers: pa.Table,
    listed: Mapping[str, dict[str, Any]],
    release: str,
    settings: Campaign,
) -> PlannedLabels:
    """Draw the sample of a task.

    Parameters
    ----------
    question
        What is asked.
    labels
        ``item``, ``model_label``, ``model_probability``, ``n_judgments`` of the task.
    answers
        ``control``, ``control_of`` of its judgments: answers to earlier samples are among them.
    listed
        What item tables say of an item.
    release
        Whose labels these are.
    settings
        ``labels.certain_at``, ``next_hits.items``, ``next_hits.hit_size``, ``seed``.

    Raises
    ------
    CannotPlanError
        Why there can be none.
    """
    labels = labels.filter(labels["model_probability"].is_valid())
    labels = labels.select(LABELLED.names).cast(LABELLED).sort_by("item")
    if not labels.num_rows:
        raise CannotPlanError(NO_MODEL)
    certain_at, probability = settings.labels.certain_at, labels["model_probability"].to_numpy()
    n, needed = settings.next_hits.items or fewest_items(certain_at, 1), fewest_items(certain_at)
    bands = level_bands(probability)
    design = audit_design(np.bincount(bands, minlength=len(LEVELS)), n, certain_at)
    if design is None:
        raise CannotPlanError(
            f"{certain_at:g} takes {needed:,} answers without an error, and only "
            f"{min(n, labels.num_rows):,} can be asked: "
            + ("raise next_hits.items" if n < needed else "let experts decide all labels")
        )
    names, classes = (labels[column].to_pylist() for column in ("item", "model_label"))
    checksum = labels_checksum(zip(names, classes, probability.tolist(), strict=True))
    drawn = int(design.drawn.sum())
    sample = AuditSample.from_labels(release, drawn, checksum, certain_at)
    _refuse_second(answers, sample)
    stratum = design.strata(bands)
    rng = np.random.default_rng([settings.seed, int(sample.digest, 16), len(names)])
    asked = rng.permutation(np.flatnonzero(draw_strata(stratum, design.drawn, rng)))
    return label_slots(
        replace(question, sample=sample.name), names, labels["n_judgments"].to_numpy(), asked,
        listed, settings.next_hits.hit_size, role=SAMPLED, control=AUDIT,
        summary=_summary(design, sample, certain_at), state=sample.name.encode(),
        probability=(design.drawn / design.sizes)[stratum[asked]],
    )  # fmt: skip


def _refuse_second(answers: pa.Table, sample: AuditSample) -> None:
    """Refuse another sample of labels that were audited: it would be a second try."""
    audits = answers.filter(is_in(answers["control"], (AUDIT,)))
    for name in pc.unique(audits["control_of"].cast(TEXT)).to_pylist():
        earlier = AuditSample.from_name(name)
        if earlier is not None and earlier.digest == sample.digest:
            raise CannotPlanError(
                f"these labels were audited: {earlier.n:,} were sampled from {earlier.release}; "
                "another sample would be another try"
            )


def _summary(design: AuditDesign, sample: AuditSample, certain_at: float) -> dict[str, Any]:
    edges = [LEVELS[band] for band in design.bands.tolist()]
    names = [f"probability {edges[0]:g} or more"]
    names += [f"{low:g} to {high:g}" for high, low in pairwise(edges)]
    outcomes: list[dict[str, Any]] = []
    while len(outcomes) < MOST_ERRORS or outcomes[-1]["bound"] <= 1 - certain_at:
        wrong = np.zeros(design.bands.size, np.int64)
        wrong[-1] = len(outcomes)
        test = [*level_tests(design, wrong, certain_at)][-1]
        outcomes.append({"errors": test.errors, "level": test.level, "bound": test.bound})
    return {
        "sample": sample.name,
        "items": int(design.sizes.sum()),
        "drawn": int(design.drawn.sum()),
        "strata": [
            {"stratum": name, "items": size, "asked": drawn}
            for name, size, drawn in zip(
                names, design.sizes.tolist(), design.drawn.tolist(), strict=True
            )
        ],
        "estimands": [],
        "outcomes": outcomes,
    }


def audit_notes(task: str, summary: Mapping[str, Any], certain_at: float) -> list[str]:
    """Return what a sample can show, for people."""
    outcomes = summary["outcomes"]
    most = max(row["errors"] for row in outcomes if row["bound"] <= 1 - certain_at)
    shown = ", ".join(
        f"{row['errors']} {share_text(row['bound'])}" for row in outcomes[:MOST_ERRORS]
    )
    return [
        f"{task}: at most {counted(most, 'error')} in the sample certify all "
        f"{summary['items']:,} labels; errors, and the largest share of wrong labels: {shown}",
        f"{task}: certified labels are certain until judgments, known answers or settings change "
        "them",
    ]
