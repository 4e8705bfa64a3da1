"""Disks that run full or become read-only in the midst of a build, at any of its steps."""

import errno
import os
import random
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from tests.full_disk import fill_disk
from tests.survival.nights import (
    Night,
    build,
    check_the_next_night,
    check_the_release_stands,
    newest,
    tables,
)
from tests.survival.processes import Action, Blow

pytestmark = pytest.mark.slow

STEPS = 25 if "SOAK" in os.environ else 1
"""Moments at which each disk fails, in each way."""
SAID = {"full": os.strerror(errno.ENOSPC), "read-only": os.strerror(errno.EROFS)}
BALLAST = ".ballast"


def mount(*options: str | Path) -> bool:
    """Whether a mount was made or changed; root alone may."""
    command = shutil.which("mount")
    return bool(command) and not subprocess.run([command, *options], capture_output=True).returncode


def fill(disk: Path) -> bool:
    fill_disk(disk / BALLAST)
    return True


def make_read_only(disk: Path) -> bool:
    """Not possible while a file is open for writing."""
    return mount("-o", "remount,ro", disk)


FAILS: dict[str, Callable[[Path], bool]] = {"full": fill, "read-only": make_read_only}


@contextmanager
def small_disk(folder: Path) -> Iterator[None]:
    """Put a folder, and what it holds, on a disk of its own."""
    kept = folder.with_name(f"{folder.name}-kept")
    shutil.copytree(folder, kept)
    if not mount("-t", "tmpfs", "-o", "size=8m", "annot-test", folder):
        pytest.skip("a full disk takes a mount, which only root may make")
    try:
        shutil.copytree(kept, folder, dirs_exist_ok=True)
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def mend(disk: Path) -> None:
    assert mount("-o", "remount,rw", disk)
    (disk / BALLAST).unlink(missing_ok=True)


@pytest.mark.parametrize("number", range(STEPS))
@pytest.mark.parametrize(
    ("place", "fails"),
    [
        ("store", "full"),
        pytest.param("gold", "read-only", marks=pytest.mark.slow),
        pytest.param("store", "read-only", marks=pytest.mark.slow),
        pytest.param("gold", "full", marks=pytest.mark.slow),
    ],
)
def test_a_disk_that_fails_in_the_midst_of_a_build(
    place: str, fails: str, number: int, night: Night, tmp_path: Path
) -> None:
    folder = night.copy(tmp_path / "campaign")
    disk = folder / place
    n_steps = night.steps_in[place]
    step = 1 + int(random.Random(f"{place} {fails} {number}").random() * n_steps)
    action: Action = partial(FAILS[fails], disk)
    with small_disk(disk):
        running = build(folder, Blow(disk, step, action))
        status = running.wait()
        assert status in (0, 1), running.said
        assert "Traceback" not in running.said
        assert "a defect of annot" not in running.said
        if status:
            assert SAID[fails] in running.said
            assert "\n    do:      " in running.said
        stands = tables(newest(folder))
        assert stands in ([night.second] if status == 0 else [night.first, night.second])
        mend(disk)
        check_the_release_stands(folder, night)
        check_the_next_night(folder, night)
