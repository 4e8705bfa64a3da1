"""Guessed campaigns: what presets say about the rows and columns that they leave out."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.init.conftest import Guess
from tests.init.preset_exports import (
    ANSWERS,
    MAJORITY,
    figure_eight,
    judged_rows,
    majority,
    write,
)

Guesses = Callable[..., Guess]


def test_tasks_with_several_answers_are_named(tmp_path: Path, guess: Guesses) -> None:
    rows = judged_rows(
        classification_id=lambda r: 100 + r.n, user_name=lambda r: r.judge,
        subject_ids=lambda r: r.item, workflow_version="3.1",
        annotations=lambda r: json.dumps([
            {"task": "T0", "value": r.label}, {"task": "T1", "value": [{"x": 1, "y": 2}]},
            *([{"task": "T2", "value": ["a", "b"]}] if r.n < 3 else []),
        ]),
    )  # fmt: skip
    actual = guess(write(tmp_path / "z.csv", rows))
    left_out = "left out, since answers are lists or drawings: T1 (8 answers), T2 (3 answers)"
    assert left_out in actual.notes
    assert "not mapped: workflow_version (1 different)" in actual.notes
    assert majority(actual) == MAJORITY


def test_snli_leaves_out_the_gold_label(tmp_path: Path, guess: Guesses) -> None:
    rows = [
        {"pairID": i, "gold_label": MAJORITY[i], "annotator_labels": [*judged.values()]}
        for i, judged in ANSWERS.items()
    ]
    actual = guess(write(tmp_path / "snli.jsonl", rows))
    assert "not mapped: gold_label (2 different)" in actual.notes


def test_columns_of_several_questions_are_all_mapped(tmp_path: Path, guess: Guesses) -> None:
    rows = figure_eight(
        kind=lambda r: r.label, bright=lambda r: "yes" if r.n % 2 else "no", note=""
    )
    actual = guess(write(tmp_path / "full.csv", rows))
    assert len(actual.settings.sources) == 2
    assert actual.text.count("not mapped:") == 1
    assert "not mapped: _golden (2 different), _trust (1 different), note (blank)" in actual.notes


@pytest.mark.parametrize("columns", [("ada", "bea", "cy"), ("rater_1", "rater_2", "rater_3")])
def test_columns_of_judges_are_mapped(
    tmp_path: Path, guess: Guesses, columns: tuple[str, ...]
) -> None:
    judges = ("ada", "bea", "cy")
    answers = {**ANSWERS, "io": {"cy": "gas"}}
    rows = [
        {"tweet": i, "lang": "en"}
        | {c: judged.get(j, "") for j, c in zip(judges, columns, strict=True)}
        for i, judged in answers.items()
    ]
    actual = guess(write(tmp_path / "wide.csv", rows))
    assert "not mapped: lang (1 different)" in actual.notes
