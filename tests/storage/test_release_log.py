"""The store's log of releases: for when latest.json is lost, and never in the way."""

from __future__ import annotations

import errno
import hashlib
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
from annot_pipeline.storage import files, release_log, store
from annot_pipeline.storage.pins import pin, read_pins
from annot_pipeline.storage.pointer import POINTER, read_pointer
from annot_pipeline.storage.release_log import ReleaseLog
from annot_pipeline.storage.releases import Releases
from tests.conftest import KEY, build_file
from tests.storage.test_releases import publish
from tests.survival.nights import write_campaign


def with_releases(folder: Path, n: int) -> Releases:
    actual = Releases(folder / "gold", store=folder / "store")
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_log_that_cannot_be_written_is_told_and_written_later(tmp_path, monkeypatch):
    said: list[str] = []
    build = ready_to_publish(tmp_path / "campaign", said)
    log = Releases.for_campaign(build.campaign).log
    log.feed()
    with monkeypatch.context() as patched:
        patched.setattr(release_log, "atomic_write", no_space)
        publication = publish_build(build)
    assert (publication.published, publication.release.version) == (True, "v0001")
    assert said[-1] == f"{log.path}: cannot be written; the next build writes it"
    assert log.own() is None
    assert publish_build(build).published is False
    assert log.own() == read_pointer(build.campaign.gold)
    assert said[-1] == "nothing new: v0001 stands"


@pytest.mark.slow
@pytest.mark.parametrize("module", [store, release_log], ids=["settings", "log"])
def test_a_store_that_is_full_is_not_said_to_be_gold(tmp_path, monkeypatch, module):
    build = ready_to_publish(tmp_path / "campaign", [])
    atomic_write = files.atomic_write

    def full(target: Path, **options: Any) -> Any:
        if target.parent.name == "settings" or target.name == release_log.LOG:
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
def test_a_pointer_that_was_put_back_is_refused_until_it_is_written_from_the_log(tmp_path, also):
    actual = put_back(tmp_path)
    also(tmp_path)
    before = actual.log.path.read_bytes()
    for act in (lambda: publish(actual, "other"), actual.get, lambda: finish(actual)):
        with pytest.raises(StoreError, match=r"does not know v0003"):
            act()
    assert actual.log.path.read_bytes() == before
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
    assert "annot build CAMPAIGN --gone accepts it" in str(error.value)
    assert actual.give_up() == ["v0002"]
    assert publish(actual, "next") == "v0003"


def test_numbers_of_gold_that_was_given_up_are_not_given_twice(tmp_path):
    actual = with_releases(tmp_path, 3)
    shutil.rmtree(tmp_path / "gold")
    publish(Releases(tmp_path / "gold"), "other")
    assert actual.give_up() == ["v0001"]
    assert publish(actual, "next") == "v0004"


def test_a_pointer_that_another_machine_wrote_is_newer_and_taken(tmp_path):
    one = with_releases(tmp_path, 1)
    other = Releases(tmp_path / "gold", store=tmp_path / "other")
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


@pytest.mark.slow
def test_verify_and_status_and_build_name_a_pointer_that_was_put_back(
    two_releases, tmp_path, capsys
):
    folder = two_releases.copy_with_older_pointer(tmp_path / "campaign")
    capsys.readouterr()
    for rest in ([], ["v0001"]):
        assert main(["verify", str(folder), *rest]) == 1
        assert "it does not know v0002" in capsys.readouterr().out
    assert main(["status", str(folder)]) == 0
    assert "latest.json: it is older than the store's log" in capsys.readouterr().out
    with pytest.raises(StoreError, match="contradicts what this store saw published"):
        build_file(folder, "seed=3")
    assert main(["pin", str(folder), "v0001"]) == 1
    assert main(["prune", str(folder), "--keep", "1"]) == 1
    assert sorted(path.name for path in (folder / "gold").glob("v*")) == ["v0001", "v0002"]


@pytest.mark.slow
def test_releases_and_diff_name_a_pointer_that_was_put_back(two_releases, tmp_path, capsys):
    folder = two_releases.copy_with_older_pointer(tmp_path / "campaign")
    capsys.readouterr()
    says = "it is older than the store's log: it names v0001 as the newest release"
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


@pytest.mark.slow
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


@pytest.mark.slow
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


def lines_of(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines(keepends=True)


def flip_bit(path: Path) -> None:
    data = path.read_bytes()
    at = data.rindex(b'"version":"v000') + 14
    path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])


DAMAGES = {
    "a bit": flip_bit,
    "braces": lambda path: path.write_text("{}"),
    "cut in a line": lambda path: path.write_bytes(path.read_bytes()[:-20]),
    "a line removed": lambda path: path.write_bytes(
        b"".join(line for n, line in enumerate(lines_of(path)) if n != 1)
    ),
    "empty": lambda path: path.write_bytes(b""),
    "deleted": Path.unlink,
}


@pytest.mark.slow
@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
def test_a_damaged_log_is_named_and_no_number_is_given_twice(rolled_back, capsys, damage):
    """Together with a rollback, which the log would have told."""
    folder = rolled_back
    log = folder / "store" / release_log.LOG
    damage(log)
    code, said = verified(folder, capsys)
    assert (code, f"{log}: it is " in said) == (1, True)
    assert "v0002" in said
    main(["status", str(folder)])
    printed = capsys.readouterr().out
    assert "saw v0002" in printed or "does not know v0002" in printed
    with pytest.raises(StoreError, match="v0002"):
        load_gold(folder / "gold", "labels", store=folder / "store")
    is_known = "does not know v0002" in said  # a line that is whole tells
    if is_known:
        (folder / "gold/latest.json").unlink()
    progress: list[str] = []
    built = build_file(folder, "seed=3", progress=progress.append)
    assert built.publication.release.version == "v0003"
    assert any(line.startswith(f"{log}: ") for line in progress)
    code, said = verified(folder, capsys)
    assert (code, "v0002: it was published, but" in said) == (int(is_known), is_known)
    events = [json.loads(line) for line in lines_of(log)]
    assert "mended" in [event["event"] for event in events]


def test_events_are_appended_and_linked(tmp_path):
    actual = with_releases(tmp_path, 2)
    before = actual.log.path.read_bytes()
    with actual.publishing(lambda: None):
        pin(actual, "v0001", "the paper")
        actual.remove(["v0001"])
    assert actual.log.path.read_bytes().startswith(before)
    *_, pinned, pruned = (json.loads(line) for line in lines_of(actual.log.path))
    assert (list(pinned["pins"]), pinned["manifests"]) == (["v0001"], {})
    assert (pruned["pruned"], pruned["before"]) == (["v0001"], pinned["sha256"])
    for event in (pinned, pruned):
        sha256 = event.pop("sha256")
        line = json.dumps(event, sort_keys=True, separators=(",", ":"), ensure_ascii=False) + "\n"
        assert hashlib.sha256(line.encode()).hexdigest() == sha256


def test_releases_of_lost_lines_are_not_taken_for_others(tmp_path):
    actual = with_releases(tmp_path, 3)
    lines = lines_of(actual.log.path)
    actual.log.path.write_bytes(b"".join(lines[:1] + lines[2:]))
    assert [actual.get(v).version for v in ("v0002", "latest")] == ["v0002", "v0003"]
    ReleaseLog(tmp_path / "store", tmp_path / "other").feed()  # a build of other gold mends it
    assert actual.damaged_log() is None
    assert [actual.get(v).version for v in ("v0002", "latest")] == ["v0002", "v0003"]
    assert publish(actual, "next") == "v0004"


@pytest.mark.slow
def test_load_gold_warns_of_a_damaged_log(tmp_path):
    folder = write_campaign(tmp_path / "campaign", days=1)
    build_file(folder)
    log = folder / "store" / release_log.LOG
    log.write_text("{}")
    with pytest.warns(UserWarning, match=f"{log}: it is damaged at line 1"):
        assert load_gold(folder / "gold", "labels", store=folder / "store").num_rows


@pytest.mark.slow
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


@pytest.mark.slow
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


def test_an_event_of_another_shape_is_not_believed(tmp_path):
    """Whoever can write the store can sign it; no command may end in a traceback."""
    actual = with_releases(tmp_path, 1)
    for wrong in ({"version": 3}, {"manifests": {"v0001": 5}}, {"pins": {"v0001": 1}},
                  {"gold": None}, {"campaign": []}, {"pruned": ["../x"]}):  # fmt: skip
        before = json.loads(lines_of(actual.log.path)[-1])
        event = {**before, **wrong, "before": before["sha256"]}
        del event["sha256"]
        text = json.dumps(event, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        sha256 = hashlib.sha256(f"{text}\n".encode()).hexdigest()
        line = json.dumps(event | {"sha256": sha256}, sort_keys=True, separators=(",", ":"))
        whole = actual.log.path.read_bytes()
        actual.log.path.write_bytes(whole + f"{line}\n".encode())
        assert "damaged at line" in actual.damaged_log().what, wrong
        assert actual.get().version == "v0001"
        actual.log.path.write_bytes(whole)


def test_a_log_that_cannot_be_read_now_is_not_replaced(tmp_path, monkeypatch):
    actual = with_releases(tmp_path, 2)
    before = actual.log.path.read_bytes()

    def failing(_: Path) -> bytes:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(release_log, "read_document", failing)
        with pytest.raises(OSError, match="Input/output"):
            actual.log.abandon([actual.log.gold])
    assert actual.log.path.read_bytes() == before
