"""Simulated answers to whether outputs are good enough, asked where dominance leaves it open.

Source: Pighin, Formiga & Marquez 2012, section 3.2: most dominant outputs first, until all are
labelled. What does not belong here: the graphs, and what outputs are worth (preferences).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from annot_pipeline.arrays import Codes, Flags, Floats
from annot_pipeline.methods.comparisons.adequacy import INADEQUATE, NOT_KNOWN
from annot_pipeline.methods.comparisons.comparison_graphs import ComparisonGraphs
from studies.simulators.preference_settings import PreferenceSimulation
from studies.simulators.working_hours import times_of_work


@dataclass(frozen=True, eq=False)
class AnswerRows:
    """Answers in order of time; arrays are ``(n_answers,)``.

    Parameters
    ----------
    judge, segment, system
        Codes.
    adequate
        The answer, before any damage.
    submitted_at, seconds
        When it was given (seconds since 1970, UTC), the night after the last preference; and how
        long that took.
    damaged
        Whether the row says what is no answer.
    """

    judge: Codes
    segment: Codes
    system: Codes
    adequate: Flags
    submitted_at: Codes
    seconds: Floats
    damaged: Flags

    def __len__(self) -> int:
        return len(self.judge)


SECONDS = 6.0
"""Typical seconds an answer."""


def greedy_answers(graphs: ComparisonGraphs, is_reference: Flags, truth: Codes) -> Codes:
    """Return what is asked of all graphs, most dominant outputs first, and its answers.

    Parameters
    ----------
    graphs
        The comparisons.
    is_reference
        ``(n_items,)`` whether the output is a reference.
    truth
        ``(n_items,)`` the answer that each output would get: 1 adequate, 0 inadequate.

    Returns
    -------
    ndarray
        ``(n_items,)`` the answers, for `spread_adequacy`, which then leaves nothing unknown.
    """
    component = graphs.component
    vertex, members = np.unique(component, return_index=True, return_inverse=True)[1:]
    is_open = ~(np.isin(component, component[is_reference]) | graphs.dominates_any(is_reference))
    inadequate = is_open & (truth[vertex] == INADEQUATE)[members]
    # a dominator that is itself inadequate by spread is dominated by one that was asked
    is_open &= ~graphs.dominated_by_any(inadequate)
    answers = np.full(component.size, NOT_KNOWN, np.int64)
    question_vertices = vertex[is_open[vertex]]
    answers[question_vertices] = truth[question_vertices]
    return answers


def simulate_answers(
    params: PreferenceSimulation,
    rng: np.random.Generator,
    worth: Floats,
    noise: Floats,
    graphs: ComparisonGraphs,
) -> AnswerRows:
    """Draw what is asked of all outputs, and the answers of several judges to each question.

    Parameters
    ----------
    params, rng
        Settings and source of chance.
    worth
        ``(n_segments, n_systems)`` of the outputs; the first system is the reference.
    noise
        ``(n_judges,)`` standard deviation of how each sees an output.
    graphs
        Of the preferences; item ``segment * n_systems + system``.
    """
    n_segments, n_systems = worth.shape
    lots = rng.random((n_segments, params.n_judges))
    judges = np.argsort(lots, axis=1)[:, : params.judges_of_answer]
    impressions = worth[:, :, None] + noise[judges][:, None, :] * rng.normal(
        size=(*worth.shape, params.judges_of_answer)
    )
    adequate = (impressions > params.adequate_above).reshape(worth.size, -1)
    majority = (2 * adequate.sum(axis=1) > params.judges_of_answer).astype(np.int64)
    item = np.arange(worth.size)
    is_asked = greedy_answers(graphs, item % n_systems == 0, majority) != NOT_KNOWN
    is_asked &= np.bincount(graphs.part)[graphs.part] > 1  # alone: its comparisons were lost
    order = np.lexsort((item, -graphs.n_dominates, item // n_systems))
    asked_item = order[is_asked[order]]

    segment, system = np.divmod(np.tile(asked_item, params.judges_of_answer), n_systems)
    positions = np.repeat(np.arange(params.judges_of_answer), asked_item.size)
    seconds = np.round(SECONDS * rng.lognormal(0, 0.5, size=positions.size), 1)
    night = np.full(params.judges_of_answer * n_segments, params.nights + 1)
    submitted_at = times_of_work(rng, night, positions * n_segments + segment, seconds)
    damaged = rng.permutation(positions.size) < params.dirty
    in_time = np.argsort(submitted_at, kind="stable")
    rows = AnswerRows(
        judge=judges[segment, positions],
        segment=segment,
        system=system,
        adequate=adequate[asked_item].T.reshape(-1),
        submitted_at=submitted_at,
        seconds=seconds,
        damaged=damaged,
    )
    return AnswerRows(**{name: values[in_time] for name, values in vars(rows).items()})
