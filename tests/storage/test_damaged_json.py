"""JSON files of gold and store that hold something else: no command ends in a traceback."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from annot_pipeline.cli import main
from annot_pipeline.storage import files
from annot_pipeline.storage.archive import known_digests
from annot_pipeline.storage.store import Store
from tests.audit.two_releases import KEY, build_two

NESTED = b"[" * 200_000 + b"]" * 200_000
DAMAGES = {
    "nested": NESTED,
    "nested objects": b'{"a":' * 200_000,
    "500 levels": b'{"version": ' + b"[" * 500 + b"]" * 500 + b"}",
    "long number": b'{"version": ' + b"9" * 10_000 + b"}",
    "exponent": b'{"version": 1e900000000, "sha256": 1e900000000}',
    "number": b"5",
    "text": b'"x"',
    "list": b'["x", 5, null]',
    "object": b"{}",
    "null": b"null",
    "bytes": b"\xff\xfe\xff",
}
KINDS = {
    "manifest": "gold/v0002/manifest.json",
    "manifest of before": "gold/v0001/manifest.json",
    "pointer": "gold/latest.json",
    "log of releases": "store/release_log.jsonl",
    "stage results": "store/stages/*/*/stage.json",
    "records": "store/records/*.json",
    "runs": "store/runs/*/*.json",
    "last build": "store/last_build.json",
    "settings": "store/settings/*.json",
    "digests": "store/digests/*.json",
    "exports seen": "store/export_digests.json",
}
READERS = [["status"], ["releases"], ["verify"], ["prune", "--keep", "1", "--dry-run"]]
BUILDS = [["diff", "v0001", "v0002"], ["verify", "v0002", "--rebuild"], ["build"], ["pin", "v0001"]]


@pytest.fixture(scope="module")
def built(copy_campaign, tmp_path_factory) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ANNOT_KEY", KEY)
        folder = copy_campaign(build_two, tmp_path_factory.mktemp("json") / "campaign")
    store = Store(folder / "store")
    with known_digests(store.export_digests, 60) as sha256:
        sha256(folder / "exports/a.csv")
    return folder


def test_every_file_is_of_a_kind(built):
    files = {
        path for path in built.rglob("*.json*") if path.name != "croissant.json"
    }  # written only
    of_kinds = {path for pattern in KINDS.values() for path in built.glob(pattern)}
    assert files == of_kinds
    assert all(any(built.glob(pattern)) for pattern in KINDS.values())


@pytest.mark.sampled(every=9)
@pytest.mark.parametrize("pattern", KINDS.values(), ids=KINDS.keys())
@pytest.mark.parametrize(
    ("commands", "damages"),
    [
        (READERS, DAMAGES),
        (BUILDS, ["nested"]),
        pytest.param(BUILDS, DAMAGES, marks=pytest.mark.slow),
    ],
    ids=["readers", "builds", "builds, every damage"],
)
def test_damaged_files_end_no_command_in_a_traceback(
    built, tmp_path, monkeypatch, pattern, commands, damages
):
    monkeypatch.setenv("ANNOT_KEY", KEY)
    monkeypatch.setenv("ANNOT_DEBUG", "1")  # a fault is raised
    campaign = shutil.copytree(built, tmp_path / "campaign")
    for damage in damages:
        for words in commands:
            for path in campaign.glob(pattern):
                path.unlink()  # its links stay whole
                path.write_bytes(DAMAGES[damage])
            assert main([words[0], str(campaign), *words[1:]]) in (0, 1, 2), (damage, words)


def test_a_damaged_note_of_the_last_build_is_named_and_written_again(
    built, tmp_path, monkeypatch, capsys
):
    monkeypatch.setenv("ANNOT_KEY", KEY)
    campaign = shutil.copytree(built, tmp_path / "campaign")
    note = campaign / "store/last_build.json"
    note.write_bytes(NESTED)
    assert main(["status", str(campaign)]) == 1
    said = capsys.readouterr().out
    assert f"{note}: damaged: how the last build ended is not known" in said
    assert said.splitlines()[-1] == f"next: annot build {campaign} (it writes {note} again)"
    assert "has not ended" not in said
    assert main(["build", str(campaign)]) == 0
    assert main(["status", str(campaign)]) == 0
    assert "last_build.json" not in capsys.readouterr().out


def test_a_file_that_is_too_large_is_refused(built, tmp_path, monkeypatch, capsys):
    campaign = shutil.copytree(built, tmp_path / "campaign")
    monkeypatch.setattr(files, "LARGEST_JSON", 100)
    assert main(["releases", str(campaign)]) == 1
    assert "latest.json: cannot be read\n  more than 100 bytes" in capsys.readouterr().err
