"""Systems scored by methods that take comparisons one after the other: TrueSkill, bounded RA.

In the order of the rows, which is that of submission; and TrueSkill also as the mean over random
orders, which says nothing of when something was judged.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from annot_pipeline.config import Ranking
from annot_pipeline.methods.comparisons.bounded_ra import BoundedRaParams, bounded_ra
from annot_pipeline.methods.comparisons.online_rounds import Round, online_rounds
from annot_pipeline.methods.comparisons.trueskill import TrueSkillParams, trueskill
from annot_pipeline.stages.comparisons.ranking_rows import MOST_SYSTEMS, Scored
from annot_pipeline.stages.comparisons.task_comparisons import TaskComparisons, no_rounds, scored

Floats = npt.NDArray[np.float64]
Tell = Callable[[str], None]

MOST_UPDATES = 200_000_000
"""Online updates of one task: half a minute or so. Larger tasks get fewer rounds ..."""

FEWEST_ROUNDS = 40
"""... but no fewer than that, where one rank is left out at each end."""

ORDERS = 50
"""Random orders of the full data, at most, whose mean is the permuted score."""


def bounded_ra_scores(
    task: TaskComparisons, ranking: Ranking, params: BoundedRaParams, tell: Tell
) -> Scored:
    """Return the scores of bounded ranking aggregation in the order of the rows."""
    n = affordable_rounds(task, ranking)
    rounds = _online(task, params, {"drawn": n}, "bounded_ra", tell)
    why = no_rounds(task, ranking.online_rounds, "online_rounds")
    return scored(task, "bounded_ra", rounds["given"][0], rounds["drawn"], why_no_rounds=why)


def trueskill_scores(
    task: TaskComparisons, ranking: Ranking, params: TrueSkillParams, tell: Tell
) -> list[Scored]:
    """Return TrueSkill scores in the order of the rows and, unless off, in random orders.

    The level of all systems together is an accident of the order: rounds are moved to that of the
    score, and orders to the mean of the prior.
    """
    n = affordable_rounds(task, ranking)
    kinds: dict[Round, int] = {"permuted": min(n, ORDERS), "drawn_permuted": n, "drawn": n}
    rounds = _online(task, params, kinds, "trueskill", tell)
    alone = rounds["given"][0]
    why = no_rounds(task, ranking.online_rounds, "online_rounds")
    drawn = _levelled(task, rounds["drawn"], alone)
    both = [scored(task, "trueskill", alone, drawn, why_no_rounds=why)]
    if n:
        prior = np.full(task.n, params.mean)
        score = _levelled(task, rounds["permuted"], prior).mean(axis=0)
        drawn = _levelled(task, rounds["drawn_permuted"], score)
        both.append(scored(task, "trueskill_permuted", score, drawn, why_no_rounds=why))
    elif ranking.online_rounds:
        none = np.full(task.n, np.nan)
        why = f"more than {MOST_SYSTEMS} systems: no random orders"
        both.append(scored(task, "trueskill_permuted", none, none[:0, None] + none,
                           why_no_rounds=None, why_no_score=why))  # fmt: skip
    return both


def affordable_rounds(task: TaskComparisons, ranking: Ranking) -> int:
    """Return the rounds of each kind: as set, or fewer for a task that is too large."""
    if task.n > MOST_SYSTEMS:
        return 0
    most = MOST_UPDATES // max(2 * task.first.size, 1)
    return min(ranking.online_rounds, max(most, FEWEST_ROUNDS))


def _online(
    task: TaskComparisons,
    params: TrueSkillParams | BoundedRaParams,
    kinds: dict[Round, int],
    label: str,
    tell: Tell,
) -> dict[Round, Floats]:
    """Scores in rounds of each kind, and in the order of the rows, which is one round more."""
    if not any(kinds.values()):
        table, n = (task.first, task.second, task.outcome), task.n
        in_order = (
            trueskill(*table, n_items=n, params=params).mean
            if isinstance(params, TrueSkillParams)
            else bounded_ra(*table, n_items=n, params=params).score
        )
        return dict.fromkeys(kinds, np.empty((0, n))) | {"given": in_order[None]}
    kinds = kinds | {"given": 1}  # last: the others' streams do not depend on it
    rounds: list[Round] = [kind for kind, n in kinds.items() for _ in range(n)]

    def report(done: int, total: int) -> None:
        tell(f"{label}, comparison {done:,} of {total:,} of {len(rounds)} rounds")

    scores = online_rounds(
        task.first, task.second, task.outcome, task.ranking, task.unit,
        n_systems=task.n, rounds=rounds, params=params,
        rng=np.random.default_rng([*task.seed, 1]), progress=report,
    )  # fmt: skip
    ends = np.cumsum(list(kinds.values()))
    return dict(zip(kinds, np.split(scores, ends[:-1]), strict=True))


def _levelled(task: TaskComparisons, rounds: Floats, level: Floats) -> Floats:
    """Return rounds, shifted so that in each component their mean is that of the level."""
    moved = rounds.copy()
    for part in range(task.graph.n_parts):
        members = task.graph.part == part
        gaps = np.ma.masked_invalid(rounds[:, members] - level[members])
        moved[:, members] -= gaps.mean(axis=1).filled(0.0)[:, None]
    return moved
