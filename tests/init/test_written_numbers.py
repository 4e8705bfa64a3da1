"""Guessed campaigns: scores that stand in texts."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.init.conftest import Guess, write_csv

Guesses = Callable[..., Guess]
WORDS = ("Bad", "Poor", "Fair", "Good", "Excellent")
HEADER = ("id", "model", "judge", "rating")


def rated(written: Callable[[int], str], *, seed: int = 5) -> list[tuple[object, ...]]:
    """Scores of 1 to 5, near each other on an item, as somebody writes them."""
    rng = random.Random(seed)
    rows: list[tuple[object, ...]] = [HEADER]
    for item in range(40):
        truth = rng.randint(1, 5)
        for model in "AB":
            for judge in ("j1", "j2", "j3"):
                score = min(5, max(1, truth + rng.randint(-1, 1)))
                rows.append((item, f"model {model}", judge, written(score)))
    return rows


@pytest.mark.parametrize(
    ("written", "pattern"),
    [
        (lambda s: f"{s}/5", "^{}/5$"),
        (lambda s: f"[[{s}]]", r"^\[\[{}\]\]$"),
        (lambda s: f"Rating: {s}", "^Rating: {}$"),
        (lambda s: f"{s} star{'s' * (s > 1)}", "^{} stars?$"),
        (lambda s: f"{s} out of 5", "^{} out of 5$"),
        (lambda s: f"{s} - {WORDS[s - 1]}", r"^{}\D"),
        (lambda s: f"{s} ({WORDS[s - 1]})", r"^{}\D"),
    ],
)
def test_scores_in_texts(
    tmp_path: Path, guess: Guesses, written: Callable[[int], str], pattern: str
) -> None:
    actual = guess(write_csv(tmp_path / "v.csv", rated(written)))
    match = pattern.replace("{}", r"(\d+(?:\.\d+)?)")
    assert actual.fields()["score"] == {"column": "rating", "match": match}
    assert actual.facts["fates"]["used"] == 240
    assert actual.used("score") == {(str(score),) for score in range(1, 6)}


def test_texts_without_a_number_are_failed_answers(tmp_path: Path, guess: Guesses) -> None:
    rows = rated(lambda score: f"{score}/5")
    rows[7::40] = [(*row[:3], "ERROR") for row in rows[7::40]]
    actual = guess(write_csv(tmp_path / "v.csv", rows))
    assert actual.settings.sources[0].failed == ("ERROR",)
    assert actual.facts["fates"] | {"used": 234, "unscored": 6} == actual.facts["fates"]


def test_an_answer_says_that_texts_hold_scores(tmp_path: Path, guess: Guesses) -> None:
    rows = [
        (*row[:3], f"{n * 7 % 5 + 1}/5" if n else "verdict") for n, row in enumerate(rated(str))
    ]
    path = write_csv(tmp_path / "v.csv", rows)
    assert guess(path, score="verdict").facts["fates"]["used"] == 240


@pytest.mark.parametrize(
    "written",
    [
        lambda s: f"class-{s}",
        lambda s: f"{s}. {('Sports', 'Politics', 'Economy', 'Art', 'Other')[s - 1]}",
    ],
)
def test_numbered_classes_stay_labels(
    tmp_path: Path, guess: Guesses, written: Callable[[int], str]
) -> None:
    """Those who differ choose any other class."""
    rng = random.Random(3)
    rows: list[tuple[object, ...]] = [("id", "judge", "category")]
    for item in range(60):
        truth = rng.randint(1, 5)
        labels = [truth if rng.random() < 0.7 else rng.randint(1, 5) for _ in range(4)]
        rows += [(item, f"j{n}", written(label)) for n, label in enumerate(labels)]
    actual = guess(write_csv(tmp_path / "v.csv", rows))
    assert actual.fields()["label"] == "category"
    assert len(actual.used("label")) == 5
