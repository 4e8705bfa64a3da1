"""The alternative annotator test: may a model take the place of a human judge?

Each human judge, and the model in the judge's place, is scored against the other human judges of
the same items. The model wins over a judge where a test rejects that the judge is better by
epsilon or more: epsilon is what a person's answer may be better by, as it costs more.

Source: Calderon, Reichart & Dror 2025, "The Alternative Annotator Test for LLM-as-a-Judge" (ACL),
sections 3.1 to 3.3: alignment scores, advantage probabilities, winning rate.

Degenerate input: without a judge who has enough items, rates are NaN. A judge whose differences are
all the same is decided by their value.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from annot_pipeline.arrays import Codes, Floats
from annot_pipeline.methods.model_judges.clustered_estimate import check_answers
from annot_pipeline.methods.numerics.multiplicity import adjust
from annot_pipeline.methods.numerics.rounding import comparable

LEAST_ITEMS = 30
"""Items that a human judge and the model must share: the t test of the paper needs as many."""
ALPHA = 0.05


@dataclass(frozen=True)
class AlternativeAnnotatorTest:
    """What the test says; arrays are ``(n_judges,)``, NaN for judges with too few items.

    Parameters
    ----------
    winning_rate
        Share of judges over whom the model wins.
    advantage_probability
        Mean over judges of the probability that the model is as good as the judge, or better.
    judge_advantages
        That probability of the judge, that of the model less epsilon would have to exceed.
    model_advantages
        That of the model in the judge's place.
    p_values
        One-sided, before correction.
    wins
        Whether the model wins, after Benjamini & Yekutieli 2001.
    n_items
        Items with the model's answer, the judge's, and another judge's.
    """

    winning_rate: float
    advantage_probability: float
    judge_advantages: Floats
    model_advantages: Floats
    p_values: Floats
    wins: npt.NDArray[np.bool_]
    n_items: Codes


def alternative_annotator_test(
    items: Codes,
    judges: Codes,
    answers: Floats,
    model_answers: Floats,
    *,
    kind: Literal["labels", "scores"],
    epsilon: float,
    least_items: int = LEAST_ITEMS,
) -> AlternativeAnnotatorTest:
    """Test a model against all human judges of a task.

    Parameters
    ----------
    items, judges
        ``(n,)`` codes from 0 of people's answers; one answer of a judge on an item.
    answers
        ``(n,)`` codes of labels, or scores.
    model_answers
        ``(n_items,)`` the model's, by code of item; NaN where it has none.
    kind
        Labels agree or not; scores are the closer the smaller the root mean squared difference.
    epsilon
        By which a person may be better: .1 for crowd workers, .15 for trained ones, .2 for
        experts, in the paper.
    least_items
        Of a judge who is tested.

    Raises
    ------
    ValueError
        Arrays of different lengths, or two answers of one judge on an item.
    """
    items, judges = np.asarray(items, np.int64), np.asarray(judges, np.int64)
    answers = np.asarray(answers, np.float64)
    check_answers(items, judges, answers)
    n_judges = int(judges.max(initial=-1)) + 1
    n_others = np.bincount(items, minlength=model_answers.size)[items] - 1
    is_used = (n_others > 0) & ~np.isnan(model_answers[items])
    if kind == "labels":
        human, model = _shares(items, answers, model_answers)
    else:
        human, model = _closeness(items, answers, model_answers)
    of_judge = judges[is_used]
    human, model = human[is_used], model[is_used]
    # scores of one judge are over the same others: their means are equal where the sums are
    human_wins, model_wins = (human >= model).astype(float), (model >= human).astype(float)
    n_items = np.bincount(of_judge, minlength=n_judges)
    is_tested = n_items >= least_items
    n = np.where(is_tested, n_items, np.nan)
    human_advantages = np.bincount(of_judge, human_wins, n_judges) / n
    model_advantages = np.bincount(of_judge, model_wins, n_judges) / n
    difference = human_wins - model_wins
    mean = human_advantages - model_advantages
    squares = np.bincount(of_judge, difference**2, n_judges) / n
    p_values = _p_values(mean, squares, n, epsilon)
    adjusted = adjust(p_values, "benjamini_yekutieli")
    wins = np.nan_to_num(adjusted, nan=1.0) < ALPHA
    return AlternativeAnnotatorTest(
        float(wins[is_tested].mean()) if is_tested.any() else np.nan,
        float(model_advantages[is_tested].mean()) if is_tested.any() else np.nan,
        human_advantages,
        model_advantages,
        p_values,
        wins,
        n_items,
    )


def _shares(items: Codes, labels: Floats, model_labels: Floats) -> tuple[Floats, Floats]:
    """Return how many other people gave the judge's label, and how many the model's, ``(n,)``."""
    codes = np.unique(np.append(labels, model_labels), return_inverse=True)[1]
    n_labels = int(codes.max(initial=0)) + 1
    human, model = codes[: labels.size], codes[labels.size :][items]
    cells = np.bincount(items * n_labels + human, minlength=model_labels.size * n_labels)
    same_as_model = cells[items * n_labels + model] - (human == model)
    return (cells[items * n_labels + human] - 1).astype(float), same_as_model.astype(float)


def _closeness(items: Codes, scores: Floats, model_scores: Floats) -> tuple[Floats, Floats]:
    """Return minus the sums of squared differences from other people's scores, ``(n,)``.

    They have the order of minus the root of the mean, which the paper takes.
    """
    n_items = model_scores.size
    n_rest = np.bincount(items, minlength=n_items)[items] - 1.0
    total = np.bincount(items, scores, n_items)[items] - scores
    squares = np.bincount(items, scores**2, n_items)[items] - scores**2

    def distance(values: Floats) -> Floats:
        return n_rest * values**2 - 2 * values * total + squares

    both = comparable(-np.stack([distance(scores), distance(model_scores[items])]))
    return both[0], both[1]


def _p_values(mean: Floats, squares: Floats, n: Floats, epsilon: float) -> Floats:
    """Return those of mean(judge - model) < epsilon by one-sided t tests."""
    from scipy.special import stdtr

    with np.errstate(invalid="ignore", divide="ignore"):
        spread = np.sqrt(np.maximum(squares - mean**2, 0) * n / (n - 1))
        p = stdtr(n - 1, (mean - epsilon) / (spread / np.sqrt(n)))
        decided = np.where(mean < epsilon, 0.0, 1.0)
    return np.where(np.isnan(mean), np.nan, np.where(spread > 0, p, decided))
