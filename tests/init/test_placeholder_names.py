"""Guessed campaigns: judges and systems whose names stand for nobody."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from annot_pipeline.init import guess_campaign
from tests.init.conftest import Guess, write_csv
from tests.init.preset_exports import judged_rows, write

Guesses = Callable[..., Guess]


def judged_by(*judges: str) -> list[tuple[object, ...]]:
    rows = [(j, f"i{i}", "yes" if i % 3 else "no") for i in range(12) for j in judges]
    return [("worker", "item_id", "label"), *rows]


@pytest.mark.parametrize(
    ("name", "look"),
    [
        ("None", "a missing name"), ("nan", "a missing name"), ("test_2", "a test"),
        ("Tester", "a test"), ("admin1", "an administrator"), ("NA", "a missing name"),
        ("n.a.", "a missing name"), ("N/A", "a missing name"), ("-", "a missing name"),
        ("unknown", "a missing name"),
    ],
)  # fmt: skip
def test_a_judge_that_is_nobody(tmp_path: Path, guess: Guesses, name: str, look: str) -> None:
    actual = guess(write_csv(tmp_path / "v.csv", judged_by("ada", "bea", name)))
    is_nobody = look == "a missing name"
    done = f"where: [{{column: worker, not: [{name}]}}] leaves these rows out"
    note = f"{name} (12 rows) looks like {look}: {'left out by where' if is_nobody else done}"
    assert note in actual.notes.replace(f'["{name}"]', f"[{name}]")
    assert actual.facts["fates"]["filtered"] == 12 * is_nobody
    assert actual.used("judge") == {("ada",), ("bea",), *([] if is_nobody else [(name,)])}


@pytest.mark.parametrize("judges", [("ada", "testa", "protester"), ("test1", "test2", "test3")])
def test_other_judges_need_no_note(tmp_path: Path, judges: tuple[str, ...]) -> None:
    path = write_csv(tmp_path / "v.csv", judged_by(*judges))
    assert "looks like" not in guess_campaign([path], tmp_path)


def test_a_last_row_of_totals(tmp_path: Path, guess: Guesses) -> None:
    header, *rows = [(item, judge, label) for judge, item, label in judged_by("ada", "bea")]
    end = ("Total", 2, 24)
    actual = guess(write_csv(tmp_path / "v.csv", [header, *rows, end]))
    assert "Total (1 row) looks like a total: left out by where" in actual.notes
    assert (actual.facts["fates"]["filtered"], len(actual.used("item"))) == (1, 12)
    within = write_csv(tmp_path / "w.csv", [header, end, *rows])
    assert "looks like" not in guess_campaign([within], tmp_path)


def test_most_rows_are_never_left_out(tmp_path: Path, guess: Guesses) -> None:
    actual = guess(write_csv(tmp_path / "v.csv", judged_by("ada", "unknown", "?")))
    assert "leaves these rows out" in actual.notes
    assert actual.facts["fates"]["used"] == 36


def test_a_system_for_practice(tmp_path: Path, guess: Guesses) -> None:
    systems = ("base", "tuned", "practice")
    rows = [(f"j{j}", f"s{i}", s, 3 * i + j) for i in range(4) for j in range(3) for s in systems]
    header = ("worker", "segment", "system", "score")
    actual = guess(write_csv(tmp_path / "v.csv", [header, *rows]))
    assert (
        "practice (12 rows) looks like practice: where: [{column: system, not: [practice]}] "
        "leaves these rows out" in actual.notes
    )


def test_a_preset_names_them_too(tmp_path: Path) -> None:
    rows = judged_rows(
        text=lambda r: r.item, _input_hash=lambda r: r.item, _timestamp=lambda r: 1_700_000 + r.n,
        _annotator_id=lambda r: "admin" if r.judge == "cy" else r.judge,
        accept=lambda r: [r.label], answer="accept",
    )  # fmt: skip
    text = guess_campaign([write(tmp_path / "v.jsonl", rows)], tmp_path)
    notes = " ".join(line.strip(" #") for line in text.splitlines())
    condition = "{column: _annotator_id, not: [admin]} in where"
    assert f"admin (2 rows) looks like an administrator: {condition}" in notes
