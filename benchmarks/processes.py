"""Commands that are measured from outside, as users start them."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.comparison import Work


def command(*words: str) -> None:
    """Run a module of Python with its arguments.

    Raises
    ------
    RuntimeError
        It failed; the message is what it said.
    """
    done = subprocess.run(  # noqa: S603  our own code, our own arguments
        [sys.executable, "-m", *words], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(words)}\n{done.stderr}")


def build_in_place(campaign: Path) -> None:
    """`annot build` into the campaign's own store and gold, by the code as it is."""
    command("annot_pipeline.cli", "build", str(campaign))


def annot_build(campaign: Path) -> Work:
    """`annot build` from nothing; gives the folder of gold."""
    folder = Path(tempfile.mkdtemp(prefix="bench-"))
    gold = folder / "gold"

    def work() -> Path:
        sets = ("--set", f"store={folder / 'store'}", "--set", f"gold={gold}")
        command("annot_pipeline.cli", "build", str(campaign), *sets)
        return gold

    return work
