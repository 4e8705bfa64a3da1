"""annot verify: whatever was changed, added or taken away is found, and the file is named."""

from __future__ import annotations

import json
import os
import random
import shutil
from pathlib import Path
from typing import Any

import pytest

from annot_pipeline.audit.verify.everything import verify
from annot_pipeline.cli import main
from annot_pipeline.config.campaign_file import load_campaign
from annot_pipeline.errors import StoreError
from annot_pipeline.storage.locks import LOCK
from annot_pipeline.storage.pointer import Pointer, read_pointer, write_pointer
from tests.audit.two_releases import flip, forge_log, released_exports, rewrite

FLIPS = 200 if os.environ.get("SOAK") else 14


def verified(campaign: Path, version: str | None = None) -> dict[str, Any]:
    return verify(load_campaign(campaign), version)


def files(campaign: Path, version: str | None = None) -> list[str]:
    """Files that a verification names, relative to the campaign."""
    findings = verified(campaign, version)["findings"]
    return [Path(f["file"]).relative_to(campaign).as_posix() for f in findings]


def test_what_was_published_is_as_published(campaign):
    document = verified(campaign)
    assert document["ok"]
    assert document["findings"] == []
    gold = [p for p in (campaign / "gold").rglob("*") if p.is_file() and p.name != LOCK]
    archive = [p for p in (campaign / "store" / "archive").rglob("*") if p.is_file()]
    assert document["files"] == len(gold) + len(archive)
    assert document["bytes"] == sum(p.stat().st_size for p in [*gold, *archive])
    assert [r["version"] for r in document["releases"]] == ["v0001", "v0002"]
    one = verified(campaign, "v0001")
    assert [r["version"] for r in one["releases"]] == ["v0001"]
    assert one["files"] == 1 + document["releases"][0]["files"] + 1  # pointer and one export
    assert verified(campaign, "latest")["releases"][0]["version"] == "v0002"


def test_exports_that_differ_from_those_of_a_release_are_listed_and_no_finding(campaign, capsys):
    def exports(version: str | None = None) -> dict[str, list[str]]:
        document = verified(campaign, version)
        assert document["ok"]
        listed = document["exports"]
        assert listed["error"] is None
        assert listed["release"] == (version or "v0002")
        return {what: listed[what] for what in ("new", "changed", "gone")}

    assert not any(exports().values())
    [first, second] = sorted((campaign / "exports").iterdir())
    names = [f"exports/{path.name}" for path in (first, second)]
    assert exports("v0001")["new"] == names[1:]
    first.write_bytes(first.read_bytes() + first.read_bytes().splitlines(True)[-1])
    (campaign / "exports" / "z.csv").write_bytes(second.read_bytes())
    second.unlink()
    assert exports() == {"new": ["exports/z.csv"], "changed": names[:1], "gone": names[1:]}
    assert main(["verify", str(campaign)]) == 0
    text = capsys.readouterr().out
    assert f"exports changed since v0002: {names[0]}\n" in text
    assert "next: annot build" in text


def test_a_flipped_bit_anywhere_is_found_and_its_file_is_named(campaign):
    """Each kind of file in turn; places and bits are drawn from a fixed seed."""
    random_ = random.Random(17)
    release = campaign / "gold" / "v0002"
    kinds = [
        sorted((campaign / "store" / "archive").glob("*/*")),
        sorted(release.glob("*.parquet")),
        [release / "manifest.json"],
        [campaign / "gold" / "v0001" / "manifest.json"],
        [campaign / "gold" / "latest.json"],
        [release / "report.html"],
        [release / "README.md", release / "croissant.json"],
    ]
    for turn in range(FLIPS):
        path = random_.choice(kinds[turn % len(kinds)])
        place, bit = random_.randrange(path.stat().st_size), random_.randrange(8)
        flip(path, place, bit)
        named = files(campaign)
        assert path.relative_to(campaign).as_posix() in named, (path, place, bit)
        assert len(set(named)) == 1, (path, place, bit, named)
        flip(path, place, bit)
    assert verified(campaign)["ok"]


def test_every_byte_of_the_pointer_counts(campaign):
    path = campaign / "gold" / "latest.json"
    for place in range(path.stat().st_size):
        flip(path, place, place % 8)
        with pytest.raises(StoreError, match="damaged"):
            read_pointer(campaign / "gold")
        flip(path, place, place % 8)
    flip(path, 30)
    assert files(campaign, "v0001") == ["gold/latest.json"]


def test_what_is_missing_or_too_much_is_named(campaign):
    release = campaign / "gold" / "v0002"
    (release / "labels.parquet").unlink()
    (release / "notes.txt").write_text("mine")
    (release / "old").mkdir()
    assert files(campaign) == [
        "gold/v0002/notes.txt", "gold/v0002/old", "gold/v0002/labels.parquet",
    ]  # fmt: skip
    (release / "manifest.json").unlink()
    assert files(campaign) == ["gold/v0002/manifest.json"]
    shutil.rmtree(release)
    assert files(campaign) == ["gold/v0002"]
    with pytest.raises(StoreError, match="its folder does not exist"):
        verified(campaign, "latest")
    assert verified(campaign, "v0001")["ok"]


def test_what_lies_among_the_releases_and_is_none_is_named(campaign):
    (campaign / "gold" / "stray.txt").write_text("x")
    (campaign / "gold" / "v0002x").mkdir()
    (campaign / "gold" / ".gitignore").write_text("*")
    assert files(campaign) == ["gold/stray.txt", "gold/v0002x"]
    assert files(campaign, "v0002") == []


def test_links_are_no_files_of_a_release(campaign, tmp_path):
    path = campaign / "gold" / "v0001" / "labels.parquet"
    elsewhere = tmp_path / "labels.parquet"
    path.rename(elsewhere)
    path.symlink_to(elsewhere)  # the same bytes, but anybody can change them
    [finding] = verified(campaign)["findings"]
    assert "a link" in finding["what"]
    elsewhere.rename(path)
    (campaign / "gold" / "v0001").rename(tmp_path / "v0001")
    (campaign / "gold" / "v0001").symlink_to(tmp_path / "v0001")
    [finding] = verified(campaign)["findings"]
    assert "no ordinary folder" in finding["what"]


def test_a_missing_archive_is_named_with_who_needs_it(campaign):
    shas = released_exports(campaign, "v0002")
    shutil.rmtree(campaign / "store" / "archive")
    findings = verified(campaign)["findings"]
    told = {Path(f["file"]).name: f["what"] for f in findings}
    assert told == {
        shas["exports/a.csv"]: "missing from the archive; v0001, v0002 need it (exports/a.csv)",
        shas["exports/b.csv"]: "missing from the archive; v0002 needs it (exports/b.csv)",
    }
    assert len(verified(campaign, "v0001")["findings"]) == 1


def test_the_archive_is_checked_beyond_what_releases_name(campaign):
    archive = campaign / "store" / "archive"
    (archive / "notes.txt").write_text("mine")
    (archive / "00").mkdir(exist_ok=True)
    (archive / "00" / ("0" * 64)).write_text("not these bytes")
    (archive / "00" / ".tmp-being-written").write_text("half")
    assert files(campaign) == [f"store/archive/00/{'0' * 64}", "store/archive/notes.txt"]
    assert verified(campaign, "v0001")["ok"]


def test_a_manifest_that_says_otherwise_is_found_though_its_checksum_is_right(campaign):
    def lie(manifest):
        manifest["tables"][0]["rows"] += 1
        manifest["tables"][1]["columns"][0]["type"] = "int64"
        manifest["content_sha256"] = "0" * 64
        manifest["sources"][0]["bytes"] += 1

    rewrite(campaign, "v0002", lie)
    whats = [f["what"] for f in verified(campaign)["findings"]]
    assert whats[0] == "6 rows; the manifest says 7"
    assert whats[1] == "columns are not those of the manifest: task"
    assert whats[2] == "content_sha256 is not that of its tables"
    assert "v0002 says otherwise" in whats[3]
    assert len(whats) == 4


def test_a_manifest_that_contradicts_itself(campaign):
    def lie(manifest):
        manifest["files"]["labels.parquet"] = "0" * 64

    rewrite(campaign, "v0002", lie)
    found_ = {Path(f["file"]).name: f["what"] for f in verified(campaign)["findings"]}
    assert "not the bytes that were published" in found_["labels.parquet"]
    assert "another checksum of labels.parquet" in found_["manifest.json"]


def test_a_forged_parent_is_found_by_its_child(campaign):
    rewrite(campaign, "v0001", lambda manifest: manifest.update(signature="none"))
    document = verified(campaign)
    [finding] = document["findings"]
    assert finding == {
        "file": str(campaign / "gold" / "v0001" / "manifest.json"),
        "what": "replaced since its child v0002 was published, which knows other bytes",
        "do": "restore v0001 and latest.json from a backup",
    }
    assert [row["ok"] for row in document["releases"]] == [False, True]


@pytest.mark.parametrize("pruned", [(), ("v0001",)])
def test_a_forged_pointer_is_found_by_the_releases(campaign, pruned):
    gold = campaign / "gold"
    pointer = read_pointer(gold)
    assert pointer
    manifests = {**pointer.manifests, "v0001": "0" * 64}
    if pruned:
        shutil.rmtree(gold / "v0001")
    write_pointer(gold, Pointer(pointer.version, manifests, pruned))
    forge_log(campaign)
    document = verified(campaign)
    whats = {finding["what"]: Path(finding["file"]).name for finding in document["findings"]}
    [what] = [what for what, name in whats.items() if name == "latest.json"]
    assert what.startswith("it has another digest of v0001")
    assert document["releases"][-1]["ok"], "v0002 is intact"


def test_a_release_that_nothing_points_to_is_named(campaign):
    shutil.copytree(campaign / "gold" / "v0002", campaign / "gold" / "v0003")
    assert files(campaign) == ["gold/v0003/manifest.json"]  # it is that of v0002
    shutil.rmtree(campaign / "gold" / "v0003")
    (campaign / "gold" / "latest.json").unlink()
    assert files(campaign) == ["gold/latest.json"]


def test_a_newer_schema_and_a_path_outside_are_findings(campaign):
    rewrite(campaign, "v0001", lambda manifest: manifest.update(schema_version=99))
    assert "written by a newer annot-pipeline" in verified(campaign, "v0001")["findings"][0]["what"]

    def outside(manifest):
        manifest["tables"][0]["file"] = "../v0001/labels.parquet"

    rewrite(campaign, "v0002", outside)
    assert "no plain file name" in verified(campaign, "v0002")["findings"][0]["what"]


def test_releases_of_another_campaign_are_refused(campaign):
    with pytest.raises(StoreError, match="holds releases of another campaign"):
        verify(load_campaign(campaign, sets=["campaign=other"]))


def test_the_command(campaign, capsys):
    assert main(["verify", str(campaign)]) == 0
    out = capsys.readouterr().out
    assert "v0001    ok" in out
    assert "all as published" in out
    flip(campaign / "gold" / "v0002" / "report.html", 99, 1)
    assert main(["verify", str(campaign), "--json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert [r["ok"] for r in document["releases"]] == [True, False]
    assert document["findings"][0]["file"].endswith("v0002/report.html")
    assert main(["verify", str(campaign)]) == 1
    assert "v0002/report.html: not the bytes that were published" in capsys.readouterr().out
    assert main(["verify", str(campaign), "v0001"]) == 0
    assert main(["verify", str(campaign), "v0007"]) == 1
    assert "there are v0001, v0002" in capsys.readouterr().err
