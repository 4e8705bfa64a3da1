"""Results of planned HITs: rows that are rejected, other files."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from annot_pipeline.errors import InputError
from tests.exports.hit_files import (
    HIT,
    MTURK,
    NUMBERS,
    TWO,
    line,
    mturk,
    number,
    opened,
    reasons,
    records,
    studio,
)


def damaged(**changes: Any) -> str:
    return json.dumps({k: v for k, v in (HIT | changes).items() if v != "GONE"})


DAMAGED = {
    "": "annot_hit is blank",
    "  ": "annot_hit is blank",
    '{"annot": 1, "task"': "annot_hit is damaged: not JSON (",
    "null": "annot_hit is damaged: not a JSON object",
    "[1]": "annot_hit is damaged: not a JSON object",
    damaged(annot=2): "annot_hit is damaged: its version is '2', supported is 1",
    damaged(annot="GONE"): "annot_hit is damaged: annot is missing",
    damaged(annot="1"): "annot_hit is damaged: annot has the wrong type",
    damaged(annot=True): "annot_hit is damaged: annot has the wrong type",
    damaged(task=""): "annot_hit is damaged: no task",
    damaged(task=3): "annot_hit is damaged: task has the wrong type",
    damaged(tsak="t"): "annot_hit is damaged: unknown key 'tsak'",
    damaged(hit="x"): "annot_hit is damaged: a HIT's id is 16 hex digits, not 'x'",
    damaged(hit="00000000000000A1"): "annot_hit is damaged: a HIT's id is 16 hex digits",
    damaged(scale=[0]): "annot_hit is damaged: scale is not [lowest, highest]",
    damaged(scale=[100, 0]): "annot_hit is damaged: no scale from 100 to 0",
    damaged(scale=[5, 5]): "annot_hit is damaged: no scale from 5 to 5",
    damaged(scale=["0", "1"]): "annot_hit is damaged: scale contains a value of the wrong type",
    damaged(criteria=["a", "a"]): "annot_hit is damaged: a criterion is blank or listed twice",
    damaged(criteria=[" "]): "annot_hit is damaged: a criterion is blank or listed twice",
    damaged(slots=[]): "annot_hit is damaged: no slot",
    damaged(slots={}): "annot_hit is damaged: slots has the wrong type",
    damaged(slots=["a"]): "annot_hit is damaged: slots contains a value of the wrong type",
    damaged(slots=[{}]): "annot_hit is damaged: item is missing",
    damaged(slots=[{"item": " "}]): "annot_hit is damaged: a slot without an item",
    damaged(slots=[{"item": "a", "control": "x"}]): "annot_hit is damaged: unknown control 'x'",
    damaged(slots=[{"item": "a", "control": "known_answer"}]): "annot_hit is damaged: unknown",
    damaged(slots=[{"item": "a", "sytem": "x"}]): "annot_hit is damaged: unknown key 'sytem'",
    damaged(slots=[{"item": "a"}] * 10_001): "annot_hit is damaged: more than 10,000 answers",
    json.dumps(HIT)[:-1] + ',"task":"u"}': "annot_hit is damaged: not JSON (key 7 of an object",
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
    actual = records(tmp_path / "r.json", studio(as_text, NUMBERS))
    same = records(tmp_path / "r.json", studio(hit, NUMBERS))
    assert actual == same
    assert len(actual) == (3 if hit == HIT else 1)


def test_a_slot_that_was_not_answered(tmp_path: Path) -> None:
    reason = "the slot was not answered"
    for name, content in {
        "r.csv": mturk({"Answer.score_2": " "}),
        "r.json": studio(HIT, [NUMBERS[0], number("score_2", None), NUMBERS[2]]),
        "r.jsonl": line([10, None, 30]),
    }.items():
        actual = records(tmp_path / name, content)
        assert reasons(actual) == [None, reason, None]
        assert [(r["task"], r["item"], r["control"]) for r in actual][1] == (
            "t", "a", "bad_reference",
        )  # fmt: skip
        assert actual[1]["judge"] in ("w1", "3", "llm")


def test_nothing_was_answered(tmp_path: Path) -> None:
    empty = mturk({f"Answer.score_{n}": "" for n in (1, 2, 3)})
    without = {name: value for name, value in MTURK.items() if not name.startswith("Answer.")}
    for name, content in {
        "r.csv": empty,
        "s.csv": mturk({}, columns=without),
        "r.json": studio(HIT, []),
        "r.jsonl": line([None, None, None]),
    }.items():
        actual = records(tmp_path / name, content)
        assert reasons(actual) == ["the slot was not answered"] * 3, name


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
    "no scores": "scores is blank: these HITs have no answers yet",
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
    actual = records(tmp_path / "r.jsonl", line([1, 2, 3], texts=texts))
    assert [record["reason"] for record in actual] == [None] * 3


def test_texts_of_label_studio_are_counted(tmp_path: Path) -> None:
    (task,) = json.loads(studio(HIT, NUMBERS))
    for texts, n_records in ((["A", "A!", "B"], 3), (["A", "", ""], 3), (["A", "A!"], 1),
                             (["A", "A!", "B", "C"], 1), (["A", "A!", "B", ""], 3)):  # fmt: skip
        named = {f"text_{n}": text for n, text in enumerate(texts, start=1)}
        changed = task | {"data": task["data"] | named}
        assert len(records(tmp_path / "r.json", json.dumps([changed]))) == n_records, texts


@pytest.mark.parametrize("scores", [[[1, 2], [3]], [[1, 2], 3], [[1, 2], "3"]])
def test_scores_of_a_slot_that_are_not_one_a_criterion(scores: Any, tmp_path: Path) -> None:
    actual = records(tmp_path / "r.jsonl", line(scores, TWO))
    assert reasons(actual) == [None, None, *["not 2 scores, one for each criterion"] * 2]
    assert [(r["cell"], r["criterion"]) for r in actual[2:]] == [
        ("scores[1]", "fluency"), ("scores[1]", "adequacy"),
    ]  # fmt: skip


def test_a_slot_with_null_or_without_a_criterion(tmp_path: Path) -> None:
    actual = records(tmp_path / "r.jsonl", line([None, {"fluency": 4}], TWO))
    assert [r["reason"] is None for r in actual] == [False, False, True, False]


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
    actual = records(tmp_path / "r.jsonl", broken)
    assert Counter(r["row"] for r in actual) == {1: 1, 2: 3, 3: 1, 4: 3}
    assert [r["reason"][:14] for r in actual if r["reason"]] == ["malformed JSON", "not a JSON obj"]


def test_lines_whose_first_one_is_none(tmp_path: Path) -> None:
    actual = records(tmp_path / "r", "oops\n" + line([1, 2, 3]))
    assert sorted(r["row"] for r in actual) == [1, 2, 2, 2]
    assert actual[-1]["reason"].startswith("malformed JSON")


@pytest.mark.parametrize("before", ["\ufeff", "\n\n", " \r\n\t", "\ufeff\n"])
@pytest.mark.parametrize("content", [mturk({}), line([1, 2, 3]), studio(HIT, NUMBERS)])
def test_marks_and_blanks_before_the_text(before: str, content: str, tmp_path: Path) -> None:
    actual = records(tmp_path / "r", before + content)
    if before != "\ufeff\n" or content[0] != "{":  # a line of a mark alone is a broken one
        assert reasons(actual) == [None] * 3


def test_everything_else_of_label_studio_is_counted(tmp_path: Path) -> None:
    tasks = json.loads(studio(HIT, [*NUMBERS, {"from_name": "why", "type": "textarea"}, "x"]))
    tasks += [{"id": 2, "data": {"annot_hit": HIT}, "annotations": []}]
    tasks[0]["predictions"] = [{}]
    export = opened(tmp_path / "r.json", json.dumps(tasks))
    assert export.ignored == {
        "tasks without annotations": 1, "predictions": 1, "textarea answers": 1,
    }  # fmt: skip


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
