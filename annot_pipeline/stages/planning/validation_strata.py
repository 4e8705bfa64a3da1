"""Strata of a sample for people: what a model said of an item, and whether models agree on it.

Few strata, each of `LEAST_ITEMS` items or more: those of an answer are merged, then answers. What
does not belong here: how many items are drawn from each (validation_sample).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from annot_pipeline.arrays import Codes, Flags, Floats

LEAST_ITEMS = 10
"""Items of a stratum; smaller ones are merged."""
MOST_ANSWERS = 20
"""Answers with strata of their own: the most frequent ones."""
BANDS = (0.25, 0.5, 0.75)
"""Quantiles that part scores into bands."""
OTHERS = "other answers"


@dataclass(frozen=True, eq=False)
class ValidationStrata:
    """Strata of items.

    Parameters
    ----------
    code
        ``(n_items,)``; -1: the model did not judge the item, which is drawn from no stratum.
    names
        Of strata, by code.
    """

    code: Codes
    names: list[str]


def validation_strata(
    kind: str, answers: Floats, by_model: Sequence[Floats], classes: Sequence[str]
) -> ValidationStrata:
    """Return the strata of a task's items.

    Parameters
    ----------
    kind
        categorical, scalar or pairwise.
    answers
        ``(n_items,)`` of the model whose estimates people correct: codes of classes, scores, or
        shares of the win (1, 1/2, 0); NaN where there is none.
    by_model
        The same of each model.
    classes
        Names of classes, of labels only.
    """
    judged = ~np.isnan(answers)
    answer = np.full(answers.size, -1)
    answer[judged], names = _answers(kind, answers[judged], classes)
    differ = _disagreement(kind, by_model)
    if len(by_model) < 2:
        return _merged(answer, np.zeros(answers.size, np.bool_), names, has_several=False)
    return _merged(answer, differ, names, has_several=True)


def _answers(kind: str, answers: Floats, classes: Sequence[str]) -> tuple[Codes, list[str]]:
    """Return codes of the model's answers, and what they are called."""
    if kind == "categorical":
        return answers.astype(np.int64), list(classes)
    if kind == "pairwise":
        code = np.select([answers > 0.5, answers < 0.5], [0, 1], 2)
        return np.asarray(code, np.int64), ["first item wins", "second item wins", "tie"]
    edges = np.unique(np.quantile(answers, BANDS)) if answers.size else np.zeros(0)
    names = [f"score up to {edge:.4g}" for edge in edges]
    names.append(f"score above {edges[-1]:.4g}" if edges.size else "any score")
    return np.searchsorted(edges, answers, side="left").astype(np.int64), names


def _disagreement(kind: str, by_model: Sequence[Floats]) -> Flags:
    """Return whether models differ on each item; of scores, more than on half of the items."""
    values = np.stack(by_model)
    is_answered = ~np.isnan(values)
    low = np.where(is_answered, values, np.inf).min(axis=0)
    high = np.where(is_answered, values, -np.inf).max(axis=0)
    spread = np.where(is_answered.any(axis=0), high - low, 0.0)
    bound = float(np.median(spread)) if kind == "scalar" and spread.size else 0.0
    return np.asarray(spread > bound)


def _merged(
    answer: Codes, differ: Flags, names: list[str], *, has_several: bool
) -> ValidationStrata:
    """Return strata of enough items."""
    counts = np.zeros((len(names), 2), np.int64)
    judged = answer >= 0
    np.add.at(counts, (answer[judged], differ[judged].astype(np.int64)), 1)
    n_of_answer = counts.sum(axis=1)
    frequent = np.argsort(-n_of_answer, kind="stable")[:MOST_ANSWERS]
    own = [code for code in sorted(frequent.tolist()) if n_of_answer[code] >= LEAST_ITEMS]
    stratum_names: list[str] = []
    code_of = np.full((len(names), 2), -1)
    for code in own:
        if counts[code].min() >= LEAST_ITEMS:
            code_of[code] = [len(stratum_names), len(stratum_names) + 1]
            stratum_names += [f"{names[code]}, models agree", f"{names[code]}, models differ"]
        else:
            code_of[code] = len(stratum_names)
            alike = has_several and counts[code, 1] == 0
            stratum_names.append(f"{names[code]}, models agree" if alike else names[code])
    rest = n_of_answer.sum() - n_of_answer[own].sum()
    if rest:
        is_rest = code_of[:, 0] < 0
        if rest >= LEAST_ITEMS or not own:
            code_of[is_rest] = len(stratum_names)
            stratum_names.append(OTHERS if own else "all answers")
        else:
            sizes = np.bincount(code_of[answer[judged], differ[judged].astype(np.int64)] + 1)[1:]
            smallest = int(np.argmin(sizes))
            code_of[is_rest] = smallest
            stratum_names[smallest] += f" and {OTHERS}"
    code = np.full(answer.size, -1)
    code[judged] = code_of[answer[judged], differ[judged].astype(np.int64)]
    return ValidationStrata(code, stratum_names)
