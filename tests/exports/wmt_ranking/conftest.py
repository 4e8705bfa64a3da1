"""Ranking XML: fixtures."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from annot_pipeline.errors import InputError
from tests.exports.wmt_ranking.ranking_xml import Record, opened, read


@pytest.fixture
def records(tmp_path: Path) -> Callable[..., list[Record]]:
    return lambda content, **options: read(opened(tmp_path / "w.xml", content, **options))


@pytest.fixture
def error(tmp_path: Path) -> Callable[..., str]:
    """The message about a file that cannot be read."""

    def error(content: str | bytes, name: str = "w.xml", **options: Any) -> str:
        with pytest.raises(InputError) as raised:
            read(opened(tmp_path / name, content, **options))
        return str(raised.value)

    return error
