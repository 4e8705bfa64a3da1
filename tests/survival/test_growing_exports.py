"""Exports that are still being written while a build reads them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from annot_pipeline.errors import InputError
from annot_pipeline.storage import archive
from annot_pipeline.storage.archive import archive_file
from tests.conftest import build_file
from tests.survival.nights import add_export, newest, unfinished

BYTES = b"item,judge,label\ni1,j1,good\n"


def grow(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"i2,j1,go")


def rewrite(path: Path) -> None:
    path.write_bytes(BYTES.replace(b"good", b"evil"))


def replace(path: Path) -> None:
    other = path.with_name("other")
    other.write_bytes(BYTES)
    other.replace(path)


@pytest.mark.parametrize("happens", [grow, rewrite, replace, Path.unlink])
@pytest.mark.parametrize("after", ["file_sha256", "_copy"])
def test_what_changes_while_it_is_archived_is_refused(
    after: str, happens: Callable[[Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    export, kept = tmp_path / "a.csv", tmp_path / "archive"
    export.write_bytes(BYTES)
    work = getattr(archive, after)

    def and_then(path: Path, *more: Path) -> object:
        done = work(path, *more)
        if path == export:
            happens(export)
        return done

    monkeypatch.setattr(archive, after, and_then)
    with pytest.raises(InputError, match=r"a\.csv: (changed while it was|cannot be) read"):
        archive_file(export, kept)
    assert {path.read_bytes() for path in kept.rglob("*") if path.is_file()} <= {BYTES}
    monkeypatch.undo()
    export.write_bytes(BYTES)
    assert archive_file(export, kept)[1] == len(BYTES)
    assert not list(kept.rglob(".tmp-*"))


@pytest.mark.slow
def test_a_build_does_not_take_half_an_export_for_the_whole(
    first_day: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is refused in words, the release stands; when the file is whole it is read."""
    folder = first_day
    add_export(folder, 2)
    path, copy = folder / "exports/day2.csv", archive._copy

    def copy_while_it_grows(export: Path, target: Path) -> None:
        copy(export, target)
        grow(path)

    with monkeypatch.context() as patched:
        patched.setattr(archive, "_copy", copy_while_it_grows)
        with pytest.raises(InputError, match=r"day2\.csv: changed while it was read") as refused:
            build_file(folder)
    assert refused.value.problems[0].do == "build again later"
    assert newest(folder).version == "v0001"
    add_export(folder, 2)
    assert build_file(folder).publication.release.version == "v0002"
    assert unfinished(folder) == []
