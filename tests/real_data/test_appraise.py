"""Appraise exports of WMT22, which have no header: every row, every twin, every document."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path

import pytest

from annot_pipeline.exports import READERS, Opening
from annot_pipeline.init import guess_campaign
from tests.conftest import build_file

SCORES = "wmt22-appraise/scores/WMT22.Appraise.SegLvlLiv{}.20221031.filtered.csv"
CALIBRATION = "wmt22-appraise/calibration-HITs/WMT22.Appraise.calibrationHITs.20221103.csv"
HEADERS = {
    SCORES.format("Src"): "wmt22-appraise/scores/header.SegLvl.csv",
    SCORES.format("Ref"): "wmt22-appraise/scores/header.SegLvl.csv",
    CALIBRATION: "wmt22-appraise/calibration-HITs/header.calibrationHITs.csv",
}


def read(path: Path) -> list[dict[str, str]]:
    export = READERS["appraise"](Opening(path, path.name))
    actual = []
    for chunk in export.chunks:
        assert chunk.problem.null_count == len(chunk)
        names = list(chunk.columns)
        cells = zip(*(chunk.columns[name].to_pylist() for name in names), strict=True)
        actual += [dict(zip(names, row, strict=True)) for row in cells]
    assert len(actual) == export.n_rows
    return actual


def output(row: dict[str, str]) -> tuple[str, ...]:
    """What a judge judged, as controls are paired."""
    names = ("username", "srcLang", "trgLang", "unit", "system", "segment")
    return tuple(row[name] for name in names)


@pytest.mark.parametrize("name", HEADERS)
def test_a_header_changes_nothing(shared_data, tmp_path, name):
    raw = (shared_data / name).read_bytes()
    with_header = tmp_path / "with_header.csv.gz"
    with_header.write_bytes(gzip.compress((shared_data / HEADERS[name]).read_bytes() + raw))
    assert read(with_header) == read(shared_data / name)


@pytest.mark.parametrize(
    ("which", "ordinary", "degraded"), [("Src", 4_689, 638), ("Ref", 1_057, 144)]
)
def test_every_degraded_output_has_one_original_by_the_same_judge(
    shared_data, which, ordinary, degraded
):
    rows = read(shared_data / SCORES.format(which))
    outputs = {kind: [output(r) for r in rows if r["itemType"] == kind] for kind in ("TGT", "BAD")}
    assert (len(outputs["TGT"]), len(outputs["BAD"])) == (ordinary, degraded)
    originals = Counter(outputs["TGT"])
    assert [originals[twin] for twin in outputs["BAD"]] == [1] * degraded
    assert len(set(outputs["BAD"])) == degraded
    assert all(r["segment"] == r["itemId"] and r["unit"] == "segment" for r in rows)
    assert all(float(r["seconds"]) > 2 for r in rows)


def test_scores_of_documents_are_told_apart(shared_data):
    rows = read(shared_data / CALIBRATION)
    assert len(rows) == 10_751
    units = Counter(r["unit"] for r in rows)
    assert units == {"segment": 9_612, "document": 1_139}
    segments = {unit: {r["segment"] for r in rows if r["unit"] == unit} for unit in units}
    assert segments["document"] == {r["docId"] for r in rows}
    assert not segments["document"] & segments["segment"]
    assert all(
        r["segment"] == f"{r['docId']}/{r['itemId']}" for r in rows if r["unit"] == "segment"
    )
    assert min(float(r["seconds"]) for r in rows) == 0.522
    # judges met some documents twice; these are all that have no segment of their own
    assert Counter(Counter(map(output, rows)).values()) == {1: 9_879, 2: 436}


@pytest.mark.slow
def test_the_format_gives_the_judgments_that_columns_named_by_hand_give(
    shared_data, shared_campaigns, tmp_path
):
    places = [f"{name}={tmp_path}/by_hand/{name}" for name in ("store", "gold")]
    by_hand = build_file(shared_campaigns / "appraise.yaml", *places)
    text = guess_campaign([shared_data / "wmt22-appraise" / "scores"], tmp_path)
    assert "format: appraise" in text
    (tmp_path / "campaign.yaml").write_text(text.replace("campaign: scores", "campaign: appraise"))
    built = build_file(tmp_path)
    names = ("judgment_id", "task", "item", "fate", "reason", "source_digest", "source_row")
    actual, expected = (
        sorted(json.dumps([row[name] for name in names]) for row in build.rows("lineage"))
        for build in (built, by_hand)
    )
    assert len(actual) == 6_528
    assert actual == expected


@pytest.mark.slow
def test_every_twin_is_paired(shared_data, tmp_path):
    exports = [shared_data / SCORES.format(which) for which in ("Src", "Ref")]
    (tmp_path / "campaign.yaml").write_text(guess_campaign(exports, tmp_path))
    pairs = build_file(tmp_path).rows("control_pairs")
    assert len(pairs) == 782
    assert [pair["reason"] for pair in pairs if pair["ordinary_id"] is None] == []
