import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from annot_pipeline.contracts import ADEQUACY_SOURCES
from annot_pipeline.methods.comparisons import adequacy as module
from annot_pipeline.methods.comparisons.adequacy import (
    AdequacyEffort,
    adequacy_questions,
    spread_adequacy,
)
from annot_pipeline.methods.comparisons.comparison_graphs import comparison_graphs
from studies.simulators.adequacy_answers import greedy_answers

BETTER, TIE = 1, 0


def chain(n_items, *ties):
    """Items in order, each better than the next, but ties where given (by the first of both)."""
    first = np.arange(n_items - 1)
    outcome = [TIE if item in ties else BETTER for item in first]
    return comparison_graphs(np.zeros(n_items, int), first, first + 1, outcome)


def spread(graphs, *, references=(), adequate=(), inadequate=()):
    n = graphs.component.size
    asked = np.full(n, -1)
    asked[list(adequate)], asked[list(inadequate)] = 1, 0
    result = spread_adequacy(graphs, np.isin(np.arange(n), references), asked)
    names = [ADEQUACY_SOURCES[code] for code in result.source]
    return result.adequate.tolist(), " ".join(names), result.effort


def test_the_codes_of_sources_are_those_of_the_contract():
    codes = [getattr(module, name.upper()) for name in ADEQUACY_SOURCES]
    assert codes == [0, 1, 2, 3]


def test_inadequacy_spreads_down_and_adequacy_does_not():
    assert spread(chain(3), inadequate=[1])[:2] == ([-1, 0, 0], "unknown asked spread")
    assert spread(chain(3), adequate=[1])[:2] == ([-1, 1, -1], "unknown asked unknown")


def test_what_dominates_or_ties_with_a_reference_is_adequate():
    """0 > 1 = 2 > 3, and 2 is the reference."""
    labels, sources, effort = spread(chain(4, 1), references=[2])
    assert labels == [1, 1, 1, -1]
    assert sources == "reference reference reference unknown"
    assert effort == AdequacyEffort(4, 3, 2, 0, 0, 0)
    assert effort.n_unknown == 1


def test_an_answer_covers_its_component():
    """0 = 1 = 2 > 3."""
    assert spread(chain(4, 0, 1), inadequate=[1])[:2] == ([0] * 4, "spread asked spread spread")
    assert spread(chain(4, 0, 1), adequate=[0])[0] == [1, 1, 1, -1]


def test_members_that_were_answered_differently():
    """0 = 1 = 2 = 3 > 4: each keeps its answer, the rest take the majority."""
    graphs = chain(5, 0, 1, 2)
    labels, sources, effort = spread(graphs, adequate=[0, 1], inadequate=[2])
    assert (labels, sources) == ([1, 1, 0, 1, -1], "asked asked asked spread unknown")
    assert (effort.n_asked, effort.n_answers) == (1, 3)
    assert spread(graphs, adequate=[0], inadequate=[2])[0] == [1, 0, 0, 0, 0]


def test_an_inadequate_output_that_dominates_a_reference():
    """0 > 1 > 2 reference > 3: the answer stands, the rest are as the reference says."""
    labels, sources, effort = spread(chain(4), references=[2], inadequate=[0])
    assert labels == [0, 1, 1, 0]
    assert sources == "asked reference reference spread"
    assert effort == AdequacyEffort(4, 4, 2, 1, 1, 1)


def test_an_answer_is_stronger_than_a_tie_with_a_reference_but_not_for_the_reference():
    """0 > 1 = 2 = 3 reference > 4, and 1 is inadequate."""
    labels, sources, effort = spread(chain(5, 1, 2), references=[3], inadequate=[1])
    assert labels == [1, 0, 0, 1, 0]
    assert sources == "reference asked spread reference spread"
    assert effort == AdequacyEffort(5, 3, 1, 1, 1, 1)


def test_a_reference_that_is_inadequate_vouches_for_nothing():
    """0 > 1 reference > 2."""
    assert spread(chain(3), references=[1], inadequate=[1])[:2] == (
        [-1, 0, 0],
        "unknown asked spread",
    )


def test_an_adequate_answer_below_an_inadequate_one_stands():
    assert spread(chain(3), inadequate=[0], adequate=[1])[0] == [0, 1, 0]


def test_nothing_crosses_graphs():
    graphs = comparison_graphs([0, 0, 1, 1], [0, 2], [1, 3], [1, 1])
    labels = spread(graphs, references=[1], inadequate=[2])[0]
    assert labels == [1, 1, 0, 0]
    assert spread(graphs, references=[1])[0] == [1, 1, -1, -1]


def test_questions_come_from_the_top_most_dominant_first():
    """Graph 0: 3 > 4, 5 > 4, 5 > 6 (open: 5 dominates two, 3 one). Graph 1: 0 = 1 > 2."""
    graph = [1, 1, 1, 0, 0, 0, 0]
    graphs = comparison_graphs(graph, [3, 5, 5, 0, 0], [4, 4, 6, 1, 2], [1, 1, 1, 0, 1])
    labels = np.full(7, -1)
    assert adequacy_questions(graph, graphs, labels).tolist() == [5, 3, 0]
    labels[5] = 1  # 6 has no other above it, 4 has
    assert adequacy_questions(graph, graphs, labels).tolist() == [3, 6, 0]
    assert adequacy_questions(graph, graphs, np.ones(7, int)).size == 0


@st.composite
def annotated(draw):
    """One graph, references, and a truth for each item."""
    n = draw(st.integers(1, 7))
    item = st.integers(0, n - 1)
    rows = draw(st.lists(st.tuples(item, item, st.sampled_from([-1, 0, 1, 1])), max_size=9))
    rows = [row for row in rows if row[0] != row[1]]
    bits = st.lists(st.booleans(), min_size=n, max_size=n)
    return n, rows, draw(bits), draw(bits)


def greedy_loop(graphs, is_reference, truth, over):
    """The listing of section 3.2, an answer covering its component; truth by least item."""
    n = graphs.component.size
    same = [[j for j in range(n) if graphs.component[j] == graphs.component[i]] for i in range(n)]
    labels = {
        i: 1
        for i in range(n)
        if any(is_reference[j] and (j in same[i] or over[i][j]) for j in range(n))
    }
    asked = set()
    for i in sorted(range(n), key=lambda i: -sum(over[i])):
        if i in labels:
            continue
        asked.add(same[i][0])
        answer = int(truth[same[i][0]])
        labels.update(dict.fromkeys(same[i], answer))
        if not answer:
            for j in range(n):
                if over[i][j]:
                    labels.setdefault(j, 0)
    return [labels[i] for i in range(n)], asked


@given(annotated())
def test_the_greedy_order_of_the_paper(drawn):
    n, rows, is_reference, truth = drawn
    graph = np.zeros(n, int)
    graphs = comparison_graphs(graph, *np.array(rows, int).reshape(-1, 3).T)
    over = [graphs.dominated_by_any(np.arange(n) == i) for i in range(n)]
    labels, asked = greedy_loop(graphs, is_reference, truth, over)

    answers = greedy_answers(graphs, np.array(is_reference), np.array(truth))
    result = spread_adequacy(graphs, is_reference, answers)
    assert set(np.flatnonzero(answers >= 0).tolist()) == asked
    assert result.adequate.tolist() == labels
    assert result.effort.n_unknown == 0
    assert result.effort.n_answers == result.effort.n_asked == len(asked)

    step = np.full(n, -1)  # question by question: the same ones, whatever is asked at once
    while True:
        now = spread_adequacy(graphs, is_reference, step).adequate
        questions = adequacy_questions(graph, graphs, now)
        if not questions.size:
            break
        step[questions] = np.array(truth, int)[questions]
    assert step.tolist() == answers.tolist()


@given(annotated(), st.randoms(use_true_random=False))
def test_counts_add_up_and_answers_stand(drawn, random):
    n, rows, is_reference, _ = drawn
    graphs = comparison_graphs(np.zeros(n, int), *np.array(rows, int).reshape(-1, 3).T)
    asked = np.array([random.choice([-1, -1, 0, 1]) for _ in range(n)])
    result = spread_adequacy(graphs, is_reference, asked)
    effort, component = result.effort, graphs.component
    assert result.adequate[asked >= 0].tolist() == asked[asked >= 0].tolist()
    assert ((result.source == module.UNKNOWN) == (result.adequate == -1)).all()
    of = [set(result.source[component == code].tolist()) for code in range(component.max() + 1)]
    assert effort.n_unknown == sum(module.UNKNOWN in sources for sources in of)
    assert effort.n_asked == sum(module.ASKED in sources for sources in of)
    assert effort.n_by_reference == sum(sources == {module.REFERENCE} for sources in of)
    assert effort.n_by_spread == sum(sources == {module.SPREAD} for sources in of)


def test_what_is_refused():
    with pytest.raises(ValueError, match="shapes"):
        spread_adequacy(chain(2), [True], [-1, -1])
    with pytest.raises(ValueError, match="1, 0 or -1, not \\[2\\]"):
        spread_adequacy(chain(2), [False, False], [-1, 2])
