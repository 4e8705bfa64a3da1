"""MTurk: a csv with a row a HIT, and the form that it fills.

The form is HTML with a place for each text, and sliders or radio buttons.

All slots look alike: what is a control is in the bookkeeping, which the form does not show. HITs
with fewer slots than the form are told by ``n_slots``: a script takes the others away.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from decimal import Decimal
from importlib.resources import files
from pathlib import Path

from annot_pipeline.exports.hit_bookkeeping import NAME, answer_name, plain_number
from annot_pipeline.hits.batch import Platform
from annot_pipeline.hits.plan import PREFERRED, PlannedHit, TaskPlan, scale_of
from annot_pipeline.hits.spreadsheet_safe import html_cell, json_cell
from annot_pipeline.stages.planning.hit_plan import Question

AT_ONCE = 10
"""Slots that stand on one page, to be compared; of more, one is shown at a time."""

PAIRS_AT_ONCE = 3
"""The same, of slots that are comparisons themselves."""

POSITIONS = 100
"""A slider has at least as many."""

USED = "n_slots"
"""The column that says how many slots a HIT has, where that is not the same for all."""

INSTRUCTIONS = {
    "score": "Read each text and score it from @LOW@ to @HIGH@ with its slider. Several texts may "
    "deserve the same score. Every text needs a score.",
    "compare": "Read both texts and say which one is better. Only if you see no difference in "
    "quality, say that they are about equal.",
    "label": "Read each text and choose what is true of it. Every text needs an answer.",
}
OPEN = {
    "score": "Please move every slider: a text has no score yet.",
    "compare": "Please choose: it is not said yet which text is better.",
    "label": "Please choose: a text has no answer yet.",
}


def mturk_layout(question: Question, n_slots: int, *, with_sources: bool) -> str:
    """Return the HTML to paste into an MTurk project.

    Parameters
    ----------
    question
        What is asked.
    n_slots
        Slots of the largest HIT.
    with_sources
        Whether a source is shown above each text.
    """
    ask = question.ask
    fields = "sliders" if ask == "score" else "choices"
    slots = "\n".join(_slot(question, slot, with_sources) for slot in range(1, n_slots + 1))
    low, high = (str(plain_number(level)) for level in question.scale or (0, 0))
    template = _template("layout.html")
    filled = {
        "@STYLE@": _template(f"layout_{fields}.css"),
        "@FIELDS@": _template(f"layout_{fields}.js"),
        "@USED@": "" if ask == "score" else f' data-slots="${{{USED}}}"',
        "@INSTRUCTIONS@": INSTRUCTIONS[ask],
        "@OPEN@": OPEN[ask],
        "@LOW@": low,
        "@HIGH@": high,
        "@AT_ONCE@": str(PAIRS_AT_ONCE if ask == "compare" else AT_ONCE),
        "@SLOTS@": slots,  # last: they hold names from outside
    }
    for position, value in filled.items():
        template = template.replace(position, value)
    return template


def _template(name: str) -> str:
    return files("annot_pipeline.hits").joinpath(name).read_text(encoding="utf-8").rstrip("\n")


def _slot(question: Question, slot: int, with_sources: bool) -> str:
    source = f'<div class="source">${{source_{slot}}}</div>' if with_sources else ""
    text = f'<div class="text">${{text_{slot}}}</div>'
    if question.ask == "compare":
        second = f'<div class="text">${{text_b_{slot}}}</div>'
        text = f"<div><b>Text A</b>{text}</div><div><b>Text B</b>{second}</div>"
        text = f'<div class="pair">{text}</div>'
        answers = _choices(slot, "compare", PREFERRED)
    elif question.ask == "label":
        named = [(str(n), html_cell(label)) for n, label in enumerate(question.labels, start=1)]
        answers = _choices(slot, "label", named)
    else:
        places: list[int | None] = [*range(1, len(question.criteria) + 1)] or [None]
        answers = "".join(_number(question, slot, position) for position in places)
    return f'<section class="slot">{source}{text}{answers}</section>'


def _choices(slot: int, ask: str, choices: Iterable[tuple[str, str]]) -> str:
    name = answer_name(slot, ask=ask)
    buttons = "".join(
        f'<label class="choice"><input type="radio" name="{name}" value="{value}" required> '
        f"{label}{f'<kbd>{n}</kbd>' if n < 10 else ''}</label>"
        for n, (value, label) in enumerate(choices, start=1)
    )
    return f'<div class="answer" role="radiogroup" aria-label="Question {slot}">{buttons}</div>'


def _number(question: Question, slot: int, position: int | None) -> str:
    low, high = (plain_number(level) for level in scale_of(question))
    criterion = "" if position is None else html_cell(question.criteria[position - 1])
    label = f"<b>{criterion}</b>" if criterion else ""
    spoken = f"Text {slot}" + (f", {criterion}" if criterion else "")
    step = slider_step(scale_of(question))
    stepped = "" if step == "1" else f' step="{step}"'
    return (
        f'<div class="answer">{label}<input type="number" name="{answer_name(slot, position)}" '
        f'min="{low}" max="{high}"{stepped} required aria-label="{spoken}"></div>'
    )


def slider_step(scale: tuple[float, float]) -> str:
    """Return the step of a slider, at most 1.

    It is a power of ten that both ends of the scale can reach.
    """
    low, high = (Decimal(repr(level)) for level in scale)
    width = high - low
    step = min(Decimal(1), Decimal(10) ** math.floor(math.log10(width / POSITIONS)))
    return format(step, "f") if width % step == 0 else "any"


LARGEST_QUESTION = 65_535
"""Bytes of HTML that MTurk takes for one HIT."""


def _write_task(task: TaskPlan, paths: Sequence[Path]) -> list[str]:
    csv, layout = paths
    html = mturk_layout(task.question, task.n_slots, with_sources=task.has_sources)
    layout.write_text(html, encoding="utf-8", newline="\n")
    names = _names(task)
    form = len(html.encode()) - sum(len(f"${{{name}}}") for name in names)
    too_large: list[str] = []
    with csv.open("w", encoding="utf-8", newline="") as file:
        file.write(_row([NAME, *names]))
        for planned in task.hits():
            cells = _shown(task, planned)
            file.write(_row([json_cell(planned.hit.document()).replace('"', '""'), *cells]))
            if form + sum(len(cell.encode()) for cell in cells) > LARGEST_QUESTION:
                too_large.append(planned.hit.hit)
    if not too_large:
        return []
    return [
        f"{len(too_large):,} HITs (the first is {too_large[0]}) make pages of more than "
        f"{LARGEST_QUESTION:,} bytes, which MTurk refuses; plan smaller HITs"
    ]


def _names(task: TaskPlan) -> list[str]:
    """Return columns beside the bookkeeping: of all slots that the largest HIT has."""
    places = range(1, task.n_slots + 1)
    names = [] if task.question.ask == "score" else [USED]
    names += [f"text_{n}" for n in places]
    names += [f"text_b_{n}" for n in places] if task.question.ask == "compare" else []
    return names + ([f"source_{n}" for n in places] if task.has_sources else [])


def _shown(task: TaskPlan, planned: PlannedHit) -> list[str]:
    """Return their cells; those of slots that the HIT does not have are blank."""
    n_used = len(planned.texts)
    unused = [""] * (task.n_slots - n_used)
    cells = [] if task.question.ask == "score" else [str(n_used)]
    columns = [planned.texts, planned.texts_b] if planned.texts_b else [planned.texts]
    if task.has_sources:
        columns.append(tuple(source or "" for source in planned.sources))
    for texts in columns:
        cells += [*map(html_cell, texts), *unused]
    return cells


def _row(cells: Iterable[str]) -> str:
    return ",".join(f'"{cell}"' for cell in cells) + "\n"


MTURK = Platform(
    "mturk",
    ("hits-{}.csv", "layout-{}.html"),
    _write_task,
    "make an MTurk project from layout-TASK.html, publish a batch with hits-TASK.csv, and name "
    "what MTurk gives back in campaign.yaml: {path: results/*.csv, format: hits}; see docs/hits.md",
)
