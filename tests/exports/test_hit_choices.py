"""Results of HITs that ask for comparisons or labels, and what is wrong with some of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annot_pipeline.exports.hit_bookkeeping import DamagedError, parse_hit
from tests.exports.hit_files import ANYTHING, HIT, MTURK, Records, mturk, reasons, records, studio

COMPARE = {
    "annot": 1, "task": "t", "hit": "00000000000000c1", "ask": "compare",
    "slots": [
        {"item": "s/x", "segment": "s", "system": "x", "item_b": "s/y", "system_b": "y"},
        {"item": "p", "item_b": "q"},
        {"item": "s/y", "segment": "s", "system": "y", "item_b": "s/x", "system_b": "x"},
    ],
}  # fmt: skip
LABEL = {
    "annot": 1, "task": "l", "hit": "00000000000000d1", "ask": "label",
    "labels": ["good", "2", "not good"],
    "slots": [{"item": "s/x", "segment": "s", "system": "x"}, {"item": "b"},
              {"item": "c", "control": "ask_again"}],
}  # fmt: skip
HITS = {"preference": COMPARE, "label": LABEL}

Given = list[str | None]


def line(answers: Any, hit: Any, **more: Any) -> str:
    told = {"annot_hit": hit, "texts": [["A", "B"]] * 3, "judge": "llm", "answers": answers}
    return json.dumps({k: v for k, v in (told | more).items() if v != "GONE"})


def form(hit: Any, field: str, given: Given, **cells: str) -> str:
    """Batch results of radio buttons; the form has a slot more than the HIT."""
    offered = ("a", "tie", "b") if field == "preference" else ("1", "2", "3")
    columns = {name: cell for name, cell in MTURK.items() if "." not in name}
    columns |= {"Input.annot_hit": json.dumps(hit), "Input.n_slots": "3"}
    columns |= {f"Input.text_{n}": "A" if n < 4 else "" for n in (1, 2, 3, 4)}
    for n, answer in enumerate(given, start=1):
        if answer is not None:
            columns |= {f"Answer.{field}_{n}.{o}": json.dumps(o == answer) for o in offered}
            columns[f"Answer.{field}_{n}.{answer}"] = "true"
    return mturk({}, columns=columns | cells)


def flat(hit: Any, field: str, given: Given) -> str:
    cells = {f"Answer.{field}_{n}": answer or "" for n, answer in enumerate(given, start=1)}
    return form(hit, field, [], **cells)


def packed(hit: Any, field: str, given: Given) -> str:
    buttons = {f"{field}_{n}": {"a": answer == "a", answer: True}
               for n, answer in enumerate(given, start=1) if answer is not None}  # fmt: skip
    return form(hit, field, [], **{"Answer.taskAnswers": json.dumps([buttons])})


def chosen(field: str, n: int, *answers: str) -> dict[str, Any]:
    return {"from_name": f"{field}_at_{n - 1}", "to_name": f"text_at_{n - 1}", "type": "choices",
            "value": {"choices": [*answers]}}  # fmt: skip


def annotated(hit: Any, field: str, given: Given) -> str:
    results = [chosen(field, n, answer) for n, answer in enumerate(given, 1) if answer is not None]
    (task,) = json.loads(studio(hit, results))
    task["data"]["slots"] = [{"text": ""} for _ in hit["slots"]]
    return json.dumps([task])


FORMS = {"r.csv": form, "flat.csv": flat, "packed.csv": packed, "r.json": annotated}


# --- what is read --------------------------------------------------------------------------


def compared(actual: Records) -> list[tuple[Any, ...]]:
    names = ("position", "segment", "item_a", "system_a", "item_b", "system_b", "preference")
    return [tuple(record[name] for name in names) for record in actual]


EXPECTED = [
    ("1", "s", "s/x", "x", "s/y", "y", "b"), ("2", None, "p", None, "q", None, "tie"),
    ("3", "s", "s/y", "y", "s/x", "x", "a"),
]  # fmt: skip


@pytest.mark.parametrize("name", FORMS)
def test_comparisons_of_forms(name: str, tmp_path: Path) -> None:
    actual = records(tmp_path / name, FORMS[name](COMPARE, "preference", ["b", "tie", "a"]))
    assert reasons(actual) == [None] * 3
    assert compared(actual) == EXPECTED
    for record in actual:
        assert (record["task"], record["hit"]) == ("t", COMPARE["hit"])
        assert {record[n] for n in ("item", "system", "score", "label", "criterion")} == {None}
        assert record["judge"]


def test_comparisons_of_lines(tmp_path: Path) -> None:
    actual = records(tmp_path / "r.jsonl", line(["b", "tie", "a"], COMPARE, seconds=9))
    assert compared(actual) == EXPECTED
    assert [(r["cell"], r["hit_seconds"], r["judge"]) for r in actual] == [
        (f"answers[{n}]", "9", "llm") for n in range(3)
    ]


@pytest.mark.parametrize("name", FORMS)
def test_forms_give_labels_by_number(name: str, tmp_path: Path) -> None:
    actual = records(tmp_path / name, FORMS[name](LABEL, "label", ["3", "2", "1"]))
    assert reasons(actual) == [None] * 3
    names = ("item", "system", "segment", "control", "label")
    assert [tuple(r[n] for n in names) for r in actual] == [
        ("s/x", "x", "s", "none", "not good"), ("b", None, None, "none", "2"),
        ("c", None, None, "ask_again", "good"),
    ]  # fmt: skip
    assert {r[n] for r in actual for n in ("item_a", "item_b", "preference", "score")} == {None}


def test_lines_give_labels_as_they_are(tmp_path: Path) -> None:
    actual = records(tmp_path / "r.jsonl", line(["not good", 2, "good"], LABEL))
    assert [r["label"] for r in actual] == ["not good", "2", "good"]
    assert reasons(actual) == [None] * 3


def test_one_file_of_all_kinds(tmp_path: Path) -> None:
    told = [line([1, 2, 3], HIT), line(["a", "b", None], COMPARE), line(["2", "2", "2"], LABEL)]
    told[0] = told[0].replace('"answers"', '"scores"')
    actual = records(tmp_path / "r.jsonl", "\n".join(told))
    answers = [(r["score"], r["preference"], r["label"]) for r in actual]
    assert answers == [
        ("1", None, None), ("2", None, None), ("3", None, None), (None, "a", None),
        (None, "b", None), (None, None, None), *[(None, None, "2")] * 3,
    ]  # fmt: skip
    assert [r["item"] is None for r in actual] == [False] * 3 + [True] * 3 + [False] * 3
    assert reasons(actual)[3:6] == [None, None, "the slot was not answered"]


CELLS = {
    "r.csv": "Answer.preference_2", "flat.csv": "Answer.preference_2",
    "packed.csv": "Answer.taskAnswers#preference_2",
    "r.json": "/0/annotations/0#preference_at_1",
}  # fmt: skip


@pytest.mark.parametrize("name", FORMS)
def test_a_slot_that_was_not_answered(name: str, tmp_path: Path) -> None:
    actual = records(tmp_path / name, FORMS[name](COMPARE, "preference", ["b", None, "a"]))
    assert reasons(actual) == [None, "the slot was not answered", None]
    assert (actual[1]["cell"], actual[1]["item_a"]) == (CELLS[name], "p")
    assert actual[1]["preference"] is None


# --- answers that are none -----------------------------------------------------------------


@pytest.mark.parametrize("word", ["A", "left", "c", "equal", "1", "a "])
def test_an_unknown_word_is_no_tie(word: str, tmp_path: Path) -> None:
    for name, content in {
        **{name: make(COMPARE, "preference", [word, "a", "b"]) for name, make in FORMS.items()},
        "r.jsonl": line([word, "a", "b"], COMPARE),
    }.items():
        actual = records(tmp_path / name, content)
        assert reasons(actual) == [f"preference is not one of a, b, tie: {word!r}", None, None], (
            name
        )


def test_an_unknown_label(tmp_path: Path) -> None:
    for number in ("0", "4", "good", "-1", "01"):
        for name, make in FORMS.items():
            actual = records(tmp_path / name, make(LABEL, "label", [number, "2", "1"]))
            said = f"label is not the number of a label of the HIT: {number!r}"
            assert reasons(actual) == [said, None, None]
    actual = records(tmp_path / "r.jsonl", line(["bad", "1", ["good"]], LABEL))
    said = "label is not one of 'good', '2', 'not good': "
    assert reasons(actual) == [f"{said}{w}" for w in ("'bad'", "'1'", "'[\"good\"]'")]


def test_two_choices_at_once(tmp_path: Path) -> None:
    both = form(COMPARE, "preference", ["a", "a", "a"], **{"Answer.preference_1.b": "true"})
    (task,) = json.loads(annotated(COMPARE, "preference", [None, "a", "a"]))
    task["annotations"][0]["result"].append(chosen("preference", 1, "a", "b"))
    for name, content, said in (
        ("r.csv", both, "preference_1"), ("r.json", json.dumps([task]), "preference_at_0"),
    ):  # fmt: skip
        (record,) = records(tmp_path / name, content)
        assert record["reason"] == f"{said} is answered twice"


@pytest.mark.parametrize("field", HITS)
def test_answers_to_another_hit_reject_the_row(field: str, tmp_path: Path) -> None:
    hit = HITS[field]
    others = form(hit, field, ["a", "b", "b", "a"])
    (record,) = records(tmp_path / "r.csv", others)
    assert record["reason"] == f"Answer.{field}_4 is answered, but annot_hit has no such slot"
    (record,) = records(tmp_path / "r.csv", form(hit, "score", [], **{"Answer.score_1": "5"}))
    assert record["reason"] == "Answer.score_1 is answered, but annot_hit has no such slot"
    (record,) = records(tmp_path / "r.csv", form(hit, field, [], **{"Input.text_4": "B"}))
    assert "another number of slots than there are texts: 3" in record["reason"]
    (record,) = records(tmp_path / "r.jsonl", line(["a"] * 3, hit, texts=[["A", "B"]] * 4))
    assert "another number of slots than there are texts: 3" in record["reason"]
    (task,) = json.loads(annotated(hit, field, []))
    task["data"]["slots"].append({"text": "more"})
    (record,) = records(tmp_path / "r.json", json.dumps([task]))
    assert "another number of slots than there are texts: 3" in record["reason"]


@pytest.mark.parametrize(
    ("told", "said"),
    [
        (line(["a"], COMPARE), "answers are 1 for 3 slots"),
        (line("a", COMPARE), "answers is not a list"),
        (line(None, COMPARE), "answers is blank: these HITs have no answers yet"),
        (line("GONE", LABEL, scores=[1, 2, 3]), "answers is blank: these HITs have no answers"),
        (line(["a", "b", "a"], HIT), "scores is blank: these HITs have no answers yet"),
    ],
)
def test_lines_that_answer_something_else(told: str, said: str, tmp_path: Path) -> None:
    actual = records(tmp_path / "r.jsonl", told + "\n" + line(["a", "b", "tie"], COMPARE))
    assert actual[0]["reason"].startswith(said)
    assert reasons(actual)[1:] == [None] * 3


# --- damaged bookkeeping -------------------------------------------------------------------


def slots(**changes: Any) -> list[Any]:
    first = COMPARE["slots"][0] | changes  # type: ignore[index]
    return [{k: v for k, v in first.items() if v != "GONE"}]


DAMAGED = [
    (COMPARE | {"ask": "rank"}, "judges cannot be asked to 'rank'"),
    (COMPARE | {"ask": 1}, "ask has the wrong type"),
    (COMPARE | {"ask": "score"}, "scale is missing"),
    (COMPARE | {"scale": [0, 1]}, "unknown key 'scale'"),
    (COMPARE | {"labels": ["a", "b"]}, "unknown key 'labels'"),
    (COMPARE | {"slots": slots(item_b="s/x")}, "a slot that compares 's/x' with itself"),
    (COMPARE | {"slots": slots(item_b=" ")}, "a slot without an item"),
    (COMPARE | {"slots": slots(item_b="GONE", system_b="GONE")}, "two items are for slots that"),
    (COMPARE | {"slots": slots(item_b=None)}, "item_b has the wrong type"),
    (COMPARE | {"slots": slots(item_c="z")}, "unknown key 'item_c'"),
    (COMPARE | {"slots": slots(control="ask_again")}, "a comparison cannot be a control:"),
    (LABEL | {"labels": ["good"]}, "labels are for HITs that ask for one, which need two"),
    (LABEL | {"labels": []}, "labels are for HITs that ask for one, which need two"),
    (LABEL | {"labels": ["a", "a"]}, "a label is blank or listed twice"),
    (LABEL | {"labels": ["a", " "]}, "a label is blank or listed twice"),
    (LABEL | {"labels": "ab"}, "labels has the wrong type"),
    (LABEL | {"criteria": []}, "unknown key 'criteria'"),
    (LABEL | {"slots": slots()}, "two items are for slots that compare"),
    (LABEL | {"slots": slots(item_b="GONE")}, "a second system without an item"),
    ({k: v for k, v in LABEL.items() if k != "labels"}, "labels is missing"),
    (HIT | {"slots": slots()}, "two items are for slots that compare"),
    (HIT | {"labels": ["a", "b"]}, "unknown key 'labels'"),
]  # fmt: skip


@pytest.mark.parametrize(("hit", "said"), DAMAGED, ids=range(len(DAMAGED)))
def test_damaged_bookkeeping_rejects_the_row(hit: Any, said: str, tmp_path: Path) -> None:
    content = line(["a", "a", "a"], hit) + "\n" + line(["a", "b", "tie"], COMPARE)
    first, *others = records(tmp_path / "r.jsonl", content)
    assert first["reason"].startswith(f"annot_hit is damaged: {said}")
    assert reasons(others) == [None] * 3


@pytest.mark.parametrize("hit", [COMPARE, LABEL, HIT])
def test_what_is_parsed_is_written_again(hit: Any) -> None:
    """Of scores as before there was anything else to ask."""
    assert json.dumps(parse_hit(json.dumps(hit)).document()) == json.dumps(hit)


CHANGED = st.fixed_dictionaries(
    {},
    optional={
        "ask": ANYTHING | st.sampled_from(["score", "compare", "label"]),
        "labels": ANYTHING | st.lists(st.text(), max_size=3),
        "slots": ANYTHING | st.lists(st.fixed_dictionaries(
            {"item": st.text()}, optional={"item_b": ANYTHING | st.text(), "system_b": st.text()}
        )),
    },
)  # fmt: skip


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(hit=st.sampled_from([HIT, COMPARE, LABEL]), changes=CHANGED, answers=ANYTHING)
def test_anything_has_records(
    hit: Any, changes: Any, answers: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    document = hit | changes
    try:
        json.dumps([document, answers], allow_nan=False)
    except ValueError:  # no JSON at all, so that its line is rejected last
        return
    text = line(answers, document) + "\n" + line(["a", "b", "tie"], COMPARE)
    actual = records(tmp_path_factory.mktemp("any") / "r.jsonl", text)
    assert {r["row"] for r in actual} == {1, 2}
    assert reasons(actual)[-3:] == [None] * 3
    try:
        parsed = parse_hit(json.dumps(document))
    except DamagedError:
        return
    assert parse_hit(json.dumps(parsed.document())) == parsed
