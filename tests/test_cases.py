"""Bad input: a folder a kind, with the exact words that users see.

Each folder of tests/cases is a campaign; ``expected.txt`` is what ``annot validate`` and
``annot build`` print and return. After a change of words: ``UPDATE_CASES=1 pytest
tests/test_cases.py``, then read the difference. Exports that a repository should not hold
(large, cut short, not text) are made here, and so are full and read-only disks.
"""

import csv
import errno
import gzip
import io
import json
import os
import re
import shutil
import subprocess
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from ruamel.yaml import YAML

from annot_pipeline import load_gold
from annot_pipeline.cli import main

CASES = Path(__file__).parent / "cases"
NAMES = sorted(path.name for path in CASES.iterdir() if path.is_dir())
UPDATE = os.environ.get("UPDATE_CASES") == "1"

# --- exports made here ---------------------------------------------------------------------

Maker = Callable[[Path], None]
MADE: dict[str, Maker] = {}


def made(*names: str) -> Callable[[Maker], Maker]:
    """Registers what writes the exports of these cases into their copied folder."""

    def register(maker: Maker) -> Maker:
        MADE.update(dict.fromkeys(names, maker))
        return maker

    return register


def good_rows() -> list[tuple[str, str, str]]:
    """24 judgments of 8 items by 3 judges, as the committed cases have them."""
    good = {"i1", "i2", "i3", "i5", "i8"}
    rows = [(f"i{n}", judge) for judge in ("ann", "bob", "cem") for n in range(1, 9)]
    return [
        (item, judge, "good" if (item in good) != ((item, judge) == ("i3", "cem")) else "bad")
        for item, judge in rows
    ]


def write_export(folder: Path, data: bytes, name: str = "monday.csv") -> None:
    (folder / "exports").mkdir(exist_ok=True)
    (folder / "exports" / name).write_bytes(data)


def as_csv(rows: list[tuple[str, ...]], header: str = "item,judge,label") -> str:
    return "\n".join([header, *map(",".join, rows)]) + "\n"


@made("latin1", "latin1_declared")
def latin1(folder: Path) -> None:
    rows = [*good_rows(), ("i1", "zoë", "good"), ("i2", "zoë", "good"), ("i3", "dee", "bad")]
    write_export(folder, as_csv(rows).encode("latin-1"))


@made("utf16", "utf16_declared")
def utf16(folder: Path) -> None:
    write_export(folder, as_csv([*good_rows(), ("i1", "zoë", "good")]).encode("utf-16"))


@made("nul_bytes")
def nul_bytes(folder: Path) -> None:
    rows = [(*row, "note") for row in good_rows()]
    rows[3] = ("i4", "an\0n", "bad", "note")
    rows[4] = ("i5", "ann", "go\0od", "note")
    rows[5] = ("i6", "ann", "bad", "no\0te")
    write_export(folder, as_csv(rows, "item,judge,label,note").encode())


@made("ten_megabyte_cell")
def ten_megabyte_cell(folder: Path) -> None:
    write_export(folder, as_csv([*good_rows(), ("i1", "dee", "x" * 10_000_000)]).encode())


@made("ten_megabyte_cell_unused")
def ten_megabyte_cell_unused(folder: Path) -> None:
    rows = [(*row, "note") for row in good_rows()]
    rows[3] = (*rows[3][:3], '"' + "a line\n" * 1_500_000 + '"')
    write_export(folder, as_csv(rows, "item,judge,label,note").encode())


@made("truncated_gzip")
def truncated_gzip(folder: Path) -> None:
    data = gzip.compress(as_csv(good_rows()).encode(), mtime=0)
    write_export(folder, data[: len(data) // 2], "monday.csv.gz")


@made("control_characters_unknown_column")
def escape_sequences_in_names(folder: Path) -> None:
    export = as_csv(good_rows(), "item,\x1b[2Jjudge,label").encode()
    write_export(folder, export, "\x1b[31m\nannot: all is well.csv")


# --- the runner ----------------------------------------------------------------------------


@pytest.fixture
def run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Callable[..., str]:
    """Runs a command and returns what it printed, the temporary folder left out."""
    monkeypatch.setenv("ANNOT_KEY", "the key of the tests")
    monkeypatch.setenv("DAGSTER_DISABLE_TELEMETRY", "yes")
    monkeypatch.delenv("DAGSTER_HOME", raising=False)

    def run_command(command: str, folder: Path, *more: str) -> str:
        capfd.readouterr()
        status = main([command, str(folder), *more])
        out, err = capfd.readouterr()
        text = f"$ annot {command} <folder>\n{out}--- stderr\n{err}--- exit status {status}\n"
        return text.replace(str(folder), "<folder>").replace(str(tmp_path), "<above>")

    return run_command


@pytest.mark.parametrize("name", NAMES)
def test_case(name: str, tmp_path: Path, run: Callable[..., str]) -> None:
    folder = copy_case(name, tmp_path)
    before = contents(folder)
    said = run("validate", folder)
    assert contents(folder) == before, "validate writes nothing"
    said += "\n" + run("build", folder)
    file = CASES / name / "expected.txt"
    if UPDATE:
        file.write_text(said, encoding="utf-8")
    assert said == file.read_text(encoding="utf-8")


def copy_case(name: str, tmp_path: Path) -> Path:
    folder = tmp_path / name
    shutil.copytree(CASES / name, folder, ignore=shutil.ignore_patterns("expected.txt"))
    if name in MADE:
        MADE[name](folder)
    return folder


def contents(folder: Path) -> dict[str, int]:
    return {str(path): path.stat().st_mtime_ns for path in folder.rglob("*")}
