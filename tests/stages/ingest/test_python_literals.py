"""Lists and dicts as Python writes them, which pandas leaves in cells of csv."""

from __future__ import annotations

import pytest

from annot_pipeline.bounded_json import JsonError, parse_bounded_json, parse_cell


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        ("['a', \"it's\", 'say \"x\"']", ["a", "it's", 'say "x"']),
        ("[['x'], []]", [["x"], []]),
        ("{'a': 1, 'b': None, 'c': True}", {"a": 1, "b": None, "c": True}),
        ("(80, 81)", [80, 81]),
        ("['tab\\t', 'é']", ["tab\t", "é"]),
        ('["a", 1.50]', ["a", 1.5]),
    ],
)
def test_cells_are_read_as_python_wrote_them(cell, value):
    assert parse_cell(cell) == value


@pytest.mark.parametrize(
    "cell",
    [
        "['a'", "[a, b]", "{'a': 1, 'a': 2}", "{1: 'a', '1': 'b'}", "[b'a']",
        "{'a', 'b'}", "[1+2j]", "['a', 1e-9000]",
        "['\\d']", "[__import__('os')]", "['a' for _ in (1,)]", "[" * 5000 + "]" * 5000,
        "[" + "9" * 5000 + "]", "['" + "a" * (1 << 20) + "']", "word", "",
    ],
)  # fmt: skip
def test_what_is_no_list_of_plain_values_is_an_error(cell):
    with pytest.raises(JsonError):
        parse_cell(cell)


def test_bounds_of_json_hold_for_it_too():
    deep = "[" * 90 + "'a'" + "]" * 90
    assert parse_cell(deep) == parse_bounded_json(deep.replace("'", '"'))
    with pytest.raises(JsonError):
        parse_cell("[" * 101 + "'a'" + "]" * 101)


def test_answers_of_several_judges_in_cells_that_pandas_wrote(stage_campaign):
    """The second label of y is not there."""
    rows = [
        ["x", "['w1', 'w2']", "['yes', 'no']", "{'sure': 'very'}"],
        ["y", "['w1', 'w3']", "['no']", "{'sure': 'not'}"],
    ]
    table = ["item,judges,labels,more", *(",".join(f'"{cell}"' for cell in row) for row in rows)]
    fields = {
        "item": {"join": ["item", {"column": "more", "json": "sure"}], "sep": " "},
        "judge": "{a.value}", "label": {"column": "labels", "json": "{a}"},
    }  # fmt: skip
    each = {"a": {"list": "judges"}}
    source = {"path": "exports/*.csv", "format": "csv", "each": each, "fields": fields}
    built = stage_campaign({"a.csv": "\n".join(table) + "\n"}, sources=[source])
    labels = built.table("judgments").select(["item", "label"]).to_pylist()
    assert sorted((row["item"], row["label"]) for row in labels) == [
        ("x very", "no"), ("x very", "yes"), ("y not", "no"),
    ]  # fmt: skip
