"""Answers that failed: texts and patterns under ``failed``, conditions, NaN of typed formats."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from annot_pipeline.errors import ConfigError
from tests.conftest import load_campaign, stage_file, write_small_campaign

SCORES = {"item": "item", "judge": "judge", "score": "score"}
LABELS = {"item": "item", "judge": "judge", "label": "label"}
SCALE = [{"name": "*", "kind": "scalar", "scale": [1, 10]}]


def source(fields: dict[str, Any], form: str = "csv", **more: Any) -> list[dict[str, Any]]:
    return [{"path": f"exports/*.{form}", "format": form, "fields": fields, **more}]


def fates(staged: Any) -> list[tuple[str, str | None]]:
    """Return fate and reason by row, of an account that adds up."""
    metrics = staged.metrics("control_judges")
    rows = sorted(staged.rows("controlled"), key=lambda row: row["source_row"])
    assert metrics["unaccounted"] == []
    assert sum(metrics["fates"].values()) == len(rows)
    return [(row["fate"], row["reason"]) for row in rows]


def test_texts_and_patterns_of_failed_answers(stage_campaign):
    rows = ["7", "[ERROR] took 90 s", "Error: no tool", "garbled", " TIMEOUT ", "-1.0"]
    export = "item,judge,score\n" + "".join(f"i{n},m,{cell}\n" for n, cell in enumerate(rows))
    failed = ["[ERROR] took 90 s", "~^Error", "~(?i)^timeout$", "-1"]
    staged = stage_campaign({"a.csv": export}, sources=source(SCORES, failed=failed), tasks=SCALE)
    reason = "the answer is one of failed"
    assert fates(staged) == [
        ("used", None), ("unscored", reason), ("unscored", reason),
        ("rejected", "score is not a number: 'garbled'"), ("unscored", reason),
        ("unscored", reason),
    ]  # fmt: skip
    assert [row["n_judgments"] for row in staged.rows("scores")] == [1]


def test_failed_answers_without_the_setting_are_rejected(stage_campaign):
    export = "item,judge,score\ni0,m,7\ni1,m,[ERROR] timeout\n"
    staged = stage_campaign({"a.csv": export}, sources=source(SCORES), tasks=SCALE)
    assert [fate for fate, _ in fates(staged)] == ["used", "rejected"]


def test_any_condition_marks_a_failed_answer(stage_campaign):
    """A flag in any spelling; an error text beside the answer; blank answers count as failed."""
    export = (
        "item,judge,score,parse_error,error\n"
        "i0,m,7,false,\ni1,m,0,True,\ni2,m,5,,boom\ni3,m,,true,\ni4,m,3,0,\n"
    )
    where = [{"column": "parse_error", "in": ["true"]}, {"column": "error", "match": "."}]
    staged = stage_campaign({"a.csv": export}, sources=source(SCORES, failed_where=where))
    assert fates(staged) == [
        ("used", None), ("unscored", "failed_where.0 holds"), ("unscored", "failed_where.1 holds"),
        ("unscored", "failed_where.0 holds"), ("used", None),
    ]  # fmt: skip
    assert [row["raw_mean"] for row in staged.rows("scores")] == [7, 3]


@pytest.mark.slow
def test_filtered_and_not_asked_come_first(stage_campaign):
    export = "item,judge,label,bad,kind\ni0,m,x,true,test\ni1,m,?,true,main\ni2,m,x,true,main\n"
    more = {
        "where": [{"column": "kind", "not": ["test"]}], "abstain": ["?"],
        "failed_where": [{"column": "bad", "in": ["true"]}],
    }  # fmt: skip
    staged = stage_campaign({"a.csv": export}, sources=source(LABELS, **more))
    assert [fate for fate, _ in fates(staged)] == ["filtered", "not_asked", "unscored"]


@pytest.mark.slow
def test_an_answer_that_map_makes_a_failure(stage_campaign):
    export = "item,judge,label\ni0,m,good\ni1,m,cannot say\n"
    label = {"column": "label", "map": {"good": "good"}, "else": "bad output"}
    settings = source(LABELS | {"label": label}, failed=["bad output"])
    assert [fate for fate, _ in fates(stage_campaign({"a.csv": export}, sources=settings))] == [
        "used", "unscored",
    ]  # fmt: skip


@pytest.mark.parametrize("form", ["jsonl", "json"])
def test_nan_of_json_is_unscored(stage_campaign, form):
    """As Python's json writes it; in columns without an answer it harms nothing."""
    answers = [7.0, float("nan"), "NaN", float("inf"), "C"]
    rows = [{"item": f"i{n}", "judge": "m", "score": a, "cost": float("nan")}
            for n, a in enumerate(answers)]  # fmt: skip
    text = json.dumps(rows) if form == "json" else "".join(json.dumps(r) + "\n" for r in rows)
    staged = stage_campaign({f"a.{form}": text}, sources=source(SCORES, form), tasks=SCALE)
    assert [fate for fate, _ in fates(staged)] == [
        "used", "unscored", "unscored", "rejected", "rejected",
    ]  # fmt: skip
    assert fates(staged)[1] == ("unscored", "the answer is NaN")


def test_nan_of_parquet_is_unscored_also_as_a_label(tmp_path):
    rows = pa.table({
        "item": ["i0", "i1"], "judge": ["m", "m"], "label": pa.array([1.0, float("nan")]),
    })  # fmt: skip
    file = write_small_campaign(tmp_path, {}, sources=source(LABELS, "parquet"))
    (tmp_path / "exports").mkdir(exist_ok=True)
    pq.write_table(rows, tmp_path / "exports" / "a.parquet")
    staged = stage_file(file)
    assert fates(staged) == [("used", None), ("unscored", "the answer is NaN")]
    assert [row["label"] for row in staged.rows("label_distributions")] == ["1"]


@pytest.mark.slow
def test_nan_of_a_text_format_stays_text(stage_campaign):
    export = "item,judge,label\ni0,m,nan\ni1,m,yes\n"
    staged = stage_campaign({"a.csv": export}, sources=source(LABELS))
    assert [fate for fate, _ in fates(staged)] == ["used", "used"]


def test_settings_of_failed_answers_that_cannot_be(tmp_path):
    entry = source(SCORES, failed=["~("], failed_where=[{"column": "bad"}])
    file = write_small_campaign(tmp_path, {}, sources=entry)
    with pytest.raises(ConfigError) as caught:
        load_campaign(file)
    assert sorted(p.where for p in caught.value.problems) == [
        "sources.0.failed", "sources.0.failed_where.0",
    ]  # fmt: skip


def test_a_flag_column_that_is_not_there(tmp_path):
    where = [{"column": "parse_eror", "in": ["true"]}]
    export = {"a.csv": "item,judge,score\ni0,m,1\n"}
    file = write_small_campaign(tmp_path, export, sources=source(SCORES, failed_where=where))
    with pytest.raises(ConfigError, match="unknown column") as caught:
        stage_file(file).rows("settled")
    assert caught.value.problems[0].where == "sources.0.failed_where.0"


@pytest.mark.parametrize("label", [{"map": {"C": "right"}, "else": "wrong"}, {"match": "^(.)"}])
def test_nan_of_a_mapped_answer_is_no_class(stage_campaign, label):
    """Neither what ``else`` gives, nor what a pattern takes of it."""
    rows = [
        {"item": f"i{n}", "judge": "m", "got": got} for n, got in enumerate(["C", float("nan")])
    ]
    settings = source(LABELS | {"label": {"column": "got", **label}}, "jsonl")
    text = "".join(json.dumps(row) + "\n" for row in rows)
    staged = stage_campaign({"a.jsonl": text}, sources=settings)
    assert [fate for fate, _ in fates(staged)] == ["used", "unscored"]


@pytest.mark.slow
def test_failed_answers_were_paid(stage_campaign):
    export = "item,judge,score,pay\n" + "".join(f"i{n},m,{'ERR' if n else 3},0.10\n"
                                                for n in range(4))  # fmt: skip
    settings = source(SCORES | {"reward": "pay"}, failed=["ERR"])
    [cost] = stage_campaign({"a.csv": export}, sources=settings).rows("costs")
    assert (cost["paid"], cost["n_judgments"]) == (pytest.approx(0.4), 1)
