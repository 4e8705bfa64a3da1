"""`annot review`: fixtures."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import build_file
from tests.review.batches import CAREFUL, CARELESS, FIELDS, Make, batch, work


@pytest.fixture(scope="session")
def built_before(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Names a folder for each campaign; where it exists, it holds that campaign, built once."""
    folder = tmp_path_factory.mktemp("built")
    return lambda text: folder / hashlib.sha256(text.encode()).hexdigest()


@pytest.fixture
def make(tmp_path: Path, built_before: Callable[[str], Path]) -> Make:
    """Builds a campaign of MTurk batches; again with other files or settings.

    The first build of a campaign is copied where another test has built the same campaign.
    """

    def made(
        files: dict[str, str | bytes], *, build: bool = True, fields: Any = None, **settings: Any
    ) -> Path:
        folder = tmp_path / "campaign"
        is_first = not folder.exists()
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
        if build and is_first:
            copy = built_before(f"{os.environ.get('ANNOT_KEY')}{sorted(files.items())}{document}")
            if copy.exists():
                shutil.copytree(copy, folder, dirs_exist_ok=True)
            else:
                build_file(folder)
                shutil.copytree(folder, copy)
        elif build:
            build_file(folder)
        return folder

    return made


@pytest.fixture
def plain(make) -> Path:
    return make({"b.csv": batch(work("careful", CAREFUL), work("careless", CARELESS))})
