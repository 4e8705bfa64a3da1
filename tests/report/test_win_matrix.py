"""Shares of wins: cells in the right place, with the right colour, number and counts."""

from __future__ import annotations

import numpy as np
import pytest

from annot_pipeline.report.figures import win_matrix_svg
from annot_pipeline.report.figures.theme import BLUE, GREY, VERMILLION
from tests.report.figure_reader import SVG, Figure

SYSTEMS = ["A", "B", "C"]
WINS = [[0, 6, 0], [3, 0, 2], [0, 2, 0]]
TIES = [[0, 1, 0], [1, 0, 4], [0, 4, 0]]


def test_a_cell_says_its_counts_and_its_share():
    figure = Figure(win_matrix_svg(SYSTEMS, WINS, TIES))
    assert sorted(figure.tips()) == [
        "A over B: 6 won, 1 tied, 3 lost, 65.0%",
        "B over A: 3 won, 1 tied, 6 lost, 35.0%",
        "B over C: 2 won, 4 tied, 2 lost, 50.0%",
        "C over B: 2 won, 4 tied, 2 lost, 50.0%",
    ]
    assert sorted(figure.words("on-cell")) == ["35", "50", "50", "65"]
    assert figure.words("note") == ["Empty cells: never compared."]


def cells(figure: Figure) -> dict[str, tuple[str, float, float, float]]:
    """Colour, opacity and place of each cell, by the pair it is of."""
    actual = {}
    for group in figure.parts("cell"):
        for use in group.iter(f"{SVG}use"):
            title = use.find(f"{SVG}title")
            assert title is not None
            pair = (title.text or "").partition(":")[0]
            actual[pair] = (
                use.get("fill", ""), float(use.get("fill-opacity", 1)),
                float(use.attrib["x"]), float(use.attrib["y"]),
            )  # fmt: skip
    return actual


def test_the_colour_says_which_side_and_how_far():
    wins = np.array([[0, 55, 100, 50], [45, 0, 75, 0], [0, 25, 0, 91], [50, 0, 9, 0]])
    actual = cells(Figure(win_matrix_svg("abcd", wins)))
    color = {pair: cell[0] for pair, cell in actual.items()}
    assert {p for p, c in color.items() if c == BLUE} == {
        "a over b", "a over c", "b over c", "c over d",
    }  # fmt: skip
    assert {p for p, c in color.items() if c == VERMILLION} == {
        "b over a", "c over a", "c over b", "d over c",
    }  # fmt: skip
    assert {p for p, c in color.items() if c == GREY} == {"a over d", "d over a"}
    opacity = [actual[p][1] for p in ("a over b", "b over c", "c over d", "a over c")]
    assert opacity == [0.25, 0.65, 1, 1]
    assert [actual[p][1] for p in ("b over a", "c over b", "d over c")] == [0.25, 0.65, 1]


def test_cells_stand_in_their_row_and_column():
    figure = Figure(win_matrix_svg(SYSTEMS, WINS, TIES))
    actual = cells(figure)
    rows = [float(t.attrib["y"]) for p in figure.parts("row") for t in p.iter(f"{SVG}text")]
    columns = [float(t.attrib["x"]) for p in figure.parts("column") for t in p.iter(f"{SVG}text")]
    for row, a in enumerate(SYSTEMS):
        for column, b in enumerate(SYSTEMS):
            if (cell := actual.get(f"{a} over {b}")) is not None:
                assert cell[2] == pytest.approx(columns[column], abs=1)
                assert cell[3] == pytest.approx(rows[row], abs=6)


def test_many_systems_stay_legible():
    n = 59
    rng = np.random.default_rng(0)
    wins = rng.integers(0, 9, (n, n))
    names = [f"newstest2015.system-{k}.en-de" for k in range(n)]
    figure = Figure(win_matrix_svg(names, wins))
    assert figure.words("row") == names
    assert figure.words("number") == [str(k) for k in range(1, n + 1)]
    sizes = [
        float(t.get("font-size", 12)) for p in figure.parts("row") for t in p.iter(f"{SVG}text")
    ]
    assert min(sizes) >= 11
    y = [float(t.attrib["y"]) for p in figure.parts("row") for t in p.iter(f"{SVG}text")]
    assert np.diff(y).min() >= 11
    compared = (wins + wins.T > 0) & ~np.eye(n, dtype=bool)
    assert len(figure.tips()) == compared.sum()
    assert not figure.parts("on-cell"), "no numbers in cells that are too small for them"
    assert len(figure.svg) < 700_000
    more = Figure(win_matrix_svg([f"s{k}" for k in range(99)], np.ones((99, 99))))
    assert "The first 70 of 99 systems are drawn." in more.words("note")


def test_names_may_hold_anything():
    names = ["<b>&$x_1$", "\u202e\x00" + "x" * 5000, ""]
    svg = win_matrix_svg(names, WINS, TIES)
    figure = Figure(svg)
    assert "<b>" not in svg
    assert figure.words("row")[0] == "<b>&$x_1$"
    assert len(figure.words("row")[1]) < 60
    assert figure.words("row")[2] == "(empty)"
    assert svg == win_matrix_svg(names, WINS, TIES)


def test_nothing_to_draw():
    for svg in (
        win_matrix_svg([], np.zeros((0, 0))), win_matrix_svg(["a"], [[3]]),
        win_matrix_svg(["a", "b"], [[5, 0], [0, 5]]),
    ):  # fmt: skip
        assert Figure(svg).texts[0].startswith("nothing to draw: ")


@pytest.mark.parametrize(
    ("wins", "ties", "message"),
    [
        ([[0, 1]], None, "shape"),
        ([[0, -1], [1, 0]], None, "negative"),
        ([[0, 1], [1, 0]], [[0, 1], [2, 0]], "symmetric"),
    ],
)
def test_what_cannot_be(wins, ties, message):
    with pytest.raises(ValueError, match=message):
        win_matrix_svg(["a", "b"], wins, ties)
