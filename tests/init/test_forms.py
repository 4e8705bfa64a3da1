"""Guessed campaigns: answers to Google Forms, by people with and without a name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from annot_pipeline.init import guess_campaign
from tests.conftest import build_file
from tests.init.conftest import Guess
from tests.init.preset_exports import write

Guesses = Callable[..., Guess]


def responses(n: int, **more: Callable[[int], object]) -> list[dict[str, Any]]:
    return [
        {"Timestamp": f"2026/11/12 9:{10 + k}:10 AM GMT+2"}
        | {name.replace("_", " "): value(k) for name, value in more.items()}
        | {"Is mars rock?": "yes" if k % 5 else "no", "Is it red?": "no" if k % 3 else "yes"}
        for k in range(n)
    ]


@pytest.mark.slow
def test_responses_without_email_are_published(tmp_path: Path) -> None:
    rows = responses(14)
    rows[9]["Is it red?"] = ""  # the report says where: row 10
    export = write(tmp_path / "exports" / "form.csv", rows)
    text = guess_campaign([export], tmp_path)
    (tmp_path / "campaign.yaml").write_text(text, encoding="utf-8")
    assert 'judge: {join: [{value: "respondent "}, {row: true}]}' in text
    assert build_file(tmp_path).publication.release


@pytest.mark.parametrize("column", ["Name", "Your_name"])
def test_a_column_of_names_is_the_judge(tmp_path: Path, guess: Guesses, column: str) -> None:
    rows = responses(14, **{column: lambda k: f"Ann {chr(97 + k)}."})
    actual = guess(write(tmp_path / "form.csv", rows))
    assert actual.fields()["judge"] == column.replace("_", " ")
    assert actual.used("task") == {("Is mars rock?",), ("Is it red?",)}
    assert "taken for another person" not in actual.notes


def test_names_that_repeat_are_no_judges_and_no_question(tmp_path: Path, guess: Guesses) -> None:
    actual = guess(write(tmp_path / "form.csv", responses(14, Name=lambda k: f"Ann {k % 4}")))
    assert ("respondent 14",) in actual.used("judge")
    assert actual.used("task") == {("Is mars rock?",), ("Is it red?",)}
    assert "not mapped: Name (4 different)" in actual.notes
