"""`annot review`: what it refuses."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest

from annot_pipeline.commands.publish import publish
from annot_pipeline.config.campaign_file import load_campaign
from annot_pipeline.errors import ConfigError, GateError, StoreError
from annot_pipeline.exports import Export
from annot_pipeline.review import review
from annot_pipeline.runtime.read_back import matches_glob
from annot_pipeline.storage.files import file_sha256
from tests.conftest import build_file
from tests.review.batches import CAREFUL, HEAD, batch, refused, reviewed, upload, work

pytestmark = pytest.mark.slow


def test_a_campaign_without_batches(make):
    source = {"format": "csv", "each": {}, "fields": {"judge": "w", "item": "i", "label": "l"}}
    folder = make({"b.csv": "w,i,l\na,b,c\na,d,e\n"}, source=source)
    said = refused(folder, ConfigError)
    assert "no source is an MTurk batch" in said
    assert "sources: none has format: mturk" in said


def test_a_batch_without_its_header(make):
    options = {"options": {"columns": HEAD[:-2]}}
    folder = make({"b.csv": batch(work("careful", CAREFUL)).split("\n", 1)[1]}, source=options)
    assert "sources.0.options.columns: MTurk takes a batch with its header" in refused(
        folder, ConfigError
    )


def test_before_the_first_build(make):
    folder = make({"b.csv": batch(work("careful", CAREFUL))}, build=False)
    said = refused(folder)
    assert said.startswith("nothing is built yet")
    assert "annot build, then annot review" in said
    assert not (folder / "store").exists()
    assert not (folder / "review").exists()


def test_exports_that_changed_arrived_and_went(plain):
    exports = plain / "exports"
    (exports / "c.csv").write_text(batch(work("late", CAREFUL)))
    assert "has arrived: exports/c.csv" in refused(plain)
    (exports / "c.csv").rename(exports / "b.csv")
    assert "has changed: exports/b.csv" in refused(plain)
    (exports / "b.csv").rename(exports / "c.csv")
    said = refused(plain)
    assert "has arrived: exports/c.csv; is gone: exports/b.csv" in said
    assert "published v0001" in said
    assert not (plain / "review").exists()


def test_settings_that_changed(plain, monkeypatch):
    campaign = load_campaign(plain, sets=["quality.alpha=0.5"])
    with pytest.raises(StoreError, match=r"another one\n.*control_judges was made with other"):
        review(campaign, plain / "review")
    review(load_campaign(plain, sets=["ranking.alpha=0.01"]), plain / "review")
    monkeypatch.setenv("ANNOT_KEY", "another key, which gives other names")
    assert "settle_judgments was made with other settings, another key" in refused(plain)
    monkeypatch.delenv("ANNOT_KEY")
    said = refused(plain)
    assert "$ANNOT_KEY is not set" in said
    assert said.endswith("do:      set $ANNOT_KEY")
    assert not (plain / "store" / "judge.key").exists()


def test_a_build_that_stopped_half_way(make, plain):
    make({"b.csv": batch(work("other", CAREFUL))}, build=False)
    from annot_pipeline.stages.build import STAGES, Build

    build = Build(load_campaign(plain))
    for stage in STAGES[:5]:
        build.run_stage(stage)
    assert "the last build stopped before standardize_scores" in refused(plain)


def test_a_gate_that_failed_does_not_keep_work_from_review(make):
    folder = make({"b.csv": batch(work("careful", CAREFUL), work("empty", "odd"))}, build=False,
                  gates={"rejected_share": {"error": 0.1}})  # fmt: skip
    from annot_pipeline.stages.build import STAGES, Build

    build = Build(load_campaign(folder))
    for stage in STAGES:
        build.run_stage(stage)
    with pytest.raises(GateError):
        publish(build)
    assert reviewed(folder)["decide"] == 1


def test_an_archive_that_is_damaged(plain):
    (kept,) = (plain / "store" / "archive").glob("*/*")
    kept.write_bytes(kept.read_bytes() + b"\n")
    assert "exports/b.csv: not as it was archived" in refused(plain)
    kept.unlink()
    assert "the archive has lost it" in refused(plain)


def test_rows_that_do_not_match(plain, monkeypatch):
    """Should rows ever be counted otherwise than the readers did, nobody is paid by mistake."""
    from annot_pipeline.review import upload as module

    whole = module.BatchFile.rows

    def moved(self: Any, lines: Any) -> Any:
        first, *rows = whole(self, lines)
        return iter([first, *rows[::-1]])

    monkeypatch.setattr(module.BatchFile, "rows", moved)
    assert "row 1 (line 2), WorkerId: the last build read it otherwise" in refused(plain)
    monkeypatch.setattr(module.BatchFile, "rows", lambda s, ls: iter([*whole(s, ls)][:-1]))
    assert "1 rows: the last build read it otherwise: 2 were read" in refused(plain)
    monkeypatch.setattr(
        module.BatchFile, "rows", lambda s, ls: iter([*(w := [*whole(s, ls)]), w[-1]])
    )
    assert "row 3 (line 4): the last build" in refused(plain)
    monkeypatch.setattr(module, "READERS", {"mturk": lambda _: Export(iter(()), ["HIT"])})
    assert "the header: the last build read it otherwise: columns HIT were read" in refused(plain)
    assert sorted(p.name for p in (plain / "review").iterdir()) == []


def test_decisions_of_a_person_are_not_lost(plain):
    reviewed(plain)
    before = {p.name: p.read_bytes() for p in (plain / "review").iterdir()}
    reviewed(plain)  # nothing was edited
    assert {p.name: p.read_bytes() for p in (plain / "review").iterdir()} == before
    path = plain / "review" / "upload-b.csv"
    path.write_text(path.read_text().replace('"x",""', '"","no"'))
    edited = path.read_bytes()
    said = refused(plain, ConfigError)
    assert "holds decisions" in said
    assert "upload-b.csv: was edited since annot review wrote it" in said
    assert "--force" in said
    assert path.read_bytes() == edited
    reviewed(plain, force=True)
    assert path.read_bytes() == before["upload-b.csv"]
    (plain / "review" / "review.csv").write_text("remarks")
    assert "review.csv: was edited" in refused(plain, ConfigError)
    (plain / "review" / ".written.json").unlink()
    assert "upload-b.csv: was edited" in refused(plain, ConfigError)


def test_files_of_batches_that_are_gone(make, plain):
    reviewed(plain)
    rows = batch(work("careful", CAREFUL))
    make({"c.csv": rows})
    reviewed(plain)
    names = sorted(p.name for p in (plain / "review").iterdir())
    assert names == [".written.json", "review.csv", "upload-c.csv"]
    (plain / "review" / "upload-c.csv").write_text("edited")
    make({"d.csv": rows})
    reviewed(plain)
    assert upload(plain, "upload-c.csv") == "edited"
    assert (plain / "review" / "upload-d.csv").exists()


def test_nothing_is_written_if_writing_fails(plain, monkeypatch):
    reviewed(plain)
    before = {p.name: p.read_bytes() for p in (plain / "review").iterdir()}
    from annot_pipeline.review import command as module

    def broken(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module, "write_sheet", broken)
    with pytest.raises(OSError, match="No space"):
        reviewed(plain)
    assert {p.name: p.read_bytes() for p in (plain / "review").iterdir()} == before


def test_a_review_that_was_killed_is_no_edit(make, plain, monkeypatch):
    reviewed(plain)
    before = upload(plain)
    make({"b.csv": batch(work("careful", CAREFUL), work("careless", CAREFUL))})
    from annot_pipeline.review import command as module

    def killed(*arguments: Any) -> None:
        whole(*arguments)
        raise KeyboardInterrupt

    whole = module.write_json
    monkeypatch.setattr(module, "write_json", killed)
    with pytest.raises(KeyboardInterrupt):
        reviewed(plain)
    assert upload(plain) == before
    monkeypatch.setattr(module, "write_json", whole)
    reviewed(plain)
    assert upload(plain).count('"x",""') == 2


def test_what_a_killed_review_left_is_removed(plain):
    (plain / "review").mkdir()
    (plain / "review" / ".tmp-upload-b.csv-1-2").write_text("w1")
    (plain / "review" / "mine.txt").write_text("w1")
    reviewed(plain)
    assert sorted(p.name for p in (plain / "review").iterdir()) == [
        ".written.json", "mine.txt", "review.csv", "upload-b.csv",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("written", "what"),
    [
        ({"../campaign.yaml": []}, "'../campaign.yaml', which is no file of this folder"),
        ({"/etc/passwd": []}, "which is no file of this folder"),
        ({"upload-../../x.csv": []}, "which is no file of this folder"),
        ({"mine.txt": []}, "which is no file of this folder"),
        ({"..": []}, "which is no file of this folder"),
        ({"upload-b.csv": 3}, "no checksums of 'upload-b.csv'"),
        ({"upload-b.csv": [3]}, "no checksums of 'upload-b.csv'"),
        ([], "holds no names of files"),
        ("not JSON", "cannot be read"),
    ],
)
def test_a_list_of_written_files_that_names_others_is_refused(plain, written, what):
    """It may come with a folder from somebody else: nothing that it names is deleted."""
    reviewed(plain)
    other = plain / "other.csv"
    other.write_text("mine")
    known = plain / "review" / ".written.json"
    if isinstance(written, dict):  # as if annot review had written them
        actual = [plain / "review" / name for name in written]
        hashes = {p.name: [file_sha256(p)] for p in actual if p.is_file()}
        written = {name: hashes.get(Path(name).name, value) if value == [] else value
                   for name, value in written.items()}  # fmt: skip
    known.write_text(written if isinstance(written, str) else json.dumps(written))
    before = {p: p.read_bytes() for p in plain.rglob("*") if p.is_file() and p.name != ".lock"}
    for force in (False, True):
        with pytest.raises(ConfigError, match="not as annot review wrote it") as error:
            reviewed(plain, force=force)
        assert what in str(error.value)
        assert "nothing was written or deleted" in str(error.value)
    after = {p: p.read_bytes() for p in plain.rglob("*") if p.is_file() and p.name != ".lock"}
    assert after == before


def test_a_link_in_the_place_of_a_written_file_is_refused(plain, tmp_path):
    reviewed(plain)
    upload_ = plain / "review" / "upload-b.csv"
    upload_.rename(tmp_path / "kept.csv")
    upload_.symlink_to(tmp_path / "kept.csv")
    with pytest.raises(ConfigError, match="which is a link"):
        reviewed(plain)
    assert (tmp_path / "kept.csv").is_file()


def test_odd_names_of_exports_are_reviewed_again(make):
    rows = batch(work("careful", CAREFUL))
    folder = make({"a\\b.csv": rows, "c\u00a0d.csv": rows, "..e.csv": rows})
    reviewed(folder)
    reviewed(folder)
    assert len([*(folder / "review").glob("upload-*.csv")]) == 3


def test_the_owner_alone_reads_names(plain):
    reviewed(plain)
    for name in ("review.csv", "upload-b.csv"):
        assert stat.S_IMODE((plain / "review" / name).stat().st_mode) == 0o600
    reviewed(plain)
    assert stat.S_IMODE((plain / "review" / "review.csv").stat().st_mode) == 0o600
    assert "careful" not in (plain / "review" / ".written.json").read_text()


def test_globs_of_any_depth():
    def fits(path: str, glob: str) -> bool:
        return matches_glob(path.split("/"), glob.split("/"))

    assert all(fits(path, "a/**/*.csv") for path in ("a/b.csv", "a/b/b.csv", "a/b/c/b.csv"))
    assert not any(fits(path, "a/**/*.csv") for path in ("b.csv", "b/a/b.csv", "a/b.tsv", "a"))
    assert fits("a/b", "a/b")
    assert not any(fits(path, "a/*") for path in ("a", "a/b/c", "b/a"))


@pytest.mark.parametrize("glob", ["**/*.csv", "*/*.csv", "review/u*", "../campaign/*/*.csv"])
def test_no_glob_may_match_what_it_writes(make, glob, monkeypatch):
    folder = make({"b.csv": batch(work("careful", CAREFUL))}, source={"path": glob}, build=False)
    if glob == "review/u*":
        (folder / "exports").rename(folder / "review")
        (folder / "review" / "b.csv").rename(folder / "review" / "u.csv")
    build_file(folder)
    assert f"sources.0.path: {glob} matches" in refused(folder, ConfigError, force=True)
    monkeypatch.chdir(folder)
    with pytest.raises(ConfigError, match="read it as an export"):
        review(load_campaign("."), Path("review"))
    review(load_campaign(folder), folder.parent / "elsewhere")
