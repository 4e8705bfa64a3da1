"""Commands that change a campaign, in any order, killed and out of disk at any step.

After each step no number was given to two releases, readers get whole releases, and `annot verify`
finds nothing wrong, or names what a kill left.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shutil
import signal
import sys
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from annot_pipeline import load_gold
from annot_pipeline.audit.verify.everything import verify
from annot_pipeline.cli import main
from annot_pipeline.commands import decisions, release_pages
from annot_pipeline.config.campaign_file import load_campaign
from annot_pipeline.errors import AnnotError
from annot_pipeline.storage.candidates import Candidates
from annot_pipeline.storage.files import file_sha256
from annot_pipeline.storage.forgotten import FORGOTTEN, unfinished
from annot_pipeline.storage.keys import judge_key, published_digest
from annot_pipeline.storage.pointer import number, read_pointer
from annot_pipeline.storage.release import Release
from annot_pipeline.storage.releases import Releases
from tests.conftest import KEY, build_file
from tests.decisions.named import named_in
from tests.survival.interruptions import Killed, Watch, watched
from tests.survival.nights import export, write_campaign
from tests.survival.processes import Blow, kill_oneself, start

SOAK = "SOAK" in os.environ
PARTS, RUNS, STEPS = (10, 50, 8) if SOAK else (1, 5, 3)
"""Tests, which several processes share; runs of each; rules of each run."""
HOW = ("", "", "", "kill", "kill", "full", *(["process"] if SOAK else []))
"""What befalls a command: nothing, a kill or a full disk in this process, a kill of its own."""
STEPS_OF = {"build": 1600, "forget": 2100, "publish": 700, "rollback": 350}
"""Steps on files that a command takes, about; others take less than `FEW`."""
FEW = 80
KEYS = (KEY, "another key for tests, as long as that")
PERSON = "person2"
DONE = (0, 1, 2)
"""Exit statuses: done, a gate failed or nothing can be done, a refusal."""
FAILING = {"unseen_judges": {"error": 0.0, "minimum": 1}}
MENDING = ("build", "forget", "retract", "rollback")
"""Commands that finish, or tidy up, what an interrupted one left."""
REASON = ["--because", "wrong"]


def person_export(day: int, version: int) -> str:
    return re.sub(r",j(\d)", r",person\1", export(day)) + f"v{version},person1,a\n"


def build_two_days(folder: Path) -> None:
    """Build two releases, and go back to the first."""
    write_campaign(folder, days=0)
    document = json.loads((folder / "campaign.yaml").read_text(encoding="utf-8"))
    document["resources"] = {"threads": 1}
    (folder / "campaign.yaml").write_text(json.dumps(document), encoding="utf-8")
    for day in (1, 2):
        (folder / f"exports/day{day}.csv").write_text(person_export(day, 0), encoding="utf-8")
        build_file(folder)
    (folder / "exports/day2.csv").unlink()
    assert main(["rollback", str(folder), "v0001", *REASON]) == 0


class CampaignMachine(RuleBasedStateMachine):
    """A campaign, the commands that it can be given, and what is known of its releases."""

    copy: Callable[[Path], Path]
    folder: Path

    @initialize(seed=st.integers(0, 1 << 32))
    def begin(self, seed: int) -> None:
        self.rng = Random(seed)
        os.environ["ANNOT_KEY"] = KEY
        shutil.rmtree(self.folder, ignore_errors=True)
        self.copy(self.folder)
        self.history: list[str] = []
        self.manifests: dict[str, str] = {}
        self.was_interrupted, self.is_whole = False, True
        self.excluded: set[bytes] = set()
        self.excluded_under = KEY

    @rule()
    def build(self) -> None:
        """Build after exports have come, were corrected, excluded or have gone; a gate may fail."""
        fails = self.rng.random() < 0.3
        for _ in range(self.rng.randrange(3)):
            self.change_export()
        if fails:
            text = f"item,judge,label\ni0,newcomer{self.rng.randrange(1_000)},a\n"
            self.export("extra").write_text(text, encoding="utf-8")
        self.set(gates=FAILING if fails else {})
        self.exclude()
        if self.run("build") == 0 and not self.was_interrupted:
            self.check_sources()

    def exclude(self) -> None:
        """Exclude none or one of the later exports, by either digest."""
        paths = sorted((self.folder / "exports").iterdir())[1:]
        chosen = self.rng.sample(paths, min(len(paths), self.rng.random() < 0.4))
        campaign = load_campaign(self.folder)
        key = judge_key(campaign.settings, campaign.store)
        plain = [file_sha256(path) for path in chosen]
        keyed = [published_digest(campaign.settings, key, sha256) for sha256 in plain]
        picked = self.rng.choice((plain, keyed))
        self.set(exclude=[{"digest": digest, "because": "wrong"} for digest in picked])
        self.excluded = {path.read_bytes() for path in chosen}
        self.excluded_under = os.environ["ANNOT_KEY"]

    @rule()
    def build_candidate(self) -> None:
        before = self.newest().version
        self.change_export()
        self.run("build", "--candidate", *self.rng.choice(([], ["--keep"])))
        assert self.newest().version == before, self.story

    @rule()
    @precondition(lambda self: Candidates(self.folder / "store").runs())
    def publish_candidate(self) -> None:
        failed: list[str] = []
        with contextlib.suppress(AnnotError):  # damaged by a kill
            checks = Candidates(self.folder / "store").get().manifest["checks"]
            failed = [check["name"] for check in checks if check["level"] == "error"]
        accepted = [word for name in failed for word in ("--accept", name)]
        self.run("publish", "--candidate", "latest", *accepted, *REASON)

    @rule()
    def roll_back(self) -> None:
        version = self.version()
        hashes = self.hashes(version)
        if self.run("rollback", version, *REASON) == 0:
            assert self.hashes(self.newest().version) == hashes, self.story

    @rule()
    def retract(self) -> None:
        version = self.version()
        if self.run("retract", version, *REASON) == 0:
            assert version in self.releases.retracted(), self.story

    @rule()
    def prune(self) -> None:
        keep = self.rng.randrange(1, 4)
        if self.run("prune", "--keep", str(keep)) == 0 and not self.was_interrupted:
            pointer = read_pointer(self.folder / "gold")
            assert pointer is not None
            others = {*pointer.pins, *self.releases.retracted()}
            assert len({*self.releases.versions()} - others) <= keep, self.story

    @rule()
    def pin(self) -> None:
        self.run("pin", self.version(), *self.rng.choice(([], ["--remove"])))

    @rule()
    def forget(self) -> None:
        self.set(gates={})
        pinned = self.rng.choice(([], ["--pinned"]))
        if self.run("forget", PERSON, *REASON, *pinned) == 0:
            assert named_in(self.folder, PERSON) == [], self.story
            assert unfinished(self.folder / "store", "week") == [], self.story

    @rule()
    def rotate_key(self) -> None:
        """Change the key; the next build may give all judges new names, or refuses."""
        is_allowed = self.rng.random() < 0.7
        os.environ["ANNOT_KEY"] = KEYS[KEYS.index(os.environ["ANNOT_KEY"]) - 1]
        self.set(privacy={"new_key": is_allowed})
        self.history.append(f"# the key is another one, new_key: {is_allowed}")

    @invariant()
    def check(self) -> None:
        """Check what must hold after every step, also of one that was killed."""
        pointer = read_pointer(self.folder / "gold")
        assert pointer is not None, self.story
        highest = max(map(number, self.manifests), default=0)
        for version, sha256 in pointer.manifests.items():
            if version not in self.manifests:
                assert number(version) > highest, self.story
            assert self.manifests.setdefault(version, sha256) == sha256, self.story
        assert pointer.manifests.keys() == self.manifests.keys(), self.story
        self.read()
        document = verify(load_campaign(self.folder), None, rebuild=False, progress=_silent)
        others = [row for row in document["findings"] if not row["file"].endswith(FORGOTTEN)]
        if self.is_whole:  # what is not forgotten to the end, only the same command finishes
            assert others == [], self.story
        assert all(row["file"] and row["what"] for row in document["findings"]), self.story

    def teardown(self) -> None:
        if SOAK and sys.exc_info()[0] is None and not self.is_whole:
            self.set(gates={}, privacy={"new_key": True})
            self.run("build", how="")
            self.check()

    def read(self) -> None:
        """Read the newest release as a consumer does: it is whole."""
        with warnings.catch_warnings():  # of a release that nothing points to yet
            warnings.simplefilter("ignore")
            assert load_gold(self.folder / "gold", "labels").num_rows > 0
        assert self.newest().damaged() == []

    @property
    def releases(self) -> Releases:
        return Releases(self.folder / "gold")

    def newest(self) -> Release:
        return self.releases.get()

    def version(self) -> str:
        """Return the version of a release, now and then of none."""
        return self.rng.choice([*self.releases.versions() * 3, "v0099"])

    def hashes(self, version: str) -> dict[str, str]:
        with contextlib.suppress(AnnotError):
            return {t["name"]: t["sha256"] for t in self.releases.get(version).manifest["tables"]}
        return {}

    def export(self, name: str) -> Path:
        return self.folder / "exports" / f"{name}.csv"

    def change_export(self) -> None:
        """Let the export of a day come, be corrected or go."""
        day = self.rng.randrange(2, 5)
        path = self.export(f"day{day}")
        if path.exists() and self.rng.random() < 0.4:
            path.unlink()
        else:
            path.write_text(person_export(day, self.rng.randrange(3)), encoding="utf-8")

    def set(self, **changes: Any) -> None:
        path = self.folder / "campaign.yaml"
        document = json.loads(path.read_text(encoding="utf-8"))
        if "exclude" in changes:
            document["sources"][0]["exclude"] = changes.pop("exclude")
        path.write_text(json.dumps(document | changes), encoding="utf-8")

    def check_sources(self) -> None:
        """The newest release is made of the exports that are there, but for excluded ones."""
        if self.excluded and self.excluded_under != os.environ["ANNOT_KEY"]:
            return  # digests of releases under another key exclude nothing
        names = [source["name"] for source in self.newest().manifest["sources"]]
        paths = sorted((self.folder / "exports").iterdir())
        read = [path for path in paths if path.read_bytes() not in self.excluded]
        assert sorted(names) == [f"exports/{path.name}" for path in read], self.story

    def run(self, command: str, *words: str, how: str | None = None) -> int | None:
        """Run a command; None where it was killed."""
        how = self.rng.choice(HOW) if how is None else how
        step = 1 + int(self.rng.random() * STEPS_OF.get(command, FEW))
        told = io.StringIO()
        line = [command, str(self.folder), *words]
        self.history.append(f"$ annot {' '.join(line)}   # {how} {step}")
        if how == "process":
            return self.run_process(command, *words, step=step)
        watch = Watch(self.folder, how, step, self.read)
        status: int | None = None
        with (
            contextlib.redirect_stdout(told), contextlib.redirect_stderr(told),
            contextlib.suppress(Killed), watched(watch),
        ):  # fmt: skip
            status = main(line)
        self.note_end(command, words, status, interrupted=watch.happened)
        self.history.append(f"{told.getvalue()}-> {status}")
        assert watch.errors == [], f"{watch.errors}{self.story}"
        assert status in DONE or (status is None and how == "kill"), self.story
        assert "a defect of annot" not in told.getvalue(), self.story
        return status

    def run_process(self, command: str, *words: str, step: int) -> int | None:
        output = self.folder.with_suffix(".said")
        blow = Blow(self.folder, step, kill_oneself)
        running = start(output, command, self.folder, *words, blow=blow)
        status = running.wait()
        self.history.append(f"{running.said}-> {status}")
        assert status in DONE or status == -signal.SIGKILL, self.story
        assert "Traceback" not in running.said, self.story
        killed = status == -signal.SIGKILL
        self.note_end(command, words, status, interrupted=killed)
        return None if killed else status

    def note_end(
        self, command: str, words: tuple[str, ...], status: int | None, *, interrupted: bool
    ) -> None:
        """Note whether a command was interrupted, and whether one has made up for it since."""
        mends = status == 0 and command in MENDING and "--candidate" not in words
        self.was_interrupted = interrupted
        self.is_whole = not interrupted and (self.is_whole or mends)

    @property
    def story(self) -> str:
        return "\n".join(["", *self.history])


def write_plain_pages(folder: Path, document: dict[str, Any], *_: object) -> None:
    """Write pages that take no time, of which verify knows no more than their digests."""
    for name in ("README.md", "croissant.json", "report.html"):
        (folder / name).write_text(f"page of {document['version']}\n", encoding="utf-8")


def _silent(_: str) -> None:
    """Report nothing."""


@pytest.mark.parametrize("part", range(PARTS))
def test_any_order_of_commands_kills_and_full_disks(
    part: int, copy_campaign: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANNOT_KEY", KEY)  # the machine changes it: other tests have it back
    monkeypatch.setattr(CampaignMachine, "copy", partial(copy_campaign, build_two_days), False)
    monkeypatch.setattr(CampaignMachine, "folder", tmp_path / f"campaign{part}", False)
    if not SOAK:
        monkeypatch.setattr(release_pages, "write_pages", write_plain_pages)
        monkeypatch.setattr(decisions, "write_restored_pages", write_plain_pages)
    run_state_machine_as_test(
        CampaignMachine,
        settings=settings(
            max_examples=RUNS,
            stateful_step_count=STEPS,
            derandomize=not SOAK,
            database=None,
            deadline=None,
            phases=[Phase.generate],  # a failing run is short, and each of its steps takes a while
            suppress_health_check=list(HealthCheck),
            print_blob=True,
        ),
    )
