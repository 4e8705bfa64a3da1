"""One judge, one item, one answer, unless the campaign says otherwise."""

from __future__ import annotations

from typing import Any

import pytest

from annot_pipeline.errors import ConfigError
from tests.conftest import load_campaign, write_small_campaign

FIELDS = {"item": "item", "judge": "judge", "label": "label", "submitted_at": "at"}
HEAD = "item,judge,label,at\n"


def settings(repeats: str | None = None, **fields: str) -> dict[str, Any]:
    task = {"name": "*", "kind": "categorical"} | ({"repeats": repeats} if repeats else {})
    source = {"path": "exports/*.csv", "format": "csv", "fields": FIELDS | fields}
    return {"sources": [source], "tasks": [task]}


def fates(staged: Any) -> dict[int, tuple[str, str | None]]:
    assert staged.metrics("control_judges")["unaccounted"] == []
    return {r["source_row"]: (r["fate"], r["reason"]) for r in staged.rows("controlled")}


def gate(staged: Any) -> Any:
    (one,) = [g for g in staged.runs["settle_judgments"].gates if g.name == "repeated_answers"]
    return one


CHANGED = HEAD + "1,a,yes,2024-01-01T10:00\n1,a,no,2024-01-01T10:05\n1,b,yes,2024-01-01T09:00\n"


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("repeats", "expected"),
    [
        (None, {1: "used", 2: "used", 3: "used"}),
        ("keep", {1: "used", 2: "used", 3: "used"}),
        ("last", {1: "superseded", 2: "used", 3: "used"}),
        ("first", {1: "used", 2: "superseded", 3: "used"}),
        ("reject", {1: "rejected", 2: "rejected", 3: "used"}),
    ],
)
def test_which_answer_counts(stage_campaign, repeats, expected):
    staged = stage_campaign({"a.csv": CHANGED}, **settings(repeats))
    assert {row: fate for row, (fate, _) in fates(staged).items()} == expected
    assert gate(staged).level == ("warn" if repeats is None else "pass")


def test_the_order_of_rows_tells_nothing(stage_campaign):
    """Not of time: of two answers at one time, or without one, none counts."""
    rows = HEAD + "1,a,yes,2024-01-01\n1,a,no,2024-01-01\n2,a,yes,\n2,a,no,2024-01-01\n"
    actual = fates(stage_campaign({"a.csv": rows}, **settings("last")))
    assert actual[1] == ("rejected", "the judge gave different answers at one time")
    assert actual[2] == actual[1]
    blank = "the judge answered more than once, and submitted_at is blank"
    assert (actual[3], actual[4]) == (("rejected", blank), ("rejected", blank))


@pytest.mark.slow
def test_equal_answers_at_one_time_are_one(stage_campaign):
    rows = HEAD + "1,a,yes,2024-01-01\n1,a,yes,2024-01-01\n1,a,no,2023-01-01\n"
    actual = fates(stage_campaign({"a.csv": rows}, **settings("last")))
    assert sorted(fate for fate, _ in actual.values()) == ["duplicate", "superseded", "used"]
    assert actual[3] == ("superseded", "a later answer of the judge counts; this one: 'no'")


def test_answers_in_several_files(stage_campaign):
    """Under a new id, in another file, the later answer supersedes where the campaign asks so."""
    exports = {
        "a.csv": "item,judge,label,at,id\n1,a,yes,2024-01-02,x\n",
        "b.csv": "item,judge,label,at,id\n1,a,no,2024-01-01,y\n",
    }
    staged = stage_campaign(exports, **settings("last", native_id="id"))
    assert {r["label"]: r["fate"] for r in staged.rows("controlled")} == {
        "yes": "used", "no": "superseded",
    }  # fmt: skip


def test_controls_are_exempt(stage_campaign):
    rows = "item,judge,label,at,control\n1,a,yes,2024-01-01,none\n1,a,no,2024-01-02,ask_again\n"
    staged = stage_campaign({"a.csv": rows}, **settings("reject", control="control"))
    assert [fate for fate, _ in fates(staged).values()] == ["used", "used"]
    assert gate(staged).level == "pass"


@pytest.mark.slow
def test_a_row_that_is_written_thrice_counts_once(stage_campaign):
    rows = "item,judge,label,at,id\n" + "1,a,no,2024-01-01,x1\n" * 3
    rows += "1,b,yes,2024-01-01,x2\n1,c,yes,2024-01-01,x3\n"
    staged = stage_campaign({"a.csv": rows}, **settings(native_id="id"))
    assert sorted(fate for fate, _ in fates(staged).values()) == [
        "duplicate", "duplicate", "used", "used", "used",
    ]  # fmt: skip
    assert staged.rows("labels")[0]["label"] == "yes"


@pytest.mark.slow
def test_an_id_that_several_items_share_is_no_identity(stage_campaign):
    """The id of an assignment: the judge saw item 1 twice in it, and said the same."""
    rows = "item,judge,label,at,id\n1,a,no,,x1\n1,a,no,,x1\n2,a,yes,,x1\n"
    staged = stage_campaign({"a.csv": rows}, **settings(native_id="id"))
    assert [fate for fate, _ in fates(staged).values()] == ["used", "used", "used"]
    assert gate(staged).value == 1


@pytest.mark.slow
def test_without_an_id_equal_rows_stay_apart(stage_campaign):
    staged = stage_campaign({"a.csv": HEAD + "1,a,no,\n1,a,no,\n"}, **settings())
    assert [fate for fate, _ in fates(staged).values()] == ["used", "used"]


def test_the_gate_names_columns_that_tell_answers_apart(stage_campaign):
    rows = "item,judge,label,at,turn,lang\n" + "".join(
        f"{item},{judge},yes,,{turn},en\n" for item in "12" for judge in "ab" for turn in (1, 2)
    )
    actual = gate(stage_campaign({"a.csv": rows}, **settings()))
    assert (actual.level, actual.value) == ("warn", 4)
    assert "answers differ in columns that no field reads: turn" in actual.detail
    assert "lang" not in actual.detail
    assert "'1': 2 answers by one judge, first in exports/a.csv row 1" in actual.detail


def test_rankings_have_no_repeats(tmp_path):
    file = write_small_campaign(
        tmp_path, {}, tasks=[{"name": "*", "kind": "ranking", "repeats": "last"}]
    )
    with pytest.raises(ConfigError) as caught:
        load_campaign(file)
    assert "cannot be used with kind: ranking" in caught.value.problems[0].what
