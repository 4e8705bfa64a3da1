"""Who may write exports gets nothing read but exports: no key, no device, no file elsewhere."""

from __future__ import annotations

import json
import os
import shutil
import socket
from pathlib import Path
from typing import Any

import pytest

from annot_pipeline.cli import main
from annot_pipeline.commands.prune import prune
from annot_pipeline.commands.validate import validate
from annot_pipeline.config.campaign_file import load_campaign
from annot_pipeline.errors import AnnotError, InputError
from annot_pipeline.stages.ingest.present_exports import export_stats, listed_items, present_exports
from tests.conftest import build_file

pytestmark = pytest.mark.slow

EXPORT = "item,judge,label\n" + "".join(f"i{i},w{j},a\n" for i in range(3) for j in range(3))
FIELDS = {"item": "item", "judge": "judge", "label": "label"}


@pytest.fixture
def campaign(copy_campaign: Any, tmp_path: Path) -> Path:
    """A campaign that has built once, with a key of its own in the store."""
    return Path(copy_campaign(build, tmp_path / "campaign"))


def build(folder: Path) -> None:
    (folder / "exports").mkdir(parents=True)
    (folder / "exports" / "a.csv").write_text(EXPORT)
    (folder / "items").mkdir()
    (folder / "items" / "a.csv").write_text("item,text\ni0,words\n")
    write(folder, "exports/*.csv")
    build_file(folder)
    (folder / "store" / "judge.key").write_text("0123456789abcdef" * 4)


def write(folder: Path, path: str, **settings: Any) -> None:
    source = {"path": path, "format": "csv", "fields": FIELDS}
    items = {"path": "items/*.csv", "format": "csv", "fields": {"item": "item", "text": "text"}}
    document = {"campaign": "small", "sources": [source], "items": [items], **settings}
    (folder / "campaign.yaml").write_text(json.dumps(document))


def refused(folder: Path, says: str, capsys: Any) -> None:
    """Build, validate, sensor and prune say the same, and none shows or keeps the bytes."""
    loaded = load_campaign(folder)
    before = {p.name for p in (folder / "store" / "archive").rglob("*")}
    for act in (
        lambda: build_file(folder),
        lambda: validate(loaded, lambda _: None),
        lambda: present_exports(loaded),
        lambda: export_stats(loaded),
        lambda: prune(loaded, 1, progress=lambda _: None),
    ):
        with pytest.raises(InputError, match=says) as error:
            act()
        assert "0123456789" not in str(error.value)
    assert main(["build", str(folder)]) == 1
    said = capsys.readouterr()
    assert "0123456789" not in said.out + said.err
    assert {p.name for p in (folder / "store" / "archive").rglob("*")} == before


def other_file(folder: Path) -> Path:
    (folder.parent / "private.csv").write_text(EXPORT)
    return folder.parent / "private.csv"


LINKS = {
    "the key": (lambda folder: folder / "store" / "judge.key", "is in the store folder"),
    "a relative link to the key": (lambda _: Path("../store/judge.key"), "in the store folder"),
    "gold": (lambda f: f / "gold" / "v0001" / "labels.parquet", "in the gold folder"),
    "another file": (other_file, "leads out of"),
    "the environment": (lambda _: Path("/proc/self/environ"), "made up by the system"),
    "a device": (lambda _: Path("/dev/zero"), "a device: exports are regular files"),
    "itself": (lambda _: Path("z.csv"), "leads to itself|Too many levels"),
}


@pytest.mark.parametrize("name", LINKS)
def test_links_that_lead_out_are_refused(campaign, name, capsys):
    target, says = LINKS[name]
    (campaign / "exports" / "z.csv").symlink_to(target(campaign))
    refused(campaign, says, capsys)


def test_a_hard_link_to_the_key_is_refused(campaign, capsys):
    os.link(campaign / "store" / "judge.key", campaign / "exports" / "z.csv")
    refused(campaign, "is in the store folder", capsys)


@pytest.mark.parametrize(
    "pattern", ["store/archive/*/*", "store/stages/*/*/*", "gold/v0001/labels.parquet"]
)
@pytest.mark.parametrize("way", ["hard link", "link to a hard link"])
def test_a_hard_link_to_a_file_of_store_or_gold_is_refused(campaign, pattern, way, capsys):
    target = next(path for path in campaign.glob(pattern) if path.is_file())
    exports = campaign / "exports"
    os.link(target, exports / ("z.csv" if way == "hard link" else "hard"))
    if way != "hard link":
        (exports / "z.csv").symlink_to("hard")
    where = pattern.partition("/")[0]
    refused(campaign, f"a hard link to a file that is in the {where} folder", capsys)


def test_other_hard_links_are_read(campaign):
    os.link(campaign / "exports" / "a.csv", campaign.parent / "kept.csv")
    os.link(campaign / "exports" / "a.csv", campaign / "store" / "mine.csv")  # by no build
    assert not build_file(campaign).publication.published


def test_a_folder_that_is_a_link_is_followed_only_where_the_campaign_names_it(campaign, capsys):
    elsewhere = campaign.parent / "mounted"
    shutil.move(campaign / "exports", elsewhere)
    (campaign / "exports").symlink_to(elsewhere)
    assert not build_file(campaign).publication.published
    (elsewhere / "more").symlink_to(campaign / "store" / "archive")
    write(campaign, "exports/**/*.csv")
    assert build_file(campaign).metrics("archive_exports")["files"] == 2  # with the item table
    (elsewhere / "out").symlink_to(other_file(campaign).parent)
    write(campaign, "exports/*/*.csv")
    refused(campaign, "leads out of", capsys)


def test_links_as_kubernetes_makes_them_are_read(campaign):
    exports = campaign / "exports"
    (exports / "..2024_01_31").mkdir()
    shutil.move(exports / "a.csv", exports / "..2024_01_31" / "a.csv")
    (exports / "..data").symlink_to("..2024_01_31")
    (exports / "a.csv").symlink_to("..data/a.csv")
    assert not build_file(campaign).publication.published  # the same name, the same bytes


@pytest.mark.parametrize("kind", ["pipe", "socket", "link to a pipe"])
def test_pipes_and_sockets_are_refused_and_never_waited_for(campaign, kind, capsys, monkeypatch):
    monkeypatch.chdir(campaign / "exports")  # names of sockets are short
    place = "z.csv" if kind != "link to a pipe" else "pipe"
    if kind == "socket":
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(place)
    else:
        os.mkfifo(place)
    if kind == "link to a pipe":
        os.symlink("pipe", "z.csv")
    refused(campaign, "exports are regular files", capsys)


@pytest.mark.parametrize("path", ["/proc/self/environ", "/proc/self/envir*", "/dev/zero"])
def test_what_the_system_makes_up_is_refused_also_where_the_campaign_names_it(campaign, path):
    write(campaign, path)
    with pytest.raises(InputError, match=r"made up by the system|regular files"):
        validate(load_campaign(campaign), lambda _: None)


@pytest.mark.parametrize("path", ["linked.csv", "store/archive/*/*", "gold/*/README.md"])
def test_a_path_without_a_glob_and_own_folders_are_held_to_the_same(campaign, path):
    (campaign / "linked.csv").symlink_to(other_file(campaign))
    write(campaign, path)
    with pytest.raises(InputError, match=r"leads out of|nothing there is an export"):
        build_file(campaign)


def test_item_tables_are_held_to_the_same(campaign, capsys):
    (campaign / "items" / "z.csv").symlink_to("../store/judge.key")
    refused(campaign, "is in the store folder", capsys)
    with pytest.raises(InputError, match="is in the store folder"):
        listed_items(load_campaign(campaign))


def test_a_file_that_is_exchanged_for_a_link_while_it_is_found_is_not_followed(
    campaign, monkeypatch
):
    export = campaign / "exports" / "a.csv"
    from annot_pipeline.stages.ingest import exports as stage

    plain = stage.exports_of

    def exchanged(*arguments: Any) -> Any:
        actual = plain(*arguments)
        if export.exists() and not export.is_symlink():
            export.unlink()
            export.symlink_to(campaign / "store" / "judge.key")
        return actual

    monkeypatch.setattr(stage, "exports_of", exchanged)
    with pytest.raises(InputError, match="cannot be read"):
        build_file(campaign)


@pytest.mark.parametrize(
    "data",
    [
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
        b"\x7fELF\2\1\1\0",
        bytes(range(1, 32)) * 9,
        b"\xff\xd8\xff\xe0",
    ],
    ids=["png", "elf", "controls", "jpeg"],
)
def test_bytes_of_a_file_that_is_no_text_are_not_shown(campaign, data):
    (campaign / "exports" / "z.csv").write_bytes(data + b"SECRETSECRET\n")
    with pytest.raises(AnnotError, match="is not text") as error:
        build_file(campaign)
    assert "SECRET" not in str(error.value)
    assert "PNG" not in str(error.value)
