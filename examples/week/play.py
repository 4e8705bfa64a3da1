"""The week, scene by scene: exports arrive, `annot` runs, people react."""

from __future__ import annotations

import contextlib
import io
import os
import shlex
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from annot_pipeline import cli
from examples.week.nights import write_night

CAMPAIGN = Path(__file__).with_name("campaign.yaml")
KEY = "the same pseudonyms wherever the week is played"
MENDED = (
    (
        "    format: csv\n",
        "    format: csv\n    files: latest # it repeats all others, and has the new columns\n",
    ),
    ("judge: worker\n", "judge: worker_id\n"),
    ("label: answer\n", "label: choice\n"),
)
"""What the person on duty changes in campaign.yaml when two columns have new names."""


@dataclass(frozen=True)
class Scene:
    """One thing that happened: what it is, what `annot` said, and its exit status."""

    title: str
    said: str
    status: int


def play(folder: Path) -> Iterator[Scene]:
    """Play the week in a folder, which is emptied first."""
    os.environ["ANNOT_KEY"] = KEY
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    shutil.copy(CAMPAIGN, folder / "campaign.yaml")
    exports = folder / "exports"

    def annot(title: str, command: str, *arguments: str) -> Scene:
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            status = cli.main([command, str(folder), *arguments])
        typed = shlex.join(["$ annot", command, "week", *arguments]).replace("'$ annot'", "$ annot")
        told = said.getvalue().replace(str(folder), "week")
        return Scene(title, f"{typed}\n{told}", status)

    write_night(16, exports)
    yield annot("Monday, 16 November: the first export", "build")
    write_night(17, exports)
    yield annot("Tuesday: everything again, a new day, and an answer corrected", "build")
    write_night(18, exports)
    yield annot("Wednesday: another day", "build")
    yield annot("Wednesday: nothing arrived since", "build")
    write_night(19, exports)
    yield annot("Thursday: dan has swapped two keys", "build")
    yield annot("Thursday: what that changed", "diff", "v0003", "v0004")
    write_night(20, exports, half=True)
    yield annot("Friday, at night: half an export", "build")
    yield annot("Friday: gold is unchanged", "verify")
    write_night(20, exports)
    yield annot("Friday, in the morning: the export is whole", "build")
    write_night(21, exports, renamed=True)
    yield annot("Saturday, at night: the platform renamed two columns", "build")
    _mend(folder / "campaign.yaml")
    yield annot("Saturday, in the morning: campaign.yaml is corrected", "build")
    write_night(22, exports, renamed=True)
    yield annot("Sunday: the last day", "build")
    yield annot("Sunday: the auditor looks", "verify")
    write_night(23, exports, renamed=True)
    yield annot("Monday, 23 November, at night: twelve new people say yes to everything", "build")
    yield annot("Monday: why", "status")
    yield annot("Monday: without these people", "build", "--set", "quality.suspected=drop")
    reason = ("--because", "wait for an expert", "--by", "ann")
    yield annot("Tuesday, 24 November: back to Sunday", "rollback", "v0007", *reason)
    yield annot("Tuesday, at night: the same export", "build", "--set", "quality.suspected=drop")


def _mend(campaign: Path) -> None:
    text = campaign.read_text(encoding="utf-8")
    for old, new in MENDED:
        text = text.replace(old, new)
    campaign.write_text(text, encoding="utf-8")
