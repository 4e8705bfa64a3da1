"""A pipe, a socket or a device in gold is refused: nobody waits for it, or reads it for ever."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from annot_pipeline import load_gold
from annot_pipeline.cli import main
from annot_pipeline.errors import StoreError
from tests.conftest import build_file
from tests.survival.nights import write_campaign


@pytest.fixture
def folder(copy_campaign: Callable[..., Path], tmp_path: Path) -> Path:
    return copy_campaign(build_one_day, tmp_path / "campaign")


def build_one_day(folder: Path) -> None:
    build_file(write_campaign(folder, days=1))


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("kind", ["a pipe", "a device"])
@pytest.mark.parametrize("name", ["latest.json", "v0001/manifest.json", "v0001/labels.parquet"])
def test_special_files_are_refused(folder, name, kind):
    path = folder / "gold" / name
    path.unlink()
    if kind == "a pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero")
    with pytest.raises(StoreError, match=r"not a regular file|no release|half a release"):
        load_gold(folder / "gold", "labels")
    for command in ("verify", "status", "trace", "releases"):
        rest = ["i1"] if command == "trace" else []
        assert main([command, str(folder), *rest]) in (0, 1)
    with pytest.raises(StoreError):
        build_file(folder, "seed=3")
