"""One byte of a file in the store is another one: it is named, or it changes no later result."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any
from zlib import crc32

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from annot_pipeline.cli import main
from annot_pipeline.errors import AnnotError
from tests.conftest import build_file
from tests.full_campaign import ITEM, TASK, write_full_campaign
from tests.survival.nights import write_campaign

ONE_OF_EACH = (
    "records/*.parquet",
    "records/*.json",
    "stages/infer_labels/*/stage.json",
    "archive/*/*",
    "stages/settle_judgments/*/settled-*.parquet",
    "stages/archive_exports/*/exports.parquet",
    "judge.key",
    "release_log.jsonl",
    "runs/latest/read_records.json",
    "settings/*.json",
    "last_build.json",
    "digests/*.json",
)
"""Kinds of files, of which every fourth has a bit flipped, and every fourth is emptied. `make soak`
does both to every file of the store."""


def flip(path: Path) -> None:
    """Change one bit of the file, always the same one; of Parquet one that is read as a value."""
    data = path.read_bytes()
    if not data:
        return
    if path.suffix == ".parquet":
        whole = pq.read_table(path)
        for n in range(500):
            replace(path, flipped(data, f"{path.name} {n}"))
            with contextlib.suppress(pa.ArrowException, OSError):
                if not pq.read_table(path).equals(whole):
                    return
    replace(path, flipped(data, path.name))


@pytest.mark.slow
@pytest.mark.parametrize(
    "write",
    [
        partial(write_campaign, days=2),
        pytest.param(write_full_campaign, marks=pytest.mark.slow),
    ],
    ids=["two exports", "all formats"],
)
def test_damaged_records_and_archived_exports_are_told(tmp_path, capsys, write):
    folder = write(tmp_path / "campaign")
    build_file(folder, "seed=1")
    build_file(folder)
    capsys.readouterr()
    records = sorted((folder / "store" / "records").glob("*.parquet"))
    kept = sorted((folder / "store" / "archive").glob("*/*"))
    for path in (*records, *kept):
        flip(path)
    assert main(["build", str(folder)]) == 0
    said = capsys.readouterr()
    assert f"{len(records)} parsed exports were damaged in the store and are read again" in said.err
    names = ", ".join(f"exports/{path.name}" for path in sorted((folder / "exports").iterdir()))
    assert f"damaged in the store, and archived again: {names}" in said.err
    assert "; 0 of " in said.err
    assert "nothing new; still v0002" in said.out
    assert "since v0001" not in said.out  # what v0002 changed, not this build


def flipped(data: bytes, seed: str) -> bytes:
    place = crc32(seed.encode()) % len(data)
    return data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]


def empty(path: Path) -> None:
    """Leave no byte."""
    replace(path, b"")


def replace(path: Path, data: bytes) -> None:
    mode = path.stat().st_mode
    path.unlink()  # other names of the same file stay as they are
    path.write_bytes(data)
    path.chmod(mode)


@pytest.fixture(scope="module")
def first_night(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A campaign that was built once; its key lies in the store."""
    folder = write_full_campaign(tmp_path_factory.mktemp("first") / "campaign")
    with pytest.MonkeyPatch.context() as patched:
        patched.delenv("ANNOT_KEY", raising=False)
        build_file(folder)
        yield folder


def later_results(folder: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """Return what a build again, a second night, diff and trace give; an error as its text."""
    results: dict[str, Any] = {}
    for step, work in STEPS.items():
        capsys.readouterr()
        try:
            results[step] = work(folder)
        except AnnotError as error:
            results[step] = str(error)
        if isinstance(results[step], int):
            captured = capsys.readouterr()
            text = captured.out.replace(str(folder), "CAMPAIGN")
            results[step] = stable(json.loads(text)) if text else captured.err
    return results


def build_second_night(folder: Path) -> dict[str, str]:
    export = folder / "exports" / "moods.csv"
    text = export.read_text(encoding="utf-8")
    export.write_text(text.replace(",m1,", ",m5,", 3), encoding="utf-8")
    return build_file(folder).hashes()


STEPS: dict[str, Callable[[Path], object]] = {
    "build": lambda folder: build_file(folder).hashes(),
    "second night": build_second_night,
    "diff": lambda folder: main(["diff", str(folder), "v0001", "v0002", "--json"]),
    "trace": lambda folder: main(["trace", str(folder), ITEM.format(1), "--task", TASK, "--json"]),
}
UNSTABLE = {"created_at", "run", "manifest_sha256", "parent", "seconds", "at"}


def stable(value: Any) -> Any:
    """Return a document without times and names of runs."""
    if isinstance(value, dict):
        return {key: stable(inner) for key, inner in value.items() if key not in UNSTABLE}
    return [stable(inner) for inner in value] if isinstance(value, list) else value


@pytest.fixture(scope="module")
def expected(first_night: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return {"folder": shutil.copytree(first_night, tmp_path_factory.mktemp("whole") / "campaign")}


def files_of_store(folder: Path) -> list[Path]:
    """Return one file of each kind, or every file where SOAK is set."""
    store = folder / "store"
    if "SOAK" in os.environ:
        return sorted(path for path in store.rglob("*") if path.is_file())
    return [sorted(store.glob(pattern))[0] for pattern in ONE_OF_EACH]


def check(harm, paths, first_night, expected, tmp_path, capsys):
    if "results" not in expected:
        expected["results"] = later_results(expected["folder"], capsys)
        assert all(isinstance(result, dict) for result in expected["results"].values())
    for number, path in enumerate(paths):
        folder = tmp_path / str(number) / "campaign"
        shutil.copytree(first_night, folder)
        harmed = folder / path.relative_to(first_night)
        harm(harmed)
        for step, result in later_results(folder, capsys).items():
            if isinstance(result, str):
                assert str(folder / "store") in result, (path, step, result)
                assert "a defect of annot" not in result, (path, step, result)
                break  # it is named; what could not be built gives no later result
            assert result == expected["results"][step], (path, step)
        shutil.rmtree(folder)


@pytest.mark.slow
def test_a_flipped_bit_is_named_or_harmless(first_night, expected, tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("ANNOT_KEY")
    paths = files_of_store(first_night)
    paths = paths if "SOAK" in os.environ else paths[::4]
    check(flip, paths, first_night, expected, tmp_path, capsys)


@pytest.mark.slow
def test_an_emptied_file_is_named_or_harmless(first_night, expected, tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("ANNOT_KEY")
    paths = files_of_store(first_night)
    paths = paths if "SOAK" in os.environ else paths[2::4]
    check(empty, paths, first_night, expected, tmp_path, capsys)
