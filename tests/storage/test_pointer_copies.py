"""The copy of latest.json in the store: for when that is lost, and never in the way."""

from __future__ import annotations

import errno
import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from annot_pipeline import load_gold
from annot_pipeline.cli import main
from annot_pipeline.commands.publish import publish as publish_build
from annot_pipeline.config.campaign_file import load_campaign
from annot_pipeline.errors import StoreError
from annot_pipeline.stages.build import STAGES, Build
from annot_pipeline.storage import files, pointer_copies, store
from annot_pipeline.storage.pins import pin, read_pins
from annot_pipeline.storage.pointer import POINTER
from annot_pipeline.storage.releases import Releases
from tests.conftest import KEY, build_file
from tests.storage.test_releases import publish
from tests.survival.nights import write_campaign

pytestmark = pytest.mark.slow


def with_releases(folder: Path, n: int) -> Releases:
    actual = Releases(folder / "gold", copy_path=folder / "store/pointers/gold.json")
    for number in range(n):
        publish(actual, str(number))
    return actual


def finish(actual: Releases) -> list[str]:
    with actual.publishing(lambda: None):
        return actual.finish_interrupted()


def test_the_newest_release_is_lost_with_the_pointer(tmp_path):
    actual = with_releases(tmp_path, 3)
    with actual.publishing(lambda: None):
        pin(actual, "v0001", "the paper")
    (tmp_path / "gold/latest.json").unlink()
    shutil.rmtree(tmp_path / "gold/v0003")
    assert finish(actual) == []
    assert actual.get().version == "v0002"
    assert list(read_pins(actual)) == ["v0001"]
    assert actual.gone() == ["v0003"]
    assert publish(actual) == "v0004"


def test_a_release_of_another_digest_is_not_pointed_to(tmp_path):
    actual = with_releases(tmp_path, 2)
    (tmp_path / "gold/latest.json").unlink()
    manifest = tmp_path / "gold/v0002/manifest.json"
    manifest.write_text(manifest.read_text().replace('"text": "1"', '"text": "2"'))
    assert finish(actual) == ["v0002"]
    assert actual.get().version == "v0001"


def test_no_number_is_given_twice_where_all_of_gold_is_lost(tmp_path):
    actual = with_releases(tmp_path, 2)
    shutil.rmtree(tmp_path / "gold")
    assert finish(actual) == []
    assert publish(actual) == "v0003"


def no_space(path: Path, *_: Any) -> None:
    raise OSError(errno.ENOSPC, "No space left on device", str(path))


def ready_to_publish(folder: Path, said: list[str]) -> Build:
    build = Build(load_campaign(write_campaign(folder, days=1)), progress=said.append)
    for stage in STAGES:
        build.run_stage(stage)
    return build


def test_a_copy_that_cannot_be_written_is_told_and_mended(tmp_path, monkeypatch):
    said: list[str] = []
    build = ready_to_publish(tmp_path / "campaign", said)
    actual = Releases.for_campaign(build.campaign)
    with monkeypatch.context() as patched:
        patched.setattr(pointer_copies, "write_json", no_space)
        publication = publish_build(build)
    assert (publication.published, publication.release.version) == (True, "v0001")
    assert said[-1] == f"{actual.copy_path}: cannot be written; the next build writes it"
    assert actual.copy_path
    assert not actual.copy_path.exists()
    assert publish_build(build).published is False
    assert actual.copy_path.read_bytes() == (build.campaign.gold / "latest.json").read_bytes()
    assert said[-1] == "nothing new: v0001 stands"


@pytest.mark.parametrize("module", [store, files], ids=["settings", "note of gold"])
def test_a_store_that_is_full_is_not_said_to_be_gold(tmp_path, monkeypatch, module):
    build = ready_to_publish(tmp_path / "campaign", [])
    atomic_write = files.atomic_write

    def full(target: Path, **options: Any) -> Any:
        if target.parent.name == "settings" or target.name == "gold.json":
            no_space(target)
        return atomic_write(target, **options)

    monkeypatch.setattr(module, "atomic_write", full)
    with pytest.raises(StoreError, match="store: cannot write store"):
        publish_build(build)
    assert Releases.for_campaign(build.campaign).versions() == []


def put_back(folder: Path, *, n: int = 3, keep: int = 2) -> Releases:
    """Publish some releases, and let latest.json be as it was when there were fewer."""
    actual = with_releases(folder, keep)
    older = (folder / "gold/latest.json").read_bytes()
    for number in range(keep, n):
        publish(actual, str(number))
    (folder / "gold/latest.json").write_bytes(older)
    return actual


def remove_newest(folder: Path) -> None:
    shutil.rmtree(folder / "gold/v0003")


@pytest.mark.parametrize("also", [lambda _: None, remove_newest], ids=["alone", "with releases"])
def test_a_pointer_that_was_put_back_is_refused_until_the_copy_takes_its_place(tmp_path, also):
    actual = put_back(tmp_path)
    also(tmp_path)
    before = actual.copy_path.read_bytes()
    for act in (lambda: publish(actual, "other"), actual.get, lambda: finish(actual)):
        with pytest.raises(StoreError, match=r"does not know v0003") as error:
            act()
        assert str(actual.copy_path) in str(error.value)
    assert actual.copy_path.read_bytes() == before
    assert actual.get("v0001").version == "v0001"
    (tmp_path / "gold/latest.json").unlink()  # as the message says
    finish(actual)
    assert publish(actual, "next") == "v0004"


def test_a_prune_that_was_put_back_is_noticed(tmp_path):
    actual = with_releases(tmp_path, 3)
    older = (tmp_path / "gold/latest.json").read_bytes()
    with actual.publishing(lambda: None):
        actual.remove(["v0001"])
    (tmp_path / "gold/latest.json").write_bytes(older)
    with pytest.raises(StoreError, match="does not know that v0001 was pruned"):
        publish(actual, "next")


def test_another_release_under_a_known_number_is_noticed(tmp_path):
    actual = with_releases(tmp_path, 2)
    other = Releases(tmp_path / "other")
    for text in ("0", "other"):
        publish(other, text)
    shutil.rmtree(tmp_path / "gold")
    shutil.copytree(tmp_path / "other", tmp_path / "gold")
    with pytest.raises(StoreError, match="v0002: another release than") as error:
        publish(actual, "next")
    assert f"delete {actual.copy_path}" in str(error.value)


def test_a_pointer_that_another_machine_wrote_is_newer_and_taken(tmp_path):
    one = with_releases(tmp_path, 1)
    other = Releases(tmp_path / "gold", copy_path=tmp_path / "other/pointers/gold.json")
    publish(other, "theirs")
    assert one.get().version == "v0002"
    assert publish(one, "mine") == "v0003"


def test_what_was_lost_with_all_of_gold_is_remembered(tmp_path):
    actual = with_releases(tmp_path, 2)
    with actual.publishing(lambda: None):
        pin(actual, "v0001", "the paper")
    shutil.rmtree(tmp_path / "gold")
    publish(actual, "next")
    assert list(actual.gold.pointer().manifests) == ["v0001", "v0002", "v0003"]
    assert actual.gone() == ["v0001", "v0002"]
    shutil.rmtree(tmp_path / "gold")
    assert publish(actual, "again") == "v0004"


@dataclass(frozen=True)
class TwoReleases:
    """A campaign with two releases, and latest.json as it was after each; tests copy it."""

    folder: Path
    pointers: tuple[bytes, bytes]

    def copy(self, folder: Path) -> Path:
        shutil.copytree(self.folder, folder)
        return folder

    def copy_with_older_pointer(self, folder: Path) -> Path:
        (self.copy(folder) / "gold/latest.json").write_bytes(self.pointers[0])
        return folder


@pytest.fixture(scope="module")
def two_releases(tmp_path_factory) -> TwoReleases:
    folder = write_campaign(tmp_path_factory.mktemp("two") / "campaign", days=1)
    pointers = []
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("ANNOT_KEY", KEY)
        for sets in ((), ("seed=2",)):
            build_file(folder, *sets)
            pointers.append((folder / "gold/latest.json").read_bytes())
    return TwoReleases(folder, (pointers[0], pointers[1]))


def test_verify_and_status_and_build_name_a_pointer_that_was_put_back(
    two_releases, tmp_path, capsys
):
    folder = two_releases.copy_with_older_pointer(tmp_path / "campaign")
    capsys.readouterr()
    for rest in ([], ["v0001"]):
        assert main(["verify", str(folder), *rest]) == 1
        assert "it does not know v0002" in capsys.readouterr().out
    assert main(["status", str(folder)]) == 0
    assert "latest.json: it is older than the store's copy" in capsys.readouterr().out
    with pytest.raises(StoreError, match="contradicts what this store saw published"):
        build_file(folder, "seed=3")
    assert main(["pin", str(folder), "v0001"]) == 1
    assert main(["prune", str(folder), "--keep", "1"]) == 1
    assert sorted(path.name for path in (folder / "gold").glob("v*")) == ["v0001", "v0002"]


def test_releases_and_diff_name_a_pointer_that_was_put_back(two_releases, tmp_path, capsys):
    folder = two_releases.copy_with_older_pointer(tmp_path / "campaign")
    capsys.readouterr()
    says = "it is older than the store's copy: it names v0001 as the newest release"
    assert main(["releases", str(folder)]) == 1
    printed = capsys.readouterr().out
    assert says in printed
    assert f"next: put the newer {POINTER} back" in printed
    assert main(["diff", str(folder), "v0001", "v0002"]) == 1
    printed = capsys.readouterr().err
    assert says in printed
    assert f"put the newer {POINTER} back" in printed
    assert main(["diff", str(folder), "v0001", "v0009"]) == 1
    capsys.readouterr()
    assert main(["verify", str(folder), "--json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert [(row["version"], row["ok"]) for row in document["releases"]] == [
        ("v0001", True),
        ("v0002", True),
    ]
    assert [Path(finding["file"]).name for finding in document["findings"]] == [POINTER]
    (folder / "gold/latest.json").write_bytes(two_releases.pointers[1])
    assert main(["releases", str(folder)]) == 0


def test_load_gold_notices_what_can_be_noticed(two_releases, tmp_path):
    folder, pointers = two_releases.copy(tmp_path / "campaign"), two_releases.pointers
    build_file(folder, "seed=3")
    gold, pointer = folder / "gold", folder / "gold/latest.json"
    pointer.write_bytes(pointers[0])
    with pytest.raises(StoreError, match="was put back"):
        load_gold(gold, "labels")
    assert load_gold(gold, "labels", "v0001").num_rows
    pointer.write_bytes(pointers[1])
    newer = f"{pointer}: it names v0002 as the newest release; v0003 is complete and newer"
    with pytest.warns(UserWarning, match=newer):  # whatever its age
        assert load_gold(gold, "labels").num_rows
    with pytest.raises(StoreError, match="does not know v0003"):
        load_gold(gold, "labels", store=folder / "store")
    manifest = gold / "v0003/manifest.json"
    text = manifest.read_text()
    files.write_json(manifest, json.loads(text) | {"parent": None, "changes": None})
    with pytest.warns(UserWarning, match="run annot build of its campaign, or put the newer"):
        load_gold(gold, "labels")  # no child of v0002
    manifest.write_text(text[:-20])
    assert load_gold(gold, "labels").num_rows  # half a release
    shutil.rmtree(gold / "v0003")
    assert load_gold(gold, "labels").num_rows  # as the docstring says


@pytest.fixture
def rolled_back(two_releases, tmp_path) -> Path:
    """Two releases, of which the second is deleted, with the first latest.json put back."""
    folder = two_releases.copy_with_older_pointer(tmp_path / "campaign")
    shutil.rmtree(folder / "gold/v0002")
    return folder


def verified(folder: Path, capsys: pytest.CaptureFixture[str], *sets: str) -> tuple[int, str]:
    capsys.readouterr()
    options = [option for text in sets for option in ("--set", text)]
    return main(["verify", str(folder), *options]), capsys.readouterr().out


MOVES = {
    "store alone": {"store": "deep/er/store"},
    "gold alone": {"gold": "published/here/gold"},
    "both": {"store": "deep/er/store", "gold": "published/gold"},
}


@pytest.mark.parametrize("moves", MOVES.values(), ids=MOVES.keys())
def test_a_rollback_is_noticed_after_store_or_gold_was_moved(rolled_back, capsys, moves):
    folder = rolled_back
    for name, place in moves.items():
        (folder / place).parent.mkdir(parents=True)
        (folder / name).rename(folder / place)
    sets = [f"{name}={place}" for name, place in moves.items()]
    code, said = verified(folder, capsys, *sets)
    assert (code, "it does not know v0002" in said) == (1, True)
    with pytest.raises(StoreError, match="does not know v0002"):
        build_file(folder, "seed=3", *sets)
    (folder / moves.get("gold", "gold") / "latest.json").unlink()  # as the message says
    assert build_file(folder, "seed=3", *sets).publication.release.version == "v0003"


def flip_bit(path: Path) -> None:
    data = path.read_bytes()
    at = data.index(b"v000") + 4
    path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])


def leave_braces(path: Path) -> None:
    path.write_text("{}")


@pytest.mark.parametrize("damage", [flip_bit, leave_braces])
@pytest.mark.parametrize("numbers", ["whole", "damaged", "deleted"])
def test_a_damaged_copy_is_named_and_no_number_is_given_twice(rolled_back, capsys, damage, numbers):
    """Together with a rollback, which the copy would have told."""
    folder = rolled_back
    (copy,) = (folder / "store/pointers").glob("*.json")
    (numbers_file,) = (folder / "store/version_numbers").glob("*.json")
    damage(copy)
    if numbers == "damaged":
        leave_braces(numbers_file)
    elif numbers == "deleted":
        numbers_file.unlink()
    code, said = verified(folder, capsys)
    assert (code, f"{copy}: this copy of latest.json in the store is damaged" in said) == (1, True)
    assert (f"{numbers_file}: this file of version numbers" in said) == (numbers == "damaged")
    assert ("this store saw v0002 published" in said) == (numbers == "whole")
    main(["status", str(folder)])
    named = "saw v0002 published" if numbers == "whole" else f"{copy}: this copy"
    assert named in capsys.readouterr().out
    progress: list[str] = []
    built = build_file(folder, "seed=3", progress=progress.append)
    assert built.publication.release.version == "v0003"
    assert any(line.startswith(f"{copy}: ") for line in progress)
    assert verified(folder, capsys)[0] == 0


def test_a_deleted_copy_does_not_hide_a_number_that_was_given(rolled_back, capsys):
    folder = rolled_back
    (copy,) = (folder / "store/pointers").glob("*.json")
    copy.unlink()
    code, said = verified(folder, capsys)
    assert (code, "this store saw v0002 published" in said) == (1, True)
    with pytest.raises(StoreError, match="saw v0002 published"):
        load_gold(folder / "gold", "labels", store=folder / "store")
    assert build_file(folder, "seed=3").publication.release.version == "v0003"


def test_load_gold_warns_of_a_damaged_copy(tmp_path):
    folder = write_campaign(tmp_path / "campaign", days=1)
    build_file(folder)
    (copy,) = (folder / "store/pointers").glob("*.json")
    leave_braces(copy)
    with pytest.warns(UserWarning, match=f"{copy}: this copy of latest.json .* damaged"):
        assert load_gold(folder / "gold", "labels", store=folder / "store").num_rows


def test_other_gold_that_is_still_there_does_not_count(tmp_path, capsys):
    folder = write_campaign(tmp_path / "campaign", days=1)
    build_file(folder)
    build_file(folder, "seed=2")
    shutil.copytree(folder / "gold", folder / "copied")
    first = build_file(folder, "gold=other").publication.release
    assert first.version == "v0001"
    assert build_file(folder, "seed=3").publication.release.version == "v0003"
    assert verified(folder, capsys, "gold=copied")[0] == 0
    assert build_file(folder, "seed=4", "gold=copied").publication.release.version == "v0003"
    assert verified(folder, capsys)[0] == 0
    assert verified(folder, capsys, "gold=other")[0] == 0


def test_numbers_never_fall(tmp_path):
    actual = with_releases(tmp_path, 2)
    actual.copy_path.unlink()
    (tmp_path / "gold/latest.json").unlink()
    shutil.rmtree(tmp_path / "gold/v0002")
    assert finish(actual) == []
    assert actual.gold.pointer().last == "v0001"
    assert publish(actual) == "v0003"


def test_gold_that_is_away_is_named_and_not_built_upon(tmp_path, capsys):
    """A disk that is not mounted: builds would publish into the mount point."""
    folder = write_campaign(tmp_path / "campaign", days=1)
    build_file(folder)
    (folder / "gold").rename(tmp_path / "disk")
    (folder / "gold").mkdir()
    capsys.readouterr()
    what = "v0001 was published here, and nothing lies there now"
    for command in (["status"], ["verify"], ["releases"], ["prune", "--keep", "1"], ["build"]):
        status = main([command[0], str(folder), *command[1:]])
        printed = "".join(capsys.readouterr())
        assert what in printed, command
        assert f"annot build {folder} --gone" in printed, command
        assert "no release yet" not in printed, command
        assert status == (0 if command == ["status"] else 1), command
    with pytest.raises(StoreError, match=what):
        load_gold(folder / "gold", "labels", store=folder / "store")
    assert not [*(folder / "gold").iterdir()]
    (folder / "gold").rmdir()
    (tmp_path / "disk").rename(folder / "gold")
    assert main(["verify", str(folder)]) == 0
    assert main(["status", str(folder)]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == "next: nothing to do"


@pytest.mark.slow
def test_gold_that_is_lost_for_good_is_given_up(tmp_path, capsys):
    folder = write_campaign(tmp_path / "campaign", days=1)
    build_file(folder)
    shutil.rmtree(folder / "gold")
    capsys.readouterr()
    assert main(["build", str(folder), "--gone"]) == 0
    printed = "".join(capsys.readouterr())
    assert "removed from the list: v0001" in printed
    assert "published v0002" in printed
    assert main(["verify", str(folder)]) == 0
    assert main(["build", str(folder), "--gone"]) == 0, "nothing is struck off where gold is there"
    assert "removed from the list" not in "".join(capsys.readouterr())
