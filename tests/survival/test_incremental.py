"""Night after night, only what is new is done; the tables are those of a full rebuild."""

import csv
import io
import json
import os
import random
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, note, settings
from hypothesis import strategies as st

from annot_pipeline.commands.publish import publish
from annot_pipeline.config.campaign_file import load_campaign
from annot_pipeline.contracts import GOLD
from annot_pipeline.errors import GateError
from annot_pipeline.stages.build import STAGES, Build
from annot_pipeline.storage.releases import Releases
from tests.conftest import build_file

SEQUENCES = 67 if "SOAK" in os.environ else 1
"""Of each kind of campaign."""
LONGEST = 6 if "SOAK" in os.environ else 3

KINDS: dict[str, dict[str, Any]] = {
    "labels": {
        "fields": ("item", "judge", "label"),
        "tasks": [{"name": "*", "kind": "categorical"}],
    },
    "scores": {
        "fields": ("segment", "system", "judge", "hit", "control", "score"),
        "tasks": [{"name": "*", "kind": "scalar", "scale": [0, 100]}],
    },
    "pairs": {
        "fields": ("segment", "system_a", "system_b", "judge", "preference"),
        "tasks": [{"name": "*", "kind": "pairwise"}],
    },
}
CHANGES: dict[str, dict[str, Any]] = {
    "smoothing": {"dawid_skene": {"smoothing": 0.5}},
    "start": {"dawid_skene": {"start": "votes"}},
    "test": {"quality": {"test": "none"}},
    "seed": {"seed": 5},
    "margin": {"easl": {"margin": 1.5}},
    "names": {"privacy": {"pseudonymize": False}},
    "rejected": {"quality": {"rejected_assignments": "keep"}},
}
SMALL = {"agreement": {"bootstrap": 10}, "ranking": {"bootstrap": 10, "online_rounds": 2}}


class Nights:
    """A campaign to which something happens every day."""

    def __init__(self, folder: Path, kind: str) -> None:
        self.folder, self.kind = folder, kind
        self.settings: dict[str, dict[str, Any]] = {}
        self.has_items = False
        (folder / "exports").mkdir(parents=True)
        self.files = 0
        self.add_export(0)

    def exports(self) -> list[Path]:
        return sorted((self.folder / "exports").iterdir())

    def add_export(self, seed: int) -> None:
        """Rows of some judges, partly those of earlier exports."""
        self.files += 1
        rows = [self.row(item, judge, seed) for item in range(4) for judge in range(3)]
        self._write(self.folder / f"exports/e{self.files}.csv", [r for row in rows for r in row])

    def row(self, item: int, judge: int, seed: int) -> list[tuple[object, ...]]:
        chance = random.Random(f"{item} {judge} {seed % 3}")
        who = f"j{(judge + seed) % 5}"
        if self.kind == "labels":
            return [(f"i{item + seed % 2}", who, chance.choice("abc"))]
        if self.kind == "pairs":
            systems = chance.sample("xyz", 2)
            return [(f"s{item}", *systems, who, chance.choice(("a", "b", "tie")))]
        score = chance.randint(30, 100)
        return [
            (f"s{item}", system, who, f"h{seed}", control, score - less)
            for system in "xy"
            for control, less in (("none", 0), ("bad_reference", chance.randint(5, 30)))
        ]

    def correct(self, seed: int, *, in_place: bool) -> None:
        """The last answer of a file becomes another, in the file or in a later one."""
        path = self.exports()[seed % len(self.exports())]
        rows = list(csv.reader(io.StringIO(path.read_text(encoding="utf-8"))))[1:]
        changed = {"labels": "a", "pairs": "tie", "scores": "50"}[self.kind]
        rows[-1] = [*rows[-1][:-1], changed]
        if not in_place:
            self.files += 1
            path, rows = self.folder / f"exports/e{self.files}.csv", rows[-1:]
        self._write(path, rows)

    def withdraw(self, seed: int) -> None:
        if len(self.exports()) > 1:
            self.exports()[seed % len(self.exports())].unlink()

    def rename(self, seed: int) -> None:
        """Names order exports, so it may decide which of two answers counts."""
        self.files += 1
        path = self.exports()[seed % len(self.exports())]
        path.rename(path.with_name(f"{'az'[seed % 2]}{self.files}.csv"))

    def change_setting(self, seed: int) -> None:
        """Set, or, if it is set, as it was."""
        name = sorted(CHANGES)[seed % len(CHANGES)]
        if self.settings.pop(name, None) is None:
            self.settings[name] = CHANGES[name]

    def list_items(self, seed: int) -> None:
        self.has_items = True
        text = "".join(f"i{n},s{n},x,text {n + seed % 2}\n" for n in range(4))
        head = "item,segment,system,text\n"
        (self.folder / "items.csv").write_text(head + text, encoding="utf-8")

    def write(self) -> None:
        """The campaign file as it is today."""
        kind = KINDS[self.kind]
        fields = {name: name for name in kind["fields"]}
        document: dict[str, Any] = {
            "campaign": "nights",
            "sources": [{"path": "exports/*.csv", "format": "csv", "fields": fields}],
            "tasks": kind["tasks"],
            "resources": {"spill": "../spill"},
            **SMALL,
        }
        if self.has_items:
            names = {name: name for name in ("item", "segment", "system", "text")}
            document["items"] = [{"path": "items.csv", "format": "csv", "fields": names}]
        for change in self.settings.values():
            for section, value in change.items():
                is_section = isinstance(value, dict)
                document[section] = document.get(section, {}) | value if is_section else value
        (self.folder / "campaign.yaml").write_text(json.dumps(document), encoding="utf-8")

    def _write(self, path: Path, rows: list[Any]) -> None:
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([KINDS[self.kind]["fields"], *rows])
        path.write_text(text.getvalue(), encoding="utf-8")


DAYS: dict[str, Callable[[Nights, int], None]] = {
    "an export": Nights.add_export,
    "a correction in place": lambda nights, seed: nights.correct(seed, in_place=True),
    "a correction": lambda nights, seed: nights.correct(seed, in_place=False),
    "a withdrawal": Nights.withdraw,
    "another name": Nights.rename,
    "another setting": Nights.change_setting,
    "an item table": Nights.list_items,
}


def made(build: Build) -> dict[str, str]:
    """SHA-256 of the gold tables of a build, whatever the gates say."""
    tables = {}
    for stage in STAGES:
        for name, table in build.run_stage(stage).result.tables.items():
            tables[name] = table.sha256
    return {name: tables[name] for name in GOLD if name in tables}


@pytest.mark.parametrize(
    "kind",
    [kind if kind == "labels" else pytest.param(kind, marks=pytest.mark.slow) for kind in KINDS],
)
def test_incremental_is_full(kind: str, tmp_path: Path) -> None:
    @settings(
        max_examples=SEQUENCES,
        deadline=None,
        derandomize="SOAK" not in os.environ,
        phases=[Phase.generate],
        suppress_health_check=[HealthCheck.too_slow],
        database=None,
    )
    @given(
        st.lists(
            st.tuples(st.sampled_from(sorted(DAYS)), st.integers(0, 11)),
            min_size=2,
            max_size=LONGEST,
        )
    )
    def all_sequences(days: list[tuple[str, int]]) -> None:
        with tempfile.TemporaryDirectory(prefix="annot-nights-", dir=tmp_path) as scratch:
            nights = Nights(Path(scratch, "campaign"), kind)
            for day, seed in days:
                DAYS[day](nights, seed)
                nights.write()
                note(f"{day} {seed}")
                build = Build(load_campaign(nights.folder))
                incremental = made(build)
                try:
                    publish(build)
                except GateError:
                    note("a gate failed")
                apart = [f"{place}={scratch}/full/{place}" for place in ("store", "gold")]
                full = made(Build(load_campaign(nights.folder, sets=apart)))
                assert incremental == full
                shutil.rmtree(f"{scratch}/full")

    all_sequences()


@pytest.mark.slow
def test_what_did_not_change_is_not_done_again(tmp_path: Path) -> None:
    """And it is told: by the result of each stage, and by what was parsed."""
    nights = Nights(tmp_path / "campaign", "scores")
    nights.write()
    assert not any(run.result.reused for run in build_file(nights.folder).runs.values())
    always = {stage.name for stage in STAGES if not stage.cached}
    assert {"archive_exports", "read_records"} < always

    same = build_file(nights.folder)
    assert {n for n, run in same.runs.items() if not run.result.reused} == always
    assert same.metrics("read_records")["parsed"] == 0

    nights.add_export(1)
    more = build_file(nights.folder)
    assert more.metrics("read_records")["parsed"] == 1
    assert not more.runs["settle_judgments"].result.reused

    nights.settings["margin"] = CHANGES["margin"]
    nights.write()
    other = build_file(nights.folder)
    assert other.metrics("read_records")["parsed"] == 0
    again = {name for name, run in other.runs.items() if not run.result.reused}
    assert {"score_items", "break_into_comparisons"} < again
    assert again.isdisjoint({"settle_judgments", "control_judges", "standardize_scores"})
    assert Releases(nights.folder / "gold").versions() == ["v0001", "v0002", "v0003"]
