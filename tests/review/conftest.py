"""`annot review`: fixtures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import build_file
from tests.review.batches import CAREFUL, CARELESS, FIELDS, Make, batch, work


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Builds a campaign of MTurk batches; again with other files or settings."""

    def made(
        files: dict[str, str | bytes], *, build: bool = True, fields: Any = None, **settings: Any
    ) -> Path:
        folder = tmp_path / "campaign"
        for old in folder.rglob("*.csv*"):
            if "review" not in old.parts:
                old.unlink()
        for name, text in files.items():
            path = folder / "exports" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
        source = {
            "path": "exports/**/*.csv*",
            "format": "mturk",
            "each": {"i": ["none", "bad_reference"], "k": "0..2"},
            "fields": FIELDS | (fields or {}),
            **settings.pop("source", {}),
        }
        document = {
            "campaign": "small",
            "sources": [source],
            "gates": {"rejected_share": {"error": 1}, "nothing_used": {"error": 2}},
        } | settings
        (folder / "campaign.yaml").write_text(json.dumps(document), encoding="utf-8")
        if build:
            build_file(folder)
        return folder

    return made


@pytest.fixture
def plain(make) -> Path:
    return make({"b.csv": batch(work("careful", CAREFUL), work("careless", CARELESS))})
