"""Figures of comparisons: of the right rows, and with the ranks that the tables have."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pytest

from annot_pipeline.commands.release_pages import query_tables
from annot_pipeline.contracts import SEGMENT_RANKS, SYSTEM_RANKINGS, TEXT
from annot_pipeline.report.comparison_figures import (
    effort_figures,
    segment_figures,
    time_figures,
    win_figures,
)
from annot_pipeline.report.release_figures import Drawn
from annot_pipeline.report.report import DRAWN
from annot_pipeline.runtime.coded_task import CodedTask
from annot_pipeline.runtime.indexing import ByTask
from annot_pipeline.stages.rankings.describe_comparisons import COMPARISON_TIMES
from annot_pipeline.stages.rankings.rank_segments import VOTES, rank_segments
from annot_pipeline.stages.shared.comparisons import COMPARISONS, NAME, comparison_table, encoded
from annot_pipeline.stages.shared.output_comparisons import equal_outputs
from tests.report.figure_reader import Figure
from tests.report.report_pages import QUERIES

PLAIN = pa.schema([f.with_type(TEXT) if f.type == NAME else f for f in COMPARISONS])
CHAIN = [("s", "a", "b", 1), ("s", "b", "c", 1), ("s", "c", "d", 1)]


def compared(rows, *, task="t", kept=True) -> pa.Table:
    """Comparisons (segment, system, system, outcome), each one ranking of a judge of its own."""
    actual = []
    for number, (segment, one, other, outcome) in enumerate(rows):
        (a, b), sign = sorted((one, other)), 1 if one < other else -1
        prefix = "" if segment is None else f"{segment}/"
        actual.append(
            {
                "task": task, "judge": f"j{number}", "kept": kept, "segment": segment,
                "item_a": f"{prefix}{a}", "item_b": f"{prefix}{b}", "system_a": a, "system_b": b,
                "outcome": sign * outcome, "same_output": False, "ranking": number,
                "judgment_id": f"{number:04}",
            }
        )  # fmt: skip
    return encoded(comparison_table([pa.Table.from_pylist(actual, PLAIN)]))


def ranked(comparisons: pa.Table, texts=(), graphs="pooled") -> pa.Table:
    """The table of ranks, of outputs with these texts (segment, system, text)."""
    names = ("task", "segment", "item", "system", "text")
    items = pa.Table.from_pylist(
        [
            {"segment": segment, "item": f"{segment}/{system}", "system": system, "text": text}
            for segment, system, text in texts
        ],
        pa.schema([(name, TEXT) for name in names]),
    )
    by_task, equal = ByTask(comparisons.filter(comparisons["kept"])), equal_outputs(items)
    task = {"references": None, "adequacy_task": None, "adequate": None}
    return pa.concat_tables([SEGMENT_RANKS.empty(), *(
        rank_segments(
            CodedTask(name, by_task[name]), task, equal, VOTES.empty_table(),
            segment_graphs=graphs,
        )[0]
        for name in by_task.names
    )])  # fmt: skip


def scores(systems, *, parts=None) -> pa.Table:
    """A ranking by wins in this order, or in these parts."""
    rows = [
        {"task": "t", "method": "wins", "system": s, "rank": n, "score": -float(n),
         "component": part, "n_segments": 1, "n_judgments": 1, "headline": True}
        for part, members in ([(None, systems)] if parts is None else enumerate(parts, 1))
        for n, s in enumerate(members, 1)
    ]  # fmt: skip
    return pa.Table.from_pylist(rows, SYSTEM_RANKINGS.schema)


def segments(ranks: pa.Table, comparisons: pa.Table) -> list[Drawn]:
    """Graphs of segments, by what the report asks of these tables."""
    inputs = {"segment_ranks": ranks, "comparisons": comparisons}
    actual = query_tables(DRAWN, inputs, QUERIES)
    return segment_figures(actual["drawn_segments"], actual["drawn_comparisons"])


def wins(comparisons: pa.Table, rankings: pa.Table) -> list[Drawn]:
    """Shares of wins, by what the report counts of comparisons."""
    return win_figures(QUERIES.table("report/wins", {"comparisons": comparisons}), rankings)


def graph(comparisons: pa.Table, **more) -> Figure:
    (drawn,) = segments(ranked(comparisons, **more), comparisons)
    assert drawn.title == "A segment's graph, t"
    return Figure(drawn.svg)


def said(figure: Figure) -> dict[str, str]:
    """What is written beside each output."""
    words = [text.replace("\u2212", "-") for text in figure.words("output")]
    figures = [", ".join(two) for two in zip(words[1::3], words[2::3], strict=True)]
    return dict(zip(words[::3], figures, strict=True))


# --- the graph of a segment ------------------------------------------------------------------


def test_a_segment_with_a_contradiction_is_chosen():
    whole = [("whole", x, y, 1) for x, y in ("ab", "bc", "cd", "da")]
    cycle = [("cycle", x, y, 1) for x, y in ("ab", "bc", "ca", "cd")]
    larger = [("larger", x, y, 1) for x, y in ("ab", "bc", "cd", "de", "ef")]
    figure = graph(compared([*whole, *larger, *cycle]))
    assert figure.words("title") == ["cycle"]
    assert said(figure) == dict.fromkeys("abc", "f 1, rank 1") | {"d": "f -3, rank 2"}
    assert "#d55e00" in figure.svg, "the colour of contradictions"
    assert graph(compared([*whole, *larger])).words("title") == ["larger"]


def test_judges_are_pooled_and_those_dropped_do_not_count():
    pooled = [("s", "a", "b", 1), ("s", "a", "b", 1), ("s", "a", "b", -1), *CHAIN[1:]]
    dropped = compared([("s", "d", "a", 1)] * 5, kept=False)
    both = pa.concat_tables([compared(pooled), dropped], promote_options="permissive")
    figure = Figure(segments(ranked(compared(pooled)), both)[0].svg)
    assert list(said(figure)) == ["a", "b", "c", "d"]


def test_parts_are_ranked_apart_as_in_the_table():
    # over the whole segment a would be 1 (f 2), d 2 (f 1), b 3 (f 0), e 4 (f -1), c 5 (f -2)
    rows = compared([("s", "a", "b", 1), ("s", "b", "c", 1), ("s", "d", "e", 1)])
    figure = graph(rows)
    assert said(figure) == {
        "a": "f 2, rank 1", "b": "f 0, rank 2", "c": "f -2, rank 3",
        "d": "f 1, rank 1", "e": "f -1, rank 2",
    }  # fmt: skip
    assert {r["system"]: f"f {r['dominance']:g}, rank {r['rank']}"
            for r in ranked(rows).to_pylist()} == said(figure)  # fmt: skip
    assert "f: outputs dominated minus outputs that dominate, all judges pooled." in figure.note


def test_outputs_equal_but_for_case_are_one_vertex():
    texts = [("s", "a", "Ja"), ("s", "twin", "ja "), ("s", "Twin", "JA")]
    figure = graph(compared(CHAIN), texts=texts)
    assert {said(figure)[name] for name in ("Twin", "a", "twin")} == {"f 3, rank 1"}
    assert said(figure)["b"] == "f -1, rank 2"
    assert len(figure.parts("tie")) == 3


def test_a_graph_that_the_tables_do_not_tell_is_not_drawn():
    texts = [("s", "a", "ja"), ("s", "b", "JA")]  # a over b was asked, but is a tie by text
    unclear = compared([*CHAIN, ("s", "d", "e", 1)])
    assert segments(ranked(unclear, texts=texts), unclear) == []
    more = compared([*CHAIN, ("s", "d", "e", 1), *(("r", *row[1:]) for row in CHAIN)])
    assert graph(more, texts=texts).words("title") == ["r"]


# --- wins ------------------------------------------------------------------------------------


def test_wins_are_counted_in_the_order_of_the_ranking():
    rows = compared([("1", "a", "b", -1), ("2", "a", "b", 1), ("3", "a", "b", -1),
                     ("4", "b", "a", 0), ("5", "a", "c", 1)])  # fmt: skip
    (drawn,) = wins(rows, scores(["b", "a", "c"]))
    assert drawn.title == "Share of wins, t"
    figure = Figure(drawn.svg)
    assert figure.words("row") == ["1. b", "2. a", "3. c"]
    assert figure.words("cell") == ["62", "38", "100", "0"]


def test_wins_of_judges_kept_only():
    assert wins(compared(CHAIN, kept=False), scores("abcd")) == []


# --- effort and time -------------------------------------------------------------------------


def test_effort_is_what_the_facts_count():
    actual = {"n_outputs": 100, "n_vertices": 90, "n_by_reference": 40, "n_by_spread": 20,
             "n_asked": 30}  # fmt: skip
    second, first = effort_figures({"u": actual, "a": actual})[::-1]
    assert (first.title, second.title) == (
        "Questions of adequacy saved, a", "Questions of adequacy saved, u",
    )  # fmt: skip
    words = " ".join(Figure(first.svg).words("count"))
    assert all(re.search(rf"\b{n}\b", words) for n in (10, 40, 20, 30)), words


# --- all -------------------------------------------------------------------------------------

HOSTILE = ["<script>x</script>", "$\\frac{1}{0}$ & co", "\u202eevil", "w" * 300]


@pytest.mark.parametrize("names", [HOSTILE, ["'\"]]>", "&amp;", " ", "\u200d"]])
def test_names_may_hold_anything(names):
    rows = compared([(names[0], names[n], names[n + 1], 1) for n in range(3)], task=names[0])
    table = scores(names).set_column(0, "task", pa.array([names[0]] * 4))
    for drawn in (*segments(ranked(rows), rows), *wins(rows, table)):
        assert "<script>" not in drawn.svg
        figure = Figure(drawn.svg)
        assert all(0 <= float(t.get("x", 0)) <= figure.width for t in figure.root.iter() if t.text)


@pytest.mark.slow
def test_the_same_bytes_whatever_the_order_of_rows():
    rows = [*CHAIN, ("s", "a", "c", 0), ("s", "d", "a", 1), ("s", "x", "y", 1)]
    one, other = compared(rows), compared(rows[::-1])
    shuffled = other.take(pa.array(np.random.default_rng(1).permutation(len(rows))))
    table = scores("abcdxy")
    for draw in (lambda t: segments(ranked(t), t), lambda t: wins(t, table)):
        assert draw(one) == draw(other) == draw(shuffled)


def test_nothing_is_drawn_of_nothing():
    none = COMPARISONS.empty_table()
    assert segments(SEGMENT_RANKS.empty(), none) == []
    assert wins(none, scores("ab")) == []
    assert wins(compared(CHAIN), SYSTEM_RANKINGS.empty()) == []
    assert effort_figures({}) == []
    assert time_figures(COMPARISON_TIMES.empty_table()) == []
