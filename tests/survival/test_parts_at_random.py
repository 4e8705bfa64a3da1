"""Campaigns of all kinds, in small parts and from night to night, against a build from nothing."""

from __future__ import annotations

import json
import os
import random
import shutil

import pytest

from annot_pipeline.contracts import GOLD
from annot_pipeline.gates.declared import GATES
from annot_pipeline.runtime.context import PARTITIONS
from annot_pipeline.runtime.job_sizes import JobSizes
from annot_pipeline.storage.tables import as_published
from tests.conftest import build_file

SEEDS = range(20) if "SOAK" in os.environ else range(1)
NIGHTS = 5 if "SOAK" in os.environ else 2
TASKS = ["a", "b", "c'", "d%", "é", "日", "scal1", "scal2", "pair1", "rank1", "blank", ""]
COLUMNS = {
    "task": "task", "item": "item", "judge": "judge", "label": "label", "score": "score",
    "preference": "preference", "system_a": "system_a", "system_b": "system_b",
    "segment": "segment", "control": "control", "submitted_at": "submitted_at", "hit": "hit",
    "native_id": "native_id", "status": "status", "reward": "reward", "truth": "truth",
    "position": "position",
}  # fmt: skip
GATES_OF_CONTENT = ("contract", "accounting", "lineage")


def line(rng):
    row = dict.fromkeys(COLUMNS, "") | {"task": rng.choice(TASKS), "judge": f"w{rng.randrange(5)}"}
    second = f"2026-01-0{rng.randrange(1, 9)}T00:00:0{rng.randrange(9)}Z"
    row["submitted_at"] = rng.choice(["", second])
    row["hit"] = rng.choice(["", f"h{rng.randrange(3)}"])
    row["native_id"] = rng.choice(["", "", f"n{rng.randrange(3)}"])
    row["status"] = rng.choice(["", "", "Rejected", "Approved"])
    row["reward"] = rng.choice(["", "$0.10", "$0.20"])
    item = f"i{rng.randrange(4)}"
    if row["task"].startswith("scal"):
        row |= {"item": item, "score": str(rng.randrange(100)),
                "control": rng.choice(["none"] * 4 + ["ask_again", "bad_reference"]),
                "segment": rng.choice(["", "s1", "s2"]),
                "position": rng.choice(["", str(rng.randrange(5))])}  # fmt: skip
    elif row["task"] == "pair1":
        row["system_a"], row["system_b"] = rng.sample("xyz", 2)
        row["segment"] = f"s{rng.randrange(3)}"
        row["preference"] = rng.choice(["a", "b", "tie"])
    elif row["task"] == "rank1":
        row |= {"item": item, "score": str(rng.randrange(10)), "segment": "s1"}
    elif row["task"] != "blank":
        row |= {"item": item, "label": rng.choice(["yes", "no"]),
                "control": rng.choice(["none"] * 8 + ["adjudication", "known_answer"])}  # fmt: skip
        row["truth"] = rng.choice(["yes", "no"]) if row["control"] == "known_answer" else ""
    return ",".join(row.values())


class Nights:
    """A campaign, and what may happen to it."""

    def __init__(self, folder, rng):
        self.folder, self.rng = folder, rng
        self.files = {f"{rng.choice('ab')}/f{n}.csv": self.export(60) for n in range(4)}
        self.sources = ["a", "b"]
        self.items = "item,segment,system,truth\n" + "".join(
            f"i{n},s{n},{'xy'[n]},yes\n" for n in range(2)
        )
        self.tasks = [
            {"name": "rank1", "kind": "ranking"},
            {"name": "scal*", "kind": "scalar", "scale": [0, 100]},
        ]
        self.rejected = "drop"

    def export(self, rows):
        return ",".join(COLUMNS) + "\n" + "".join(f"{line(self.rng)}\n" for _ in range(rows))

    def write(self):
        for source in "ab":
            shutil.rmtree(self.folder / source, ignore_errors=True)
            (self.folder / source).mkdir(parents=True)
        for name, text in self.files.items():
            (self.folder / name).write_text(text, encoding="utf-8")
        (self.folder / "items.csv").write_text(self.items)
        of_items = {name: name for name in ("item", "segment", "system", "truth")}
        document = {
            "campaign": "nights",
            "sources": [
                {"path": f"{source}/*.csv", "format": "csv", "fields": COLUMNS}
                for source in self.sources
                if any(name.startswith(source) for name in self.files)
            ],
            "items": [{"path": "items.csv", "format": "csv", "fields": of_items}],
            "tasks": self.tasks,
            "quality": {"rejected_assignments": self.rejected},
            "ranking": {"bootstrap": 5, "online_rounds": 2},
            "agreement": {"bootstrap": 5},
            "gates": {
                gate.name: {"error": None}
                for gate in GATES
                if not gate.name.startswith(GATES_OF_CONTENT)
            },
        }
        (self.folder / "campaign.yaml").write_text(json.dumps(document), encoding="utf-8")

    def change(self):
        rng, name = self.rng, self.rng.choice(sorted(self.files))
        match rng.randrange(9):
            case 0:
                self.files[f"{rng.choice('ab')}/g{rng.randrange(99)}.csv"] = self.export(5)
            case 1 if len(self.files) > 1:
                del self.files[name]
            case 2:
                self.files[f"{rng.choice('ab')}/r{rng.randrange(99)}.csv"] = self.files.pop(name)
            case 3:
                self.files[f"{rng.choice('ab')}/d{rng.randrange(99)}.csv"] = self.files[name]
            case 4:
                self.sources.reverse()
            case 5:
                self.items += f"i{rng.randrange(4)},s9,q,no\n"
            case 6:
                self.tasks.insert(0, {"name": "scal1", "kind": "scalar", "scale": [0, 50]})
            case 7:
                self.rejected = rng.choice(["drop", "keep"])
            case _:
                rows = self.files[name].splitlines()
                del rows[rng.randrange(1, len(rows))]
                self.files[name] = "\n".join(rows) + "\n"


def published_hash(table, path):
    """Of its one file."""
    [(_, make)] = as_published(table, path)
    return make().sha256


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_parts_night_by_night_are_the_whole_from_nothing(tmp_path, seed):
    nights = Nights(tmp_path / "campaign", random.Random(seed))
    small, large = JobSizes(40, 15, end_one_in=2), JobSizes(10**6, 10**6, end_one_in=1)
    for night in range(NIGHTS):
        nights.write()
        partitioned = build_file(nights.folder, "resources.threads=3", sizes=small)
        assert len(partitioned.runs["trace_lineage"].result.tables["lineage"].files) > 2
        other = tmp_path / f"whole{night}"
        locations = (f"store={other}/store", f"gold={other}/gold")
        whole = build_file(nights.folder, *locations, "resources.threads=1", sizes=large)
        assert partitioned.table("settled").equals(whole.table("settled"))
        tables = {
            name: table
            for run in partitioned.runs.values()
            for name, table in run.result.tables.items()
        }
        hashes = {
            name: published_hash(table, tmp_path / f"{night}-{name}.parquet")
            for name, table in tables.items()
            if name in GOLD
        }
        expected = whole.hashes()
        assert hashes == {name: expected[name] for name in hashes}
        for stage in ("settle_judgments", "control_judges", "standardize_scores", "add_up_costs"):
            metrics = [dict(built.metrics(stage)) for built in (partitioned, whole)]
            for document in metrics:
                document.pop(PARTITIONS, None)
                document.pop("slices", None)
                document["rows_made"].pop("names", None)  # once in each partition
            assert metrics[0] == metrics[1], stage
        nights.change()
