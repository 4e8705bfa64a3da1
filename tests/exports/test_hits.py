"""Results of planned HITs: what is read, and why each row that cannot be is rejected."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annot_pipeline.campaign_file import load_campaign
from annot_pipeline.config.sources import HITS_FIELDS
from annot_pipeline.errors import ConfigError, InputError
from annot_pipeline.exports import READERS, Opening, hits
from annot_pipeline.exports.hit_bookkeeping import DamagedError, parse_hit
from annot_pipeline.exports.hits_from_mturk import iso_time
from tests.conftest import build_file

HIT: dict[str, Any] = {
    "annot": 1,
    "task": "t",
    "hit": "00000000000000a1",
    "scale": [0, 100],
    "criteria": [],
    "slots": [
        {"item": "a", "segment": "s", "system": "x"},
        {"item": "a", "segment": "s", "system": "x", "control": "bad_reference"},
        {"item": "b"},
    ],
}
TWO = HIT | {"criteria": ["fluency", "adequacy"], "slots": HIT["slots"][:2]}
ALL = frozenset(HITS_FIELDS)

Records = list[dict[str, Any]]


def opened(path: Path, content: str | bytes, wanted: frozenset[str] | None = ALL, **options: Any):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return READERS["hits"](Opening(path, path.name, wanted, **options))


def records(path: Path, content: str | bytes, **options: Any) -> Records:
    """Every record: row, cell, reason and columns; every row must have one."""
    export = opened(path, content, **options)
    found: Records = []
    for chunk in export.chunks:
        columns = {name: column.to_pylist() for name, column in chunk.columns.items()}
        assert chunk.cell is not None
        for n, (row, reason) in enumerate(
            zip(chunk.row.tolist(), chunk.problem.to_pylist(), strict=True)
        ):
            values = {name: column[n] for name, column in columns.items()}
            found.append({"row": row, "cell": chunk.cell[n].as_py(), "reason": reason, **values})
    assert {r["row"] for r in found} == set(range(1, export.n_rows + 1)), "a row is lost"
    return found


def reasons(found: Records) -> list[str | None]:
    return [record["reason"] for record in found]


# --- the three forms -----------------------------------------------------------------------

MTURK = {
    "HITId": "3X", "AssignmentId": "as1", "WorkerId": "w1", "AssignmentStatus": "Submitted",
    "SubmitTime": "Sat Nov 21 04:45:23 PST 2026", "WorkTimeInSeconds": "60",
    "Input.annot_hit": json.dumps(HIT), "Input.text_1": "A", "Input.text_2": "A!",
    "Input.text_3": "B", "Answer.score_1": "10", "Answer.score_2": "20", "Answer.score_3": "30",
}  # fmt: skip


def mturk(*rows: dict[str, Any], columns: dict[str, Any] = MTURK, delimiter: str = ",") -> str:
    """Batch results; each row is `MTURK` but for what is given."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=delimiter, quoting=csv.QUOTE_ALL, lineterminator="\r\n")
    writer.writerow([*columns, "Approve", "Reject"])
    for row in rows:
        writer.writerow([(columns | row)[name] for name in columns])
    return text.getvalue()


def studio(hit: Any, results: Any, **annotation: Any) -> str:
    usual = {"id": 7, "completed_by": 3, "was_cancelled": False, "lead_time": 4.5,
             "created_at": "2026-11-21T12:00:00Z"}  # fmt: skip
    annotations = [{**usual, "result": results, **annotation}]
    return json.dumps([{"id": 1, "data": {"annot_hit": hit}, "annotations": annotations}])


def number(name: str, value: Any, type_: str = "number") -> dict[str, Any]:
    return {"from_name": name, "to_name": "text_1", "type": type_, "value": {type_: value}}


NUMBERS = [number("score_1", 10), number("score_2", 20.5), number("score_3", 30)]


def line(scores: Any, hit: Any = HIT, **more: Any) -> str:
    texts = {"texts": ["A text"] * len(hit["slots"])} if isinstance(hit, dict) else {}
    return json.dumps({"annot_hit": hit, **texts, "judge": "llm", "scores": scores} | more)


def test_mturk(tmp_path: Path) -> None:
    first, second, third = records(tmp_path / "r.csv", mturk({}))
    assert first == {
        "row": 1, "cell": "Answer.score_1", "reason": None, "task": "t", "judge": "w1",
        "item": "a", "system": "x", "segment": "s", "criterion": None, "score": "10",
        **dict.fromkeys(("label", "preference", "item_a", "item_b", "system_a", "system_b")),
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
    found = records(tmp_path / "r.jsonl", line(scores, TWO))
    assert [r["cell"] for r in found] == cells
    assert [(r["position"], r["criterion"], r["score"]) for r in found] == [
        ("1", "fluency", "1"), ("1", "adequacy", "2"),
        ("2", "fluency", "3"), ("2", "adequacy", "4"),
    ]  # fmt: skip


def test_criteria_on_forms(tmp_path: Path) -> None:
    named = {f"score_{n}_{k}": 10 * n + k for n in (1, 2) for k in (1, 2)}
    results = [number(name, value) for name, value in named.items()]
    columns = {name: value for name, value in MTURK.items() if not name.startswith("Answer.")}
    columns |= {f"Answer.{name}": str(value) for name, value in named.items()}
    columns |= {"Input.annot_hit": json.dumps(TWO), "Input.text_3": ""}
    for found in (
        records(tmp_path / "r.json", studio(TWO, results)),
        records(tmp_path / "r.csv", mturk({}, columns=columns)),
    ):
        assert [r["score"] for r in found] == ["11", "12", "21", "22"]
        assert [r["criterion"] for r in found] == ["fluency", "adequacy"] * 2


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
    found = records(tmp_path / name, gzip.compress(text) if name.endswith(".gz") else text)
    assert [r["judge"] for r in found] == ["w1"] * 3 + ["wö"] * 3
    assert reasons(found) == [None] * 6


def test_other_encodings(tmp_path: Path) -> None:
    for content in (mturk({}), line([1, 2, 3]), studio(HIT, NUMBERS)):
        found = records(tmp_path / "r", content.encode("utf-16"), encoding="utf-16")
        assert reasons(found) == [None] * 3


def test_requesters_columns_filled_in(tmp_path: Path) -> None:
    text = mturk({"Approve": "x", "Reject": ""}, columns=MTURK | {"Approve": "", "Reject": ""})
    assert reasons(records(tmp_path / "r.csv", text.replace(',"Approve","Reject"', "", 1))) == (
        [None] * 3
    )


# --- times ---------------------------------------------------------------------------------


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


# --- rows that are rejected ----------------------------------------------------------------


def damaged(**changes: Any) -> str:
    return json.dumps({k: v for k, v in (HIT | changes).items() if v != "GONE"})


DAMAGED = {
    "": "annot_hit is blank",
    "  ": "annot_hit is blank",
    '{"annot": 1, "task"': "annot_hit is damaged: not JSON (",
    "null": "annot_hit is damaged: not a JSON object",
    "[1]": "annot_hit is damaged: not a JSON object",
    damaged(annot=2): "annot_hit is damaged: it is of version '2', known is 1",
    damaged(annot="GONE"): "annot_hit is damaged: annot is missing",
    damaged(annot="1"): "annot_hit is damaged: annot is of another kind",
    damaged(annot=True): "annot_hit is damaged: annot is of another kind",
    damaged(task=""): "annot_hit is damaged: no task",
    damaged(task=3): "annot_hit is damaged: task is of another kind",
    damaged(tsak="t"): "annot_hit is damaged: unknown key 'tsak'",
    damaged(hit="x"): "annot_hit is damaged: a HIT's id is 16 hex digits, not 'x'",
    damaged(hit="00000000000000A1"): "annot_hit is damaged: a HIT's id is 16 hex digits",
    damaged(scale=[0]): "annot_hit is damaged: scale is not [lowest, highest]",
    damaged(scale=[100, 0]): "annot_hit is damaged: no scale from 100 to 0",
    damaged(scale=[5, 5]): "annot_hit is damaged: no scale from 5 to 5",
    damaged(scale=["0", "1"]): "annot_hit is damaged: scale holds something of another kind",
    damaged(criteria=["a", "a"]): "annot_hit is damaged: a criterion is blank or stands twice",
    damaged(criteria=[" "]): "annot_hit is damaged: a criterion is blank or stands twice",
    damaged(slots=[]): "annot_hit is damaged: no slot",
    damaged(slots={}): "annot_hit is damaged: slots is of another kind",
    damaged(slots=["a"]): "annot_hit is damaged: slots holds something of another kind",
    damaged(slots=[{}]): "annot_hit is damaged: item is missing",
    damaged(slots=[{"item": " "}]): "annot_hit is damaged: a slot without an item",
    damaged(slots=[{"item": "a", "control": "x"}]): "annot_hit is damaged: unknown control 'x'",
    damaged(slots=[{"item": "a", "control": "known_answer"}]): "annot_hit is damaged: unknown",
    damaged(slots=[{"item": "a", "sytem": "x"}]): "annot_hit is damaged: unknown key 'sytem'",
    damaged(slots=[{"item": "a"}] * 10_001): "annot_hit is damaged: more than 10,000 answers",
    json.dumps(HIT)[:-1] + ',"task":"u"}': "annot_hit is damaged: not JSON (key 'task' given twice",
    json.dumps(HIT).replace("100", "1e999"): "annot_hit is damaged: no scale from 0 to inf",
    json.dumps(HIT).replace("100", "NaN"): "annot_hit is damaged: not JSON (NaN is not JSON)",
    json.dumps(HIT).replace('"b"', '"\\ud800"'): "annot_hit is damaged: not JSON (half of a",
    "[" * 100_000: "annot_hit is damaged: not JSON (nested too deeply)",
}


@pytest.mark.parametrize("bookkeeping", DAMAGED, ids=range(len(DAMAGED)))
def test_damaged_bookkeeping_rejects_the_row(bookkeeping: str, tmp_path: Path) -> None:
    text = mturk({"Input.annot_hit": bookkeeping}, {"WorkerId": "w2"})
    first, *others = records(tmp_path / "r.csv", text)
    assert first["reason"].startswith(DAMAGED[bookkeeping])
    assert (first["judge"], first["task"], first["item"], first["cell"]) == ("w1", None, None, None)
    assert [(r["row"], r["judge"], r["reason"]) for r in others] == [(2, "w2", None)] * 3


@pytest.mark.parametrize("hit", [HIT, HIT | {"annot": 3}, None, 5, "{"], ids=str)
def test_label_studio_may_keep_it_as_text(hit: Any, tmp_path: Path) -> None:
    as_text = json.dumps(hit) if isinstance(hit, dict) else hit
    found = records(tmp_path / "r.json", studio(as_text, NUMBERS))
    same = records(tmp_path / "r.json", studio(hit, NUMBERS))
    assert found == same
    assert len(found) == (3 if hit == HIT else 1)


def test_a_slot_that_was_not_answered(tmp_path: Path) -> None:
    reason = "the slot was not answered"
    for name, content in {
        "r.csv": mturk({"Answer.score_2": " "}),
        "r.json": studio(HIT, [NUMBERS[0], number("score_2", None), NUMBERS[2]]),
        "r.jsonl": line([10, None, 30]),
    }.items():
        found = records(tmp_path / name, content)
        assert reasons(found) == [None, reason, None]
        assert [(r["task"], r["item"], r["control"]) for r in found][1] == (
            "t", "a", "bad_reference",
        )  # fmt: skip
        assert found[1]["judge"] in ("w1", "3", "llm")


def test_nothing_was_answered(tmp_path: Path) -> None:
    empty = mturk({f"Answer.score_{n}": "" for n in (1, 2, 3)})
    without = {name: value for name, value in MTURK.items() if not name.startswith("Answer.")}
    for name, content in {
        "r.csv": empty,
        "s.csv": mturk({}, columns=without),
        "r.json": studio(HIT, []),
        "r.jsonl": line([None, None, None]),
    }.items():
        found = records(tmp_path / name, content)
        assert reasons(found) == ["the slot was not answered"] * 3, name


def test_a_cancelled_annotation(tmp_path: Path) -> None:
    (record,) = records(tmp_path / "r.json", studio(HIT, NUMBERS, was_cancelled=True))
    assert (record["reason"], record["cell"]) == ("cancelled annotation", "/0/annotations/0")
    assert (record["task"], record["hit"], record["judge"]) == ("t", HIT["hit"], "3")


MISMATCHED = {
    "other slots": mturk({"Input.annot_hit": json.dumps(HIT | {"slots": HIT["slots"][:2]}),
                          "Answer.score_3": ""}),
    "fewer texts": mturk({"Answer.score_4": "1"}, columns=MTURK | {
        "Input.annot_hit": json.dumps(HIT | {"slots": [*HIT["slots"], {"item": "c"}]}),
        "Answer.score_4": "1"}),
    "an answer too many": mturk({"Answer.score_4": "1"}, columns=MTURK | {"Answer.score_4": ""}),
    "answers to criteria": mturk(
        {"Answer.score_1_1": "1"}, columns=MTURK | {"Answer.score_1_1": ""}),
    "packed answers that are none": mturk(
        {"Answer.taskAnswers": "[{"},
        columns={k: v for k, v in MTURK.items() if "Answer." not in k}
        | {"Answer.taskAnswers": ""}),
    "packed answers of another form": mturk(
        {"Answer.taskAnswers": '[{"score_1": 1}, {}]'},
        columns={k: v for k, v in MTURK.items() if "Answer." not in k}
        | {"Answer.taskAnswers": ""}),
    "twice answered": studio(HIT, [*NUMBERS, number("score_1", 3)]),
    "another slot": studio(HIT, [*NUMBERS, number("score_4", 3)]),
    "too many scores": line([1, 2, 3, 4]),
    "too few scores": line([1, 2]),
    "a text too many": line([1, 2, 3], texts=["A", "B", "C", "D"]),
    "a text too few": line([1, 2, 3], texts=["A", "B"]),
    "no scores": line(None),
    "no list": line({"a": 1}),
    "a sentence": line("very good"),
}  # fmt: skip
WHY = {
    "other slots": "annot_hit has another number of slots than there are texts: 2",
    "fewer texts": "annot_hit has another number of slots than there are texts: 4",
    "a text too many": "annot_hit has another number of slots than there are texts: 3",
    "a text too few": "annot_hit has another number of slots than there are texts: 3",
    "an answer too many": "Answer.score_4 is answered, but annot_hit has no such slot",
    "answers to criteria": "Answer.score_1_1 is answered, but annot_hit has no such slot",
    "packed answers that are none": "Answer.taskAnswers is not JSON: ",
    "packed answers of another form": "Answer.taskAnswers is not a form's answers",
    "twice answered": "score_1 is answered twice",
    "another slot": "/0/annotations/0#score_4 is answered, but annot_hit has no such slot",
    "too many scores": "scores are 4 for 3 slots",
    "too few scores": "scores are 2 for 3 slots",
    "no scores": "scores is blank: these are HITs that nobody has judged",
    "no list": "scores is not a list",
    "a sentence": "scores is not a list",
}


@pytest.mark.parametrize("kind", MISMATCHED)
def test_answers_to_another_hit_reject_the_row(kind: str, tmp_path: Path) -> None:
    (record,) = records(tmp_path / "r", MISMATCHED[kind])
    assert record["reason"].startswith(WHY[kind])
    assert (record["task"], record["hit"]) == ("t", HIT["hit"])
    assert record["judge"]
    assert record["score"] is record["item"] is None


@pytest.mark.parametrize("texts", [None, "A", ["A", "", ""]])
def test_json_lines_may_come_back_without_texts(texts: Any, tmp_path: Path) -> None:
    found = records(tmp_path / "r.jsonl", line([1, 2, 3], texts=texts))
    assert [record["reason"] for record in found] == [None] * 3


def test_texts_of_label_studio_are_counted(tmp_path: Path) -> None:
    (task,) = json.loads(studio(HIT, NUMBERS))
    for texts, n_records in ((["A", "A!", "B"], 3), (["A", "", ""], 3), (["A", "A!"], 1),
                             (["A", "A!", "B", "C"], 1), (["A", "A!", "B", ""], 3)):  # fmt: skip
        named = {f"text_{n}": text for n, text in enumerate(texts, start=1)}
        changed = task | {"data": task["data"] | named}
        assert len(records(tmp_path / "r.json", json.dumps([changed]))) == n_records, texts


@pytest.mark.parametrize("scores", [[[1, 2], [3]], [[1, 2], 3], [[1, 2], "3"]])
def test_scores_of_a_slot_that_are_not_one_a_criterion(scores: Any, tmp_path: Path) -> None:
    found = records(tmp_path / "r.jsonl", line(scores, TWO))
    assert reasons(found) == [None, None, *["not 2 scores, one for each criterion"] * 2]
    assert [(r["cell"], r["criterion"]) for r in found[2:]] == [
        ("scores[1]", "fluency"), ("scores[1]", "adequacy"),
    ]  # fmt: skip


def test_a_slot_with_null_or_without_a_criterion(tmp_path: Path) -> None:
    found = records(tmp_path / "r.jsonl", line([None, {"fluency": 4}], TWO))
    assert [r["reason"] is None for r in found] == [False, False, True, False]


@pytest.mark.parametrize(
    ("score", "reason"),
    [
        ("100.5", "score is outside the scale: 100.5"),
        ("-1", "score is outside the scale: -1.0"),
        ("1e308", "score is outside the scale: 1e+308"),
        ("100", None),
        ("0", None),
        ("nan", None),  # no number to the pipeline, whose own words are these
        ("good", None),
    ],
)
def test_the_scale_that_the_judge_saw(score: str, reason: str | None, tmp_path: Path) -> None:
    assert reasons(records(tmp_path / "r.csv", mturk({"Answer.score_1": score})))[0] == reason


def test_rows_that_are_no_rows(tmp_path: Path) -> None:
    ragged = records(tmp_path / "r.csv", mturk({}) + '"x","y"\r\n')
    assert reasons(ragged)[-1].startswith("ragged row: 2 fields")
    broken = "\n".join(['{"annot_hit"', line([1, 2, 3]), "[]", line([1, 2, 3])])
    found = records(tmp_path / "r.jsonl", broken)
    assert Counter(r["row"] for r in found) == {1: 1, 2: 3, 3: 1, 4: 3}
    assert [r["reason"][:14] for r in found if r["reason"]] == ["malformed JSON", "not a JSON obj"]


def test_lines_whose_first_one_is_none(tmp_path: Path) -> None:
    found = records(tmp_path / "r", "oops\n" + line([1, 2, 3]))
    assert sorted(r["row"] for r in found) == [1, 2, 2, 2]
    assert found[-1]["reason"].startswith("malformed JSON")


@pytest.mark.parametrize("before", ["\ufeff", "\n\n", " \r\n\t", "\ufeff\n"])
@pytest.mark.parametrize("content", [mturk({}), line([1, 2, 3]), studio(HIT, NUMBERS)])
def test_marks_and_blanks_before_the_text(before: str, content: str, tmp_path: Path) -> None:
    found = records(tmp_path / "r", before + content)
    if before != "\ufeff\n" or content[0] != "{":  # a line of a mark alone is a broken one
        assert reasons(found) == [None] * 3


def test_everything_else_of_label_studio_is_counted(tmp_path: Path) -> None:
    tasks = json.loads(studio(HIT, [*NUMBERS, {"from_name": "why", "type": "textarea"}, "x"]))
    tasks += [{"id": 2, "data": {"annot_hit": HIT}, "annotations": []}]
    tasks[0]["predictions"] = [{}]
    export = opened(tmp_path / "r.json", json.dumps(tasks))
    assert export.ignored == {
        "tasks without annotations": 1, "predictions": 1, "textarea answers": 1,
    }  # fmt: skip


# --- other files ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("r.csv", "HITId,WorkerId,Answer.Q1\nh,w,1\n", "no column Input.annot_hit"),
        ("r.csv", "HITId,WorkerId,Answer.Q1\nh,w,1\n", "write format: mturk with fields"),
        ("r.csv", 'annot_hit,text_1\n"{}",A\n', "so it is the file to upload"),
        ("r.csv", 'annot_hit,text_1\n"{}",A\n', "give the batch results that MTurk offers"),
        ("r.json", '[{"data": {}, "annotations": []}]', "no task has annot_hit in its data"),
        ("r.json", '[{"data": {}, "annotations": []}]', "write format: label_studio"),
        ("r.json", '[{"data": {"annot_hit": {}}}]', "not a list of tasks with annotations"),
        ("r.jsonl", '{"judge": "x", "score": 1}\n', "no line has annot_hit"),
        ("r.jsonl", '{"judge": "x", "score": 1}\n', "write format: jsonl"),
    ],
)
def test_a_file_without_any_hit(name: str, content: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as raised:
        records(tmp_path / name, content)
    assert said in str(raised.value)


@pytest.mark.parametrize("content", ["", " \n", "[]", mturk()])
def test_empty_results_are_no_error(content: str, tmp_path: Path) -> None:
    assert records(tmp_path / "r", content) == []


# --- columns -------------------------------------------------------------------------------


def test_columns_of_the_file_are_offered(tmp_path: Path) -> None:
    columns = MTURK | {"Answer.comments": "fine", "task": "not ours"}
    export = opened(tmp_path / "r.csv", mturk({}, columns=columns), None)
    bookkept = {"ask", "scale", "criteria", "labels"}
    assert set(export.columns) == {*HITS_FIELDS, *bookkept, *columns}
    (chunk,) = export.chunks
    assert list(chunk.columns) == export.columns
    assert chunk.columns["Answer.comments"].to_pylist() == ["fine"] * 3
    assert chunk.columns["task"].to_pylist() == ["t"] * 3
    assert chunk.columns["scale"].to_pylist() == ["[0, 100]"] * 3


def test_columns_of_lines_are_known_at_the_end(tmp_path: Path) -> None:
    text = line([1, 2, 3]) + "\n" + line([1, 2, 3], model="m", item="not ours")
    export = opened(tmp_path / "r.jsonl", text, ALL | {"model"})
    assert not export.has_header
    chunks = list(export.chunks)
    assert [v for c in chunks for v in c.columns["model"].to_pylist()] == [None] * 3 + ["m"] * 3
    assert [v for c in chunks for v in c.columns["item"].to_pylist()] == ["a", "a", "b"] * 2
    assert "model" in export.columns


def test_chunks_fit_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = mturk({}, {"Input.annot_hit": "?"}, {"WorkerId": ""}, {"Answer.score_1": ""}, {})
    whole = records(tmp_path / "r.csv", text)
    for size in (1, 2, 4, 7):
        monkeypatch.setattr(hits, "RECORDS_A_CHUNK", size)
        assert records(tmp_path / "r.csv", text) == whole


def campaign(folder: Path, source: dict[str, Any], **more: Any) -> Path:
    document = {"campaign": "c", "sources": [{"path": "r.*", "format": "hits", **source}], **more}
    (folder / "campaign.yaml").write_text(json.dumps(document))
    return folder


def test_fields_need_not_be_given(tmp_path: Path) -> None:
    source = load_campaign(campaign(tmp_path, {})).settings.sources[0]
    assert {name: e.model_dump()["column"] for name, e in source.fields.items()} == {
        name: name for name in HITS_FIELDS
    }


def test_fields_that_are_given_win(tmp_path: Path) -> None:
    fields = {"judge": "completed_by.email", "task": {"value": "mine"}, "seconds": "lead_time"}
    told = studio(HIT, NUMBERS, completed_by={"id": 3, "email": "a@example.invalid"})
    (tmp_path / "r.json").write_text(told)
    rows = build_file(campaign(tmp_path, {"fields": fields})).rows("controlled")
    assert {(r["judge"], r["task"], r["seconds"]) for r in rows} == {
        ("a@example.invalid", "mine", 4.5)
    }


def test_fields_of_other_formats_must_be_given(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="campaign") as raised:
        load_campaign(campaign(tmp_path, {"format": "csv"}))
    assert "sources.0.fields: is missing" in str(raised.value)


def test_an_unknown_field_is_still_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as raised:
        load_campaign(campaign(tmp_path, {"fields": {"juge": "x"}}))
    assert "juge" in str(raised.value)


# --- in a campaign -------------------------------------------------------------------------


def test_reasons_of_a_build_are_those_of_any_format(tmp_path: Path) -> None:
    text = mturk(
        {"WorkerId": "", "AssignmentId": "1"},
        {"Answer.score_1": "good", "AssignmentId": "2"},
        {"Answer.score_1": "101", "AssignmentId": "3"},
        {"SubmitTime": "yesterday", "AssignmentId": "4"},
        {"Answer.score_1": "70", "AssignmentId": "5"},
        {"Input.annot_hit": "{", "AssignmentId": "6"},
        *({"WorkerId": f"w{n}", "AssignmentId": str(n)} for n in range(10, 60)),
    )
    (tmp_path / "r.csv").write_text(text)
    tasks = [{"name": "t", "kind": "scalar", "scale": [0, 50]}]
    built = build_file(campaign(tmp_path, {}, tasks=tasks))
    rejected = Counter(r["reason"] for r in built.rows("lineage") if r["fate"] == "rejected")
    assert rejected == {
        "judge is blank": 3,
        "score is not a number: 'good'": 1,
        "score is outside the scale: 101.0": 1,
        "submitted_at is not a time: 'yesterday'": 3,
        "score is outside the scale: 70.0": 1,
        "annot_hit is damaged: not JSON (Expecting property name enclosed in double quotes at "
        "character 2)": 1,
    }


# --- anything ------------------------------------------------------------------------------

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
EDITED = st.fixed_dictionaries(
    {},
    optional={
        "annot": ANYTHING | st.just(1),
        "task": ANYTHING | st.just("t"),
        "hit": ANYTHING | st.just("00000000000000a1"),
        "scale": ANYTHING | st.just([0, 1]),
        "criteria": ANYTHING | st.just([]),
        "slots": ANYTHING | st.lists(st.fixed_dictionaries({"item": ANYTHING | st.text()})),
        "more": ANYTHING,
    },
)


@settings(max_examples=300, deadline=None)
@given(document=EDITED | ANYTHING)
def test_any_bookkeeping_is_read_or_rejected(document: Any) -> None:
    try:
        hit = parse_hit(json.dumps(document))
    except DamagedError:
        return
    assert parse_hit(json.dumps(hit.document())) == hit


@settings(max_examples=100, deadline=None)
@given(
    lines=st.lists(
        st.fixed_dictionaries(
            {"annot_hit": st.just(HIT) | st.just(TWO) | EDITED},
            optional={
                "scores": ANYTHING | st.lists(ANYTHING, min_size=2, max_size=3),
                "judge": ANYTHING,
                "seconds": ANYTHING,
                "item": ANYTHING,
                "task": ANYTHING,
            },
        ),
        min_size=1,
        max_size=5,
    )
)
def test_any_lines_have_records(lines: list[Any], tmp_path_factory: pytest.TempPathFactory) -> None:
    text = "\n".join([*map(json.dumps, lines), line([1, 2, 3])])  # one, at least, is whole
    found = records(tmp_path_factory.mktemp("any") / "r.jsonl", text)
    assert len({r["row"] for r in found}) == len(lines) + 1


@settings(max_examples=100, deadline=None)
@given(
    results=ANYTHING | st.lists(st.sampled_from(NUMBERS) | ANYTHING),
    annotation=st.fixed_dictionaries(
        {}, optional={"completed_by": ANYTHING, "lead_time": ANYTHING, "was_cancelled": ANYTHING}
    ),
    data=st.fixed_dictionaries({"annot_hit": st.just(HIT) | EDITED}, optional={"text_1": ANYTHING}),
)
def test_any_annotation_has_records(
    results: Any, annotation: Any, data: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    (task,) = json.loads(studio(HIT, []))
    task["data"] = data
    task["annotations"][0] |= {"result": results, **annotation}
    try:
        text = json.dumps([task], allow_nan=False)
    except ValueError:  # no JSON at all
        return
    try:
        found = records(tmp_path_factory.mktemp("any") / "r.json", text)
    except InputError as error:
        assert "not a list of tasks" in str(error) or "half of a surrogate" in str(error)  # noqa: PT017
        return
    assert {r["row"] for r in found} == {1}
