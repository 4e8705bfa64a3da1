"""Results of planned HITs: columns, in a campaign."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from annot_pipeline.config.campaign_file import load_campaign
from annot_pipeline.config.sources import HITS_FIELDS
from annot_pipeline.errors import ConfigError
from tests.conftest import stage_file
from tests.exports.hit_files import ALL, HIT, MTURK, NUMBERS, line, mturk, opened, records, studio


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


def test_chunks_fit_together(tmp_path: Path) -> None:
    text = mturk({}, {"Input.annot_hit": "?"}, {"WorkerId": ""}, {"Answer.score_1": ""}, {})
    whole = records(tmp_path / "r.csv", text)
    for size in (1, 2, 4, 7):
        assert records(tmp_path / "r.csv", text, chunk_records=size) == whole


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
    rows = stage_file(campaign(tmp_path, {"fields": fields})).rows("controlled")
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
    built = stage_file(campaign(tmp_path, {}, tasks=tasks))
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
