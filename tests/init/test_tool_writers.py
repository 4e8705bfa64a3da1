"""Exports that the tools' own code writes are read as what was answered: ``make tools``."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import build_file
from tests.init.conftest import Guess
from tests.init.writers.answers import EVALUATORS, ITEMS, PEOPLE, TOPICS, label, score, topics

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / ".venv-tools/bin/python"
pytestmark = pytest.mark.skipif(not PYTHON.exists(), reason="no .venv-tools: make tools")
Guesses = Callable[..., Guess]


@pytest.fixture
def written(tmp_path: Path) -> Callable[[str], Path]:
    """Has a tool write its export into a folder."""

    def write(tool: str) -> Path:
        folder = tmp_path / tool
        folder.mkdir()
        script = Path(__file__).parent / "writers" / f"write_{tool}.py"
        subprocess.run([PYTHON, script, folder], check=True, timeout=300, capture_output=True)
        return folder

    return write


@pytest.fixture
def published(guess: Guesses, tmp_path: Path) -> Guesses:
    """Guesses a campaign and builds it to the end."""

    def run(*exports: Path) -> Guess:
        actual = guess(*exports)
        assert build_file(tmp_path / "campaign folder").publication.published
        return actual

    return run


def answers(of: Callable[[int, int], Any], judges: Iterable[int]) -> list[Any]:
    """All answers of some judges, whatever names the tool gives items and judges."""
    return sorted(of(n, judge) for n in range(len(ITEMS)) for judge in judges)


def read(actual: Guess, task: str, field: str) -> list[Any]:
    """The answers to a task, each judge's answer to an item once."""
    rows = [row for row in actual.judgments.to_pylist() if row["task"] == task]
    used = [row for row in rows if row["fate"] == "used"]
    assert len({(row["item"], row["judge"]) for row in used}) == len(used)
    return sorted(row[field] for row in used)


def chosen(topic: str) -> Callable[[int, int], str]:
    return lambda item, judge: "yes" if topic in topics(item, judge) else "no"


def check_all_questions(actual: Guess) -> None:
    """Check the answers of people to all three questions."""
    people = range(len(PEOPLE))
    assert read(actual, "tone", "label") == answers(label, people)
    assert read(actual, "quality", "score") == answers(score, people)
    for topic in TOPICS:
        assert read(actual, f"topics:{topic}", "label") == answers(chosen(topic), people)


def test_argilla(written: Callable[[str], Path], published: Guesses) -> None:
    actual = published(written("argilla") / "records.json")
    check_all_questions(actual)
    assert len(actual.used("judge")) == len(PEOPLE)


def test_inspect(written: Callable[[str], Path], published: Guesses) -> None:
    """Epochs of a question are one document; a score that is no number is a failed answer."""
    actual = published(*sorted(written("inspect").glob("*.json")))
    both_models = [1, 2] * 2
    assert read(actual, "tone", "label") == answers(label, both_models)
    numbers = [score(n, epoch) for n in range(1, len(ITEMS)) for epoch in both_models]
    assert read(actual, "quality", "score") == sorted(numbers)
    assert actual.facts["fates"]["unscored"] == 4
    assert actual.used("document") == {(item,) for item in ITEMS}
    assert actual.used("system") == {("mockllm/m1",), ("mockllm/m2",)}


@pytest.mark.parametrize("form", ["JSON", "JSON_MIN", "CSV"])
def test_label_studio(written: Callable[[str], Path], published: Guesses, form: str) -> None:
    actual = published(*(written("label_studio") / form).iterdir())
    check_all_questions(actual)
    assert len(actual.used("item")) == len(ITEMS)


def test_langfuse(written: Callable[[str], Path], published: Guesses) -> None:
    actual = published(written("langfuse") / "scores.json")
    people = range(len(PEOPLE))
    assert read(actual, "tone", "label") == answers(label, people)
    assert read(actual, "quality", "score") == answers(score, people)
    rightly = answers(lambda n, judge: str(label(n, judge) == "kind").lower(), people)
    assert read(actual, "right", "label") == rightly


def test_opentelemetry(written: Callable[[str], Path], published: Guesses) -> None:
    actual = published(written("opentelemetry") / "spans.jsonl")
    for judge, name in enumerate(EVALUATORS):
        expected = answers(lambda n, j: score(n, j) / 5, [judge])
        assert read(actual, name, "score") == pytest.approx(expected)
