"""Many repetitions of asking about the items of one task, whoever answers."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from annot_pipeline.arrays import Floats
from annot_pipeline.methods.judges.judge_correlations import mean_spearman
from annot_pipeline.methods.numerics.ranks import FEWEST_ITEMS
from studies.curves import Correlations, correlations
from studies.item_asking import METHODS, Answers, Asked, ask, hits_a_round
from studies.params import Rounds
from studies.progress import Steps

ASKERS = ("DA", "EASL", "random", "RA")
"""Methods that ask; TrueSkill and Thurstone look on at RA's HITs."""

MakeAnswers = Callable[[int, str, np.random.Generator], Answers]
"""From the repetition, the method and its own randomness to one who answers."""


@dataclass(frozen=True, eq=False)
class ItemTask:
    """What came out of one task.

    Parameters
    ----------
    task
        Its name.
    items, truth
        Names in order, and ``(n_items,)`` truth in [0, 1].
    correlations
        Of all methods, by repetition.
    first
        By method that asks: what it knew after each round of the first repetition.
    facts
        What else there is to be said of the asking.
    """

    task: str
    items: tuple[str, ...]
    truth: Floats
    correlations: Correlations
    first: dict[str, Asked]
    facts: dict[str, object]

    def final(self) -> dict[str, Floats]:
        """Return the scores of every method at the end of the first repetition."""
        last_scores = {
            name: s[-1] for result in self.first.values() for name, s in result.score.items()
        }
        return {method: last_scores[method] for method in METHODS}


def repeat_rounds(
    task: str,
    items: tuple[str, ...],
    truth: Floats,
    answers: MakeAnswers,
    *,
    iterations: int,
    params: Rounds,
    steps: Steps,
) -> ItemTask:
    """Ask about items by every method, in every repetition.

    Each repetition and method has its own randomness, so that none moves with another.

    Parameters
    ----------
    task, items, truth
        As in `ItemTask`.
    answers
        Makes those who answer.
    iterations, params
        Rounds, and how they are done.
    steps
        Told after each repetition and method.
    """
    n = truth.size
    scores = np.empty((params.repeats, len(METHODS), iterations, n))
    first: dict[str, Asked] = {}
    agreement: list[float] = []
    for repeat in range(params.repeats):
        for method in ASKERS:
            asking, answering = (
                stream(params.seed, task, repeat, method, what) for what in ("ask", "answer")
            )
            result = ask(
                method, answers(repeat, method, answering),
                n_items=n, iterations=iterations, params=params, rng=asking,
            )  # fmt: skip
            for name, score in result.score.items():
                scores[repeat, METHODS.index(name)] = score
            if method == "DA":
                agreement += _agreement(result, params.seed)
            if repeat == 0:
                first[method] = result
            steps.step()
    facts: dict[str, object] = {
        "items": n,
        "iterations": iterations,
        "spearman_of_two_answers": None if not agreement else float(np.mean(agreement)),
    }
    judgments = np.arange(1, iterations + 1) * hits_a_round(n, params) * params.hit_size / n
    by_method = correlations(
        METHODS, judgments, scores, truth,
        rounds=params.rounds, rng=stream(params.seed, task, "rounds"),
    )  # fmt: skip
    return ItemTask(task, items, truth, by_method, first, facts)


def _agreement(result: Asked, seed: int) -> list[float]:
    """Return the mean Spearman correlation of DA's answers in two rounds, if there is one.

    That is the agreement rate of the paper's footnotes 17 and 20: .37 and .67.
    """
    n = np.concatenate([np.zeros_like(result.n_asked[:1]), result.n_asked])
    total = n * result.mode
    answer = np.round(np.diff(total, axis=0), 9)  # an answer is the growth of a sum
    rounds, items = np.nonzero(np.diff(n, axis=0) == 1)
    if n.shape[1] < FEWEST_ITEMS:
        return []
    correlation = mean_spearman(
        items, rounds, answer[rounds, items],
        n_items=n.shape[1], n_judges=len(answer), rounds=0, rng=seed,
    )  # fmt: skip
    return [] if np.isnan(correlation.value) else [correlation.value]


def stream(seed: int, *what: object) -> np.random.Generator:
    """Return randomness of its own for each purpose, whatever else is drawn."""
    digest = hashlib.sha256("\0".join(map(str, what)).encode("utf-8", "surrogatepass")).digest()
    return np.random.default_rng([seed, int.from_bytes(digest[:8], "big")])
