"""Rows that are no judgments and no errors, and cells of lists, keys and columns."""

from __future__ import annotations

import json
from typing import Any

import pytest

from annot_pipeline.errors import ConfigError
from tests.conftest import load_campaign, stage_file, write_small_campaign

LABELS = {"item": "item", "judge": "judge", "label": "label"}


def source(fields: dict[str, Any], path: str = "exports/*.csv", **more: Any) -> dict[str, Any]:
    form = {"csv": "csv", "jsonl": "jsonl"}[path.rpartition(".")[2]]
    return {"sources": [{"path": path, "format": form, "fields": fields, **more}]}


def fates(staged: Any) -> dict[tuple[Any, ...], tuple[str, str | None]]:
    """Fate and reason by row and cell."""
    return {
        (r["source_row"], r["cell"]): (r["fate"], r["reason"]) for r in staged.rows("controlled")
    }


def accounts(staged: Any) -> dict[str, int]:
    actual: dict[str, int] = staged.metrics("control_judges")["fates"]
    assert staged.metrics("control_judges")["unaccounted"] == []
    return {fate: n for fate, n in actual.items() if n}


def test_rows_that_do_not_count_are_filtered(stage_campaign):
    """Header rows, a preview, another question; the header rows name no judge or item."""
    rows = "judge,item,label,kind\nWho?,Which?,What?,Kind\na,1,yes,main\na,2,no,preview\nb,1,yes,\n"
    where = [{"column": "kind", "not": ["preview"]}]
    staged = stage_campaign(
        {"a.csv": rows}, **source(LABELS, where=where, options={"skip_rows": 1})
    )
    assert fates(staged) == {
        (1, None): ("filtered", "one of the first 1 rows (options.skip_rows)"),
        (2, None): ("used", None),
        (3, None): ("filtered", "where.0 does not hold"),
        (4, None): ("used", None),
    }
    assert accounts(staged) == {"filtered": 2, "used": 2}
    assert {r["item"] for r in staged.rows("items")} == {"1"}
    assert staged.rows("labels")[0]["label"] == "yes"
    assert not [g for g in staged.runs["settle_judgments"].gates if g.level != "pass"]


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("condition", "rows"),
    [
        ({"column": "kind", "in": ["x"]}, [1]),
        ({"column": "kind", "in": ["x", ""]}, [1, 3]),
        ({"column": "kind", "not": ["x"]}, [2, 3]),
        ({"column": "kind", "match": "^[xy]"}, [1, 2]),
        ({"column": "kind", "match": "^(.)", "in": ["y"]}, [2]),
        ({"join": ["kind", "item"], "in": ["x1"]}, [1]),
        ({"column": "kind", "map": {"x": "1", "y": "1"}, "else": "0", "in": ["1"]}, [1, 2]),
        ({"row": True, "in": ["2"]}, [2]),
    ],
)
def test_conditions(stage_campaign, condition, rows):
    export = {"a.csv": "judge,item,label,kind\na,1,p,x\na,2,p,y\na,3,p,\n"}
    staged = stage_campaign(export, **source(LABELS, where=[condition]))
    assert [row for (row, _), (fate, _) in sorted(fates(staged).items()) if fate == "used"] == rows


def test_all_conditions_must_hold(stage_campaign):
    export = {"a.csv": "judge,item,label,kind\na,1,p,x\na,2,p,x\nb,2,p,y\n"}
    where = [{"column": "kind", "in": ["x"]}, {"column": "item", "not": ["1"]}]
    staged = stage_campaign(export, **source(LABELS, where=where))
    assert [fate for _, (fate, _) in sorted(fates(staged).items())] == [
        "filtered", "used", "filtered",
    ]  # fmt: skip


def test_a_condition_on_a_column_that_is_not_there(tmp_path):
    where = [{"column": "knd", "in": ["x"]}]
    file = write_small_campaign(
        tmp_path, {"a.csv": "judge,item,label,kind\na,1,p,x\n"}, **source(LABELS, where=where)
    )
    with pytest.raises(ConfigError, match="unknown column") as caught:
        stage_file(file).rows("settled")
    assert caught.value.problems[0].where == "sources.0.where.0"


@pytest.mark.parametrize(
    ("entry", "what"),
    [
        ({"column": "kind"}, "a condition needs in, not or match: which rows count"),
        ({"column": "kind", "im": ["x"]}, "unknown key"),
        ({"in": ["x"]}, "is missing"),
    ],
)
def test_conditions_that_cannot_be(tmp_path, entry, what):
    file = write_small_campaign(tmp_path, {}, **source(LABELS, where=[entry]))
    with pytest.raises(ConfigError) as caught:
        load_campaign(file)
    assert [p.what for p in caught.value.problems] == [what]
    assert caught.value.problems[0].where.startswith("sources.0.where.0")


@pytest.mark.slow
def test_what_was_paid_stays_in_costs_though_it_is_filtered(stage_campaign):
    rows = "judge,item,label,pay\n" + "".join(f"j{n},1,{'yes' if n else 'Unsure'},0.20\n"
                                              for n in range(3))  # fmt: skip
    fields = LABELS | {"reward": "pay"}
    where = [{"column": "label", "not": ["Unsure"]}]
    exports = {"a.csv": rows, "b.csv": rows}  # the second night repeats the first
    (cost,) = stage_campaign(exports, **source(fields, where=where)).rows("costs")
    assert (cost["paid"], cost["n_judgments"]) == (pytest.approx(0.6), 2)


def test_a_wide_matrix_has_cells_that_were_not_asked(stage_campaign):
    """Blank where a judge did not see the item; NA says so in words."""
    export = {"a.csv": "item,r_ann,r_bob,r_cem,note\n1,4,,5,r\n2,,NA,,\n3,1,2,3,\n"}
    fields = {
        "item": "item", "score": "{r}", "judge": {"value": "{r}", "match": "r_(.*)"},
    }  # fmt: skip
    settings = source(fields, each={"r": {"columns": "r_*"}}, abstain=["NA"])
    staged = stage_campaign(export, **settings, tasks=[{"name": "*", "kind": "scalar"}])
    assert accounts(staged) == {"not_asked": 4, "used": 5}
    actual = fates(staged)
    assert actual[1, "r.index=1"] == ("not_asked", "score is blank")
    assert actual[2, "r.index=1"] == ("not_asked", "the judge abstained ('NA')")
    assert {(r["item"], r["judge"], r["score"]) for r in staged.rows("controlled")
            if r["fate"] == "used"} == {("1", "ann", 4), ("1", "cem", 5), ("3", "ann", 1),
                                        ("3", "bob", 2), ("3", "cem", 3)}  # fmt: skip
    assert not [g for g in staged.runs["settle_judgments"].gates
                if g.name.startswith("rejected") and g.level != "pass"]  # fmt: skip


def test_a_blank_answer_of_one_row_is_still_rejected_but_a_blank_row_is_not(stage_campaign):
    export = {"a.csv": "item,judge,label\n1,a,yes\n2,a,\n,,\n"}
    staged = stage_campaign(export, **source(LABELS))
    assert [fate for _, (fate, _) in sorted(fates(staged).items())] == [
        "used", "rejected", "not_asked",
    ]  # fmt: skip


@pytest.mark.slow
def test_lists_are_as_long_as_they_are(stage_campaign):
    """doccano and Argilla: answers of several people, one list a text."""
    texts = [
        {"id": 1, "answers": [{"by": "ann", "l": "x"}, {"by": "bob", "l": "y"}]},
        {"id": 2, "answers": [{"by": "ann", "l": "x"}]},
        {"id": 3, "answers": []},
        {"id": 4, "answers": None},
        {"id": 5, "answers": {"by": "ann"}},
        {"id": 6, "answers": [{"by": "ann", "l": None}, {"by": "bob", "l": "x"}]},
    ]
    fields = {
        "item": "id",
        "judge": {"column": "{a.value}", "json": "by"},
        "label": {"column": "answers", "json": "{a}.l"},  # the same list, by its number
    }
    lines = "".join(json.dumps(text) + "\n" for text in texts)
    settings = source(fields, "exports/*.jsonl", each={"a": {"list": "answers"}})
    staged = stage_campaign({"a.jsonl": lines}, **settings)
    assert fates(staged) == {
        (1, "a=0"): ("used", None),
        (1, "a=1"): ("used", None),
        (2, "a=0"): ("used", None),
        (3, "a="): ("not_asked", "answers is empty"),
        (4, "a="): ("not_asked", "answers is blank"),
        (5, "a="): ("rejected", "answers is not a JSON list"),
        (6, "a=0"): ("not_asked", "label is blank"),
        (6, "a=1"): ("used", None),
    }
    used = [r for r in staged.rows("controlled") if r["fate"] == "used"]
    assert sorted((r["item"], r["judge"], r["label"]) for r in used) == [
        ("1", "ann", "x"), ("1", "bob", "y"), ("2", "ann", "x"), ("6", "bob", "x"),
    ]  # fmt: skip


@pytest.mark.slow
def test_two_lists_side_by_side(stage_campaign):
    """LeWiDi: who and what, in lists with commas."""
    export = {"a.csv": 'item,who,what\n1,"A1, A2","1,0"\n2,A3,1\n3,"A1,A2",1\n'}
    fields = {
        "item": "item",
        "judge": "{a.value}",
        "label": {"column": "what", "split": ",", "json": "{a}"},
    }
    staged = stage_campaign(export, **source(fields, each={"a": {"list": "who", "split": ","}}))
    used = [r for r in staged.rows("controlled") if r["fate"] == "used"]
    assert sorted((r["item"], r["judge"], r["label"]) for r in used) == [
        ("1", "A1", "1"), ("1", "A2", "0"), ("2", "A3", "1"), ("3", "A1", "1"),
    ]  # fmt: skip
    assert accounts(staged) == {"not_asked": 1, "used": 4}


@pytest.mark.slow
def test_keys_of_an_object(stage_campaign):
    lines = [{"id": "1", "votes": {"a.b": {"l": "x"}, "bob": {"l": "y"}}}, {"id": "2", "votes": {}}]
    fields = {
        "item": "id",
        "judge": {"column": "{k}"},
        "label": {"column": "{k.value}", "json": "l"},
    }
    settings = source(fields, "exports/*.jsonl", each={"k": {"keys": "votes"}})
    text = "".join(json.dumps(line) + "\n" for line in lines)
    staged = stage_campaign({"a.jsonl": text}, **settings)
    rows = [(r["judge"], r["label"], r["cell"]) for r in staged.rows("controlled")]
    assert sorted(rows, key=str) == [
        ("a.b", "x", "k.index=0"), ("bob", "y", "k.index=1"), (None, None, "k.index="),
    ]  # fmt: skip


@pytest.mark.slow
def test_columns_of_json_lines_are_those_of_each_row(stage_campaign):
    lines = [{"id": 1, "r_a": "x"}, {"id": 2, "r_b": "y"}, {"id": 3}]
    fields = {"item": "id", "judge": {"value": "{r}"}, "label": "{r}"}
    settings = source(fields, "exports/*.jsonl", each={"r": {"columns": "r_*"}})
    text = "".join(json.dumps(line) + "\n" for line in lines)
    staged = stage_campaign({"a.jsonl": text}, **settings)
    assert accounts(staged) == {"not_asked": 1, "used": 2}


def test_a_pattern_that_matches_no_column(tmp_path):
    settings = source(
        {"item": "item", "judge": {"value": "{r}"}, "label": "{r}"}, each={"r": {"columns": "q_*"}}
    )
    file = write_small_campaign(tmp_path, {"a.csv": "item,r_a\n1,x\n"}, **settings)
    with pytest.raises(ConfigError, match="no column matches") as caught:
        stage_file(file).rows("settled")
    assert caught.value.problems[0].where == "sources.0.each.r.columns"


@pytest.mark.slow
def test_the_number_of_a_row_is_an_item(stage_campaign):
    """A matrix of labels without ids."""
    fields = {"item": {"row": True}, "judge": {"value": "{r}"}, "label": "{r}"}
    staged = stage_campaign(
        {"a.csv": "a,b\nx,y\ny,\n"}, **source(fields, each={"r": ["a", "b"]}, abstain=["-1"])
    )
    assert {r["item"] for r in staged.rows("labels")} == {"1", "2"}


def test_skip_rows_is_of_tables(tmp_path):
    settings = source(LABELS, "exports/*.jsonl", options={"skip_rows": 2})
    with pytest.raises(ConfigError) as caught:
        load_campaign(write_small_campaign(tmp_path, {}, **settings))
    assert "belongs to format: csv" in caught.value.problems[0].what


@pytest.mark.slow
def test_nothing_chosen_of_a_set_is_an_answer(stage_campaign):
    export = {"a.csv": 'item,judge,topics\n1,a,"spam, rude"\n1,b,\n'}
    fields = {
        "item": "item", "judge": "judge", "task": {"value": "{k}"},
        "label": {"column": "topics", "split": ",", "has": "{k}"},
    }  # fmt: skip
    staged = stage_campaign(export, **source(fields, each={"k": ["spam", "rude"]}))
    assert sorted((r["task"], r["judge"], r["label"]) for r in staged.rows("controlled")) == [
        ("rude", "a", "yes"), ("rude", "b", "no"), ("spam", "a", "yes"), ("spam", "b", "no"),
    ]  # fmt: skip


@pytest.mark.slow
def test_an_element_holds_a_list_itself(stage_campaign):
    """Turns of a conversation, each with its ratings: a record a rating, each with its place."""
    turns = [
        {"n": 1, "ratings": [{"who": "r1", "y": "a"}, {"who": "r2", "y": "b"}]},
        {"n": 2, "ratings": []},
        {"n": 3, "ratings": [{"who": "r1", "y": "a"}]},
    ]
    documents = [{"id": "c1", "turns": turns}, {"id": "c2", "turns": []}]
    export = {"a.jsonl": "".join(json.dumps(document) + "\n" for document in documents)}
    fields = {
        "judge": {"column": "{r.value}", "json": "who"},
        "item": {"join": ["id", {"column": "{t.value}", "json": "n"}], "sep": ":"},
        "label": {"column": "{r.value}", "json": "y"},
    }
    each = {"t": {"list": "turns"}, "r": {"list": "{t.value}", "json": "ratings"}}
    staged = stage_campaign(export, **source(fields, "exports/*.jsonl", each=each))
    rows = sorted((r["source_row"], r["cell"], r["fate"]) for r in staged.rows("lineage"))
    assert rows == [
        (1, "t=0,r=0", "used"), (1, "t=0,r=1", "used"), (1, "t=1,r=", "not_asked"),
        (1, "t=2,r=0", "used"), (2, "t=,r=", "not_asked"),
    ]  # fmt: skip
    used = {(r["item"], r["judge"], r["label"]) for r in staged.rows("settled") if r["label"]}
    assert used == {("c1:1", "r1", "a"), ("c1:1", "r2", "b"), ("c1:3", "r1", "a")}


def test_an_element_of_no_each_above_is_an_unknown_column(stage_campaign):
    fields = {"judge": "{r.value}", "item": "id", "label": "id"}
    each = {"r": {"list": "{t.value}"}, "t": {"list": "turns"}}
    export = {"a.jsonl": '{"id": "c1", "turns": [[1]]}\n'}
    with pytest.raises(ConfigError, match="unknown column"):
        stage_campaign(export, **source(fields, "exports/*.jsonl", each=each))
