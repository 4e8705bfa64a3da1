"""Commands that change a campaign, in any order, killed at any step: what must hold after each.

Each number of a release is given once, readers get whole releases, and `annot verify` finds nothing
wrong once a build has followed a kill.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from annot_pipeline import load_gold
from annot_pipeline.audit.verify.everything import verify
from annot_pipeline.config.campaign_file import load_campaign
from annot_pipeline.storage.candidates import Candidates
from annot_pipeline.storage.pointer import read_pointer
from annot_pipeline.storage.releases import Releases
from tests.survival.nights import add_export
from tests.survival.processes import Blow, kill_oneself, start

RUNS = 500 if "SOAK" in os.environ else 20
STEPS = 6
DONE = (0, 1, 2)
"""Exit statuses: done, a gate failed or nothing can be done, a refusal."""


class Week:
    """A campaign, the commands that it can be given, and what is known of its releases."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self.rng, self.day = folder, random.Random(seed), 1
        self.manifests: dict[str, str] = {}
        self.history: list[str] = []
        self.was_killed = False

    def command(self) -> list[str]:
        """Return a command that may make sense now, and change exports or settings before."""
        return self.rng.choice(
            [self.build, self.build, self.candidate, self.publish, self.rollback, self.retract,
             self.prune, self.pin, self.exclude, self.forget]
        )()  # fmt: skip

    def build(self) -> list[str]:
        if self.rng.random() < 0.7:
            self.day += 1
            add_export(self.folder, self.day)
        if self.rng.random() < 0.3:  # a gate that fails if labels change
            self.set(gates={"unseen_judges": {"error": 0.0, "minimum": 1}})
            judge = self.rng.randrange(9, 99)
            export = self.folder / "exports" / f"extra{judge}.csv"
            export.write_text(f"item,judge,label\ni0,k{judge}k,a\n", encoding="utf-8")
        else:
            self.set(gates={})
        return ["build"]

    def candidate(self) -> list[str]:
        return ["build", "--candidate", *self.rng.choice(([], ["--keep"]))]

    def publish(self) -> list[str]:
        candidates = Candidates(self.folder / "store")
        failed = []
        if candidates.runs():
            checks = candidates.get().manifest["checks"]
            failed = [check["name"] for check in checks if check["level"] == "error"]
        accepted = [word for name in failed for word in ("--accept", name)]
        return ["publish", "--candidate", "latest", *accepted, "--because", "looked at"]

    def rollback(self) -> list[str]:
        return ["rollback", self.version(), "--because", "wrong"]

    def retract(self) -> list[str]:
        return ["retract", self.version(), "--because", "wrong"]

    def prune(self) -> list[str]:
        return ["prune", "--keep", str(self.rng.randrange(1, 4))]

    def pin(self) -> list[str]:
        return ["pin", self.version()]

    def exclude(self) -> list[str]:
        digests = [source["source_digest"] for source in self.sources()]
        chosen = self.rng.sample(digests[1:], min(1, len(digests) - 1))
        self.set(exclude=[{"digest": digest, "because": "wrong"} for digest in chosen])
        return ["build"]

    def forget(self) -> list[str]:
        return ["forget", "j2", "--because", "asked", "--pinned"]

    def version(self) -> str:
        return self.rng.choice([*Releases(self.folder / "gold").versions(), "v0099"])

    def sources(self) -> list[dict[str, str]]:
        sources: list[dict[str, str]] = Releases(self.folder / "gold").get().manifest["sources"]
        return sources

    def set(self, **settings: object) -> None:
        path = self.folder / "campaign.yaml"
        document = json.loads(path.read_text(encoding="utf-8"))
        if "exclude" in settings:
            document["sources"][0]["exclude"] = settings.pop("exclude")
        path.write_text(json.dumps(document | settings), encoding="utf-8")

    def run(self, command: list[str], blow: Blow | None = None) -> None:
        name, *rest = command
        running = start(self.folder.with_suffix(".said"), name, self.folder, *rest, blow=blow)
        status = running.wait()
        self.history.append(f"{' '.join(command)}: {status}\n{running.said}")
        assert status in DONE or (blow and status == -signal.SIGKILL), self
        assert "Traceback" not in running.said, self
        self.was_killed = status == -signal.SIGKILL

    def check(self) -> None:
        """Check what must hold after every step, also of one that was killed."""
        pointer = read_pointer(self.folder / "gold")
        assert pointer is not None, self
        for version, sha256 in self.manifests.items():
            assert pointer.manifests.get(version, sha256) == sha256, self
        self.manifests |= pointer.manifests
        release = Releases(self.folder / "gold").get()
        for table in ("labels", "lineage"):
            rows = load_gold(self.folder / "gold", table, release.version).num_rows
            assert rows == release.tables[table]["rows"], self
        if not self.was_killed:
            document = verify(load_campaign(self.folder), None, rebuild=False, progress=_silent)
            assert document["ok"], (document["findings"], self)

    def __repr__(self) -> str:
        return "\n".join(self.history)


def _silent(_: str) -> None:
    """Report nothing."""


@pytest.mark.sampled
@pytest.mark.parametrize("seed", range(RUNS))
def test_any_order_of_commands_and_kills(
    seed: int, first_day: Path, add_kills: Callable[[Week], Blow | None]
) -> None:
    week = Week(first_day, seed)
    for _ in range(STEPS):
        week.run(week.command(), add_kills(week))
        week.check()
    week.set(gates={}, exclude=[])
    week.run(["build"])
    week.check()
    shutil.rmtree(first_day)


@pytest.fixture
def add_kills() -> Callable[[Week], Blow | None]:
    """Return what kills a third of the commands at a step on files."""

    def blow(week: Week) -> Blow | None:
        if week.rng.random() > 0.35:
            return None
        return Blow(week.folder, 1 + int(10 ** week.rng.uniform(0, 3)), kill_oneself)

    return blow
