"""From ranks to absolute labels: which outputs are adequate, asked or inferred from comparisons.

References are adequate, and so is what dominates or ties with one. Of the others, one output a
component is asked, most dominant first; what an inadequate output dominates is inadequate.
Nothing follows from "adequate" for what is below, nor (the paper does not) for what is above.

Source: Pighin, Formiga & Marquez 2012, sections 3.2 and 4.2 (Table 2). Reading, ours: an answer
covers the whole component. Where sources disagree, the first of these that applies holds:

1. An answer about the output itself stands, whatever the graph says.
2. A reference is adequate, even if it ties with or is dominated by what is inadequate. One that
   was answered to be inadequate (rule 1) vouches for no other.
3. Answers about members of the same component: their majority, a draw is inadequate. So an
   answer is stronger than a tie with, or a win over, a reference.
4. What dominates or ties with a reference that vouches is adequate, even if it is dominated by
   what is inadequate.
5. What is dominated by a component that rule 3 makes inadequate is inadequate.
6. All else is unknown.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from annot_pipeline.arrays import Codes, Flags
from annot_pipeline.methods.comparisons.comparison_graphs import ComparisonGraphs

ADEQUATE, INADEQUATE, NOT_KNOWN = 1, 0, -1
"""Codes of labels, and of answers."""
ASKED, REFERENCE, SPREAD, UNKNOWN = range(4)
"""Codes of where a label comes from."""


@dataclass(frozen=True)
class AdequacyEffort:
    """Counts as in Table 2; shares are of 1, NaN where nothing is counted.

    Parameters
    ----------
    n_outputs
        Outputs.
    n_vertices
        Components; without ties and contradictions as many as outputs.
    n_by_reference, n_by_spread
        Components labelled without an answer: by rules 2 and 4, and by rule 5.
    n_asked
        Components with an answer, even if they could have done without.
    n_answers
        Outputs with an answer; more than ``n_asked`` if two of a component were asked.
    """

    n_outputs: int
    n_vertices: int
    n_by_reference: int
    n_by_spread: int
    n_asked: int
    n_answers: int

    @property
    def n_automatic(self) -> int:
        """Return vertices labelled without an answer."""
        return self.n_by_reference + self.n_by_spread

    @property
    def n_unknown(self) -> int:
        """Return vertices without a label: questions are open, and the share saved will fall."""
        return self.n_vertices - self.n_automatic - self.n_asked


@dataclass(frozen=True, eq=False)
class Adequacy:
    """Labels.

    Parameters
    ----------
    adequate
        ``(n_items,)`` 1 adequate, 0 inadequate, -1 unknown.
    source
        ``(n_items,)`` `ASKED`, `REFERENCE`, `SPREAD` (from the component or from what
        dominates) or `UNKNOWN`.
    effort
        Over all graphs.
    """

    adequate: Codes
    source: Codes
    effort: AdequacyEffort


def spread_adequacy(
    graphs: ComparisonGraphs, is_reference: npt.ArrayLike, answer_codes: npt.ArrayLike
) -> Adequacy:
    """Label outputs by answers, references and dominance.

    Parameters
    ----------
    graphs
        The comparisons.
    is_reference
        ``(n_items,)`` whether the output is a reference.
    answer_codes
        ``(n_items,)`` the answer: 1 adequate, 0 inadequate, -1 not asked.

    Raises
    ------
    ValueError
        Arrays of another length, or an answer that is none of the three.
    """
    component, n_components = graphs.component, int(graphs.component.max(initial=-1)) + 1
    is_reference, answer_codes = _checked(component.size, is_reference, answer_codes)
    answered = answer_codes != NOT_KNOWN
    answers, adequate_answers = (
        np.bincount(component[which], minlength=n_components)
        for which in (answered, answer_codes == ADEQUATE)
    )
    has_answer = (answers > 0)[component]
    majority = (2 * adequate_answers > answers)[component]
    vouched = _supported(graphs, is_reference & (answer_codes != INADEQUATE))
    below = graphs.dominated_by_any(has_answer & ~majority)

    rules = [answered, is_reference, has_answer, vouched, below]
    label = np.select(
        rules, [answer_codes, ADEQUATE, majority.astype(np.int64), ADEQUATE, INADEQUATE], NOT_KNOWN
    )
    source = np.select(rules, [ASKED, REFERENCE, SPREAD, REFERENCE, SPREAD], UNKNOWN)
    vertex = np.unique(component, return_index=True)[1]
    without = ~has_answer[vertex]
    effort = AdequacyEffort(
        n_outputs=component.size,
        n_vertices=n_components,
        n_by_reference=int((without & vouched[vertex]).sum()),
        n_by_spread=int((without & below[vertex] & ~vouched[vertex]).sum()),
        n_asked=int(has_answer[vertex].sum()),
        n_answers=int(answered.sum()),
    )
    return Adequacy(label, source, effort)


def adequacy_questions(graph: npt.ArrayLike, graphs: ComparisonGraphs, adequate: Codes) -> Codes:
    """Return outputs to ask next.

    They are all that the paper's greedy order would ask, whatever the answers.

    A component without a label is asked as soon as none that dominates it is without one: then
    no other answer can label it. So the questions of one call may be asked side by side.

    Parameters
    ----------
    graph
        ``(n_items,)`` as `comparison_graphs` got it.
    graphs
        The comparisons.
    adequate
        ``(n_items,)`` labels so far, of `spread_adequacy`.

    Returns
    -------
    ndarray
        Items, the least of each component; by graph, most dominated outputs first, then item.
        Empty once all is labelled.
    """
    unknown = np.asarray(adequate) == NOT_KNOWN
    open_items = np.flatnonzero(unknown & ~graphs.dominated_by_any(unknown))
    items = open_items[np.unique(graphs.component[open_items], return_index=True)[1]]
    codes = np.asarray(graph, np.int64)[items]
    return np.asarray(items[np.lexsort((items, -graphs.n_dominates[items], codes))])


def _supported(graphs: ComparisonGraphs, references: Flags) -> Flags:
    """Return the outputs that dominate or tie with one of these references."""
    tied = np.zeros(int(graphs.component.max(initial=-1)) + 1, np.bool_)
    tied[graphs.component[references]] = True
    return np.asarray(tied[graphs.component] | graphs.dominates_any(references))


def _checked(
    n_items: int, is_reference: npt.ArrayLike, labels: npt.ArrayLike
) -> tuple[Flags, Codes]:
    is_reference, labels = np.asarray(is_reference, np.bool_), np.asarray(labels, np.int64)
    if is_reference.shape != (n_items,) or labels.shape != (n_items,):
        raise ValueError(
            f"is_reference and labels are of shapes {is_reference.shape} and {labels.shape}, "
            f"not ({n_items},)"
        )
    other = ~np.isin(labels, (ADEQUATE, INADEQUATE, NOT_KNOWN))
    if other.any():
        raise ValueError(f"labels must be 1, 0 or -1, not {labels[other][:5].tolist()}")
    return is_reference, labels
