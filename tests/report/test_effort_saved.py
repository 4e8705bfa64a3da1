"""What was saved: the numbers of Table 2, and bars that stand for them."""

from __future__ import annotations

import pytest

from annot_pipeline.report.figures import effort_saved_svg
from tests.report.figure_reader import Figure

TABLE_2 = {
    "outputs": 11_292, "collapsed": 4_622, "unique": 6_670, "by_reference": 2_372,
    "by_spread": 668, "asked": 3_630,
}  # fmt: skip


def test_table_2_of_the_paper():
    figure = Figure(effort_saved_svg(TABLE_2))
    assert figure.words("count") == [
        "11,292",
        "\u22124,622 (40.93% of the outputs)",
        "6,670",
        "\u22122,372 (35.56% of the vertices)",
        "\u2212668 (10.01% of the vertices)",
        "3,630 (32.15% of the outputs)",
    ]
    assert figure.words("note") == ["67.85% of asking about every output was saved."]


def test_bars_are_as_long_as_their_counts_and_go_on_where_the_last_ended():
    figure = Figure(effort_saved_svg(TABLE_2))
    box = {part: figure.boxes(part)[0] for part in TABLE_2}
    scale = (box["outputs"][2] - box["outputs"][0]) / TABLE_2["outputs"]
    for part, n in TABLE_2.items():
        left, _, right, _ = box[part]
        assert right - left == pytest.approx(n * scale, abs=0.02)
    for part in ("unique", "asked"):
        assert box[part][0] == box["outputs"][0]
    assert box["collapsed"][2] == box["outputs"][2]
    assert box["collapsed"][0] == box["unique"][2] == box["by_reference"][2]
    assert box["by_reference"][0] == box["by_spread"][2]
    assert box["by_spread"][0] == pytest.approx(box["asked"][2], abs=0.02)


def test_what_nobody_answered_is_a_step_of_its_own():
    counts = {"outputs": 10, "collapsed": 2, "by_reference": 3, "by_spread": 1, "asked": 2}
    figure = Figure(effort_saved_svg(counts))
    assert figure.words("step")[-2:] == ["not answered", "asked"]
    assert "\u22122 (25.00% of the vertices)" in figure.words("count")
    assert "not answered" not in Figure(effort_saved_svg(TABLE_2)).svg


def test_nothing_saved_and_all_saved():
    nothing = {"outputs": 3, "collapsed": 0, "by_reference": 0, "by_spread": 0, "asked": 3}
    figure = Figure(effort_saved_svg(nothing))
    assert figure.words("note") == ["0.00% of asking about every output was saved."]
    assert figure.boxes("collapsed") == []
    assert figure.boxes("asked")[0][2] == figure.boxes("outputs")[0][2]
    everything = nothing | {"by_reference": 3, "asked": 0}
    assert "100.00%" in Figure(effort_saved_svg(everything)).words("note")[0]
    none = dict.fromkeys(nothing, 0)
    assert Figure(effort_saved_svg(none)).texts == [
        "nothing to draw: no output has an absolute label"
    ]


@pytest.mark.parametrize(
    "change",
    [
        {"asked": 3_631}, {"unique": 6_671}, {"collapsed": 11_293}, {"by_spread": -1},
        {"extra": 1},
    ],
)  # fmt: skip
def test_counts_that_cannot_be(change):
    with pytest.raises(ValueError, match="counts"):
        effort_saved_svg(TABLE_2 | change)
    with pytest.raises(ValueError, match="missing"):
        effort_saved_svg({"outputs": 1})


def test_twice_the_same_bytes():
    assert effort_saved_svg(TABLE_2) == effort_saved_svg(dict(reversed(TABLE_2.items())))
