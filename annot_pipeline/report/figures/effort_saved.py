"""How much of asking about every output was saved."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from annot_pipeline.report.figures.names import counted, px_of
from annot_pipeline.report.figures.sheet import Sheet, new_sheet, nothing_svg
from annot_pipeline.report.figures.theme import BLUE, FAINT, GREEN, GREY, SMALL, VERMILLION, Color

KIND = "effort-saved"

GIVEN = ("outputs", "collapsed", "by_reference", "by_spread", "asked")
"""What is counted; vertices are outputs less those that collapsed."""

WIDTH, PITCH, BAR, TOP = 420.0, 30.0, 18.0, 20.0
"""Of the plot, from bar to bar, of a bar, and above the first, px."""

Step = tuple[str, str, float, float, Color, str]
"""Part, words, first, last, colour, and the sentence at the right of the bar."""


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
    outputs, collapsed, by_reference, by_spread, n_asked, rest = _checked(counts)
    if not outputs:
        return nothing_svg(KIND, "no output has an absolute label")
    unique = outputs - collapsed
    steps: list[Step] = [
        ("outputs", "outputs", 0, outputs, (GREY, 0.5), f"{outputs:,}"),
        ("collapsed", "equal to another", unique, outputs, GREY, _count_text(-collapsed, outputs)),
        ("unique", "vertices", 0, unique, (BLUE, 0.35), f"{unique:,}"),
        (
            "by_reference", "adequate by a reference", unique - by_reference, unique, GREEN,
            _count_text(-by_reference, unique, "vertices"),
        ),
        (
            "by_spread", "inadequate by spread", unique - by_reference - by_spread,
            unique - by_reference, VERMILLION, _count_text(-by_spread, unique, "vertices"),
        ),
        ("asked", "asked", 0, n_asked, BLUE, _count_text(n_asked, outputs)),
    ]  # fmt: skip
    if rest:
        description = _count_text(-rest, unique, "vertices")
        steps.insert(5, ("rest", "not answered", n_asked, n_asked + rest, FAINT, description))
    saved = f"{100 * (1 - n_asked / outputs):.2f}% of asking about every output was saved."
    description = f"{counted(outputs, 'output')}, {unique:,} vertices, {n_asked:,} asked. {saved}"
    x_left = 24 + px_of(*(words for _, words, *_ in steps))
    right = 20 + px_of(*(count_text for *_, count_text in steps), size=SMALL)
    bottom = TOP + PITCH * len(steps)
    with new_sheet(KIND, x_left + WIDTH + right, bottom + 28, description) as sheet:
        for row, step in enumerate(steps):
            _step(sheet, step, row, x_left, WIDTH / outputs)
        _joints(sheet, steps, x_left, WIDTH / outputs)
        sheet.note(bottom + 12, [saved])
        return sheet.svg()


def _checked(counts: Mapping[str, int]) -> tuple[int, int, int, int, int, int]:
    missing = [name for name in GIVEN if name not in counts]
    unknown = sorted(set(counts) - {*GIVEN, "unique"})
    if missing or unknown:
        raise ValueError(f"counts: missing {missing}, not known {unknown}")
    if wrong := {name: n for name, n in counts.items() if n < 0}:
        raise ValueError(f"counts below 0: {wrong}")
    outputs, collapsed, by_reference, by_spread, n_asked = (int(counts[name]) for name in GIVEN)
    unique = outputs - collapsed
    rest = unique - by_reference - by_spread - n_asked
    if unique < 0 or rest < 0 or counts.get("unique", unique) != unique:
        raise ValueError(f"counts do not add up: {dict(counts)}")
    return outputs, collapsed, by_reference, by_spread, n_asked, rest


def _count_text(n: int, total: int, noun: str = "outputs") -> str:
    sign = "\u2212" if n < 0 else ""
    share = f" ({100 * abs(n) / total:.2f}% of the {noun})" if total else ""
    return f"{sign}{abs(n):,}{share}"


def _step(sheet: Sheet, step: Step, row: int, x_left: float, scale: float) -> None:
    part, words, first, last, color, count_text = step
    y = TOP + PITCH * row
    sheet.text(x_left - 10, y + BAR / 2 + 4, words, anchor="right", part="step")
    if last > first:
        box = (x_left + scale * first, y, scale * (last - first), BAR)
        sheet.rectangles([box], color, part, tip=f"{words}: {count_text}")
    sheet.text(x_left + scale * last + 8, y + BAR / 2 + 4, count_text, size=SMALL, part="count")


def _joints(sheet: Sheet, steps: list[Step], x_left: float, scale: float) -> None:
    """Draw thin lines from where one bar ends to where the next one begins."""
    for row, (above, below) in enumerate(pairwise(steps)):
        at = above[2] if above[2] else below[3]
        x, y = x_left + scale * at, TOP + PITCH * row + BAR
        sheet.line([x, x], [y, y + PITCH - BAR], (GREY, 0.6), "joint")
