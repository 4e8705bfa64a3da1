"""Judges have other pseudonyms under another key, and rows another order: no number moves."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest
import yaml

from benchmarks.exports import Shape, write_campaign
from tests.conftest import build_file

NAMES = {"judge", "judgment_id", "hit", "ranking"}
SHAPE = Shape(labels=3_000, scores=6_000, comparisons=600, tasks=2, judges=30)


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Folders of two releases of one campaign, each with a key of its own."""
    folders = []
    for name in ("one", "other"):
        path = write_campaign(tmp_path_factory.mktemp(name), SHAPE)
        document = yaml.safe_load(path.read_text())
        document |= {"ranking": {"bootstrap": 20}, "agreement": {"bootstrap": 20}}
        path.write_text(yaml.safe_dump(document))
        folders.append(build_file(path).publication.release.folder)
    return folders


def test_no_number_depends_on_the_key(released):
    one, _ = released
    tables = sorted(path.name for path in one.glob("*.parquet"))
    assert "scores.parquet" in tables
    for table in tables:
        mine, theirs = (pq.read_table(folder / table) for folder in released)
        named = NAMES & set(mine.column_names)
        mine, theirs = mine.drop_columns([*named]), theirs.drop_columns([*named])
        if named:
            found, expected = (sorted(map(repr, t.to_pylist())) for t in (mine, theirs))
            assert found == expected, table
        else:
            assert mine.equals(theirs), table
    judges = [pq.read_table(f / "judges.parquet")["judge"].to_pylist() for f in released]
    assert not {*judges[0]} & {*judges[1]}
