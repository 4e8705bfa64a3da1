"""Studies 1 and 2 of Sakaguchi & Van Durme (2018) with simulated judges.

`lexical`: 150 items whose truth is skewed as log frequencies of words are: many low, few high.
`political`: U-shaped, as stances in political propositions are. Their truths are evenly spaced
quantiles of Beta(2, 4) and of Beta(.5, .7) (the moments of the paper's 150 propositions give .53
and .70), so chance has no part in them. With an oracle, items and truth are real, and
only the judges are simulated.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from annot_pipeline.arrays import Floats
from annot_pipeline.errors import ConfigError, Problem
from studies.item_asking import Answers
from studies.item_rounds import ASKERS, ItemTask, repeat_rounds, stream
from studies.oracles import on_scale, read_item_oracle
from studies.params import CANNOT_BE, ItemStudy, too_few
from studies.progress import Progress, Steps
from studies.scalar_judges import AskedJudges, draw_judges

N_ITEMS = 150
SHAPES = {"lexical": (2.0, 4.0), "political": (0.5, 0.7)}
"""Parameters of the Beta distribution whose quantiles are the truth."""


def run_item_study(
    name: str, params: ItemStudy, oracle: Path | None, progress: Progress
) -> ItemTask:
    """Ask simulated judges about the items of ``lexical`` or ``political``.

    The judges of a repetition are the same for all methods.

    Raises
    ------
    ConfigError
        The oracle does not fit.
    """
    items, truth = _simulated(name, params) if oracle is None else _real(params, oracle)

    def answers(repeat: int, _: str, rng: np.random.Generator) -> Answers:
        judges = draw_judges(params, stream(params.seed, name, repeat, "judges"))
        return AskedJudges(judges, truth, rng)

    steps = Steps(progress, name, params.repeats * len(ASKERS))
    return repeat_rounds(
        name, items, truth, answers, iterations=params.iterations, params=params, steps=steps
    )


def _simulated(name: str, params: ItemStudy) -> tuple[tuple[str, ...], Floats]:
    from scipy.special import betaincinv

    n = N_ITEMS if params.n_items is None else params.n_items
    if params.n_items is None:
        _check(n, params, Problem("n_items", f"is {n} by default"))
    truth = np.asarray(betaincinv(*SHAPES[name], (np.arange(n) + 0.5) / n))
    width = len(str(n))
    return tuple(f"item-{number:0{width}d}" for number in range(1, n + 1)), truth


def _real(params: ItemStudy, oracle: Path) -> tuple[tuple[str, ...], Floats]:
    values = read_item_oracle(oracle).values
    if len(values) > 1:
        tasks = tuple(sorted(str(task) for task in values))
        problem = Problem(str(oracle), "holds several tasks", "one", values=tasks)
        raise ConfigError(CANNOT_BE, [problem])
    (of_items,) = values.values()
    items = sorted(of_items)
    truth = on_scale(np.array([of_items[item] for item in items]), params.scale)
    outside = [item for item, t in zip(items, truth.tolist(), strict=True) if not 0 <= t <= 1]
    if outside:
        low, high = params.scale
        what = f"the truth lies outside of the scale, {low:g} to {high:g}"
        texts = tuple(f"{item}: {of_items[item]:g}" for item in outside)
        do = "set scale=lowest,highest, as scale=-2,2"
        raise ConfigError(CANNOT_BE, [Problem(str(oracle), what, do=do, values=texts)])
    n = len(items) if params.n_items is None else params.n_items
    if n > len(items):
        what = f"is {n}, and the oracle has {len(items)}"
        raise ConfigError(CANNOT_BE, [Problem("n_items", what, f"up to {len(items)}")])
    _check(n, params, Problem(str(oracle), f"holds {n} items"))
    if n < len(items):
        sample = stream(params.seed, "items").choice(len(items), n, replace=False)
        items, truth = [items[position] for position in np.sort(sample)], truth[np.sort(sample)]
    return tuple(items), truth


def _check(n: int, params: ItemStudy, problem: Problem) -> None:
    if allowed := too_few(n, params.hit_size):
        raise ConfigError(CANNOT_BE, [replace(problem, allowed=allowed)])
