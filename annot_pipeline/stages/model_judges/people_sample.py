"""How the items that people judged were chosen, which says what their answers stand for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from annot_pipeline.arrays import Floats
from annot_pipeline.methods.model_judges.sample_balance import balance_p_value
from annot_pipeline.stages.model_judges.answers import TaskAnswers
from annot_pipeline.stages.model_judges.estimands import Estimand

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
