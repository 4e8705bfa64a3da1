"""`annot` in processes of its own, that can be killed or lose their disk at any moment.

They are forked from a server that has imported what a build needs, not from the test's process:
nothing that a test patches is patched in them (they wait for disks, and write reports), and a
build starts in no time.
"""

from __future__ import annotations

import atexit
import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from multiprocessing.context import ForkServerProcess
from pathlib import Path

LOADED = (
    "annot_pipeline.audit.verify.everything",
    "annot_pipeline.cli",
    "annot_pipeline.commands.publish",
    "assets_defs.run",
    "dagster._core.execution.api",
    "dagster._core.remote_representation.external",
    "dagster._core.snap",
    "dagster._core.storage.event_log.in_memory",
    "dagster._core.workspace.context",
    "matplotlib.backends.backend_svg",
    "matplotlib.pyplot",
    "pandas",
    "scipy.stats",
    "tests.survival.processes",
)
CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(list(LOADED))
PASSED_ON = ("ANNOT_KEY", "HOME", "PATH", "TMPDIR")

Action = Callable[[], bool]
"""What befalls a process; False: not possible just now, to be tried again a step later."""


@dataclass(frozen=True)
class Blow:
    """What befalls a process at its n-th step on files in a folder.

    Steps are what Python's audit events tell of: files opened, renamed, removed, folders made.
    Without an action, steps are noted only, and written beside the output.
    """

    folder: Path
    step: int
    action: Action | None


@dataclass(frozen=True)
class Running:
    """A command that was started."""

    process: ForkServerProcess
    output: Path
    started: float

    def wait(self, seconds: float = 120) -> int:
        """The exit status; negative: the signal that ended it."""
        self.process.join(seconds)
        status = self.process.exitcode
        if status is None:
            self.process.kill()
            raise TimeoutError(self.said)
        return status

    @property
    def seconds(self) -> float:
        """Since it was started; call it when it has ended."""
        return time.monotonic() - self.started

    @property
    def said(self) -> str:
        return self.output.read_text(encoding="utf-8") if self.output.exists() else ""

    @property
    def steps(self) -> list[str]:
        """The file of each step, where a blow without an action noted them."""
        return _noted(self.output).read_text(encoding="utf-8").splitlines()


def start(output: Path, *command: str | Path, blow: Blow | None = None) -> Running:
    """Start `annot` with a command; what it says goes to a file."""
    environment = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    process = CONTEXT.Process(
        target=_run, args=([*map(str, command)], environment, output, blow), daemon=True
    )
    started = time.monotonic()
    process.start()
    return Running(process, output, started)


def _run(
    command: list[str], environment: Mapping[str, str], output: Path, blow: Blow | None
) -> None:
    os.environ.clear()
    os.environ.update(environment, DAGSTER_DISABLE_TELEMETRY="yes")
    sys.argv = ["annot", *command]
    said = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for stream in (1, 2):
        os.dup2(said, stream)
    if blow:
        _await(blow, output)
    from annot_pipeline.cli import console

    console()


def _await(blow: Blow, output: Path) -> None:
    """Note steps from here on; an audit hook cannot be removed, so the process must end."""
    folder, is_over = f"{blow.folder}{os.sep}", False
    steps: list[str] = []

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal is_over
        if is_over or not event.startswith(("open", "os.")) or not arguments:
            return
        if not isinstance(arguments[0], str | os.PathLike):
            return
        path = os.fspath(arguments[0])
        if not path.startswith(folder):
            return
        steps.append(path)
        if blow.action and len(steps) >= blow.step:
            is_over = True  # what it does itself is no step
            is_over = blow.action()

    if blow.action is None:
        atexit.register(lambda: _noted(output).write_text("\n".join(steps)))
    sys.addaudithook(hook)


def _noted(output: Path) -> Path:
    return output.with_suffix(".steps")


def kill_oneself() -> bool:
    """As a power cut does: nothing is closed, nothing is said."""
    os.kill(os.getpid(), 9)
    return True
