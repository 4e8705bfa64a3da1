"""Files of HITs that ask which of two outputs is better, or for a label of an output."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from annot_pipeline.hits.label_studio_file import labeling_config
from annot_pipeline.hits.plan import task_plans
from annot_pipeline.stages.planning.hit_plan import Question
from tests.hits.platforms import Row, files, hit_id, plan, read_csv, slot, write

COMPARE = Question("t", ask="compare")
LABELS = ("good", "not good")
LABEL = Question("t", ask="label", labels=LABELS)


def pair(a: str, b: str, **more: Any) -> Row:
    shown = {"text": f"{a}!", "text_b": f"{b}!", "segment": "s"}
    return slot(f"s/{a}", item_b=f"s/{b}", system=a, system_b=b, **shown, **more)


PAIRS = [[pair("x", "y", source="S"), pair("z", "x"), pair("y", "z")], [pair("x", "z")]]
"""HITs of three comparisons and of one."""
SINGLES = [[slot("a", text="A", segment="s", system="x"), slot("b", text="", source="S")],
           [slot("c")]]  # fmt: skip


def bookkept(*names: str) -> list[Row]:
    return [
        {"item": f"s/{a}", "segment": "s", "system": a, "item_b": f"s/{b}", "system_b": b}
        for a, b in names
    ]


COMPARED = [
    {"annot": 1, "task": "t", "hit": hit_id(1), "ask": "compare",
     "slots": bookkept("xy", "zx", "yz")},
    {"annot": 1, "task": "t", "hit": hit_id(2), "ask": "compare", "slots": bookkept("xz")},
]  # fmt: skip
LABELLED = [
    {"annot": 1, "task": "t", "hit": hit_id(1), "ask": "label", "labels": [*LABELS],
     "slots": [{"item": "a", "segment": "s", "system": "x"}, {"item": "b"}]},
    {"annot": 1, "task": "t", "hit": hit_id(2), "ask": "label", "labels": [*LABELS],
     "slots": [{"item": "c"}]},
]  # fmt: skip


# --- what is in them -----------------------------------------------------------------------


def test_mturk_says_how_many_slots_a_hit_has(tmp_path: Path) -> None:
    document = write(plan(("t", PAIRS)), [COMPARE], tmp_path, "mturk")
    header, *rows = read_csv(files(document, ".csv")["t"])
    assert header == ["annot_hit", "n_slots", *(f"{kind}_{n}" for kind in
                      ("text", "text_b", "source") for n in (1, 2, 3))]  # fmt: skip
    by_id = {json.loads(row[0])["hit"]: row for row in rows}
    assert [json.loads(by_id[hit["hit"]][0]) for hit in COMPARED] == COMPARED
    assert by_id[hit_id(1)][1:] == [
        "3", "x!", "z!", "y!", "y!", "x!", "z!", "S", "", "",
    ]  # fmt: skip
    assert by_id[hit_id(2)][1:] == ["1", "x!", "", "", "z!", "", "", "", "", ""]


def test_mturk_has_labels(tmp_path: Path) -> None:
    document = write(plan(("t", SINGLES)), [LABEL], tmp_path, "mturk")
    header, *rows = read_csv(files(document, ".csv")["t"])
    assert header == ["annot_hit", "n_slots", "text_1", "text_2", "source_1", "source_2"]
    by_id = {json.loads(row[0])["hit"]: row for row in rows}
    assert [json.loads(by_id[hit["hit"]][0]) for hit in LABELLED] == LABELLED
    assert by_id[hit_id(1)][1:] == ["2", "A", "", "", "S"]  # an empty text is no unused slot
    assert by_id[hit_id(2)][1:] == ["1", "c", "", "", ""]


def test_label_studio_has_a_list_of_slots(tmp_path: Path) -> None:
    document = write(plan(("t", PAIRS)), [COMPARE], tmp_path, "label_studio")
    tasks = json.loads(files(document, ".json")["t"].read_text())
    data = {task["data"]["annot_hit"]["hit"]: task["data"] for task in tasks}
    assert [data[hit["hit"]]["annot_hit"] for hit in COMPARED] == COMPARED
    assert data[hit_id(1)]["slots"] == [
        {"text": "x!", "text_b": "y!", "source": "S"}, {"text": "z!", "text_b": "x!", "source": ""},
        {"text": "y!", "text_b": "z!", "source": ""},
    ]  # fmt: skip
    assert data[hit_id(2)].keys() == {"annot_hit", "slots"}
    document = write(plan(("t", [SINGLES[1]])), [LABEL], tmp_path / "label", "label_studio")
    (task,) = json.loads(files(document, ".json")["t"].read_text())
    assert task["data"]["slots"] == [{"text": "c"}]


def test_json_lines_have_pairs(tmp_path: Path) -> None:
    document = write(plan(("t", PAIRS)), [COMPARE], tmp_path, "jsonl")
    lines = [json.loads(line) for line in files(document, ".jsonl")["t"].read_text().splitlines()]
    by_id = {line["annot_hit"]["hit"]: line for line in lines}
    assert [by_id[hit["hit"]]["annot_hit"] for hit in COMPARED] == COMPARED
    assert by_id[hit_id(1)]["texts"] == [["x!", "y!"], ["z!", "x!"], ["y!", "z!"]]
    assert by_id[hit_id(1)]["sources"] == ["S", None, None]
    assert by_id[hit_id(2)]["texts"] == [["x!", "z!"]]
    document = write(plan(("t", SINGLES)), [LABEL], tmp_path / "label", "jsonl")
    lines = [json.loads(line) for line in files(document, ".jsonl")["t"].read_text().splitlines()]
    lines.sort(key=lambda line: line["annot_hit"]["hit"] != hit_id(1))
    assert [line["annot_hit"] for line in lines] == LABELLED
    assert [line["texts"] for line in lines] == [["A", ""], ["c"]]


# --- the configuration of Label Studio -----------------------------------------------------


def config(question: Question, *hits: list[Row]) -> ElementTree.Element:
    (task,) = task_plans(plan(("t", hits)), [question])
    return ElementTree.fromstring(labeling_config(task))


def repeated(root: ElementTree.Element, data: Row) -> list[dict[str, str]]:
    """Names, targets and values of what Label Studio's Repeater makes of the data.

    As core/Tree.tsx does: a copy of the children for each element of the list, with the flag
    replaced once in every attribute; no copy where the list is missing.
    """
    (repeater,) = root.iter("Repeater")
    flag = repeater.attrib["indexFlag"]
    actual = []
    for place, _ in enumerate(data.get(repeater.attrib["on"].removeprefix("$"), ())):
        for tag in repeater.iter():
            if tag is not repeater and "name" in tag.attrib:
                actual.append({k: v.replace(flag, str(place), 1) for k, v in tag.attrib.items()})
    return actual


def test_the_configuration_repeats_a_card_for_each_slot(tmp_path: Path) -> None:
    document = write(plan(("t", PAIRS)), [COMPARE], tmp_path, "label_studio")
    for task in json.loads(files(document, ".json")["t"].read_text()):
        data, n_slots = task["data"], len(task["data"]["annot_hit"]["slots"])
        tags = {tag["name"]: tag for tag in repeated(config(COMPARE, *PAIRS), data)}
        assert len(tags) == 4 * n_slots
        for n in range(n_slots):
            for kind in ("text", "text_b", "source"):
                assert tags[f"{kind}_at_{n}"]["value"] == f"$slots[{n}].{kind}"
                assert kind in data["slots"][n]
                assert tags[f"{kind}_at_{n}"]["valueType"] == "text"
            choices = tags[f"preference_at_{n}"]
            assert (choices["toName"], choices["required"]) == (f"text_at_{n}", "true")
        assert not any("{{idx}}" in value for tag in tags.values() for value in tag.values())


def test_choices_are_told_by_their_aliases() -> None:
    compared = [tag.attrib for tag in config(COMPARE, *PAIRS).iter("Choice")]
    assert [choice["alias"] for choice in compared] == ["a", "tie", "b"]
    assert compared[0]["value"] == "Text A is better"
    hostile = Question("t", ask="label", labels=('<b> & "so"', "$text {{idx}}", "1"))
    labelled = [tag.attrib for tag in config(hostile, *SINGLES).iter("Choice")]
    assert [choice["alias"] for choice in labelled] == ["1", "2", "3"]
    assert [choice["value"] for choice in labelled] == [
        '<b> & "so"', "\uff04text \uff5b\uff5bidx}}", "1",
    ]  # fmt: skip
    assert "text_b" not in str([tag.attrib for tag in config(LABEL, *SINGLES).iter("Text")])


# --- plans that are none -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("slots", "question", "said"),
    [
        ([slot("a", item_b="a")], COMPARE, "compares 'a' with itself"),
        ([slot("a")], COMPARE, "which need two"),
        ([slot("a", "ask_again", item_b="b")], COMPARE, "a comparison cannot be a control"),
        ([slot("a", item_b="b")], LABEL, "two items are for slots that compare"),
        ([slot("a", item_b="b")], Question("t", (0, 1)), "two items are for slots that compare"),
    ],
)
def test_plans_that_are_none(slots: Any, question: Question, said: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=said):
        write(plan(("t", [slots])), [question], tmp_path, "jsonl")


def test_hits_of_scores_are_all_of_one_size(tmp_path: Path) -> None:
    """Their forms have no way to tell an unused slot."""
    hits = [[slot("a"), slot("b")], [slot("c")]]
    with pytest.raises(ValueError, match="not 1 to 2"):
        write(plan(("t", hits)), [Question("t", (0, 1))], tmp_path, "mturk")


@pytest.mark.parametrize(
    "given",
    [
        {"scale": (0, 1), "ask": "compare"},
        {"scale": (0, 1), "labels": ("a", "b")},
        {"ask": "label"},
        {"ask": "label", "labels": ("a", "a")},
        {"ask": "compare", "criteria": ("fluency",)},
    ],
)
def test_questions_that_are_none(given: Any) -> None:
    with pytest.raises(ValueError, match=r"^t: "):
        Question("t", **given)


# --- files to upload are no results --------------------------------------------------------
