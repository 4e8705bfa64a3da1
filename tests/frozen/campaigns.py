"""Campaigns whose tables are frozen: their names, and how each is written and built."""

from __future__ import annotations

import csv
import json
import os
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from annot_pipeline.runtime.job_sizes import DEFAULT_SIZES, JobSizes
from tests.full_campaign import write_full_campaign

ROOT = Path(__file__).resolve().parents[2]
REAL = (
    "appraise", "dialogue", "e2e", "graham", "llmfao", "masc", "rte", "wmt15", "wmt22",
)  # fmt: skip
FEW_ROUNDS = ("ranking.bootstrap=20", "agreement.bootstrap=20")


@dataclass(frozen=True)
class FrozenCampaign:
    """A campaign to build.

    Parameters
    ----------
    write
        Writes the campaign into an empty folder, and returns its campaign file or folder.
    sizes
        How much work a job takes.
    sets
        Settings beside the campaign file.
    in_suite
        Whether `make test` checks it; the others take minutes, or real data.
    """

    write: Callable[[Path], Path]
    sizes: JobSizes = DEFAULT_SIZES
    sets: tuple[str, ...] = ()
    in_suite: bool = False


def _crowd(folder: Path, n_items: int, n_judges: int, per_item: int) -> Path:
    """Write a campaign of all kinds; each task has ``n_items * per_item`` judgments or more."""
    folder.mkdir(parents=True, exist_ok=True)
    draw = random.Random(5)
    files = {
        "labels": (("item", "judge", "label"), _labels(draw, n_items, n_judges, per_item)),
        "scores": (
            ("item", "system", "segment", "judge", "hit", "control", "score"),
            _scores(draw, n_items, n_judges, per_item),
        ),
        "pairs": (
            ("segment", "system_a", "system_b", "judge", "preference"),
            _pairs(draw, n_items, n_judges, per_item),
        ),
    }
    for name, (header, rows) in files.items():
        with (folder / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([header, *rows])
    sources = [
        {
            "path": f"{name}.csv",
            "format": "csv",
            "fields": {"task": {"value": name}} | {column: column for column in header},
        }
        for name, (header, _) in files.items()
    ]
    kinds = {"labels": "categorical", "scores": "scalar", "pairs": "pairwise"}
    document = {
        "campaign": "crowd",
        "sources": sources,
        "tasks": [
            {"name": name, "kind": kind} | ({"scale": [0, 100]} if kind == "scalar" else {})
            for name, kind in kinds.items()
        ],
        "gates": {"judges_failed": {"warn": 1, "error": None}},
    }
    path = folder / "campaign.yaml"
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def _labels(draw: random.Random, n_items: int, n_judges: int, per_item: int) -> Iterator[tuple]:
    for item in range(n_items):
        truth = draw.choice("aabc")
        for judge in draw.sample(range(n_judges), per_item):
            right = draw.random() < 0.5 + 0.4 * judge / n_judges
            yield f"i{item}", f"w{judge}", truth if right else draw.choice("bbac")


def _scores(draw: random.Random, n_items: int, n_judges: int, per_item: int) -> Iterator[tuple]:
    """HITs of ten outputs, of which one is shown again and one is shown damaged."""
    systems = [f"s{n}" for n in range(5)]
    for hit in range(n_items * per_item // 12 + 1):
        judge = draw.randrange(n_judges)
        shift = judge % 7 * 3
        outputs = [(draw.choice(systems), draw.randrange(n_items)) for _ in range(10)]
        for system, segment in dict.fromkeys(outputs):
            base = 40 + 5 * systems.index(system) + segment % 13 + shift
            name = f"{system}-{segment}"
            score = min(100, max(0, round(draw.gauss(base, 9))))
            yield name, system, segment, f"w{judge}", hit, "", score
        system, segment = outputs[0]
        base = 40 + 5 * systems.index(system) + segment % 13 + shift
        again, bad = (min(100, max(0, round(draw.gauss(at, 9)))) for at in (base, base - 25))
        name = f"{system}-{segment}"
        yield name, system, segment, f"w{judge}", hit, "ask_again", again
        yield name, system, segment, f"w{judge}", hit, "bad_reference", bad


def _pairs(draw: random.Random, n_items: int, n_judges: int, per_item: int) -> Iterator[tuple]:
    systems = [f"s{n}" for n in range(5)]
    for segment in range(n_items):
        for judge in draw.sample(range(n_judges), per_item):
            first, second = draw.sample(range(5), 2)
            better = draw.random() < 0.5 + 0.08 * (first - second)
            answer = draw.choice(["tie", *["a" if better else "b"] * 6])
            yield segment, systems[first], systems[second], f"w{judge}", answer


def _example(name: str) -> Path:
    """Write the exports of a bundled example where its campaign file looks for them."""
    from studies.simulators.label_exports import write_label_campaign
    from studies.simulators.labels import simulate_labels
    from studies.simulators.preference_exports import write_preference_campaign
    from studies.simulators.preferences import simulate_preferences
    from studies.simulators.score_exports import write_score_campaign
    from studies.simulators.scores import simulate_scores

    build = ROOT / "build"
    if name == "simulated":
        write_label_campaign(simulate_labels(), build / name)
    elif name == "direct_assessment":
        write_score_campaign(simulate_scores(), build / name, dirty=2)
    elif name == "preferences":
        write_preference_campaign(simulate_preferences(), build / name)
    return ROOT / "examples" / name


def _real(name: str) -> Path:
    """Return the campaign file of real data, which lies beside the folder ANNOT_REAL_DATA."""
    data = os.environ.get("ANNOT_REAL_DATA")
    if not data:
        raise SystemExit(
            "set ANNOT_REAL_DATA to the folder of real data (tests/real_data/README.md)"
        )
    return Path(data).resolve().parent / "campaigns" / f"{name}.yaml"


FROZEN: dict[str, FrozenCampaign] = {
    "full": FrozenCampaign(write_full_campaign, in_suite=True),
    "full_in_blocks": FrozenCampaign(
        write_full_campaign, JobSizes(8, 4, task_judgments=20), in_suite=True
    ),
    "crowd_in_blocks": FrozenCampaign(
        lambda folder: _crowd(folder, 60, 9, 4),
        JobSizes(60, 40, task_judgments=100),
        FEW_ROUNDS,
        in_suite=True,
    ),
    "crowd": FrozenCampaign(lambda folder: _crowd(folder, 60, 9, 4), sets=FEW_ROUNDS),
    "large_crowd": FrozenCampaign(
        lambda folder: _crowd(folder, 140_000, 400, 5), sets=FEW_ROUNDS
    ),
    **{
        name: FrozenCampaign(lambda _, name=name: _example(name))
        for name in ("anaesthetists", "simulated", "direct_assessment", "preferences")
    },
    **{
        f"real_{name}": FrozenCampaign(lambda _, name=name: _real(name))
        for name in REAL
    },
}  # fmt: skip
