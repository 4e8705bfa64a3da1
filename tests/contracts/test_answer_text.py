"""One value has one text, whoever wrote it; what may be a name stays as it is written."""

from __future__ import annotations

import csv
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from annot_pipeline.config import Source
from annot_pipeline.contracts.answer_text import answer_text, number_text, value_text
from annot_pipeline.exports import READERS, Opening
from annot_pipeline.stages.ingest.judgment_audits import SHOW_NAMES
from annot_pipeline.stages.ingest.raw_names import look_alikes
from annot_pipeline.stages.ingest.read_records import read_records

SAME = [
    ("100", ["100", "100.0", "1e2", "1E+02", "1.0E2"]),
    ("1", ["1", "1.0"]),
    ("0", ["0", "-0", "0.0", "-0.0"]),
    ("0.5", ["0.5"]),
    ("1.5e-9", ["1.5e-09", "1.5E-9"]),
    ("10000000000000000000000", ["1e22", "1e+22", "10000000000000000000000"]),
    ("true", ["true", "True", "TRUE"]),
    ("[true, null]", ["[true,null]", "[True, None]"]),
    ("false", ["false", "False", "FALSE"]),
    ('["a", "b"]', ['["a","b"]', '["a", "b"]', "['a', 'b']", '[ "a" , "b" ]']),
    ('{"a": 1, "b": [1, 2]}', ['{"b":[1.0,2],"a":1}', '{"a": 1e0, "b": [1, 2.0]}']),
]


@pytest.mark.parametrize(("text", "spellings"), SAME)
def test_spellings_of_one_answer(text: str, spellings: list[str]) -> None:
    assert {answer_text(spelling) for spelling in spellings} == {text}
    assert answer_text(text) == text


@pytest.mark.parametrize(
    "text",
    ["007", "1.10", "1.1.0", "+1", "1.", "0x10", "1_000", "1,0", "1 000", "nan", "None", "null",
     "[1,", "[x]", "{'a'}", "e5", "1e900000000", "1e9999", "-", "", "[" * 70_000, "['a'" * 900,
     '["\\ud800"]', "[1e900000000]"],
)  # fmt: skip
def test_what_may_be_a_name_stays(text: str) -> None:
    assert answer_text(text) == text


def test_typed_values() -> None:
    assert [value_text(v) for v in (1, 1.0, True, None, "1.0", 0.1, 1e300, -2.50)] == [
        "1", "1", "true", None, "1.0", "0.1", "1e300", "-2.5"
    ]  # fmt: skip
    assert value_text({"b": [None, float("nan")], "a": "é"}) == '{"a": "é", "b": [null, NaN]}'
    assert number_text("0.10") == "0.1"
    assert number_text("12345678901234567890.125") == "12345678901234567890.125"


# --- what pandas, polars and the json module write -----------------------------------------


def random_values(kind: str, n: int, chance: random.Random) -> list[Any]:
    if kind == "whole":
        return [chance.randint(-(10**6), 10**6) for _ in range(n)]
    if kind == "real":
        return [
            float(f"{chance.randint(-999, 999)}e{chance.randint(-12, 20)}")
            if chance.random() < 0.5
            else chance.randint(-9, 9) / 4
            for _ in range(n)
        ]
    if kind == "truth":
        return [chance.random() < 0.5 for _ in range(n)]
    words = ["yes", "no", "not sure", 'say "x"', "a, b", "é", "007", "1.10", "two\nlines", "\\"]
    if kind == "text":
        return chance.choices(words, k=n)
    return [chance.sample(words, chance.randint(1, 3)) for _ in range(n)]  # lists


def frame_rows(values: list[Any]) -> list[dict[str, Any]]:
    return [{"item": f"i{n}", "judge": "w", "label": value} for n, value in enumerate(values)]


def write_csv(rows: list[dict[str, Any]], path: Path) -> None:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, ["item", "judge", "label"])
        writer.writeheader()
        for row in rows:
            label = row["label"]
            writer.writerow(row | {"label": label if isinstance(label, str) else json.dumps(label)})


def write_lines(rows: list[dict[str, Any]], path: Path) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


Write = Callable[[list[dict[str, Any]], Path], object]
WRITERS: dict[str, tuple[str, Write]] = {
    "json.csv": ("csv", write_csv),
    "json.jsonl": ("jsonl", write_lines),
    "json.json": ("json", lambda rows, path: path.write_text(json.dumps(rows))),
    "compact.jsonl": ("jsonl", lambda rows, path: path.write_text("".join(
        json.dumps(row, separators=(",", ":"), sort_keys=True) + "\n" for row in rows))),
    "pandas.csv": ("csv", lambda rows, path: pd.DataFrame(rows).to_csv(path, index=False)),
    "pandas.jsonl": ("jsonl", lambda rows, path: pd.DataFrame(rows).to_json(
        path, orient="records", lines=True, double_precision=15)),
    "pandas.json": ("json", lambda rows, path: pd.DataFrame(rows).to_json(
        path, orient="records", double_precision=15)),
    "pandas.parquet": ("parquet", lambda rows, path: pd.DataFrame(rows).to_parquet(path)),
    "polars.csv": ("csv", lambda rows, path: pl.DataFrame(rows).write_csv(path)),
    "polars.jsonl": ("jsonl", lambda rows, path: pl.DataFrame(rows).write_ndjson(path)),
    "polars.json": ("json", lambda rows, path: pl.DataFrame(rows).write_json(path)),
    "polars.parquet": ("parquet", lambda rows, path: pl.DataFrame(rows).write_parquet(path)),
}  # fmt: skip
NOT_WRITTEN = {("lists", "polars.csv")}
"""polars refuses lists in csv."""
ROUNDED = {"pandas.jsonl", "pandas.json"}
"""pandas writes 15 decimals at most, so that 1e-12 keeps three digits."""


def labels(path: Path, format_: str) -> list[str | None]:
    fields = {"item": "item", "judge": "judge", "label": "label"}
    source = Source.model_validate({"path": path.name, "format": format_, "fields": fields})
    by_item: dict[str, str | None] = {}
    for chunk in READERS[format_](Opening(path, path.name)).chunks:
        records = read_records(chunk, source, path=path.name, campaign="c")
        assert records["reason"].null_count == records.num_rows
        by_item |= zip(records["item"].to_pylist(), records["label"].to_pylist(), strict=True)
    return [by_item[f"i{n}"] for n in range(len(by_item))]


def test_blanks_around_a_name_are_no_part_of_it_but_texts_stay(tmp_path: Path) -> None:
    path = tmp_path / "e.csv"
    path.write_text(
        "item,judge,label,text\n i1,ann ,\u00a0yes, a text \ni1 ,\tben,007 , \n", "utf-8"
    )
    fields = {name: name for name in ("item", "judge", "label", "text")}
    source = Source.model_validate({"path": path.name, "format": "csv", "fields": fields})
    [chunk] = READERS["csv"](Opening(path, path.name)).chunks
    records = read_records(chunk, source, path=path.name, campaign="c")
    assert records.select([*fields]).to_pylist() == [
        {"item": "i1", "judge": "ann", "label": "yes", "text": " a text "},
        {"item": "i1", "judge": "ben", "label": "007", "text": None},
    ]


@pytest.mark.parametrize("kind", ["whole", "real", "truth", "text", "lists"])
def test_one_thousand_values_have_the_same_classes_from_every_writer(
    kind: str, tmp_path: Path
) -> None:
    values = random_values(kind, 200, random.Random(17))
    expected = [answer_text(v if isinstance(v, str) else json.dumps(v)) for v in values]
    assert len({*expected}) > 1
    for name, (format_, write) in WRITERS.items():
        if (kind, name) in NOT_WRITTEN:
            continue
        some, wanted = values, expected
        if kind == "real" and name in ROUNDED:
            is_kept = [abs(value) >= 1e-6 or not value for value in values]
            some = [value for value, keep in zip(values, is_kept, strict=True) if keep]
            wanted = [text for text, keep in zip(expected, is_kept, strict=True) if keep]
        path = tmp_path / name
        write(frame_rows(some), path)
        assert labels(path, format_) == wanted, name


def test_numbers_of_32_bits_have_no_more_digits_than_they_hold(tmp_path: Path) -> None:
    frame = pa.table({
        "item": ["i0", "i1"], "judge": ["w", "w"], "label": pa.array([0.1, 2.0], pa.float32()),
    })  # fmt: skip
    for name, frame_of in (("pandas", frame.to_pandas), ("polars", lambda: pl.from_arrow(frame))):
        path = tmp_path / f"{name}.parquet"
        data = frame_of()
        data.to_parquet(path) if name == "pandas" else data.write_parquet(path)
        assert labels(path, "parquet") == ["0.1", "2"]
        csv_path = tmp_path / f"{name}.csv"
        data.to_csv(csv_path, index=False) if name == "pandas" else data.write_csv(csv_path)
        assert labels(csv_path, "csv") == ["0.1", "2"]


def test_nested_values_of_parquet_are_those_of_json(tmp_path: Path) -> None:
    small = pa.array([[0.1, 2.0], None], pa.list_(pa.float32()))
    pairs = pa.array([[("b", 1), ("a", 2)], None], pa.map_(pa.string(), pa.int64()))
    deep = pa.array([{"x": [{"y": 0.1}]}, None], pa.struct([("x", pa.list_(
        pa.struct([("y", pa.float32())])))]))  # fmt: skip
    for labels_, text in (
        (small, "[0.1, 2]"), (pairs, '{"a": 2, "b": 1}'), (deep, '{"x": [{"y": 0.1}]}')
    ):  # fmt: skip
        table = pa.table({"item": ["i0"], "judge": ["w"], "label": labels_.slice(0, 1)})
        pq.write_table(table, tmp_path / "a.parquet")
        assert labels(tmp_path / "a.parquet", "parquet") == [text]


# --- where answers are compared ------------------------------------------------------------

HEAD = "item,judge,label\n"


def test_maps_conditions_and_words_compare_answers(stage_campaign) -> None:
    source = {
        "path": "exports/*.jsonl", "format": "jsonl", "abstain": ["99"],
        "where": [{"column": "valid", "in": ["True"]}],
        "fields": {"item": "item", "judge": "judge",
                   "label": {"column": "label", "map": {"1.0": "yes", "0": "no"}, "else": "x"}},
    }  # fmt: skip
    rows = [
        {"item": "i1", "judge": "a", "label": 1, "valid": True},
        {"item": "i1", "judge": "b", "label": 1.0, "valid": True},
        {"item": "i1", "judge": "c", "label": "0.0", "valid": "true"},
        {"item": "i1", "judge": "d", "label": 99.0, "valid": True},
        {"item": "i1", "judge": "e", "label": 1, "valid": False},
    ]
    built = stage_campaign(
        {"a.jsonl": "".join(json.dumps(row) + "\n" for row in rows)}, sources=[source]
    )
    fates = {row["source_row"]: row["fate"] for row in built.rows("lineage")}
    assert fates == {1: "used", 2: "used", 3: "used", 4: "not_asked", 5: "filtered"}
    votes = {row["label"]: row["votes"] for row in built.rows("label_distributions")}
    assert votes == {"yes": 2, "no": 1}


def test_declared_classes_are_answers(stage_campaign) -> None:
    rows = "".join(f"i{n % 3},w{n // 3},{n % 2}.0\n" for n in range(12))
    tasks = [{"name": "*", "kind": "categorical", "labels": ["0", "1.0"]}]
    built = stage_campaign({"a.csv": HEAD + rows}, tasks=tasks)
    assert {row["fate"] for row in built.rows("lineage")} == {"used"}
    assert {row["label"] for row in built.rows("label_distributions")} == {"0", "1"}


def test_look_alikes_know_numbers_blanks_and_forms() -> None:
    for alike in (
        ["1.10", "1.1"], ["1,000", "1000"], ["0,5", "0.5"], [".5", "0.5"], ["007", "7"],
        ["+1", "1"], ["a b", "a  b"], ["a\u00a0b", "a b"], ["e\u0301", "\u00e9"],
        ["\uff59es", "yes"], ["zero\u200b", "zero"], ["Yes", "yes"],
    ):  # fmt: skip
        assert len(look_alikes(alike)) == 1, alike
    assert look_alikes(["1", "10", "1.5", "a", "b", "é", "e"]) == []


def test_systems_and_judges_that_look_alike_are_warned_of(stage_campaign) -> None:
    """Systems are named; judges with pseudonyms are counted, with the command that names them."""
    fields = {"judge": "judge", "segment": "segment", "system_a": "a", "system_b": "b"}
    won = {"column": "won", "map": {"left": "a", "right": "b"}}
    source = {"path": "exports/*.csv", "format": "csv", "fields": fields | {"preference": won}}
    judges = [f"{'aA'[n % 2]}nna{n // 2}" for n in range(8)] + ["ANNA0"]
    rows = [f"{judge},s{n % 3},X,y,left" for n, judge in enumerate(judges)]
    export = "\n".join(["judge,segment,a,b,won", *rows, "dora,s0,x,Y,right", ""])

    def warned(is_hidden: bool) -> Any:
        pseudonymize = f"privacy.pseudonymize={str(is_hidden).lower()}"
        staged = stage_campaign({"a.csv": export}, pseudonymize, sources=[source])
        return next(g for g in staged.runs["settle_judgments"].gates if g.name == "look_alikes")

    hidden = warned(True)
    assert (hidden.value, hidden.detail) == (
        6,
        f"4 groups of judge names ({SHOW_NAMES}), system 'X' / 'x', system 'Y' / 'y'",
    )
    names = [f"judge 'Anna{n}' / 'anna{n}'" for n in range(1, 4)]
    assert "--set privacy.pseudonymize=false" in SHOW_NAMES
    shown = warned(False)
    assert shown.value == 6
    assert shown.detail.startswith(", ".join(["judge 'ANNA0' / 'Anna0' / 'anna0'", *names]))


def test_twelve_digits_are_no_milliseconds(stage_campaign) -> None:
    source = {
        "path": "exports/*.csv", "format": "csv",
        "fields": {"item": "item", "judge": "judge", "label": "label", "submitted_at": "at"},
    }  # fmt: skip
    times = ["202401311200", "1706702400000", "1706702400", "20240131"]
    rows = "".join(f"i{n},w,yes,{time}\n" for n, time in enumerate(times))
    built = stage_campaign(
        {"a.csv": "item,judge,label,at\n" + rows}, "gates.rejected_share.error=1",
        sources=[source],
    )  # fmt: skip
    reasons = {row["source_row"]: row["reason"] for row in built.rows("lineage")}
    assert reasons[1] == "submitted_at is not a time: '202401311200'"
    assert reasons[2] is None
    assert reasons[3] is None


def test_keys_that_yaml_reads_as_numbers_are_quoted_as_they_are_written(tmp_path: Path) -> None:
    from annot_pipeline.config.campaign_file import load_campaign
    from annot_pipeline.errors import ConfigError

    text = (
        "campaign: c\nsources:\n- path: a.csv\n  format: csv\n  fields:\n    item: item\n"
        "    judge: judge\n    label: {column: label, map: MAP}\n"
    )
    for keys, advice in (
        ("{01: yes, 1e2: b}", ['"01"', '"1e2"']),
        ("{true: yes}", ['"true"']),
        ("{0x10: yes}", ['"0x10"']),
        ('{"01": 02}', ['"02"']),
        ("{1: a, true: b}", ['"true"']),
    ):
        (tmp_path / "campaign.yaml").write_text(text.replace("MAP", keys))
        with pytest.raises(ConfigError) as error:
            load_campaign(tmp_path)
        for written in advice:
            assert f"in quotes: {written}" in str(error.value), keys
