"""A store and a release of code before a redesign are read, verified and built upon."""

from __future__ import annotations

import tarfile
from pathlib import Path
from typing import Any

import pytest

from annot_pipeline import load_gold
from annot_pipeline.cli import main
from tests.conftest import build_file

MADE = Path(__file__).parent / "before" / "store_and_gold.tar.gz"


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Unpack the campaign elsewhere than it was built."""
    folder = tmp_path_factory.mktemp("before") / "campaign"
    with tarfile.open(MADE) as archive:
        archive.extractall(folder, filter="data")
    return folder


def run(capsys: Any, command: str, campaign: Path, *options: str) -> str:
    status = main([command, str(campaign), *options])
    printed = "".join(capsys.readouterr())
    assert status == 0, printed
    return printed


def test_it_is_read_and_verified(campaign, capsys):
    assert load_gold(campaign / "gold", "labels").num_rows == 8
    assert "v0001" in run(capsys, "status", campaign)
    assert "as published" in run(capsys, "verify", campaign)
    assert "row 1 (line 2)" in run(capsys, "trace", campaign, "i0")


def test_it_is_built_upon(campaign, capsys):
    """Labels stay as they were; raw bytes of the old release stay proven."""
    before = load_gold(campaign / "gold", "labels").to_pylist()
    export = campaign / "exports" / "tuesday.csv"
    export.write_text("item,judge,label,kind,truth\nnew,ann.lee,a,,\nnew,bob.ray,a,,\n")
    built = build_file(campaign).publication
    assert (built.published, built.release.version) == (True, "v0002")
    after = load_gold(campaign / "gold", "labels").to_pylist()
    assert {row["item"]: row["label"] for row in after if row["item"] != "new"} == {
        row["item"]: row["label"] for row in before
    }
    old, new = (
        {row["judge"]: row["verdict"] for row in table.to_pylist()}
        for table in (load_gold(campaign / "gold", "judges", v) for v in ("v0001", "latest"))
    )
    assert old == new
    assert set(old.values()) == {"passed", "failed"}
    assert "as published" in run(capsys, "verify", campaign)
    assert "judgments: 2 new" in run(capsys, "diff", campaign, "v0001", "v0002")
    assert not build_file(campaign).publication.published
