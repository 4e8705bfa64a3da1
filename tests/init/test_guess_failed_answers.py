"""Guessed campaigns: texts and flags of answers that failed."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from annot_pipeline.init.abstentions import abstentions, failed_entries, failures
from tests.init.conftest import Guess, write_csv

Guesses = Callable[..., Guess]
SCORES = ("segment_id", "system", "grader", "score")
GRADERS = ("g1", "g2", "g3")


@pytest.mark.parametrize(
    ("values", "failed"),
    [
        (("3", "4.5", "[ERROR] no reply", "Timeout"), {"[ERROR] no reply", "Timeout"}),
        (("1", "2", "APIError: 429", "N/A", "Traceback (most recent call last)"),
         {"APIError: 429", "Traceback (most recent call last)"}),
        (("1", "2", "parse error", "exception in judge"), {"parse error", "exception in judge"}),
        (("good", "bad", "[error] no reply", "Error: quota"), {"[error] no reply", "Error: quota"}),
        (("error", "warning", "timeout", "failed"), set()),
        (("1", "2", "three", "error"), set()),
        (("Error: a", "Error: b", "Error: c", "x"), set()),
        (("1", "2", "terror", "unfailing"), set()),
    ],
)  # fmt: skip
def test_texts_of_failed_answers(values: Sequence[str], failed: set[str]) -> None:
    counts = dict.fromkeys(values, 2)
    assert failures(counts).keys() == failed
    assert not failed & abstentions(counts).keys()


def test_many_texts_become_patterns_of_their_start() -> None:
    texts = {f"[ERROR] request {n} took too long": 1 for n in range(9)} | {"Timeout (3 s)": 1}
    assert failed_entries(texts) == ["~^Timeout", r"~^\[ERROR"]
    assert failed_entries({" Timeout ": 2, "[ERROR] 1": 1}) == ["Timeout", "[ERROR] 1"]


class Row(NamedTuple):
    n: int
    system: str
    grader: str


def rows(cell: Callable[[Row], tuple[object, ...]], header: Sequence[str]) -> list[Any]:
    all_rows = [Row(n, system, g) for n in range(20) for system in "xy" for g in GRADERS]
    return [header, *((f"t{row.n}", row.system, row.grader, *cell(row)) for row in all_rows)]


def test_scores_with_texts_of_failures_stay_scores(tmp_path: Path, guess: Guesses) -> None:
    def cell(row: Row) -> tuple[object, ...]:
        return ("[ERROR] no reply" if row.n % 9 == 7 and row.system == "y" else 2 + row.n % 6,)

    actual = guess(write_csv(tmp_path / "v.csv", rows(cell, SCORES)))
    assert actual.task_kinds == {"*": "scalar"}
    assert actual.settings.tasks[0].scale == (1, 7)
    assert actual.settings.sources[0].failed == ("[ERROR] no reply",)
    assert "failed answers: [ERROR] no reply (6); remove what is an answer" in actual.notes
    assert actual.facts["fates"]["unscored"] == 6
    assert actual.facts["fates"]["used"] == 114


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize(
    ("name", "flags"),
    [
        ("parse_error", ("true", "false")), ("JudgeFailed", (1, 0)), ("timeout", ("yes", "")),
        ("is_valid", ("False", "True")), ("invalid", ("True", "False")), ("unscored", ("1", "0")),
    ],
)  # fmt: skip
def test_flags_of_failed_answers(
    tmp_path: Path, guess: Guesses, name: str, flags: tuple[object, object]
) -> None:
    """Their zeros are no scores: neither used nor on the scale."""

    def cell(row: Row) -> tuple[object, ...]:
        failed = row.n % 5 == 0 and row.grader == "g2"
        return (0 if failed else 1 + row.n % 7, flags[0] if failed else flags[1])

    actual = guess(write_csv(tmp_path / "v.csv", rows(cell, (*SCORES, name))))
    [condition] = actual.settings.sources[0].failed_where
    assert condition.value.column == name
    assert actual.settings.tasks[0].scale == (1, 7)
    assert actual.facts["fates"]["unscored"] == 8
    assert "not mapped" not in actual.notes


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize(
    ("name", "values"),
    [("has_error", ("yes", "no")), ("is_valid", ("no", "yes")), ("error_type", ("a", "b")),
     ("clear", ("0", "1"))],
)  # fmt: skip
def test_questions_about_items_are_no_flags(
    tmp_path: Path, guess: Guesses, name: str, values: tuple[str, str]
) -> None:
    """Marked rows have scores as others have."""

    def cell(row: Row) -> tuple[object, ...]:
        return (1 + row.n % 7, values[row.n % 3 == 0])

    actual = guess(write_csv(tmp_path / "v.csv", rows(cell, (*SCORES, name))))
    assert actual.settings.sources[0].failed_where == ()
    assert f"not mapped: {name}" in actual.notes


def test_an_inspect_log_with_unscored_samples(tmp_path: Path, guess: Guesses) -> None:
    samples = [
        {"id": n, "epoch": 1,
         "scores": {"model_graded_fact": {"value": float("nan") if n % 6 == 0 else "CI"[n % 2]}}}
        for n in range(30)
    ]  # fmt: skip
    document = {"version": 2, "eval": {"model": "m"}, "samples": samples,
                "results": {"accuracy": float("nan"), "top": float("inf")}}  # fmt: skip
    (tmp_path / "log.json").write_text(json.dumps(document))
    actual = guess(tmp_path / "log.json")
    assert actual.settings.sources[0].abstain == ()
    assert actual.used("label") == {("C",), ("I",)}
    assert (actual.facts["fates"]["used"], actual.facts["fates"]["unscored"]) == (25, 5)
