"""What answers to an audit certify, of tables in memory: odd tasks, samples and answers."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from annot_pipeline.contracts import TEXT, TIME
from annot_pipeline.methods.labels.dawid_skene import DawidSkeneParams
from annot_pipeline.methods.labels.label_audit import LEVELS, audit_design, level_bands
from annot_pipeline.methods.numerics.blocks import InMemoryBlocks
from annot_pipeline.runtime.audit_answers import AuditSample, labels_checksum
from annot_pipeline.stages.labels.infer_labels import LabelSettings
from annot_pipeline.stages.labels.label_items import JudgedTask
from annot_pipeline.stages.shared.known_items import Truths
from studies.label_inference import infer_labels

N = 200
HIERARCHICAL = LabelSettings(DawidSkeneParams(model="hierarchical"))
PLAIN = LabelSettings(DawidSkeneParams(model="dawid_skene"))
Answers = list[tuple[str, str, str, str, str | None]]
"""Item, judge, label, control, sample."""


def crowd(n_judges: int = 6) -> Answers:
    rng = np.random.default_rng(2)
    truth, right = rng.integers(0, 2, N), rng.random((N, n_judges)) < 0.93
    return [
        (f"i{n:03}", f"j{j}", str(truth[n] if right[n, j] else 1 - truth[n]), "none", None)
        for n in range(N) for j in range(n_judges)
    ]  # fmt: skip


def infer(answers: Answers, truths: Truths | None = None, settings=PLAIN):
    item, judge, label, control, sample = (list(column) for column in zip(*answers, strict=True))
    n = len(item)
    rows = pa.table(
        {
            "item": item, "judge": judge, "judge_id": judge, "label": label, "control": control,
            "control_of": pa.array(sample, TEXT), "votes": pa.nulls(n, pa.int64()),
            "fate": ["used" if c == "none" else "control" for c in control],
            "submitted_at": pa.nulls(n, TIME), "why": pa.nulls(n, TEXT),
        }
    )  # fmt: skip
    task = JudgedTask("t", InMemoryBlocks([rows]), ["0", "1"], truths=truths or Truths())
    tables, metrics = infer_labels(task, settings)
    return tables["labels"].to_pylist(), metrics.get("certificates")


def sampled(rows, n: int = 60, certain_at: float = 0.95, release: str = "v0007"):
    """Return the name of a sample, and the items that are drawn."""
    bands = level_bands(np.array([row["model_probability"] for row in rows]))
    design = audit_design(np.bincount(bands, minlength=len(LEVELS)), n, certain_at)
    stratum, rng = design.strata(bands), np.random.default_rng(1)
    items = [
        rows[k]
        for h, drawn in enumerate(design.drawn.tolist())
        for k in rng.choice(np.flatnonzero(stratum == h), drawn, replace=False).tolist()
    ]
    checksum = labels_checksum(
        (row["item"], row["model_label"], row["model_probability"]) for row in rows
    )
    return AuditSample.from_labels(release, n, checksum, certain_at).name, items


def audited(rows, name: str | None, *, wrong: int = 0) -> Answers:
    other = {"0": "1", "1": "0"}
    return [
        (row["item"], "anna", other[row["label"]] if k < wrong else row["label"], "audit", name)
        for k, row in enumerate(rows)
    ]


@pytest.mark.parametrize("n_judges", [1, 2, 6])
def test_an_audit_changes_no_label(n_judges):
    """Neither that of a sampled item nor another; also where one judge gave all labels."""
    answers = crowd(n_judges)
    rows, nothing = infer(answers)
    assert nothing is None
    name, items = sampled(rows)
    after, found = infer([*answers, *audited(items, name)])
    assert found["certified"]
    same = [column for column in rows[0] if column != "certain"]
    assert [[row[c] for c in same] for row in after] == [[row[c] for c in same] for row in rows]
    assert [row["certain"] for row in after] == [
        row["model_probability"] >= found["level"] for row in rows
    ]
    assert not infer([*answers, *audited(items, name, wrong=60)])[1]["certified"]


def test_known_items_of_one_class_are_no_part_of_it():
    """They move no offset; an audit says of all labels what they cannot."""
    answers = crowd()
    rows, _ = infer(answers, settings=HIERARCHICAL)
    known = Truths({row["item"]: "0" for row in rows if row["label"] == "0"})
    rows, _ = infer(answers, known, HIERARCHICAL)
    name, items = sampled(rows)
    answers += audited(items, name)
    assert infer(answers, known, HIERARCHICAL)[1]["certified"]
    assert not infer(answers, settings=HIERARCHICAL)[1]["certified"]  # other probabilities


def test_samples_of_other_labels_and_damaged_ones():
    answers = crowd()
    rows, _ = infer(answers)
    name, items = sampled(rows)
    older = audited(items, "v0003 60 0123456789abcdef", wrong=9)
    _, found = infer([*answers, *older])
    assert (found["certified"], found["release"]) == (False, "v0003")
    assert found["reason"].startswith("the labels are not those sampled from v0003")
    assert infer([*answers, *older, *audited(items, name)])[1]["certified"]  # the newer counts
    for damaged in (None, "v7 60", f"{name}0"):
        _, found = infer([*answers, *audited(items, damaged)])
        assert found["reason"] == "the answers name no sample: control_of is blank or damaged"


def test_answers_to_other_items_than_those_drawn():
    answers = crowd()
    rows, _ = infer(answers)
    name, items = sampled(rows)
    drawn = {row["item"] for row in items}
    least = min(rows, key=lambda row: row["model_probability"])
    assert least["item"] not in drawn
    _, found = infer([*answers, *audited([*items[1:], least], name)])
    assert found["reason"] == "the answers are not to the items that were drawn"
    stranger = [("i999", "anna", "0", "audit", name)]
    _, found = infer([*answers, *audited(items[1:], name), *stranger])
    assert found["reason"] == "1 of 60 sampled items without an answer"
