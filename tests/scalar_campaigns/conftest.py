"""Scores through the whole pipeline: fixtures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Built, Staged, stage_file
from tests.scalar_campaigns.judged import build_rows, write_rows


@pytest.fixture
def build(tmp_path: Path) -> Any:
    """`build_rows` in a folder of its own; each call is another campaign."""
    count = iter(range(1000))

    def build_next(rows: Any, *sets: str, **settings: Any) -> Built:
        return build_rows(tmp_path / f"campaign{next(count)}", rows, *sets, **settings)

    return build_next


@pytest.fixture
def stage(tmp_path: Path) -> Any:
    """As `build`, for tests that read tables of stages and no release."""
    count = iter(range(1000))

    def stage_next(rows: Any, *sets: str, **settings: Any) -> Staged:
        return stage_file(write_rows(tmp_path / f"staged{next(count)}", rows, **settings), *sets)

    return stage_next
