"""The expression grammar, one rule after the other, with values worked out by hand."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
import pytest
from pydantic import TypeAdapter

from annot_pipeline.config import Expression, Source
from annot_pipeline.exports import RawRows
from annot_pipeline.stages.ingest.expressions import RejectionError, evaluate, parse_time
from annot_pipeline.stages.ingest.record_cells import RecordCells, combinations

PARSE = TypeAdapter(Expression)


def values(expression, columns, *, bindings=None, path="exports/a.csv", field="label"):
    """(values, reasons) of an expression over columns given as lists."""
    arrays = {name: pa.array(column, pa.string()) for name, column in columns.items()}
    n = len(next(iter(arrays.values()))) if arrays else 1
    rows = RawRows(arrays, np.arange(1, n + 1), pa.nulls(n, pa.string()))
    cells = RecordCells(rows, bindings or {})
    result = evaluate(PARSE.validate_python(expression), cells, path=path, field=field)
    reasons = result.reasons.to_pylist() if result.reasons is not None else [None] * n
    return result.array.to_pylist(), reasons


def test_a_column_is_taken_as_written():
    assert values("a", {"a": [" x ", "", None, "1.0"]})[0] == [" x ", "", None, "1.0"]


def test_a_constant():
    assert values({"value": "rte"}, {"a": ["x", "y"]})[0] == ["rte", "rte"]


def test_capture_reads_the_path():
    expression = {"capture": r"(?P<label>[a-z]+)\.csv"}
    assert values(expression, {"a": ["x"]}, path="in/yes.csv")[0] == ["yes"]
    got, reasons = values(expression, {"a": ["x"]}, path="in/7")
    assert got == [None]
    assert reasons == ["label is not in the path: 'in/7'"]


def test_join_is_null_where_a_part_is():
    expression = {"join": ("a", {"value": "-"}, "b"), "sep": "/"}
    assert values(expression, {"a": ["x", None], "b": ["1", "2"]})[0] == ["x/-/1", None]


def test_match_takes_group_1_and_rejects_what_does_not_match():
    expression = {"column": "a", "match": r"^i(\d+)$"}
    got, reasons = values(expression, {"a": ["i12", "j1", None]})
    assert got == ["12", None, None]
    assert reasons == [None, "label has no match: 'j1'", "label has no match: ''"]


def test_map_takes_no_notice_of_blanks_around_a_cell():
    expression = {"column": "a", "map": {"x": "1", "~^(?i:no)$": "2"}}
    assert values(expression, {"a": [" x", "NO ", "no\t"]}) == (["1", "2", "2"], [None] * 3)


def test_map_exact_then_patterns_in_order_then_else():
    expression = {
        "column": "a",
        "map": {"y": "yes", "~^n": "no", "~^no.$": "never", "~.*": "other"},
    }
    assert values(expression, {"a": ["y", "nope", "z"]})[0] == ["yes", "no", "other"]
    with_else = {"column": "a", "map": {"y": "yes"}, "else": "no"}
    assert values(with_else, {"a": ["y", "z", None]})[0] == ["yes", "no", "no"]


def test_json_path_into_objects_and_lists_then_map():
    cell = '[{"task0": {"model": "A", "n": 1.50}, "on": true, "none": null}]'
    for path, expected in (
        ("0.task0.model", "A"), ("0.task0.n", "1.5"), ("0.on", "true"), ("0.none", None),
        ("0.task9", None), ("3.x", None), ("0.task0", '{"model": "A", "n": 1.5}'),
    ):  # fmt: skip
        assert values({"column": "c", "json": path}, {"c": [cell]})[0] == [expected]
    got, reasons = values({"column": "c", "json": "0"}, {"c": ["{bad"]})
    assert (got, reasons) == ([None], ["label is not JSON: '{bad'"])
    mapped = {"column": "c", "json": "0.task0.model", "map": {"B": "b"}, "else": "x"}
    assert values(mapped, {"c": [cell]})[0] == ["x"]


def test_each_is_substituted_everywhere_and_leaves_regex_braces_alone():
    source = Source.model_validate(
        {
            "path": "a", "format": "csv", "each": {"i": "2..3", "k": ("a", "b")},
            "fields": {"judge": "w", "item": "x", "label": "y"},
        }
    )  # fmt: skip
    bindings = combinations(source)
    assert len(bindings) == 4
    assert bindings[1] == {"{i}": "2", "{i.index}": "0", "{k}": "b", "{k.index}": "1"}
    packed = {"column": "s", "match": r"^(?:[^#]*#){{k.index}}([^#]*)#"}
    assert values(packed, {"s": ["10#20#"]}, bindings=bindings[1])[0] == ["20"]
    assert values("q{i}", {"q2": ["x"], "q3": ["y"]}, bindings=bindings[2])[0] == ["y"]
    digits = {"column": "s", "match": r"{i}_(\d{1,2})"}
    assert values(digits, {"s": ["2_77"]}, bindings=bindings[0])[0] == ["77"]


def test_a_judge_is_not_named_in_reasons():
    _, reasons = values({"column": "a", "match": "x(.)"}, {"a": ["ann@b.c"]}, field="judge")
    assert reasons == ["judge has no match"]


@pytest.mark.parametrize(
    ("text", "pattern", "expected"),
    [
        ("2024-03-11T22:53:22.843711Z", None, datetime(2024, 3, 11, 22, 53, 22, 843711, UTC)),
        ("2024-03-11 22:53:22", None, datetime(2024, 3, 11, 22, 53, 22, tzinfo=UTC)),
        ("2024-03-11T22:53:22+02:00", None, datetime(2024, 3, 11, 20, 53, 22, tzinfo=UTC)),
        ("1667500000.5", None, datetime(2022, 11, 3, 18, 26, 40, 500000, UTC)),
        ("1667500000500", None, datetime(2022, 11, 3, 18, 26, 40, 500000, UTC)),
        ("04/26/2017 20:02:14", "%m/%d/%Y %H:%M:%S", datetime(2017, 4, 26, 20, 2, 14, tzinfo=UTC)),
        (
            "Tue Mar 03 18:24:41 PST 2015", "%a %b %d %H:%M:%S %Z %Y",
            datetime(2015, 3, 4, 2, 24, 41, tzinfo=UTC),
        ),
    ],
)  # fmt: skip
def test_times_are_kept_in_utc(text, pattern, expected):
    assert parse_time(text, "submitted_at", pattern) == expected


@pytest.mark.parametrize("text", ["yesterday", "2024-13-01", "12"])
def test_what_is_no_time_is_rejected(text):
    with pytest.raises(RejectionError, match="submitted_at is not a time"):
        parse_time(text, "submitted_at")


def test_an_unknown_zone_is_rejected():
    with pytest.raises(RejectionError, match="not a time"):
        parse_time("Tue Mar 03 18:24:41 XYZ 2015", "t", "%a %b %d %H:%M:%S %Z %Y")


def test_the_number_of_the_row():
    assert values({"row": True}, {"a": ["x", "y"]})[0] == ["1", "2"]


def test_what_is_joined_is_matched_and_mapped():
    """A one-hot winner, and a weight by severity and category."""
    one_hot = {"join": ("a", "b", "t"), "map": {"100": "a", "010": "b", "001": "tie"}}
    got, reasons = values(one_hot, {"a": ["1", "0", "0", "1"], "b": ["0", "1", "0", "1"],
                                    "t": ["0", "0", "1", "0"]})  # fmt: skip
    assert got == ["a", "b", "tie", None]
    assert reasons == [None, None, None, "label has no match: '110'"]
    matched = {"join": ("a", "b"), "sep": "-", "match": "^(.)-"}
    assert values(matched, {"a": ["x"], "b": ["y"]})[0] == ["x"]
    nested = {"join": ({"column": "a", "map": {"x": "1"}, "else": "0"}, "b")}
    assert values(nested, {"a": ["x", "z"], "b": ["p", "q"]})[0] == ["1p", "0q"]


def test_a_part_that_is_rejected_gives_the_reason():
    expression = {"join": ({"column": "a", "map": {"x": "1"}}, "b"), "map": {"1p": "yes"}}
    got, reasons = values(expression, {"a": ["x", "z"], "b": ["p", "q"]})
    assert (got, reasons) == (["yes", None], [None, "label has no match: 'z'"])


def test_a_cell_is_split():
    expression = {"column": "a", "split": ",", "json": "1"}
    assert values(expression, {"a": ["x, y", "z", None]})[0] == ["y", None, None]
    with pytest.raises(ValueError, match="add json"):
        PARSE.validate_python({"column": "a", "split": ","})


def test_a_key_with_a_dot_is_a_step_of_a_path():
    expression = {"column": "a", "json": "x\\.y.0"}
    assert values(expression, {"a": ['{"x.y": [7]}']})[0] == ["7"]


@pytest.mark.parametrize(
    ("written", "hour"),
    [
        ("2024-02-23 16:17:42 UTC", 16),
        ("2023/05/01 3:00:12 PM GMT+2", 13),
        ("2023/05/01 3:00:12 PM GMT-2", 17),
        ("2023/05/01 15:00:12", 15),
        ("2023-05-01 03:00 PM EST", 20),
        ("2023-05-01 15:00:12 GMT+05:30", 9),
        ("1682953212000", 15),
    ],
)
def test_times_as_tools_write_them(written, hour):
    assert parse_time(written, "submitted_at").hour == hour


@pytest.mark.parametrize("written", ["05/01/2023 15:00", "2023/05/01 3:00 XYZ", "2023/13/01", "PM"])
def test_times_that_could_be_others_need_a_pattern(written):
    with pytest.raises(RejectionError, match="is not a time"):
        parse_time(written, "submitted_at")


def test_sets_in_a_cell_have_no_order():
    """Figure Eight and Google Forms join them; Label Studio's CSV has JSON, or one choice."""
    joined = {"column": "a", "split": ",", "set": True}
    assert values(joined, {"a": ["b, a", "a,b,a", "", None]})[0] == [
        '["a", "b"]', '["a", "b"]', None, None,
    ]  # fmt: skip
    plain = {"column": "a", "json": "choices", "set": True}
    assert values(plain, {"a": ['{"choices": ["b", "a"]}', '{"choices": "b"}']})[0] == [
        '["a", "b"]', '["b"]',
    ]  # fmt: skip


def test_an_element_is_in_a_set_or_not():
    expression = {"column": "a", "split": ";", "has": "{k}"}
    cells = {"a": ["x; y", "y", "xy", "", None]}
    assert values(expression, cells, bindings={"{k}": "x"})[0] == ["yes", "no", "no", "no", "no"]
