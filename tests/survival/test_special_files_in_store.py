"""A pipe in the place of a file of the store is named or replaced: no command waits for it."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from annot_pipeline import load_gold
from annot_pipeline.cli import main
from annot_pipeline.errors import AnnotError
from tests.conftest import build_file
from tests.full_campaign import ITEM, TASK, write_full_campaign

LONGEST_S = 60.0
"""Seconds after which a command counts as waiting; each takes a few."""
FEW = 4
KINDS = (
    "archive/*/*",
    "judge.key",
    "records/*.parquet",
    "stages/settle_judgments/*/settled-*.parquet",
    ".annot-store",
    ".lock",
    "catalog.duckdb",
    "digests/*.json",
    "export_digests.json",
    "release_log.jsonl",
    "last_build.json",
    "records/*.json",
    "runs/*/read_records.json",
    "settings/*.json",
    "stages/archive_exports/*/exports.parquet",
    "stages/infer_labels/*/stage.json",
    "stages/read_records/*/record_files.parquet",
)
"""Kinds of files, of which the first `FEW` are tried; `make soak` tries every file of the store."""
COMMANDS: dict[str, Callable[[Path], object]] = {
    "status": lambda folder: main(["status", str(folder)]),
    "verify": lambda folder: main(["verify", str(folder)]),
    "validate": lambda folder: main(["validate", str(folder)]),
    "trace": lambda folder: main(["trace", str(folder), ITEM.format(1), "--task", TASK]),
    "load_gold": lambda folder: load_gold(folder / "gold", "labels", store=folder / "store"),
    "build": build_file,
    "second build": lambda folder: build_file(folder, "seed=2"),
    "diff": lambda folder: main(["diff", str(folder), "v0001", "v0002"]),
    "rebuild": lambda folder: main(["verify", str(folder), "--rebuild"]),
    "prune": lambda folder: main(["prune", str(folder), "--keep", "1"]),
}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A campaign that was built once; its key lies in the store."""
    folder = write_full_campaign(tmp_path_factory.mktemp("built") / "campaign")
    with pytest.MonkeyPatch.context() as patched:
        patched.delenv("ANNOT_KEY", raising=False)
        build_file(folder)
    (folder / "store/export_digests.json").write_text("{}")
    return folder


def run_bounded(command: Callable[[Path], object], folder: Path, pipe: Path) -> list[object]:
    """Run a command in a thread; fail, and end the waiting, where it takes too long."""
    results: list[object] = []

    def work() -> None:
        try:
            results.append(command(folder))
        except (AnnotError, OSError, UserWarning) as error:
            results.append(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(LONGEST_S)
    if thread.is_alive():
        os.close(os.open(pipe, os.O_RDWR | os.O_NONBLOCK))  # who waits for bytes goes on
        pytest.fail(f"{pipe}: a command waits for it")
    return results


def files_of_store(store: Path) -> list[str]:
    if "SOAK" in os.environ:
        paths = [path for path in store.rglob("*") if path.is_file()]
        return sorted(path.relative_to(store).as_posix() for path in paths)
    actual = {kind: sorted(store.glob(kind)) for kind in KINDS}
    assert all(actual.values()), [kind for kind, paths in actual.items() if not paths]
    return [actual[kind][0].relative_to(store).as_posix() for kind in KINDS[:FEW]]


@pytest.mark.slow
def test_no_command_waits_for_a_pipe(built, tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("ANNOT_KEY")
    for name in files_of_store(built / "store"):
        folder = tmp_path / "campaign"
        shutil.copytree(built, folder)
        pipe = folder / "store" / name
        pipe.unlink()
        os.mkfifo(pipe)
        for command, work in COMMANDS.items():
            results = run_bounded(work, folder, pipe)
            assert results, (name, command)
            said = "".join(capsys.readouterr()) + "".join(map(str, results))
            assert "a defect of annot" not in said, (name, command, said)
        shutil.rmtree(folder)
