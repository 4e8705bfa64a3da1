"""How much of asking about every output was saved."""

from __future__ import annotations

from collections.abc import Mapping

from annot_pipeline.errors import counted
from annot_pipeline.report.figures.base import BLUE, GREEN, GREY, VERMILLION, Color
from annot_pipeline.report.figures.plot import nothing_svg, row_plot, text_at_right
from annot_pipeline.report.figures.remembered import remembered

COUNTED = ("outputs", "collapsed", "by_reference", "by_spread", "asked")
"""What is counted; vertices are outputs less those that collapsed."""


@remembered
def effort_saved_svg(counts: Mapping[str, int]) -> str:
    """Draw how many questions the graph saves: from all outputs down to those asked.

    Pighin et al. 2012, Table 2, with its percentages: what collapsed is a share of the outputs,
    what was inferred one of the vertices, and what is saved one of the outputs.

    Parameters
    ----------
    counts
        ``outputs``; of these ``collapsed`` into the vertex of another, for they are equal to
        it; of the vertices that are left (``unique``, if it is given) those labelled
        ``by_reference``, those labelled ``by_spread`` of inadequacy, and those ``asked``. Where
        they do not make up all vertices, the rest is drawn as not answered.

    Raises
    ------
    ValueError
        If a count is missing, not known or negative, or parts exceed the whole.
    """
    missing = [name for name in COUNTED if name not in counts]
    unknown = sorted(set(counts) - {*COUNTED, "unique"})
    if missing or unknown:
        raise ValueError(f"counts: missing {missing}, not known {unknown}")
    if wrong := {name: n for name, n in counts.items() if n < 0}:
        raise ValueError(f"counts below 0: {wrong}")
    outputs, collapsed, by_reference, by_spread, n_asked = (int(counts[name]) for name in COUNTED)
    unique = outputs - collapsed
    rest = unique - by_reference - by_spread - n_asked
    if unique < 0 or rest < 0 or counts.get("unique", unique) != unique:
        raise ValueError(f"counts do not add up: {dict(counts)}")
    if not outputs:
        return nothing_svg("effort-saved", "no output has an absolute label")
    inferred = unique - by_reference
    steps: list[tuple[str, int, int, Color, str]] = [
        ("outputs", 0, outputs, GREY, f"{outputs:,}"),
        ("equal outputs", unique, collapsed, GREY, _share(-collapsed, outputs)),
        ("vertices", 0, unique, BLUE, f"{unique:,}"),
        ("by reference", inferred, by_reference, GREEN, _share(-by_reference, unique)),
        ("by spread", inferred - by_spread, by_spread, VERMILLION, _share(-by_spread, unique)),
        *([("not answered", n_asked, rest, GREY, _share(-rest, unique))] if rest else []),
        ("asked", 0, n_asked, BLUE, _share(n_asked, outputs)),
    ]  # fmt: skip
    saved = f"{100 * (1 - n_asked / outputs):.2f}% of asking about every output was saved."
    with row_plot(
        "effort-saved", [name for name, *_ in steps],
        f"{counted(outputs, 'output')}, {unique:,} vertices, {n_asked:,} asked. {saved}",
        pitch=28, right=112, part="step", notes=[
            saved, "Shares: of the vertices by reference (adequate), by spread (inadequate) and "
            "not answered; else of the outputs.",
        ],
    ) as plot:  # fmt: skip
        for row, (_, start, n, color, words) in enumerate(steps):
            plot.ax.barh(row, n, 0.65, start, color=color)
            text_at_right(plot.ax, row, words, "count")
        plot.ax.set_xlim(0, outputs)
        return plot.svg()


def _share(n: int, total: int) -> str:
    sign = "\u2212" if n < 0 else ""
    share = f" ({100 * abs(n) / total:.2f}%)" if total else ""
    return f"{sign}{abs(n):,}{share}"
