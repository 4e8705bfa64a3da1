"""Commands of a moment on a large release, against the time that an import of pandas takes.

`annot` runs as it is installed, beside the interpreter; where it is not, as a module.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

from benchmarks.comparison import Comparison, Way, Work
from benchmarks.exports import Shape
from benchmarks.kept_exports import kept_campaign
from benchmarks.processes import build_in_place

TASKS, TASK, ITEM = 10, "labels-03", "item-7"


def draw_campaign(n: int) -> Path:
    """Path of a campaign: half labels, two fifths scores, a tenth preferences."""
    return kept_campaign(
        Shape(labels=n // 10 * 5, scores=n // 10 * 4, comparisons=n // 10, tasks=TASKS)
    )


def annot(*words: str) -> list[str]:
    """The installed command with its arguments."""
    installed = shutil.which("annot", path=str(Path(sys.executable).parent))
    return [*([installed] if installed else [sys.executable, "-m", "annot_pipeline.cli"]), *words]


def python(code: str, _: Path) -> Work:
    """What an interpreter says of a line of code."""
    return lambda: said([sys.executable, "-c", code])


def on_campaign(command: str, campaign: Path, *words: str) -> Work:
    """What a command says of the campaign."""
    return lambda: said(annot(command, str(campaign), *words))


def said(words: list[str]) -> str:
    """Run a command to its end; what it printed.

    Raises
    ------
    subprocess.CalledProcessError
        It failed.
    """
    done = subprocess.run(words, check=True, capture_output=True, text=True)  # noqa: S603
    return done.stdout


COMPARISON = Comparison(
    "annot on a campaign that is built: half labels, two fifths scores, a tenth preferences, "
    f"{TASKS} tasks of each",
    "judgments",
    sizes=(1_000_000,),
    quick=(10_000,),
    draw=draw_campaign,
    keep=build_in_place,
    ways=(
        Way("python -c 'import pandas'", partial(python, "import pandas"), needs="pandas"),
        Way("python -c pass", partial(python, "pass")),
        Way("annot --help", lambda _: lambda: said(annot("--help"))),
        Way("annot validate", partial(on_campaign, "validate")),
        Way("annot status", partial(on_campaign, "status")),
        Way("annot build, nothing new", partial(on_campaign, "build")),
        Way("annot trace", lambda of: on_campaign("trace", of, ITEM, "--task", TASK)),
        Way("annot trace, an item of ten tasks", lambda of: on_campaign("trace", of, ITEM)),
    ),
    yardstick="import pandas",
)
