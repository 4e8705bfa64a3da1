"""Many repetitions of asking about the systems of one task, whoever judges."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from annot_pipeline.arrays import Floats
from studies.curves import Correlations, correlations
from studies.item_rounds import stream
from studies.params import Points
from studies.progress import Steps
from studies.system_asking import METHODS, HitSizes, Outputs, ask_systems

MakeOutputs = Callable[[int, str, np.random.Generator], Outputs]
"""From the repetition, the method and its own randomness to what is judged."""


@dataclass(frozen=True, eq=False)
class SystemTask:
    """What came out of one task.

    Parameters
    ----------
    task
        Its name.
    systems, truth
        Names in order, and ``(n_systems,)`` what they are ranked by; more is better.
    correlations
        Of all methods, by repetition.
    final
        By method, ``(n_systems,)`` scores at the last point of the first repetition that it
        came to.
    facts
        What else there is to be said of the asking.
    """

    task: str
    systems: tuple[str, ...]
    truth: Floats
    correlations: Correlations
    final: dict[str, Floats]
    facts: dict[str, object]


def repeat_systems(
    task: str,
    systems: tuple[str, ...],
    truth: Floats,
    outputs: MakeOutputs,
    *,
    n_judgments: int,
    params: Points,
    steps: Steps,
) -> SystemTask:
    """Ask about systems by every method, in every repetition.

    Parameters
    ----------
    task, systems, truth
        As in `SystemTask`.
    outputs
        Makes what is judged.
    n_judgments
        Of all systems together, at the end of the curves.
    params, steps
        How it is done, and who is told after each repetition and method.
    """
    budgets = (np.arange(1, params.points + 1) * n_judgments) // params.points
    budgets = np.unique(budgets[budgets > 0])
    n = truth.size
    scores = np.empty((params.repeats, len(METHODS), budgets.size, n))
    sizes = {m: HitSizes(np.zeros(min(params.hit_size, n) + 1, np.int64)) for m in METHODS}
    for repeat in range(params.repeats):
        for position, method in enumerate(METHODS):
            asking, answering = (
                stream(params.seed, task, repeat, method, what) for what in ("ask", "answer")
            )
            scores[repeat, position] = ask_systems(
                method, outputs(repeat, method, answering), budgets,
                params=params, sizes=sizes[method], rng=asking,
            )  # fmt: skip
            steps.step()
    by_method = correlations(
        METHODS, budgets / n, scores, truth,
        rounds=params.rounds, rng=stream(params.seed, task, "rounds"),
    )  # fmt: skip
    facts: dict[str, object] = {
        "systems": n,
        "judgments": int(budgets[-1]),
        "hits": {
            m: {"hits": size.hits, "share_with_fewer_systems": size.short_share}
            for m, size in sizes.items()
            if m != "DA"
        },
    }
    final = {m: _last(scores[0, position]) for position, m in enumerate(METHODS)}
    return SystemTask(task, systems, truth, by_method, final, facts)


def _last(scores: Floats) -> Floats:
    reached = np.flatnonzero(~np.isnan(scores[:, 0]))
    return scores[reached[-1]] if reached.size else np.full(scores.shape[1], np.nan)
