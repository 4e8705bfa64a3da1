"""Agreement of a model judge with people on labels, beside that of people with each other.

agreement = mean over items of the share of people who give the model's label
kappa = (agreement - chance) / (1 - chance),  chance = sum over labels of p_human x p_model

The shares p are marginal ones, in which each item counts once however many people answered. Where
items were chosen with known unequal probabilities, an item counts by 1 / its own (Hajek 1971). The
human ceiling holds each person's answer against the other people of the item in place of the
model: an item's value is the mean over its people of the share of others who give the same label.

Sources: Cohen 1960 for kappa; Schouten 1982 for kappa as agreement of pairs drawn at random from
several judges. Errors come from influence values (`clustered_estimate`), so that chance counts as
estimated too. Preferences (a, b, tie) are labels like others.

With few judges in all (5 in simulations) intervals of the ceiling cover 90% in place of 95%.

**Reading**: the ceiling is of items with the model's label and at least two people, so that both
figures speak of the same items, and each item counts once, as in the agreement.

Assumes one answer of a judge on an item.

Degenerate input, each with a reason: no item with answers of the model and of people; without two
people on an item there is no ceiling. A model, or people, who always give one label agree as often
as by chance: kappa is 0 whatever the answers are, and has no interval; it is NaN where both give
one and the same label.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from annot_pipeline.arrays import Codes, Floats
from annot_pipeline.methods.model_judges import clustered_estimate as clustered

NO_LABEL = -1
NO_SHARED_ITEM = "no item has a label of the model and of people"
NO_TWO_PEOPLE = "no item with a label of the model has labels of two people"
ONE_LABEL = "one side always gives the same label: kappa is 0 whatever the other answers"
SAME_LABEL = "both sides always give the same label: kappa is not defined"


@dataclass(frozen=True)
class LabelValidation:
    """How well a model's labels agree with people's.

    Parameters
    ----------
    agreement, kappa
        Of the model with a random person.
    human_agreement, human_kappa
        Of a random person with another, the human ceiling.
    confusion, weighted_confusion
        ``(n_labels, n_labels)`` items by people's label (row) and the model's (column); people of
        one item share it. The second counts items by their weights.
    n_items, n_judges, n_answers
        Items with labels of both, people who answered them, and their answers.
    n_ceiling_items
        Of those, items with at least two people.
    """

    agreement: clustered.ClusteredEstimate
    kappa: clustered.ClusteredEstimate
    human_agreement: clustered.ClusteredEstimate
    human_kappa: clustered.ClusteredEstimate
    confusion: Floats
    weighted_confusion: Floats
    n_items: int
    n_judges: int
    n_answers: int
    n_ceiling_items: int


def label_validation(
    items: npt.ArrayLike,
    judges: npt.ArrayLike,
    labels: npt.ArrayLike,
    model_labels: npt.ArrayLike,
    *,
    documents: npt.ArrayLike | None = None,
    weights: npt.ArrayLike | None = None,
) -> LabelValidation:
    """Hold a model's labels against people's.

    Parameters
    ----------
    items, judges, labels
        ``(n,)`` codes from 0 of people's answers; one answer of a judge on an item.
    model_labels
        ``(n_items,)`` the model's label by code of item; `NO_LABEL` where it has none.
    documents
        ``(n_items,)`` codes: items of one document are one cluster. None: each item is one.
    weights
        ``(n_items,)`` how many items each item that people judged stands for: 1 / the probability
        with which it was chosen. None: all count alike.

    Raises
    ------
    ValueError
        Arrays of different lengths, negative labels of people, or two answers of one judge on an
        item.
    """
    item, judge, label = (np.asarray(codes, np.int64) for codes in (items, judges, labels))
    model = np.asarray(model_labels, np.int64)
    clustered.check_answers(item, judge, label)
    if label.min(initial=0) < 0:
        raise ValueError("labels of people must be 0 or more")
    n_labels = int(max(label.max(initial=-1), model.max(initial=-1))) + 1
    is_shared = model[item] != NO_LABEL
    item, judge, label = item[is_shared], judge[is_shared], label[is_shared]
    if not item.size:
        missing = clustered.unknown(NO_SHARED_ITEM)
        nothing = np.zeros((n_labels, n_labels))
        return LabelValidation(missing, missing, missing, missing, nothing, nothing, 0, 0, 0, 0)
    cluster = item if documents is None else np.asarray(documents, np.int64)[item]
    sizes = np.bincount(item)
    even = 1 / sizes[item]
    weight = even if weights is None else even * np.asarray(weights, np.float64)[item]
    confusion, weighted = (
        np.bincount(label * n_labels + model[item], values, n_labels**2).reshape(n_labels, n_labels)
        for values in (even, weight)
    )
    agreement, kappa = _agreement(
        (label == model[item]).astype(np.float64), weight,
        (label, model[item]), (cluster, judge), n_labels, is_pair_of_people=False,
    )  # fmt: skip
    cells = np.bincount(item * n_labels + label, minlength=sizes.size * n_labels)
    has_others = sizes[item] > 1
    human_agreement = human_kappa = clustered.unknown(NO_TWO_PEOPLE)
    if has_others.any():
        same = cells[item * n_labels + label] - 1
        n_rest = np.maximum(sizes[item] - 1, 1)
        human_agreement, human_kappa = _agreement(
            (same / n_rest)[has_others], weight[has_others],
            (label[has_others], label[has_others]), (cluster[has_others], judge[has_others]),
            n_labels, is_pair_of_people=True,
        )  # fmt: skip
    return LabelValidation(
        agreement, kappa, human_agreement, human_kappa,
        np.asarray(confusion, np.float64), np.asarray(weighted, np.float64),
        int(np.count_nonzero(sizes)), int(np.unique(judge).size), int(item.size),
        int(np.count_nonzero(sizes > 1)),
    )  # fmt: skip


def _agreement(
    shares: Floats,
    weight: Floats,
    labels: tuple[Codes, Codes],
    clusters: tuple[Codes, Codes],
    n_labels: int,
    *,
    is_pair_of_people: bool,
) -> tuple[clustered.ClusteredEstimate, clustered.ClusteredEstimate]:
    """Return agreement and kappa of the two labels of each answer.

    An agreement of two people is a value of both: in clusters of judges it counts twice.
    """
    weight = weight / weight.mean()
    agreement = float((weight * shares).mean())
    first, second = labels
    p_first, p_second = (
        np.bincount(codes, weight, n_labels) / weight.sum() for codes in (first, second)
    )
    chance = float(p_first @ p_second)
    of_agreement = weight * (shares - agreement)
    of_chance = weight * (p_second[first] + p_first[second] - 2 * chance)
    twice = 2 * of_agreement if is_pair_of_people else of_agreement
    estimate = clustered.clustered_estimate(
        agreement, of_agreement, *clusters, judge_influence=twice
    )
    if max(p_first.max(), p_second.max()) > 1 - 1e-12:  # shares are rounded
        is_same = chance > 1 - 1e-12
        kappa = clustered.unknown(SAME_LABEL) if is_same else clustered.unknown(ONE_LABEL, 0.0)
        return estimate, kappa
    rest = 1 - chance
    correction = (1 - agreement) / rest**2 * of_chance
    return estimate, clustered.clustered_estimate(
        (agreement - chance) / rest, of_agreement / rest - correction, *clusters,
        judge_influence=twice / rest - correction,
    )  # fmt: skip
