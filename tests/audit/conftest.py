"""A campaign with two releases, copied for each test; releases of one campaign, held together."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from annot_pipeline.audit.diff.releases import Diff, diff_releases
from annot_pipeline.config.campaign_file import load_campaign
from tests.audit.two_releases import build_two


@pytest.fixture(scope="session")
def built(tmp_path_factory) -> Path:
    return build_two(tmp_path_factory.mktemp("two") / "campaign")


@pytest.fixture
def campaign(built, tmp_path) -> Path:
    return shutil.copytree(built, tmp_path / "campaign")


@pytest.fixture
def diff(tmp_path):
    """Diffs two releases of the campaign that ``build_campaign`` builds."""

    def between(old: str = "v0001", new: str = "v0002", **options: Any) -> Diff:
        return diff_releases(load_campaign(tmp_path / "campaign"), (old, new), **options)

    return between
