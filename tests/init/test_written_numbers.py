"""Numbers with a decimal comma, or a percent sign, are read as numbers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow.compute as pc
import pytest

from annot_pipeline.init.samples import sheet_of
from annot_pipeline.init.sniff import read_sample
from annot_pipeline.init.views import rows_view
from tests.init.conftest import Guess, write_csv

Guesses = Callable[..., Guess]


def rated(path: Path, *header: str, score: Callable[[int], str]) -> Path:
    """Three judges of two systems on 12 segments, and how long they took."""
    rows = [
        (s, "AB"[a], f"j{j}", score(s * 37 + a * 11 + j), 5 + (s + j) % 40)
        for s in range(12) for a in range(2) for j in range(3)
    ]  # fmt: skip
    return write_csv(path, [header, *rows], delimiter=";")


def test_decimal_commas_are_scores_and_seconds_are_none(tmp_path: Path, guess: Guesses) -> None:
    header = ("Segment", "System", "Prüfer", "Note", "Zeit")
    path = rated(tmp_path / "v.csv", *header, score=lambda n: f"{n % 90},{n % 10}" if n else "41")
    actual = guess(path)
    assert actual.fields() | {"judge": "Prüfer", "seconds": "Zeit"} == actual.fields()
    scores = actual.judgments.sort_by("source_row")["score"].to_pylist()
    assert scores[:3] == [41.0, 1.1, 2.2]
    assert actual.settings.tasks[0].scale == (0, 100)


def test_percent_signs(tmp_path: Path, guess: Guesses) -> None:
    header = ("segment", "system", "judge", "score", "seconds")
    actual = guess(rated(tmp_path / "v.csv", *header, score=lambda n: f"{n % 101} %"))
    assert actual.settings.tasks[0].scale == (0, 100)
    assert pc.max(actual.judgments["score"]).as_py() == 97


@pytest.mark.parametrize(
    "cells",
    [("1,2", "3", "2,4"), ("1,234", "2,100", "13,000"), ("1,2,3", "4", "1,5"), ("a,1", "2,1")],
)
def test_lists_and_thousands_are_no_decimals(tmp_path: Path, cells: tuple[str, ...]) -> None:
    header = ("segment", "system", "judge", "answer", "seconds")
    path = rated(tmp_path / "v.csv", *header, score=lambda n: cells[n % len(cells)])
    assert rows_view(sheet_of([read_sample(path)])).sheet.expressions == {}
