"""Bad input: a folder a kind, with the exact words that users see.

Each folder of tests/cases is a campaign; its ``expected.txt`` is what `annot validate` and
`annot build` print and return. After a change of words: ``UPDATE_CASES=1 pytest
tests/test_cases.py``, then read the difference. What a repository should not hold (exports
that are large, cut short or no text, full disks) is made here.
"""

import errno
import json
import os
import re
import shutil
import subprocess
import unicodedata
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest

from annot_pipeline.cli import common, main
from annot_pipeline.storage import files
from annot_pipeline.storage.locks import LOCK
from annot_pipeline.storage.releases import Releases
from tests.cases_checked import CHECK
from tests.cases_counted import check_accounting, check_rows
from tests.cases_made import PREPARE
from tests.full_disk import fill_disk

CASES = Path(__file__).parent / "cases"
NAMES = sorted(path.name for path in CASES.iterdir() if path.is_dir())
SLOW = pytest.mark.slow
UPDATE = os.environ.get("UPDATE_CASES") == "1" and "CI" not in os.environ

Run = Callable[..., str]


# --- disks ---------------------------------------------------------------------------------

DISKS = {
    "store_full": ("store", errno.ENOSPC),
    "store_read_only": ("store", errno.EROFS),
    "gold_full": ("gold", errno.ENOSPC),
    "gold_read_only": ("gold", errno.EROFS),
    "temporary_folder_full": ("temporary", errno.ENOSPC),
}


@contextmanager
def failing_disk(path: Path, number: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A folder on a disk that is full or read-only, with the files that it holds.

    A tmpfs of its own where mounting is allowed (root is not stopped by modes); else the
    project's writes to that folder raise what such a disk raises.
    """
    path.mkdir(exist_ok=True)
    kept = path.with_name(f"{path.name}-kept")
    shutil.copytree(path, kept, symlinks=True)
    mount = ["mount", "-t", "tmpfs", "-o", "size=8m", "annot-test", str(path)]
    is_mounted = shutil.which("mount") and not subprocess.run(mount, capture_output=True).returncode
    try:
        if is_mounted:
            shutil.copytree(kept, path, symlinks=True, dirs_exist_ok=True)
            if number == errno.EROFS:
                subprocess.run(["mount", "-o", "remount,ro", str(path)], check=True)
            else:
                fill_disk(path / "lost+found")  # a name that leaves the folder empty for builds
        else:
            monkeypatch.setattr(files, "temp_sibling", raising(files.temp_sibling, path, number))
        yield
    finally:
        if is_mounted:
            subprocess.run(["umount", str(path)], check=True)


def raising(beside: Callable[[Path], Path], path: Path, number: int) -> Callable[[Path], Path]:
    def no_file_beside(target: Path) -> Path:
        if target.is_relative_to(path):
            raise OSError(number, os.strerror(number), str(target))
        return beside(target)

    return no_file_beside


# --- the runner ----------------------------------------------------------------------------


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """Runs a command; returns what it printed, without what differs from run to run."""
    monkeypatch.setenv("ANNOT_KEY", "the key of the tests, long enough to be one")
    monkeypatch.setenv("DAGSTER_DISABLE_TELEMETRY", "yes")
    monkeypatch.delenv("DAGSTER_HOME", raising=False)

    def run_command(command: str, folder: Path, *options: str) -> str:
        capfd.readouterr()
        status = main([command, str(folder), *options])
        out, err = capfd.readouterr()
        if "--json" in options:
            return out
        text = f"$ annot {command} <folder>\n{out}--- stderr\n{err}--- exit status {status}\n"
        text = text.replace(str(folder), "<folder>")
        text = re.sub(r"candidates/[0-9a-f-]{36}", "candidates/<run>", text)
        text = re.sub(r"--candidate [0-9a-f]{8}", "--candidate <run>", text)
        text = re.sub(r"  Dawid-Skene: iteration .*\n", "", text)  # told once a second
        text = re.sub(r"up to [\d,]+ iterations?", "up to N iterations", text)  # of the model
        assert not [c for c in text if c != "\n" and unicodedata.category(c) in ("Cc", "Cf")]
        assert str(tmp_path) not in text
        return text

    return run_command


REPORTED = ("adjudication", "control_characters", "hostile_names", "hostile_systems", "markup")
"""Cases that Dagster builds: exports that a page could stumble over."""

LISTS_TABLES = "odd_but_good"
"""The case that records the list of gold tables: a new table changes no other case."""


IN_MAKE_TEST = ("gold_full", "ragged_rows", "unclosed_quote")
"""Cases whose stages are run, which takes seconds; of those whose exports are refused all run."""


def is_refused(name: str) -> bool:
    """Whether a build of the case ends before its stages are run, as it was recorded."""
    expected = CASES / name / "expected.txt"
    text = expected.read_text(encoding="utf-8") if expected.exists() else ""
    return name not in DISKS and "candidate" not in text and not text.endswith("status 0\n")


@pytest.mark.parametrize(
    "name",
    [
        name if name in IN_MAKE_TEST or is_refused(name) else pytest.param(name, marks=SLOW)
        for name in NAMES
    ],
)
def test_case(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    folder = tmp_path / name
    shutil.copytree(CASES / name, folder, ignore=shutil.ignore_patterns("expected.txt"))
    if name in PREPARE:
        PREPARE[name](folder)
    # what a step says once a second depends on the machine
    for module in ("runtime.task_partitions", "stages.labels.em_checkpoints"):
        place = f"annot_pipeline.{module}.throttle_progress"
        monkeypatch.setattr(place, lambda _: lambda _: None)
    disk = nullcontext()
    if name in DISKS:
        place, number = DISKS[name]
        disk = failing_disk(folder / place, number, monkeypatch)  # type: ignore[assignment]
        if place == "temporary":
            monkeypatch.setattr("tempfile.tempdir", str(folder / place))
    with disk:
        there, gold = contents(folder), contents(folder / "gold")
        with monkeypatch.context() as patched:
            documents = record_documents(patched)
            validated = run("validate", folder)
        assert contents(folder) == there, "validate writes nothing"
        if not documents:
            documents = [json.loads(run("validate", folder, "--json"))]
        check_rows(folder, documents[0])
        built = run("build", folder)
        if built.endswith("exit status 0\n"):
            check_accounting(folder)
        else:
            assert contents(folder / "gold") == gold, "a build that fails leaves gold as it was"
        if name in CHECK:
            CHECK[name](folder)
    if name != LISTS_TABLES:
        built = re.sub(r"^tables: .*\n", "", built, flags=re.MULTILINE)
    file = CASES / name / "expected.txt"
    if UPDATE:
        file.write_text(f"{validated}\n{built}", encoding="utf-8")
    assert file.exists(), "UPDATE_CASES=1 writes it; read it before you commit it"
    assert f"{validated}\n{built}" == file.read_text(encoding="utf-8")


def record_documents(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Record what is shown, as text or as JSON: to validate twice takes twice as long."""
    documents: list[Any] = []

    def show(
        arguments: Namespace,
        document: Any,
        lines: Callable[[], Iterable[str]],
        failed: bool = False,
    ) -> int:
        documents.append(document)
        return common.show(arguments, document, lines, failed)

    monkeypatch.setattr("annot_pipeline.cli.campaign.show", show)
    return documents


def contents(folder: Path) -> dict[str, int]:
    """Every file, and when it was last written."""
    paths = [path for path in folder.rglob("*") if not path.is_dir() and path.name != LOCK]
    return {str(path): path.lstat().st_mtime_ns for path in paths}


WRITTEN = ("archive", "records", "stages", "runs", ".tmp-v0001", ".tmp-latest.json")


@pytest.mark.sampled
@pytest.mark.parametrize("place", WRITTEN)
def test_a_disk_that_runs_full(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    """Whichever file of a build finds no room, the next build goes on where it stopped."""
    folder = tmp_path / "campaign"
    shutil.copytree(CASES / "store_full", folder, ignore=shutil.ignore_patterns("expected.txt"))
    sync, hits = files._sync, []

    def full_there(path: Path) -> None:
        if f"/{place}" in str(path):
            hits.append(path)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        sync(path)

    with monkeypatch.context() as patched:
        patched.setattr(files, "_sync", full_there)
        said = run("build", folder)
    assert hits
    assert re.search(r"No space left on device\n    do:      free space.*\n.*status 1\n$", said)
    assert not list(folder.rglob(".tmp-*"))
    assert not Releases(folder / "gold").versions()
    assert run("build", folder).endswith("--- exit status 0\n")
    check_accounting(folder)


def test_there_are_cases() -> None:
    assert len(NAMES) > 90
    assert {*PREPARE, *CHECK, *DISKS, *IN_MAKE_TEST} <= set(NAMES)
