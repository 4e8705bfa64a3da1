"""The form that MTurk shows: HTML with a place for each text, and sliders.

All slots look alike: what is a control is in the bookkeeping, which the form does not show.
"""

from __future__ import annotations

import math
from decimal import Decimal
from importlib.resources import files

from annot_pipeline.exports.hit_bookkeeping import answer_name, plain_number
from annot_pipeline.hits.spreadsheet_safe import html_cell
from annot_pipeline.steps.hit_plan import Question

AT_ONCE = 10
"""Slots that stand on one page, to be compared; of more, one is shown at a time."""

POSITIONS = 100
"""A slider has at least as many."""


def mturk_layout(question: Question, n_slots: int, *, with_sources: bool) -> str:
    """The HTML to paste into an MTurk project.

    Parameters
    ----------
    question
        What is asked.
    n_slots
        Slots of a HIT.
    with_sources
        Whether a source is shown above each text.
    """
    low, high = (str(plain_number(level)) for level in question.scale)
    slots = "\n".join(_slot(question, slot, with_sources) for slot in range(1, n_slots + 1))
    template = files("annot_pipeline.hits").joinpath("layout.html").read_text(encoding="utf-8")
    filled = {"@LOW@": low, "@HIGH@": high, "@AT_ONCE@": str(AT_ONCE), "@SLOTS@": slots}
    for place, value in filled.items():  # the slots last: they hold names from outside
        template = template.replace(place, value)
    return template


def _slot(question: Question, slot: int, with_sources: bool) -> str:
    source = f'<div class="source">${{source_{slot}}}</div>' if with_sources else ""
    text = f'<div class="text">${{text_{slot}}}</div>'
    places: list[int | None] = [*range(1, len(question.criteria) + 1)] or [None]
    answers = "".join(_answer(question, slot, place) for place in places)
    return f'<section class="slot">{source}{text}{answers}</section>'


def _answer(question: Question, slot: int, place: int | None) -> str:
    low, high = (plain_number(level) for level in question.scale)
    criterion = "" if place is None else html_cell(question.criteria[place - 1])
    label = f"<b>{criterion}</b>" if criterion else ""
    spoken = f"Text {slot}" + (f", {criterion}" if criterion else "")
    step = slider_step(question.scale)
    stepped = "" if step == "1" else f' step="{step}"'
    return (
        f'<div class="answer">{label}<input type="number" name="{answer_name(slot, place)}" '
        f'min="{low}" max="{high}"{stepped} required aria-label="{spoken}"></div>'
    )


def slider_step(scale: tuple[float, float]) -> str:
    """The step of a slider, at most 1: a power of ten that both ends of the scale can reach."""
    low, high = (Decimal(repr(level)) for level in scale)
    width = high - low
    step = min(Decimal(1), Decimal(10) ** math.floor(math.log10(width / POSITIONS)))
    return format(step, "f") if width % step == 0 else "any"
