"""What each judge's answer says about one item's class, under a model that is already fitted.

Given a prevalence pi and confusion matrices theta (Dawid & Skene 1979, eq. 2.5), the posterior of
an item is proportional to pi times the product of theta[judge, class, answer] over its judgments.
The log of one factor for two classes is what that answer adds to the log odds between them, in
nats: evidence adds up. Leaving a judge's factors out gives what the item would be without that
judge, with pi and theta held fixed: a refit would move them too, a little.

Degenerate input: a probability of 0 (``smoothing=0``) rules its class out. **Reading**: where all
classes are ruled out, those that the fewest answers rule out share the posterior: the limit of a
smoothing that vanishes. An item that nobody is left to judge has the prevalence.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from annot_pipeline.arrays import Codes, Floats

TIED = 1e-9
"""Log odds below which two classes are tied; rounding is far below, and ties go by class order."""


@dataclass(frozen=True, eq=False)
class LabelEvidence:
    """What the answers say of one item.

    Parameters
    ----------
    posterior
        ``(n_labels,)`` probability of each class.
    label
        Code of the class that the evidence is for: the one given, else the most probable one.
    runner_up
        Code of the class that the evidence is against: the one given, else the most probable other
        one; -1 where there is one class only.
    evidence
        ``(n_judgments,)`` log theta of ``label`` minus log theta of ``runner_up``, nats; infinite
        where the answer rules one of them out, 0 where it rules out both.
    without
        ``(n_judges, n_labels)`` posterior without the judge's answers.
    label_without
        ``(n_judges,)`` code of the most probable class without the judge.
    """

    posterior: Floats
    label: int
    runner_up: int
    evidence: Floats
    without: Floats
    label_without: Codes


def label_evidence(
    judges: Codes,
    likelihoods: Floats,
    prevalence: Floats,
    *,
    n_judges: int,
    label: int | None = None,
    runner_up: int | None = None,
) -> LabelEvidence:
    """Weigh the answers that one item got.

    Parameters
    ----------
    judges
        ``(n_judgments,)`` codes from 0; a judge may have answered several times.
    likelihoods
        ``(n_judgments, n_labels)`` probability of the answer that was given, by true class.
    prevalence
        ``(n_labels,)`` prior probability of each class.
    n_judges
        Size of the code range.
    label, runner_up
        Classes that the evidence is for and against; default: the most probable ones.

    Raises
    ------
    ValueError
        Shapes that do not fit, or numbers that are no probabilities.
    """
    if likelihoods.shape != (judges.size, prevalence.size) or not prevalence.size:
        raise ValueError("likelihoods must be (n_judgments, n_labels)")
    for numbers in (likelihoods, prevalence):
        if not np.all((numbers >= 0) & (numbers <= 1)):
            raise ValueError("probabilities must lie in [0, 1]")
    logs, ruled_out = _logs(likelihoods)
    prior, never = _logs(prevalence)
    of_judge = np.zeros((n_judges, prevalence.size))
    out_of_judge = np.zeros((n_judges, prevalence.size), np.int64)
    np.add.at(of_judge, judges, logs)
    np.add.at(out_of_judge, judges, ruled_out)
    total, out = prior + logs.sum(axis=0), never + ruled_out.sum(axis=0)
    log_odds = _log_odds(total, out)
    code = int(_first_of_best(log_odds)) if label is None else label
    rest = np.delete(np.arange(prevalence.size), code)
    if runner_up is None:
        other = rest[_first_of_best(_log_odds(total[rest], out[rest]))] if rest.size else -1
        runner_up = int(other)
    without = _log_odds(total - of_judge, out - out_of_judge)
    return LabelEvidence(
        posterior=_posterior(log_odds),
        label=code,
        runner_up=runner_up,
        evidence=_evidence(logs, ruled_out, code, runner_up),
        without=_posterior(without),
        label_without=_first_of_best(without),
    )


def _logs(probabilities: Floats) -> tuple[Floats, Codes]:
    """Return logarithms, 0 for that of 0.

    Also return where it was 0, so that infinities can be taken away.
    """
    zero = probabilities == 0
    return np.log(np.where(zero, 1.0, probabilities)), zero.astype(np.int64)


def _log_odds(total: Floats, ruled_out: Codes) -> Floats:
    """Return logarithms relative to the best class.

    -inf for what more answers rule out than others.
    """
    possible = ruled_out == ruled_out.min(axis=-1, keepdims=True)
    possible_totals = np.where(possible, total, -np.inf)
    odds: Floats = possible_totals - possible_totals.max(axis=-1, keepdims=True)
    return odds


def _posterior(log_odds: Floats) -> Floats:
    odds = np.exp(log_odds)
    posterior: Floats = odds / odds.sum(axis=-1, keepdims=True)
    return posterior


def _first_of_best(log_odds: Floats) -> Codes:
    """Return the most probable class; of tied ones the first in class order."""
    return np.asarray((log_odds >= -TIED).argmax(axis=-1), np.int64)


def _evidence(logs: Floats, ruled_out: Codes, label: int, runner_up: int) -> Floats:
    if runner_up < 0:
        return np.zeros(len(logs))
    sign = ruled_out[:, runner_up] - ruled_out[:, label]  # 1: rules out the runner-up, -1: label
    evidence: Floats = logs[:, label] - logs[:, runner_up]  # of two that are ruled out: 0 - 0
    evidence[sign != 0] = np.inf * sign[sign != 0]
    return evidence
