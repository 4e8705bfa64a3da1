"""A small campaign with a release, the night that adds an export, and what must hold after."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from annot_pipeline.cli import main
from annot_pipeline.storage.releases import Release, Releases
from tests.conftest import build_file
from tests.survival.processes import Blow, Running, start


def export(day: int, n_items: int = 6) -> str:
    """Three judgments an item; every day has some items of its own, and one that is corrected."""
    rows = [
        f"i{day}.{item},j{judge},{'ab'[(item + judge) % 2]}"
        for item in range(n_items)
        for judge in range(3)
    ]
    return "\n".join(["item,judge,label", *rows, f"i0,j1,{'ab'[day % 2]}", ""])


def write_campaign(folder: Path, *, days: int, name: str = "nights") -> Path:
    """A campaign with the exports of some days; no release yet."""
    (folder / "exports").mkdir(parents=True)
    for day in range(1, days + 1):
        add_export(folder, day)
    fields = {"item": "item", "judge": "judge", "label": "label"}
    document = {
        "campaign": name,
        "sources": [{"path": "exports/*.csv", "format": "csv", "fields": fields}],
        "agreement": {"bootstrap": 20},
    }
    (folder / "campaign.yaml").write_text(json.dumps(document), encoding="utf-8")
    return folder


def build_first_day(folder: Path) -> None:
    """Build a campaign of one export."""
    build_file(write_campaign(folder, days=1))


def add_export(folder: Path, day: int) -> None:
    (folder / f"exports/day{day}.csv").write_text(export(day), encoding="utf-8")


@dataclass(frozen=True)
class Night:
    """A campaign as it lies there before a night's build, and what that build should make of it.

    Parameters
    ----------
    before
        Its folder: one release, and one export more than that release was made of.
    first, second
        Digests of the tables of its release, and of the one that an undisturbed build makes.
    steps_in
        How many steps on files that build took, in the whole folder (``""``), and in its store
        and gold.
    seconds
        How long it took.
    """

    before: Path
    first: dict[str, str]
    second: dict[str, str]
    steps_in: dict[str, int]
    seconds: float

    def copy(self, folder: Path) -> Path:
        shutil.copytree(self.before, folder, dirs_exist_ok=True)
        return folder


def prepare_night(folder: Path) -> Night:
    """Build the first release, and find out what an undisturbed night comes to."""
    before, after = folder / "before", folder / "after"
    write_campaign(before, days=1)
    said = build(before)
    assert said.wait() == 0, said.said
    first = tables(newest(before))
    add_export(before, 2)
    shutil.copytree(before, after)
    night = build(after, Blow(after, 0, None))
    assert night.wait() == 0, night.said
    seconds, steps = night.seconds, night.steps
    steps_in = {place: sum(map(_within(after / place), steps)) for place in ("", "store", "gold")}
    return Night(before, first, tables(newest(after)), steps_in, seconds)


def _within(folder: Path) -> Callable[[str], bool]:
    return lambda path: Path(path).is_relative_to(folder)


def build(folder: Path, blow: Blow | None = None, *, said: str = "said") -> Running:
    """Start a build; what it says lies beside the campaign's folder."""
    return start(folder.with_suffix(f".{said}"), "build", folder, blow=blow)


def newest(folder: Path) -> Release:
    return Releases(folder / "gold").get()


def tables(release: Release) -> dict[str, str]:
    """SHA-256 of every table, each of which was read."""
    for name in release.tables:
        release.table(name)
    return {name: table["sha256"] for name, table in release.tables.items()}


def unfinished(folder: Path) -> list[str]:
    """Temporary files and what SQL put aside, in the store and in gold."""
    return sorted(
        path.relative_to(folder).as_posix()
        for place in ("store", "gold")
        for path in (folder / place).rglob("*")
        if ".tmp" in path.name or path.suffix == ".wal" or path.name == "spill"
    )


def check_the_release_stands(folder: Path, night: Night) -> None:
    """The last release loads whole, and every checksum is right.

    Beside it may lie one that was put there whole and not pointed to: verify, unasked, names it.
    """
    release = newest(folder)
    assert tables(release) in (night.first, night.second)
    assert main(["verify", str(folder), release.version]) == 0


def check_the_next_night(folder: Path, night: Night) -> None:
    """The next build ends where an undisturbed one does, and tidies up."""
    again = build(folder)
    assert again.wait() == 0, again.said
    assert Releases(folder / "gold").versions() == ["v0001", "v0002"]
    assert tables(newest(folder)) == night.second
    assert unfinished(folder) == [], unfinished(folder)
    assert main(["verify", str(folder)]) == 0
