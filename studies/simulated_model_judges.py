"""Simulated people and model judges of labels and of comparisons, whose truth is known exactly.

Items are easy or hard: on a hard one people and models err more, so their errors go together.
Three people judge each item that people judge; a person has a level (labels) or tastes
(comparisons) of its own. The truth is that of all people and of all items like these. Models are
as good as a person, biased, useless, or always say the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from annot_pipeline.arrays import Codes, Floats
from studies.model_judge_coverage import (
    COMPARISONS,
    LABELS,
    Question,
    Sample,
)

N_PEOPLE, PER_ITEM = 40, 3
N_TIMES = 10
"""Items in all, for each item that people judge."""
NOISE = np.array([0.5, 2.0])
"""Standard deviation of how a person sees an easy and a hard item."""
ITEM_SD, LEVEL_SD, TASTE_SD, SIDE_SD = 1.5, 0.5, 0.3, 0.3
CENTRES = {"a common class": 0.0, "a less common class": -1.2, "a rare class": -3.0}
"""Where items lie; an item above 0 has the class."""
STRENGTHS = np.linspace(-0.6, 0.6, 5)
SIDE, TIE = 0.2, 0.5
"""People's mean preference for what is shown first, and the largest difference that is a tie."""
FAVOURITE = 0
"""The system, the weakest, that one model prefers."""


@dataclass(frozen=True)
class SimulatedModel:
    """One model judge.

    Parameters
    ----------
    noise
        Times that of a person; NaN: answers by a coin.
    lenience
        Added to what it sees of an item.
    side, favour
        Added to what is shown first, and to the favourite system.
    is_constant
        Always says that an item has the class, and that the first wins.
    """

    noise: float = 1.0
    lenience: float = 0.0
    side: float = 0.0
    favour: float = 0.0
    is_constant: bool = False


MODELS = {
    "as good as a person": SimulatedModel(),
    "biased": SimulatedModel(lenience=1.5, side=1.0, favour=1.2),
    "poor": SimulatedModel(noise=4.0),
    "useless": SimulatedModel(noise=float("nan")),
    "always the same": SimulatedModel(is_constant=True),
}


@dataclass(frozen=True, eq=False)
class _People:
    """Who judges what: ``(n,)`` codes of items and of people."""

    items: Codes
    judges: Codes

    @classmethod
    def draw(cls, n_human: int, rng: np.random.Generator) -> _People:
        """Draw three different people for each item."""
        panel = np.argsort(rng.random((n_human, N_PEOPLE)), axis=1)[:, :PER_ITEM]
        return cls(np.repeat(np.arange(n_human), PER_ITEM), panel.reshape(-1))


def draw_labels(n_human: int, rng: np.random.Generator) -> Iterator[tuple[Question, Sample]]:
    """Yield labels of three classes, each by all models; people judge the first items."""
    n = n_human * N_TIMES
    for quantity, centre in CENTRES.items():
        people = _People.draw(n_human, rng)
        levels = rng.normal(0, LEVEL_SD, N_PEOPLE)
        noise, item = rng.choice(NOISE, n), centre + rng.normal(0, ITEM_SD, n)
        impressions = item[people.items] + levels[people.judges] + _errors(noise[people.items], rng)
        human = (impressions > 0).astype(np.float64)
        for name, model in MODELS.items():
            impressions = item + model.lenience + _errors(model.noise * noise, rng)
            answers = _replaced(model, (impressions > 0).astype(np.float64), 1.0, rng)
            yield (
                Question(LABELS, name, quantity),
                Sample(
                    human, answers[people.items], answers[n_human:], answers,
                    label_truth(centre), (people.items, people.judges),
                ),
            )  # fmt: skip


def label_truth(centre: float) -> float:
    """Return the share of all people's labels of all items that are the class."""
    from scipy.special import ndtr

    return float(ndtr(centre / np.sqrt(ITEM_SD**2 + LEVEL_SD**2 + NOISE**2)).mean())


def draw_comparisons(n_human: int, rng: np.random.Generator) -> Iterator[tuple[Question, Sample]]:
    """Yield the comparisons of each system by all models; people judge the first."""
    n = n_human * N_TIMES
    people = _People.draw(n_human, rng)
    systems = np.argsort(rng.random((n, STRENGTHS.size)), axis=1)[:, :2]
    first, second = systems.T
    noise = rng.choice(NOISE, n)
    gap = STRENGTHS[first] - STRENGTHS[second] + rng.normal(0, ITEM_SD, n)
    tastes = rng.normal(0, TASTE_SD, (N_PEOPLE, STRENGTHS.size))
    sides = rng.normal(SIDE, SIDE_SD, N_PEOPLE)
    items, judges = people.items, people.judges
    impressions = gap[items] + tastes[judges, first[items]] - tastes[judges, second[items]]
    human = _win_shares(impressions + sides[judges] + _errors(noise[items], rng))
    for name, model in MODELS.items():
        favour = model.favour * ((first == FAVOURITE) * 1.0 - (second == FAVOURITE))
        answers = _win_shares(gap + favour + model.side + _errors(model.noise * noise, rng))
        answers = _replaced(model, answers, 1.0, rng)
        for system, truth in enumerate(win_rate_truths()):
            is_side = systems == system
            question = Question(COMPARISONS, name, f"win rate of system {system + 1}")
            yield question, _of_system(is_side, human, answers, people, n_human, float(truth))


def _of_system(
    is_side: npt.NDArray[np.bool_], human: Floats, answers: Floats, people: _People, n_human: int,
    truth: float,
) -> Sample:  # fmt: skip
    """Return the comparisons of one system, as its shares of wins; ``is_side``: ``(N, 2)``."""
    is_inside, is_second = np.asarray(is_side.any(axis=1)), is_side[:, 1]
    items = people.items
    own = np.where(is_second[items], 1 - human, human)
    shares = np.where(is_second, 1 - answers, answers)
    rows = is_inside[items]
    return Sample(
        own[rows], shares[items][rows], shares[n_human:][is_inside[n_human:]], shares[is_inside],
        truth, (items[rows], people.judges[rows]),
    )  # fmt: skip


def win_rate_truths() -> Floats:
    """Return each system's share of wins by all people against the others, ties as a half."""
    from scipy.special import ndtr

    gap = (STRENGTHS[:, None] - STRENGTHS)[..., None, None, None]
    side = np.array([SIDE, -SIDE])[:, None, None]
    tie = np.array([TIE, -TIE])[:, None]
    variance = ITEM_SD**2 + 2 * TASTE_SD**2 + SIDE_SD**2 + NOISE**2
    shares = ndtr((gap + side + tie) / np.sqrt(variance)).mean(axis=(2, 3, 4))
    is_other = ~np.eye(STRENGTHS.size, dtype=np.bool_)
    return np.asarray(np.where(is_other, shares, 0).sum(axis=1) / (STRENGTHS.size - 1))


def _win_shares(impressions: Floats) -> Floats:
    """Return 1 where the first wins, 0 where the second does, a half for ties."""
    return np.where(np.abs(impressions) <= TIE, 0.5, (impressions > 0).astype(np.float64))


def _errors(sd: Floats, rng: np.random.Generator) -> Floats:
    return np.asarray(sd * rng.normal(0, 1, sd.size))


def _replaced(
    model: SimulatedModel, answers: Floats, constant: float, rng: np.random.Generator
) -> Floats:
    """Return the answers, those of a coin, or the constant, as the model is."""
    if model.is_constant:
        return np.full(answers.size, constant)
    if np.isnan(model.noise):
        return np.asarray(rng.integers(0, 2, answers.size).astype(np.float64))
    return answers
