"""Raw exports of simulated campaigns: what is measured is fed with files, as users feed it.

`python -m benchmarks.exports FOLDER --labels 500000 --scores 400000 --comparisons 100000` writes a
campaign that `annot build` takes.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as csv

HIT = 100
"""Judgments of scores in a HIT; of these 12 are degraded copies and 12 repeats."""
CONTROLS = 12


@dataclass(frozen=True)
class Shape:
    """A campaign's size.

    Parameters
    ----------
    labels, scores, comparisons
        Judgments of each kind, over all tasks.
    tasks
        Tasks a kind, each with files of its own.
    judges
        Judges of a task.
    per_item
        Labels of an item.
    classes
        Labels to choose from.
    systems
        Systems whose outputs are scored, and compared.
    skew
        Exponent of the judges' work: judge k does a share in proportion to k ** -skew.
    seed
        Of all draws.
    """

    labels: int = 500_000
    scores: int = 400_000
    comparisons: int = 100_000
    tasks: int = 10
    judges: int = 200
    per_item: int = 10
    classes: int = 5
    systems: int = 12
    skew: float = 0.5
    seed: int = 17


def judges_of(shape: Shape, rng: np.random.Generator, n: int) -> np.ndarray:
    """Codes of ``n`` judgments' judges, few of whom do much."""
    weight = np.arange(1, shape.judges + 1) ** -shape.skew
    return rng.choice(shape.judges, size=n, p=weight / weight.sum())


def label_rows(shape: Shape, task: int, n: int) -> pa.Table:
    """A task's labels: a quarter of the judges guess, the others are right 8 times in 10."""
    rng = np.random.default_rng([shape.seed, 1, task])
    n_items = -(-n // shape.per_item)
    truth = rng.integers(shape.classes, size=n_items)
    item = np.arange(n) // shape.per_item
    judge = judges_of(shape, rng, n)
    right = rng.random(n) < np.where(judge % 4 == 3, 0, 0.8)
    label = np.where(right, truth[item], rng.integers(shape.classes, size=n))
    return pa.table(
        {
            "task": repeated(f"labels-{task:02d}", n),
            "item": named("item-", item),
            "judge": named("judge-", judge),
            "label": named("class-", label),
            "truth": named("class-", truth[item]),
            "at": times(rng, n),
        }
    )


def score_rows(shape: Shape, task: int, n: int) -> pa.Table:
    """A task's scores in HITs of `HIT`, with degraded outputs and repeats; a quarter guess."""
    rng = np.random.default_rng([shape.seed, 2, task])
    n_hits = max(1, n // HIT)
    n_segments = max(50, n // 60)
    worker = judges_of(shape, rng, n_hits)
    ordinary = HIT - 2 * CONTROLS
    system = rng.integers(shape.systems, size=(n_hits, ordinary))
    # one output once a HIT: segments of a HIT follow each other
    segment = (rng.integers(n_segments, size=(n_hits, 1)) + np.arange(ordinary)) % n_segments
    quality = 30 + 4 * system + 10 * rng.standard_normal((n_hits, ordinary))
    shown = np.concatenate([np.arange(ordinary), np.arange(CONTROLS), np.arange(CONTROLS)])
    control = np.repeat(["none", "ask_again", "bad_reference"], [ordinary, CONTROLS, CONTROLS])
    bad = control == "bad_reference"
    lean = 10 * rng.standard_normal(shape.judges)[worker][:, None]
    careful = quality[:, shown] - 25 * bad + lean + 8 * rng.standard_normal((n_hits, HIT))
    careless = 100 * rng.random((n_hits, HIT))
    guesses = (worker % 4 == 3)[:, None]
    score = np.clip(np.where(guesses, careless, careful), 0, 100).round().astype(np.int64)
    return pa.table(
        {
            "task": repeated(f"scores-{task:02d}", n_hits * HIT),
            "hit": named("hit-", np.repeat(np.arange(n_hits), HIT)),
            "judge": named("judge-", np.repeat(worker, HIT)),
            "system": named("system-", system[:, shown].ravel()),
            "segment": named("segment-", segment[:, shown].ravel()),
            "control": pa.array(np.tile(control, n_hits)),
            "score": score.ravel(),
            "at": times(rng, n_hits * HIT),
        }
    )


def comparison_rows(shape: Shape, task: int, n: int) -> pa.Table:
    """A task's preferences between two systems' outputs, a tenth of them ties."""
    rng = np.random.default_rng([shape.seed, 3, task])
    first = rng.integers(shape.systems, size=n)
    second = (first + rng.integers(1, shape.systems, size=n)) % shape.systems
    a_wins = rng.random(n) < 1 / (1 + np.exp(0.3 * (second - first)))
    outcome = np.where(rng.random(n) < 0.1, 2, np.where(a_wins, 0, 1))
    return pa.table(
        {
            "task": repeated(f"pairs-{task:02d}", n),
            "judge": named("judge-", judges_of(shape, rng, n)),
            "segment": named("segment-", rng.integers(max(1, n // 3), size=n)),
            "system_a": named("system-", first),
            "system_b": named("system-", second),
            "preference": pa.array(np.array(["a", "b", "tie"])[outcome]),
            "at": times(rng, n),
        }
    )


def repeated(text: str, n: int) -> pa.Array:
    """The same cell ``n`` times."""
    return pa.repeat(text, n)


def named(prefix: str, codes: np.ndarray) -> pa.Array:
    """Cells as exports hold them: a word and a number."""
    return pc.binary_join_element_wise(prefix, pa.array(codes).cast(pa.string()), "")


def times(rng: np.random.Generator, n: int) -> pa.Array:
    """A judgment every few seconds, in the order of the rows: no two rows are equal."""
    seconds = 1_760_000_000 + np.cumsum(rng.integers(1, 9, size=n))
    stamps = pa.array(seconds, pa.timestamp("s", "UTC"))
    return pc.strftime(stamps, "%Y-%m-%dT%H:%M:%SZ")


KINDS = {"labels": label_rows, "scores": score_rows, "comparisons": comparison_rows}

SOURCES = {
    "labels": """\
- path: exports/labels-*.csv
  format: csv
  fields: {task: task, item: item, judge: judge, label: label, submitted_at: at}
""",
    "scores": """\
- path: exports/scores-*.csv
  format: csv
  fields: {task: task, hit: hit, judge: judge, system: system, segment: segment, control: control,
    score: score, submitted_at: at}
""",
    "comparisons": """\
- path: exports/comparisons-*.csv
  format: csv
  fields: {task: task, judge: judge, segment: segment, system_a: system_a, system_b: system_b,
    preference: preference, submitted_at: at}
""",
}


def write_campaign(folder: Path, shape: Shape) -> Path:
    """Write exports, a file a task, and the campaign.yaml that reads them; give its path."""
    (folder / "exports").mkdir(parents=True, exist_ok=True)
    text = "campaign: bench\nstore: store\ngold: gold\nsources:\n"
    for kind, rows in KINDS.items():
        n = getattr(shape, kind)
        if n == 0:
            continue
        text += SOURCES[kind]
        for task in range(shape.tasks):
            table = rows(shape, task, n // shape.tasks)
            csv.write_csv(table, folder / "exports" / f"{kind}-{task:02d}.csv")
    path = folder / "campaign.yaml"
    path.write_text(text)
    return path


def main() -> None:
    """Write a campaign of the size that the command line asks for."""
    default = Shape()
    parser = argparse.ArgumentParser(prog="python -m benchmarks.exports", description=__doc__)
    parser.add_argument("folder", type=Path)
    for name, value in vars(default).items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=type(value), default=value)
    wanted = vars(parser.parse_args())
    print(write_campaign(wanted.pop("folder"), Shape(**wanted)))


if __name__ == "__main__":
    main()
