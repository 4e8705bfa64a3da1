"""What is estimated of a task, and how the items that people judged were chosen."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from annot_pipeline.arrays import Codes, Floats
from annot_pipeline.contracts import ALL_MODELS
from annot_pipeline.methods.model_judges.sample_balance import balance_p_value
from annot_pipeline.stages.model_judges.answers import NONE, TaskAnswers

Row = dict[str, Any]

MOST_CLASSES, MOST_OF_SYSTEMS = 200, 20
"""Classes of a task whose prevalence is estimated, and those whose share is by system."""


@dataclass(frozen=True, eq=False)
class Estimand:
    """A mean over items that is to be estimated.

    Parameters
    ----------
    quantity, criterion, system, label
        As in the table.
    unit_item, unit_judge, unit_value
        ``(n_units,)`` people's answers: an item's code, the person's, `NONE` if several, and value.
    in_population
        ``(n_items,)`` whether the item belongs to what the mean is over.
    side
        ``(n_items,)`` of comparisons: whether the share of the win counts from the other side.
    """

    quantity: Literal["mean_score", "prevalence", "win_rate"]
    criterion: str | None
    system: str | None
    label: str | None
    unit_item: Codes
    unit_judge: Codes
    unit_value: Floats
    in_population: npt.NDArray[np.bool_]
    side: npt.NDArray[np.bool_] | None = None

    @property
    def key(self) -> Row:
        """Return what names the estimate."""
        return {name: getattr(self, name) for name in ("quantity", "criterion", "system", "label")}

    def of_models(self, answers: Floats, label: int | None) -> Floats:
        """Return values of models by item, ``(n_items,)``, of several their mean.

        NaN outside, and where a model has no answer; ``answers`` is ``(n_models, n_items)``.
        """
        values = answers if label is None else np.where(np.isnan(answers), np.nan, answers == label)
        values = np.mean(values, axis=0)
        if self.side is not None:
            values = np.where(self.side, 1 - values, values)
        return np.where(self.in_population, values, np.nan)


def model_answers(answers: TaskAnswers) -> dict[str, Floats]:
    """Return answers by item of each model, and of all where there are several.

    Each is ``(n_models, n_items)``: codes of labels, scores, or shares of the win.
    """
    values = answers.share if answers.kind == "pairwise" else answers.value
    models = {
        answers.judges[code]: answers.of_judge(code, values)[np.newaxis] for code in answers.models
    }
    if len(models) > 1:
        models[ALL_MODELS] = np.concatenate([*models.values()])
    return models


def task_estimands(answers: TaskAnswers) -> Iterator[tuple[Estimand, int | None]]:
    """Yield what is estimated, with the code of the label whose prevalence it is."""
    people = answers.by_people
    item, judge, value = answers.item[people], answers.judge[people], answers.value[people]
    everything = np.ones(len(answers.items.names), np.bool_)
    if answers.kind == "categorical":
        yield from _prevalences(answers, item, judge, value)
    elif answers.kind == "scalar":
        criteria = answers.items.criteria
        for code, criterion in enumerate(criteria):
            of_criterion = answers.items.criterion == code
            for system, is_in in _populations(answers.items.system, answers.items.systems):
                population = of_criterion & (everything if is_in is None else is_in)
                units = population[item]
                yield Estimand(
                    "mean_score", criterion or None, system, None, item[units], judge[units],
                    value[units], population,
                ), None  # fmt: skip
    else:
        share = answers.share[people]
        for code, system in enumerate(answers.items.systems):
            first = answers.items.system == code
            second = (answers.items.other_system == code) & ~first
            population = first | second
            units = population[item]
            values = np.where(second[item], 1 - share, share)[units]
            yield Estimand(
                "win_rate", None, system, None, item[units], judge[units], values, population,
                second,
            ), None  # fmt: skip


def _prevalences(
    answers: TaskAnswers, item: Codes, judge: Codes, value: Floats
) -> Iterator[tuple[Estimand, int | None]]:
    """Yield the prevalence of each class: an item has the label of more than half of its people."""
    n_items = len(answers.items.names)
    n = np.bincount(item, minlength=n_items)
    codes = np.flatnonzero(n)
    lone = np.full(n_items, NONE)
    lone[item] = judge
    person = np.where(n[codes] == 1, lone[codes], NONE)
    if len(answers.classes) > MOST_CLASSES:
        return
    for system, is_in in _populations(answers.items.system, answers.items.systems):
        if system is not None and len(answers.classes) > MOST_OF_SYSTEMS:
            return
        population = np.ones(n_items, np.bool_) if is_in is None else is_in
        units = population[codes]
        for code, label in enumerate(answers.classes):
            votes = np.bincount(item[value == code], minlength=n_items)
            is_label = (2 * votes > n)[codes].astype(np.float64)
            yield Estimand(
                "prevalence", None, system, label, codes[units], person[units], is_label[units],
                population,
            ), code  # fmt: skip


def _populations(
    system: Codes, systems: list[str]
) -> Iterator[tuple[str | None, npt.NDArray[np.bool_] | None]]:
    """Yield all items, then those of each system."""
    yield None, None
    for code, name in enumerate(systems):
        yield name, system == code


BALANCE_ALPHA = 1e-4
"""Level, over all tests of a task, at which people's items are taken for no random sample."""
CHOSEN = (
    "people's items were not drawn at random (judges.people_items), and no selection_probability "
    "says how they were chosen"
)


@dataclass(frozen=True, eq=False)
class PeopleSample:
    """The sample of items that people judged.

    Parameters
    ----------
    probabilities
        ``(n_items,)`` with which each item was chosen; None: drawn at random, or not known.
    refusal
        Why it says nothing of other items; None: it does.
    """

    probabilities: Floats | None
    refusal: str | None

    @property
    def weights(self) -> Floats | None:
        """Return how many items each of people's items stands for; None: all count alike."""
        return None if self.probabilities is None else 1 / self.probabilities


def people_sample(
    answers: TaskAnswers,
    estimands: list[tuple[Estimand, int | None]],
    models: dict[str, Floats],
    people_items: Literal["random", "chosen"],
) -> PeopleSample:
    """Return how people's items were chosen, by what is stated, else by the models' answers."""
    probabilities, refusal = people_probabilities(answers, people_items)
    if refusal is None and probabilities is None:
        refusal = sample_imbalance(answers, estimands, models)
    return PeopleSample(probabilities, refusal)


def people_probabilities(
    answers: TaskAnswers, people_items: Literal["random", "chosen"]
) -> tuple[Floats | None, str | None]:
    """Return the probabilities of people's items if they are known, and why nothing can be said."""
    items = np.unique(answers.item[answers.by_people])
    is_known = ~np.isnan(answers.items.probability[items])
    if is_known.all():
        return answers.items.probability, None
    if is_known.any():
        n = int(is_known.sum())
        return None, (
            f"selection_probability is known for {n:,} of {items.size:,} items of people: list "
            "the others under items, from selection_probabilities.csv of the batch"
        )
    return None, CHOSEN if people_items == "chosen" else None


def sample_imbalance(
    answers: TaskAnswers, estimands: list[tuple[Estimand, int | None]], models: dict[str, Floats]
) -> str | None:
    """Return why people's items are no random sample by the models' answers; None: they may be."""
    tests = []
    for name, values in models.items():
        for estimand, label in estimands:
            own = estimand.of_models(values, label)
            is_asked = np.zeros(own.size, np.bool_)
            is_asked[estimand.unit_item] = True
            p_value = balance_p_value(own, is_asked, answers.items.cluster)
            if not np.isnan(p_value):
                means = [float(np.nanmean(own[part])) for part in (is_asked, ~is_asked)]
                tests.append((p_value, name, estimand, means))
    worst = min(tests, key=lambda test: test[0], default=None)
    if worst is None or worst[0] * len(tests) >= BALANCE_ALPHA:
        return None
    _, name, estimand, (of_people, elsewhere) = worst
    what = " ".join(filter(None, (estimand.quantity, estimand.system, estimand.label)))
    return (
        f"people's items are not a random sample: {what} by {name} is {of_people:.3f} on them and "
        f"{elsewhere:.3f} on the others; map selection_probability"
    )
