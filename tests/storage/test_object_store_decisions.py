"""Decisions about releases in an object store: back, retracted, and without a person."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from annot_pipeline.audit.verify.everything import verify
from annot_pipeline.commands.build import build_release
from annot_pipeline.commands.decisions import retract, roll_back
from annot_pipeline.commands.forget import forget
from annot_pipeline.config.campaign_file import load_campaign
from annot_pipeline.storage.releases import Releases
from tests.audit.two_releases import EXPORT, KEY, SETTINGS
from tests.storage.s3_machines import URL, objects

pytestmark = [pytest.mark.slow]


def silent(_: str) -> None:
    """Report nothing."""


def test_a_rollback_a_retraction_and_a_person_who_is_forgotten(
    s3: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANNOT_KEY", KEY)
    (tmp_path / "exports").mkdir()
    (tmp_path / "exports" / "a.csv").write_text(EXPORT)
    (tmp_path / "campaign.yaml").write_text(json.dumps(SETTINGS | {"gold": URL}))
    campaign = load_campaign(tmp_path)
    build_release(campaign, silent)
    (tmp_path / "exports" / "b.csv").write_text("item,judge,label\ni9,dora.green,a\ni9,w1,b\n")
    build_release(campaign, silent)
    released = roll_back(campaign, "v0001", because="wrong", by="ann", progress=silent)
    assert released.version == "v0003"
    retract(campaign, "v0002", because="wrong", by="ann", progress=silent)
    assert "v0002" in Releases.for_campaign(campaign).retracted()
    assert verify(campaign, None, rebuild=False, progress=silent)["ok"]
    (tmp_path / "exports" / "b.csv").write_text("item,judge,label\ni8,dora.green,a\ni8,w1,b\n")
    document = forget(
        campaign, "dora.green", because="asked", by="ann", pinned=False, dry_run=False,
        progress=silent,
    )  # fmt: skip
    assert document["removed"] == ["v0002"]
    assert Releases.for_campaign(campaign).versions() == ["v0001", "v0003", "v0004"]
    assert {name[:5] for name in objects(s3) if name[0] == "v"} == {"v0001", "v0003", "v0004"}
    assert verify(campaign, None, rebuild=True, progress=silent)["ok"]
