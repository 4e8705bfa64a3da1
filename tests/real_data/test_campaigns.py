"""The campaign files that users may rely on, built from the real exports as they stand."""

from __future__ import annotations

from pathlib import Path

import pytest

from annot_pipeline.errors import GateError
from tests.conftest import build_file

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
    facts = built.facts("control_judges")
    assert facts["records"] == RECORDS[name] == built.table("lineage").num_rows
    assert facts["unaccounted"] == []
    assert built.publication.release.version == "v0001"


def test_graham_holds_100_records_an_assignment(shared_campaigns, tmp_path):
    """Two of its 31 assignments are empty: 6.45% of the records; a warning."""
    path = shared_campaigns / "graham.yaml"
    places = (f"store={tmp_path}/store", f"gold={tmp_path}/gold")
    with pytest.raises(GateError, match="nothing was published") as error:
        build_file(path, *places, "gates.rejected_share.error=0.05")
    assert "6.45%" in str(error.value)
    built = build_file(path, *places)
    facts = built.facts("settle_judgments")
    assert facts["fates"] == {
        "rejected": 200, "duplicate": 0, "superseded": 0, "judge_failed": 0, "control": 580,
        "used": 2320,
    }  # fmt: skip
    assert [r["kind"] for r in facts["rejections"]] == ["score has no match"]
