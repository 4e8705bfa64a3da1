"""annot prune and annot pin: what is kept can be verified, what goes is known to have gone."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from annot_pipeline import load_gold
from annot_pipeline.audit.verify.everything import verify
from annot_pipeline.cli import main
from annot_pipeline.commands import prune as prune_module
from annot_pipeline.commands.prune import list_pins, prune, set_pin
from annot_pipeline.commands.release_list import list_releases
from annot_pipeline.commands.status import status
from annot_pipeline.config.campaign_file import load_campaign
from annot_pipeline.errors import ConfigError, Problem, StoreError
from annot_pipeline.storage.pointer import read_pointer
from annot_pipeline.storage.release_log import LOG, ReleaseLog
from annot_pipeline.storage.releases import Releases
from tests.audit.two_releases import (
    EXPORT,
    KEY,
    MORE,
    SETTINGS,
    build,
    flip,
    manifest_of,
    released_exports,
)

pytestmark = pytest.mark.slow

LAST = "item,judge,label\ni3,w9,a\n"


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    """Three releases; the export of the second is in no other, and is gone."""
    folder = tmp_path_factory.mktemp("three") / "campaign"
    build(folder, {"a.csv": EXPORT})
    build(folder, {"a.csv": EXPORT, "b.csv": MORE})
    return build(folder, {"a.csv": EXPORT, "c.csv": LAST})


def pruned(campaign: Path, keep: int, **options: Any) -> dict[str, Any]:
    return prune(load_campaign(campaign), keep, progress=lambda _: None, **options)


def pinned(campaign: Path, version: str, remove: bool = False, why: str = "") -> str:
    progress = [].append
    return set_pin(load_campaign(campaign), version, remove=remove, why=why, progress=progress)


def archived_exports(campaign: Path) -> set[str]:
    return {p.name for p in (campaign / "store" / "archive").glob("*/*")}


def exports_of(campaign: Path, version: str) -> dict[str, str]:
    return released_exports(campaign, version)


def test_the_newest_stay_and_the_rest_is_known_as_pruned(campaign):
    sizes = {v: sum(p.stat().st_size for p in (campaign / "gold" / v).iterdir())
             for v in ("v0001", "v0002")}  # fmt: skip
    document = pruned(campaign, 1)
    assert [r["version"] for r in document["removed"]] == ["v0001", "v0002"]
    assert {r["version"]: r["bytes"] for r in document["removed"]} == sizes
    assert [(r["version"], r["newest"], r["pinned"]) for r in document["kept"]] == [
        ("v0003", True, False)
    ]
    assert document["archive"] == {"kept": 2, "removed": 1, "bytes": len(MORE)}
    assert document["bytes"] == sum(sizes.values()) + len(MORE)
    assert archived_exports(campaign) == set(exports_of(campaign, "v0003").values())
    actual = verify(load_campaign(campaign), rebuild=True)
    assert actual["ok"], actual["findings"]
    assert actual["pruned"] == ["v0001", "v0002"]
    assert not list((campaign / "gold").glob(".tmp-*"))


def test_status_releases_and_builds_go_on(campaign, monkeypatch):
    monkeypatch.setenv("ANNOT_KEY", KEY)
    pruned(campaign, 1)
    assert [r["version"] for r in list_releases(load_campaign(campaign))["releases"]] == ["v0003"]
    assert not status(load_campaign(campaign))["build_due"]
    build(campaign, {"a.csv": EXPORT})
    assert manifest_of(campaign, "v0004")["parent"]["version"] == "v0003"
    pointer = read_pointer(campaign / "gold")
    assert sorted(pointer.manifests) == ["v0001", "v0002", "v0003", "v0004"]
    assert pointer.pruned == ("v0001", "v0002")
    assert verify(load_campaign(campaign))["ok"]
    with pytest.raises(StoreError, match="no release v0001") as error:
        load_gold(campaign / "gold", "labels", "v0001")
    assert "annot prune or forget removed it" in str(error.value)


def test_why_no_release_goes(campaign, capsys):
    words = ["prune", str(campaign), "--keep", "1", "--dry-run"]
    for version in ("v0001", "v0002"):
        pinned(campaign, version)
    assert main(words) == 0
    assert "no release goes: 2 older, all pinned\n" in capsys.readouterr().out
    words[3] = "3"
    assert main(words) == 0
    assert "no release goes: none is older\n" in capsys.readouterr().out


def test_a_pinned_release_stays_with_what_it_needs(campaign):
    assert pinned(campaign, "v0002", why="the paper") == "v0002"
    document = pruned(campaign, 1)
    assert [r["version"] for r in document["removed"]] == ["v0001"]
    assert document["kept"][0] == {
        "version": "v0002", "newest": False, "pinned": True, "why": "the paper",
    }  # fmt: skip
    assert document["archive"]["removed"] == 0
    assert verify(load_campaign(campaign), "v0002", rebuild=True)["ok"]
    assert pinned(campaign, "v0002", remove=True) == "v0002"
    assert [r["version"] for r in pruned(campaign, 1)["removed"]] == ["v0002"]


def test_a_dry_run_changes_nothing(campaign):
    before = {p: p.stat().st_mtime_ns for p in campaign.rglob("*")}
    document = pruned(campaign, 2, dry_run=True)
    assert [r["version"] for r in document["removed"]] == ["v0001"]
    assert {p: p.stat().st_mtime_ns for p in campaign.rglob("*")} == before


def test_what_goes_is_said_with_sizes_before_it_goes(campaign, capsys, monkeypatch):
    words = ["prune", str(campaign), "--keep", "1"]
    assert main([*words, "--dry-run"]) == 0
    planned = capsys.readouterr().out
    [freed] = re.findall(r"^bytes would be freed: ([\d,]+)$", planned, re.MULTILINE)
    sizes = re.findall(r"^  (v\d+) +([\d,]+)$", planned, re.MULTILINE)
    assert [version for version, _ in sizes] == ["v0001", "v0002"]
    assert planned.endswith("next: the same without --dry-run\n")
    before: list[str] = []
    remove = Releases.remove

    def removed(releases: Releases, versions: list[str]) -> None:
        before.append(capsys.readouterr().err)
        remove(releases, versions)

    monkeypatch.setattr(Releases, "remove", removed)
    assert main(words) == 0
    assert f"removes v0001, v0002, 1 archived export: {freed} bytes" in before[0]
    assert capsys.readouterr().out.endswith(f"next: annot verify {campaign}\n")


def test_present_exports_stay_also_where_no_release_has_them(campaign):
    (campaign / "exports" / "b.csv").write_text(MORE)  # back again, not built yet
    assert pruned(campaign, 1)["archive"]["removed"] == 0


def feed(campaign: Path, gold: Path) -> Path:
    ReleaseLog(campaign / "store", gold).feed()
    return gold


def fed(campaign: Path) -> list[str]:
    return ReleaseLog(campaign / "store", campaign / "gold").locations()


def test_what_another_gold_folder_needs_stays(campaign):
    other = feed(campaign, shutil.copytree(campaign / "gold", campaign / "other"))
    assert fed(campaign) == [str(campaign / "gold"), str(other)]
    assert pruned(campaign, 1)["archive"]["removed"] == 0
    shutil.rmtree(other)
    assert pruned(campaign, 1, gone=[str(other)])["archive"]["removed"] == 1
    assert fed(campaign) == [str(campaign / "gold")]


@pytest.fixture(scope="module")
def built_two_golds(tmp_path_factory) -> Path:
    """Two releases in ``gold``, one of corrected exports in ``gold2``; ``gold`` is away."""
    folder = tmp_path_factory.mktemp("two golds") / "campaign"
    build(folder, {"a.csv": EXPORT})
    build(folder, {"a.csv": EXPORT + "i9,w1,a\n"})
    build(folder, {"a.csv": EXPORT + "i9,w1,b\n"}, "gold=gold2")
    (folder / "gold").rename(folder.parent / "disk")
    return folder


@pytest.fixture
def two_golds(built_two_golds, tmp_path) -> Path:
    campaign = shutil.copytree(built_two_golds, tmp_path / "campaign")
    (campaign / "campaign.yaml").write_text(json.dumps({**SETTINGS, "gold": "gold2"}))
    return campaign


def without_lines(log: Path, *numbers: int) -> None:
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join(line for n, line in enumerate(lines) if n not in numbers))


LOSSES: dict[str, Callable[[Path], Any]] = {
    "missing": Path.unlink,
    "empty": lambda log: log.write_bytes(b""),
    "other text": lambda log: log.write_text('["../gold2"]'),
    "without the lines of the gold": lambda log: without_lines(log, 0, 1, 2),
    "a bit": lambda log: flip(log, 40),
}


@pytest.mark.parametrize("loss", LOSSES)
def test_absent_gold_is_missed_whatever_became_of_the_log(two_golds, loss, capsys):
    before = archived_exports(two_golds)
    LOSSES[loss](two_golds / "store" / LOG)
    for command in (["--keep", "1"], ["--keep", "1", "--gone"], ["--keep", "1", "--dry-run"]):
        assert main(["prune", str(two_golds), *command]) == 1
        assert "--gone" in capsys.readouterr().err
    assert archived_exports(two_golds) == before
    build(two_golds, {"a.csv": EXPORT + "i9,w1,b\n"}, "gold=gold2")  # mends the log
    (two_golds / "campaign.yaml").write_text(json.dumps({**SETTINGS, "gold": "gold2"}))
    assert main(["prune", str(two_golds), "--keep", "1"]) == 1
    assert archived_exports(two_golds) == before


@pytest.mark.parametrize("loss", ["missing", "a bit"])
def test_lost_lines_are_given_up_with_the_gold_that_they_may_have_named(two_golds, loss):
    before = archived_exports(two_golds)
    log = two_golds / "store" / LOG
    LOSSES[loss](log)
    problems = {problem.where: problem.do for problem in refused(two_golds)}
    assert f"--gone {LOG}" in problems[str(log)]
    with pytest.raises(ConfigError, match="only what is away can be given up"):
        pruned(two_golds, 1, gone=["gold3"])
    away = [str(two_golds / "gold")] if loss == "a bit" else []
    assert pruned(two_golds, 1, gone=[LOG, *away])["archive"]["removed"] > 0
    assert len(archived_exports(two_golds)) < len(before)
    assert main(["prune", str(two_golds), "--keep", "1"]) == 0  # it is forgotten


def test_gold_that_is_back_is_known_by_a_build(two_golds, built_two_golds):
    LOSSES["missing"](two_golds / "store" / LOG)
    shutil.copytree(built_two_golds.parent / "disk", two_golds / "gold")
    assert main(["prune", str(two_golds), "--keep", "1"]) == 1
    build(two_golds, {"a.csv": EXPORT + "i9,w1,a\n"}, "gold=gold")
    assert manifest_of(two_golds, "v0002")
    assert Releases(two_golds / "gold").versions() == ["v0001", "v0002"]  # nothing new
    assert f"{two_golds / 'gold'}" in fed(two_golds)
    before = archived_exports(two_golds)
    (two_golds / "campaign.yaml").write_text(json.dumps({**SETTINGS, "gold": "gold2"}))
    with pytest.raises(ConfigError, match="is there, with its releases"):
        pruned(two_golds, 1, gone=["gold"])
    assert main(["prune", str(two_golds), "--keep", "1", "--gone", LOG]) == 0
    assert archived_exports(two_golds) == before


def refused(campaign: Path) -> tuple[Problem, ...]:
    with pytest.raises(StoreError, match="nothing is pruned") as error:
        pruned(campaign, 1)
    return error.value.problems


def away(gold: Path, how: str) -> None:
    """Let gold be away, as with a disk that is not mounted, or half of it."""
    if how == "the disk":
        gold.rename(gold.with_name("elsewhere"))
    elif how == "an empty mount point":
        gold.rename(gold.with_name("elsewhere"))
        gold.mkdir()
    elif how == "latest.json":
        (gold / "latest.json").unlink()
    elif how == "damaged":
        flip(gold / "latest.json", 40)
    elif how == "a release":
        (gold / "v0001").rename(gold.with_name("elsewhere"))
    else:
        (gold / "v0002" / "manifest.json").unlink()


@pytest.mark.parametrize(
    "how",
    ["the disk", "an empty mount point", "latest.json", "damaged", "a release", "a manifest"],
)
def test_nothing_goes_while_other_gold_is_away_unless_it_is_given_up(campaign, how, capsys):
    other = feed(campaign, shutil.copytree(campaign / "gold", campaign / "other"))
    away(other, how)
    before = archived_exports(campaign)
    for command in (["--keep", "1"], ["--keep", "1", "--gone"], ["--keep", "1", "--dry-run"]):
        assert main(["prune", str(campaign), *command]) == 1
        assert f"--gone {other}" in capsys.readouterr().err
    assert archived_exports(campaign) == before
    assert Releases(campaign / "gold").versions() == ["v0001", "v0002", "v0003"]
    assert main(["prune", str(campaign), "--keep", "1", "--gone", str(other)]) == 0
    assert len(archived_exports(campaign)) == len(before) - 1
    assert main(["prune", str(campaign), "--keep", "1"]) == 0  # it is forgotten


def test_nothing_goes_while_a_release_of_this_gold_is_away(campaign):
    (campaign / "gold" / "v0002").rename(campaign / "elsewhere")
    before = archived_exports(campaign)
    with pytest.raises(StoreError, match="v0002 was published, but its folder does not exist"):
        pruned(campaign, 1)
    (campaign / "elsewhere").rename(campaign / "gold" / "v0002")
    assert archived_exports(campaign) == before
    shutil.rmtree(campaign / "gold" / "v0002")
    document = pruned(campaign, 1, gone=["v0002"])
    assert document["struck_off"] == ["v0002"]
    assert document["archive"]["removed"] == 1


@pytest.mark.parametrize("name", ["v0001", "v0009", "gold", "other", "nowhere", "s3://b/gold"])
def test_what_is_there_cannot_be_given_up(campaign, name):
    feed(campaign, shutil.copytree(campaign / "gold", campaign / "other"))
    with pytest.raises(ConfigError, match="only what is away can be given up"):
        pruned(campaign, 1, gone=[name])


def test_nothing_goes_while_nobody_knows_what_stays(campaign):
    manifest = campaign / "gold" / "v0003" / "manifest.json"
    flip(manifest, 40)
    with pytest.raises(StoreError, match="not the bytes that were published"):
        pruned(campaign, 1)
    flip(manifest, 40)
    set_pin(load_campaign(campaign), "v0001", remove=False, why="paper", progress=lambda _: None)
    pointer = campaign / "gold" / "latest.json"
    kept = pointer.read_bytes()
    pointer.write_bytes(kept.replace(b'"v0001": {', b'"v0002": {'))  # another pin
    assert pointer.read_bytes() != kept
    with pytest.raises(StoreError, match=r"latest\.json: damaged"):
        pruned(campaign, 1)
    pointer.write_bytes(kept)
    assert Releases(campaign / "gold").versions() == ["v0001", "v0002", "v0003"]
    with pytest.raises(ConfigError, match="no release would stay"):
        pruned(campaign, 0)
    with pytest.raises(StoreError, match="another campaign"):
        prune(load_campaign(campaign, sets=["campaign=other"]), 1, progress=lambda _: None)


@pytest.mark.parametrize("step", ["rename", "rmtree"])
def test_killed_half_way_each_release_is_whole_or_gone(campaign, monkeypatch, step):
    from annot_pipeline.storage import gold_folder

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    module = {"rename": gold_folder.os, "rmtree": gold_folder.shutil}[step]
    with monkeypatch.context() as patch:
        patch.setattr(module, step, killed)
        with pytest.raises(KeyboardInterrupt):
            pruned(campaign, 1)
    there = Releases(campaign / "gold").versions()
    assert there == {"rename": ["v0001", "v0002", "v0003"], "rmtree": ["v0002", "v0003"]}[step]
    assert verify(load_campaign(campaign))["ok"]
    assert [r["version"] for r in pruned(campaign, 1)["removed"]] == there[:-1]
    assert not list((campaign / "gold").glob(".tmp-*"))
    assert verify(load_campaign(campaign))["ok"]


def test_a_release_that_went_by_hand_is_not_taken_for_pruned(campaign):
    shutil.rmtree(campaign / "gold" / "v0001")
    [finding] = verify(load_campaign(campaign))["findings"]
    assert "annot prune did not remove it" in finding["what"]


def test_a_pin_needs_a_release(campaign):
    with pytest.raises(StoreError, match="no release v0009"):
        pinned(campaign, "v0009")
    with pytest.raises(StoreError, match="v0001 is not pinned"):
        pinned(campaign, "v0001", remove=True)
    assert pinned(campaign, "latest") == "v0003"
    shutil.rmtree(campaign / "gold" / "v0003")
    whats = [f["what"] for f in verify(load_campaign(campaign))["findings"]]
    assert whats == ["it is pinned, but its folder does not exist; annot prune did not remove it"]


def test_a_catalog_that_cannot_be_written_does_not_stop_it(campaign, monkeypatch):
    def full(*_: object) -> None:
        raise StoreError("catalog.duckdb: cannot be written")

    monkeypatch.setattr(prune_module, "write_catalog", full)
    said: list[str] = []
    prune(load_campaign(campaign), 1, progress=said.append)
    assert Releases(campaign / "gold").versions() == ["v0003"]
    assert any("the catalog is not written" in line for line in said)


def test_the_commands(campaign, capsys):
    assert main(["pin", str(campaign)]) == 0
    assert "no release is pinned" in capsys.readouterr().out
    assert main(["pin", str(campaign), "v0001", "--because", "paper\x1b[2J"]) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[2].startswith("  v0001    20")
    assert "\x1b" not in out
    assert main(["pin", str(campaign), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [row["version"] for row in document["pins"]] == ["v0001"]
    assert document["pins"] == list_pins(load_campaign(campaign))
    assert main(["prune", str(campaign), "--keep", "1", "--dry-run"]) == 0
    out = capsys.readouterr().out
    assert "v0001               yes" in out.partition("releases that would go")[0]
    assert "v0002" in out.partition("releases that would go")[2]
    assert main(["prune", str(campaign), "--keep", "1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["removed"][0]["version"] == "v0002"
    assert main(["pin", str(campaign), "v0001", "--remove"]) == 0
    assert main(["prune", str(campaign), "--keep", "1"]) == 0
    assert "releases that are gone\n  version    bytes\n  v0001" in capsys.readouterr().out
    assert main(["prune", str(campaign), "--keep", "1"]) == 0
    assert "no release goes: none is older\n" in capsys.readouterr().out
    assert main(["prune", str(campaign), "--keep", "0"]) == 2
    assert main(["pin", str(campaign), "--remove"]) == 2
    assert main(["verify", str(campaign)]) == 0
    assert "pruned: v0001, v0002" in capsys.readouterr().out
