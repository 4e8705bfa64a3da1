"""The campaign files that users may rely on, built from the real exports as they stand."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from annot_pipeline.config.campaign_file import load_campaign
from annot_pipeline.hits.command import next_batch
from tests.conftest import build_file

pytestmark = pytest.mark.slow

RECORDS = {
    "appraise": 6_528,
    "dialogue": 305 * 42,
    "e2e": 2_979 * 5,
    "llmfao": 8_931 + 3_236,
    "rte": 8_000,
    "wmt15": 94_041,
    "wmt22": 187_734,
}
"""Of each campaign, from the notes beside the data (masc has a test of its own)."""


@pytest.mark.parametrize("name", RECORDS)
def test_builds_as_it_stands(shared_campaigns: Path, tmp_path: Path, name: str):
    built = build_file(
        shared_campaigns / f"{name}.yaml", f"store={tmp_path}/store", f"gold={tmp_path}/gold"
    )
    facts = built.metrics("control_judges")
    assert facts["records"] == RECORDS[name] == built.table("lineage").num_rows
    assert facts["unaccounted"] == []
    assert built.publication.release.version == "v0001"


def test_graham_holds_100_records_an_assignment(shared_campaigns, tmp_path):
    """Two of its 31 assignments are empty: 200 records that were not asked."""
    path = shared_campaigns / "graham.yaml"
    places = (f"store={tmp_path}/store", f"gold={tmp_path}/gold")
    built = build_file(path, *places)
    facts = built.metrics("settle_judgments")
    fates = {fate: n for fate, n in facts["fates"].items() if n}
    assert fates == {"not_asked": 200, "control": 580, "used": 2320}
    assert facts["rejections"] == []
    scores = built.rows("scores")
    assert all((row["easl_score"] is None) == (row["n_judgments"] == 0) for row in scores)


def test_the_next_hits_of_wmt22_stay_within_segments(shared_campaigns, tmp_path):
    """EASL is the mean on the scale; 1,962 comparisons within segments (METHODS.md section 3)."""
    path = shared_campaigns / "wmt22.yaml"
    places = (f"store={tmp_path}/store", f"gold={tmp_path}/gold", "ranking.bootstrap=0")
    built = build_file(path, *places)
    scores = {(row["task"], row["item"]): row for row in built.rows("scores")}
    assert sum(row["n_comparisons"] for row in scores.values()) == 2 * 1_962
    for row in scores.values():
        assert row["easl_score"] == pytest.approx(row["raw_mean"] / 100, abs=1e-14)
    actual = next_batch(load_campaign(path, sets=places), tmp_path / "batch")
    assert (actual["hits"], actual["slots"]) == (7 * 100, 7 * 500)
    hits: dict[str, set[str]] = {}
    for slot in pq.read_table(actual["plan"]).to_pylist():
        hits.setdefault(slot["hit"], set()).add(slot["segment"])
        state = scores[slot["task"], slot["item"]]
        assert slot["easl_alpha"] == state["easl_alpha"]
    assert {len(segments) for segments in hits.values()} == {1}
    uploaded = sorted(p.name for p in (tmp_path / "batch").glob("hits-*.csv"))
    assert uploaded == [f"hits-{s}-en.csv" for s in ("cs", "de", "ja", "lv", "ru", "uk", "zh")]
