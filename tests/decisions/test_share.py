"""A release as a folder of its own, and as a revision of a dataset on the Hub."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pyarrow.parquet as pq
import pytest

from annot_pipeline import load_gold
from annot_pipeline.cli import main
from annot_pipeline.commands.decisions import retract
from annot_pipeline.commands.share import share
from annot_pipeline.config.campaign_file import load_campaign
from annot_pipeline.errors import ConfigError, EngineError, StoreError
from annot_pipeline.storage.files import file_sha256
from tests.audit.two_releases import build_two, manifest_of


@pytest.fixture
def campaign(copy_campaign, tmp_path) -> Path:
    return copy_campaign(build_two, tmp_path / "campaign")


def test_gold_that_is_a_copy_of_one_release_says_so(campaign, tmp_path):
    """It said that there was no release yet."""
    share(load_campaign(campaign), str(tmp_path / "copy"))
    with pytest.raises(StoreError, match="copy: is one release") as error:
        load_gold(tmp_path / "copy", "labels")
    assert "labels.parquet" in str(error.value)


@dataclass
class Commit:
    oid: str


class Hub:
    """Stands for the Hub: notes what is uploaded."""

    uploads: ClassVar[list[dict[str, Any]]] = []
    tags: ClassVar[dict[str, str]] = {}
    branches: ClassVar[dict[str, str]] = {}
    """Branch to its newest commit."""

    def create_repo(self, name: str, **_: object) -> None:
        if name == "nobody/forbidden":
            raise PermissionError("403 Forbidden")

    def list_repo_refs(self, _: str, **__: object) -> SimpleNamespace:
        return SimpleNamespace(tags=[SimpleNamespace(name=tag) for tag in self.tags])

    def create_branch(self, _: str, *, branch: str, **__: object) -> None:
        self.branches[branch] = self.branches["main"]

    def delete_branch(self, _: str, *, branch: str, **__: object) -> None:
        del self.branches[branch]

    def upload_folder(
        self, *, folder_path: str, revision: str | None = None, **chosen: Any
    ) -> Commit:
        files = {p.name: file_sha256(p) for p in Path(folder_path).iterdir()}
        self.uploads.append(chosen | {"files": files})
        self.branches[revision or "main"] = f"c{len(self.uploads)}"
        return Commit(f"c{len(self.uploads)}")

    def create_tag(self, _: str, *, tag: str, revision: str, **__: object) -> None:
        self.tags[tag] = revision


@pytest.fixture
def hub(monkeypatch) -> type[Hub]:
    import huggingface_hub

    Hub.uploads.clear()
    Hub.tags.clear()
    Hub.branches.clear()
    monkeypatch.setattr(huggingface_hub, "HfApi", Hub)
    return Hub


def test_a_folder_holds_the_files_of_the_release(campaign, tmp_path, capsys):
    target = tmp_path / "shared"
    assert main(["publish", str(campaign), "--to", str(target)]) == 0
    assert f"copied v0002 to {target}" in capsys.readouterr().out
    files = manifest_of(campaign, "v0002")["files"]
    assert {p.name for p in target.iterdir()} == {*files, "manifest.json"}
    assert all(file_sha256(target / name) == sha256 for name, sha256 in files.items())
    assert pq.read_table(target / "labels.parquet").num_rows == 6
    with pytest.raises(ConfigError, match="exists"):
        share(load_campaign(campaign), str(target))


@pytest.mark.parametrize("name", ["gold/v0007", "gold/new/copy", "store/stages/x", "exports/x"])
def test_a_folder_of_the_campaign_takes_no_copy(campaign, tmp_path, capsys, name):
    """Also behind a link; a folder beside them does, and one that holds them is there already."""
    (tmp_path / "link").symlink_to(campaign)
    before = sorted(campaign.rglob("*"))
    for folder in (campaign, tmp_path / "link"):
        assert main(["publish", str(campaign), "--to", str(folder / name)]) == 2
        said = capsys.readouterr().err
        assert "--to: " in said
        assert "allowed: a new folder outside of gold, store, spill and exports" in said
    assert main(["publish", str(campaign), "--to", str(tmp_path / "link")]) == 2
    assert sorted(campaign.rglob("*")) == before
    assert main(["publish", str(campaign), "--to", str(campaign / "copy")]) == 0


def test_each_release_is_a_tagged_revision_of_the_dataset(campaign, hub):
    loaded = load_campaign(campaign)
    first = share(loaded, "hf://team/small", "v0001")
    second = share(loaded, "hf://datasets/team/small")
    assert (first["revision"], second["revision"]) == ("c1", "c2")
    assert hub.tags == {"v0001": "c1", "v0002": "c2"}
    assert hub.uploads[1]["repo_id"] == "team/small"
    assert hub.uploads[1]["commit_message"] == "small v0002"
    files = manifest_of(campaign, "v0002")["files"]
    assert files.items() <= hub.uploads[1]["files"].items()
    assert "croissant.json" in files


def test_a_release_is_uploaded_once(campaign, hub):
    """Twice, it was another commit without a tag, and an error that spoke of rights."""
    share(load_campaign(campaign), "hf://team/small", "v0001")
    with pytest.raises(ConfigError, match="has the tag v0001"):
        share(load_campaign(campaign), "hf://team/small", "v0001")
    assert len(hub.uploads) == 1


def test_an_older_release_leaves_main_at_the_newest(campaign, hub, capsys):
    """It went to main, which readers get who name no revision, in silence."""
    share(load_campaign(campaign), "hf://team/small")
    hub.tags["v9"] = hub.tags["release-2026"] = "c1"  # tags of others
    assert main(["publish", str(campaign), "--to", "hf://team/small", "--release", "v0001"]) == 0
    said = capsys.readouterr().out
    assert "copied v0001 to hf://team/small\nrevision: c2\nrelease on main: v0002\n" in said
    assert (hub.tags["v0001"], hub.tags["v0002"]) == ("c2", "c1")
    assert hub.branches == {"main": "c1"}


@pytest.mark.parametrize(
    "to", ["s3://team/gold", "http://host/x", "file:///x", "hf://a/b/c", "HF://a/b"]
)
def test_a_url_of_no_dataset_is_no_folder(campaign, tmp_path, monkeypatch, capsys, to):
    """Of s3://team/gold a folder "s3:" was made here."""
    monkeypatch.chdir(tmp_path)
    assert main(["publish", str(campaign), "--to", to]) == 2
    said = capsys.readouterr().err
    assert f"--to: {to} names no dataset and no folder" in said
    assert "allowed: a new folder, or hf://OWNER/NAME" in said
    assert [path.name for path in tmp_path.iterdir()] == ["campaign"]


@pytest.mark.parametrize("more", [("--candidate", "latest"), ("--because", "x"), ("--accept", "g")])
def test_a_copy_takes_no_decision(campaign, tmp_path, capsys, more):
    assert main(["publish", str(campaign), "--to", str(tmp_path / "copy"), *more]) == 2
    assert "one of --candidate and --to is needed, not both" in capsys.readouterr().err
    assert not (tmp_path / "copy").exists()


@pytest.mark.usefixtures("hub")
def test_what_cannot_be_shared_is_refused(campaign, tmp_path):
    loaded = load_campaign(campaign)
    with pytest.raises(ConfigError, match="names no dataset"):
        share(loaded, "hf://small")
    with pytest.raises(EngineError, match="cannot be uploaded") as error:
        share(loaded, "hf://nobody/forbidden")
    assert "403 Forbidden" in str(error.value)
    retract(loaded, "v0001", because="a flood", by="ann", progress=lambda _: None)
    with pytest.raises(StoreError, match="v0001 is not to be used"):
        share(loaded, str(tmp_path / "x"), "v0001")
    (campaign / "gold" / "v0002" / "labels.parquet").write_bytes(b"garbage")
    with pytest.raises(StoreError, match="labels"):
        share(loaded, str(tmp_path / "y"))
    assert not (tmp_path / "y").exists()
    assert main(["publish", str(campaign)]) == 2
    assert main(["publish", str(campaign), "--to", "x", "--candidate", "y"]) == 2
