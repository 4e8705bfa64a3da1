"""Results of planned HITs: the three forms, times."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from annot_pipeline.exports.hits_from_mturk import iso_time
from tests.exports.hit_files import (
    HIT,
    MTURK,
    NUMBERS,
    TWO,
    line,
    mturk,
    number,
    reasons,
    records,
    studio,
)


def test_mturk(tmp_path: Path) -> None:
    first, second, third = records(tmp_path / "r.csv", mturk({}))
    assert first == {
        "row": 1, "cell": "Answer.score_1", "reason": None, "task": "t", "judge": "w1",
        "item": "a", "system": "x", "segment": "s", "criterion": None, "score": "10",
        **dict.fromkeys(
            ("label", "preference", "item_a", "item_b", "system_a", "system_b",
             "control_of", "selection_probability")
        ),
        "hit": "00000000000000a1", "position": "1", "control": "none", "native_id": "as1",
        "status": "Submitted", "submitted_at": "2026-11-21T04:45:23-08:00", "hit_seconds": "60",
    }  # fmt: skip
    assert (second["control"], second["score"]) == ("bad_reference", "20")
    assert (third["item"], third["system"], third["position"]) == ("b", None, "3")


def test_label_studio(tmp_path: Path) -> None:
    first, second, _ = records(tmp_path / "r.json", studio(HIT, NUMBERS))
    shown = ("cell", "judge", "native_id", "status", "submitted_at", "hit_seconds", "score")
    assert [first[name] for name in shown] == [
        "/0/annotations/0#score_1", "3", "7", None, "2026-11-21T12:00:00Z", "4.5", "10",
    ]  # fmt: skip
    assert (second["score"], second["control"]) == ("20.5", "bad_reference")


def test_json_lines(tmp_path: Path) -> None:
    told = line([1, 2.50, "3"], submitted_at="2026-11-21T12:00:00Z", seconds=9, assignment=4)
    first, second, third = records(tmp_path / "r.jsonl", told)
    shown = ("cell", "judge", "native_id", "status", "submitted_at", "hit_seconds", "score")
    assert [first[name] for name in shown] == [
        "scores[0]", "llm", "4", None, "2026-11-21T12:00:00Z", "9", "1",
    ]  # fmt: skip
    assert (second["score"], third["score"]) == ("2.5", "3")


@pytest.mark.parametrize(
    ("scores", "cells"),
    [
        ([[1, 2], [3, 4]], ["scores[0][0]", "scores[0][1]", "scores[1][0]", "scores[1][1]"]),
        (
            [{"adequacy": 2, "fluency": 1}, {"fluency": 3, "adequacy": 4, "why": "so"}],
            ["scores[0].fluency", "scores[0].adequacy", "scores[1].fluency", "scores[1].adequacy"],
        ),
    ],
)
def test_criteria_as_lists_and_as_objects(scores: Any, cells: list[str], tmp_path: Path) -> None:
    actual = records(tmp_path / "r.jsonl", line(scores, TWO))
    assert [r["cell"] for r in actual] == cells
    assert [(r["position"], r["criterion"], r["score"]) for r in actual] == [
        ("1", "fluency", "1"), ("1", "adequacy", "2"),
        ("2", "fluency", "3"), ("2", "adequacy", "4"),
    ]  # fmt: skip


def test_criteria_on_forms(tmp_path: Path) -> None:
    named = {f"score_{n}_{k}": 10 * n + k for n in (1, 2) for k in (1, 2)}
    results = [number(name, value) for name, value in named.items()]
    columns = {name: value for name, value in MTURK.items() if not name.startswith("Answer.")}
    columns |= {f"Answer.{name}": str(value) for name, value in named.items()}
    columns |= {"Input.annot_hit": json.dumps(TWO), "Input.text_3": ""}
    for actual in (
        records(tmp_path / "r.json", studio(TWO, results)),
        records(tmp_path / "r.csv", mturk({}, columns=columns)),
    ):
        assert [r["score"] for r in actual] == ["11", "12", "21", "22"]
        assert [r["criterion"] for r in actual] == ["fluency", "adequacy"] * 2


def test_ratings_are_numbers_too(tmp_path: Path) -> None:
    results = [*NUMBERS[:2], number("score_3", 4, "rating")]
    assert [r["score"] for r in records(tmp_path / "r.json", studio(HIT, results))][2] == "4"


def test_a_person_without_an_id_has_an_address(tmp_path: Path) -> None:
    told = studio(HIT, NUMBERS, completed_by={"email": "a@example.invalid"})
    assert {r["judge"] for r in records(tmp_path / "r.json", told)} == {"a@example.invalid"}


@pytest.mark.parametrize("name", ["r.csv", "r.csv.gz", "r.txt"])
@pytest.mark.parametrize(("mark", "delimiter"), [("", ","), ("\ufeff", ","), ("\ufeff", ";")])
def test_files_that_a_spreadsheet_has_saved(
    name: str, mark: str, delimiter: str, tmp_path: Path
) -> None:
    text = (mark + mturk({}, {"WorkerId": "wö"}, delimiter=delimiter)).encode()
    actual = records(tmp_path / name, gzip.compress(text) if name.endswith(".gz") else text)
    assert [r["judge"] for r in actual] == ["w1"] * 3 + ["wö"] * 3
    assert reasons(actual) == [None] * 6


def test_other_encodings(tmp_path: Path) -> None:
    for content in (mturk({}), line([1, 2, 3]), studio(HIT, NUMBERS)):
        actual = records(tmp_path / "r", content.encode("utf-16"), encoding="utf-16")
        assert reasons(actual) == [None] * 3


def test_requesters_columns_filled_in(tmp_path: Path) -> None:
    text = mturk({"Approve": "x", "Reject": ""}, columns=MTURK | {"Approve": "", "Reject": ""})
    assert reasons(records(tmp_path / "r.csv", text.replace(',"Approve","Reject"', "", 1))) == (
        [None] * 3
    )


@pytest.mark.parametrize(
    ("written", "utc"),
    [
        ("Sat Nov 21 04:45:23 PST 2026", (2026, 11, 21, 12, 45, 23)),
        ("Fri Jun 13 23:15:05 PDT 2014", (2014, 6, 14, 6, 15, 5)),
        ("Fri Jun  6 19:15:05 UTC 2014", (2014, 6, 6, 19, 15, 5)),
        ("Fri Jun 06 19:15:05 XYZ 2014", None),
        ("Fri Jun 06 19:15:05 GMT 2014", (2014, 6, 6, 19, 15, 5)),
        (" Fri Jun 6 19:15:05 UTC 2014 ", (2014, 6, 6, 19, 15, 5)),
        ("2014-06-06T19:15:05Z", (2014, 6, 6, 19, 15, 5)),
    ],
)
def test_times_of_mturk(written: str, utc: tuple[int, ...] | None) -> None:
    iso = iso_time(written)
    assert iso is not None
    if utc is None:
        assert iso == written  # stays, and is rejected as no time
    else:
        assert datetime.fromisoformat(iso).astimezone(UTC) == datetime(*utc, tzinfo=UTC)
