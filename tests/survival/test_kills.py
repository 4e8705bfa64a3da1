"""Builds that are killed: the last release stands, and the next build makes up for it."""

import os
import random
import shutil
import signal
import time
from pathlib import Path

import pytest

from annot_pipeline.storage.releases import Releases
from tests.survival.nights import (
    Night,
    build,
    check_the_next_night,
    check_the_release_stands,
    newest,
)
from tests.survival.processes import Blow, kill_oneself

KILLS = 100 if "SOAK" in os.environ else 2
"""Every second by the clock, the others at a step on files; spread over the whole build."""
LAST_STEP = 0.98
"""Share of the steps up to which a kill surely comes before the end."""


@pytest.mark.slow
@pytest.mark.parametrize("number", range(KILLS))
def test_killed_at_any_moment(number: int, night: Night, tmp_path: Path) -> None:
    share = random.Random(number).uniform(number // 2, number // 2 + 1) / (KILLS / 2)
    folder = night.copy(tmp_path / "campaign")
    if number % 2:
        running = build(
            folder, Blow(folder, 1 + int(share * LAST_STEP * night.steps_in[""]), kill_oneself)
        )
        assert running.wait() == -signal.SIGKILL, running.said
    else:
        running = build(folder)
        time.sleep(share * night.seconds)
        running.process.kill()
        assert running.wait() in (-signal.SIGKILL, 0), running.said
    check_the_release_stands(folder, night)
    check_the_next_night(folder, night)
    shutil.rmtree(folder)


@pytest.mark.slow
def test_killed_between_release_and_pointer(night: Night, tmp_path: Path) -> None:
    """What was published whole counts, also for a build that has more to publish."""
    folder = night.copy(tmp_path / "campaign")
    (copy,) = (folder / "store/pointers").iterdir()
    pointers = {path: path.read_bytes() for path in (folder / "gold/latest.json", copy)}
    assert build(folder).wait() == 0
    for path, data in pointers.items():
        path.write_bytes(data)
    assert newest(folder).version == "v0001"
    (folder / "exports/day3.csv").write_text("item,judge,label\ni9,j1,a\n", encoding="utf-8")
    again = build(folder)
    assert again.wait() == 0, again.said
    assert Releases(folder / "gold").versions() == ["v0001", "v0002", "v0003"]
    assert newest(folder).manifest["parent"]["version"] == "v0002"
