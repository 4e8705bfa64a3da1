"""Size of tests on real scores: names of two systems swapped, at random, within blocks.

For two systems of a task, each block keeps its names or swaps them, with equal chance: what is left
between the two is chance, with judges, HITs and segments as they are. A test at .05 should reject
5% of such pairs. Prints that share for rank-sum tests of z-scores, and for adjusted scores.

    python -m benchmarks.swapped_labels SCORES.tsv.gz --draws 40

SCORES: a table with the columns task (or src), WorkerId, HITId, sys_id, sid, type and raw_score, as
WMT publishes its direct assessment.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from annot_pipeline.arrays import Codes, Flags, Floats
from annot_pipeline.methods.numerics.blocks import InMemoryBlocks
from annot_pipeline.methods.numerics.moments import means
from annot_pipeline.methods.rankings.adjusted_scores import adjusted_scores
from annot_pipeline.methods.rankings.inference import compare_estimates
from annot_pipeline.methods.rankings.score_block import ScoreBlock
from annot_pipeline.methods.scores.system_comparisons import compare_systems
from annot_pipeline.methods.scores.zscores import z_scores

COUNTED = ("SYSTEM", "REPEAT")
METHODS = ("z_mean, rank-sum", "adjusted", "adjusted, after Holm")
ALPHA = 0.05


@dataclass(frozen=True)
class Scores:
    """Ordinary scores of one task; codes are ``(n_scores,)``."""

    task: str
    judges: Codes
    segments: Codes
    systems: Codes
    scores: Floats
    rows: pd.DataFrame

    @property
    def n_systems(self) -> int:
        """Number of systems."""
        return int(self.systems.max()) + 1


def codes(column: pd.Series) -> Codes:
    """Return codes from 0 in the order of names."""
    return np.asarray(np.unique(column.astype(str), return_inverse=True)[1], np.int64)


def tasks_of(path: Path) -> Iterator[Scores]:
    """Yield the ordinary scores of each task."""
    table = pd.read_csv(path, sep="\t")
    table = table[table["type"].isin(COUNTED)]
    for task, rows in table.groupby("task" if "task" in table else "src"):
        yield Scores(
            str(task), codes(rows["WorkerId"]), codes(rows["sid"]), codes(rows["sys_id"]),
            rows["raw_score"].to_numpy(np.float64), rows,
        )  # fmt: skip


def swapped(systems: Codes, blocks: Codes, pair: tuple[int, int], swaps: Flags) -> Codes:
    """Return the systems with the names of two swapped in the blocks that ``swaps`` names."""
    drawn = systems.copy()
    for a, b in (pair, pair[::-1]):
        drawn[(systems == a) & swaps[blocks]] = b
    return drawn


def draw(task: Scores, column: str, rng: np.random.Generator) -> Floats:
    """Return p by `METHODS` ``(3, 2)``, in both directions, of two systems swapped at random."""
    blocks = codes(task.rows[column])
    first, second = rng.choice(task.n_systems, 2, replace=False).tolist()
    swaps = rng.random(int(blocks.max()) + 1) < 0.5
    systems = swapped(task.systems, blocks, (first, second), swaps)
    return p_values(task, systems, (first, second))


def p_values(task: Scores, systems: Codes, pair: tuple[int, int]) -> Floats:
    """Return p by `METHODS` ``(3, 2)``, in both directions."""
    sizes = (int(task.segments.max()) + 1, int(task.judges.max()) + 1, task.n_systems)
    z = z_scores(task.judges, task.scores, n_judges=sizes[1]).z
    is_scored = ~np.isnan(z)
    keys, cell = np.unique((systems * sizes[0] + task.segments)[is_scored], return_inverse=True)
    of_cell = means(cell.reshape(-1), z[is_scored], n_groups=keys.size)
    by_rank_sum = compare_systems(keys // sizes[0], of_cell, n_systems=sizes[2]).p_value
    block = ScoreBlock.from_rows(task.segments, task.judges, systems, task.scores, sizes)
    inference = compare_estimates(adjusted_scores(InMemoryBlocks([block])).estimates)
    both = [pair, pair[::-1]]
    return np.array([
        [table[a, b] for a, b in both]
        for table in (by_rank_sum, inference.p_value, inference.p_adjusted)
    ])  # fmt: skip


def main() -> None:
    """Print the share of rejected tests."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scores", type=Path)
    parser.add_argument("--draws", type=int, default=40, help="pairs drawn of each task")
    parser.add_argument("--blocks", default="WorkerId", help="column whose values swap together")
    parser.add_argument("--seed", type=int, default=17)
    arguments = parser.parse_args()
    rng = np.random.default_rng(arguments.seed)
    by_task = []
    for task in tasks_of(arguments.scores):
        by_task.append(
            np.array([draw(task, arguments.blocks, rng) for _ in range(arguments.draws)])
        )
        print(task.task, *(f"{share:.3f}" for share in size(by_task[-1])))
    print(
        "all",
        dict(zip(METHODS, np.round(size(np.concatenate(by_task)), 3).tolist(), strict=True)),
    )


def size(p: Floats) -> Floats:
    """Return the share of tests below `ALPHA` by method; those without a p are left out."""
    return np.asarray(np.nanmean(np.where(np.isnan(p), np.nan, p < ALPHA), axis=(0, 2)))


if __name__ == "__main__":
    main()
