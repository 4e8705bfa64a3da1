"""Label Studio: a list of tasks, a HIT each, and the labeling configuration that shows them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

from annot_pipeline.exports.hit_bookkeeping import NAME, answer_name, plain_number
from annot_pipeline.hits.batch import Platform
from annot_pipeline.hits.plan import TaskPlan
from annot_pipeline.hits.spreadsheet_safe import NO_CHARACTER
from annot_pipeline.steps.hit_plan import Question

POSITIONS = 100
"""A slider has at least as many."""


def _write_task(task: TaskPlan, paths: Sequence[Path]) -> list[str]:
    tasks, config = paths
    config.write_text(labeling_config(task), encoding="utf-8", newline="\n")
    with tasks.open("w", encoding="utf-8", newline="\n") as file:
        between = "[\n"
        for planned in task.hits():
            data: dict[str, Any] = {NAME: planned.hit.document()}
            for name, texts in (("text", planned.texts), ("source", planned.sources)):
                if name == "text" or task.has_sources:
                    shown = [NO_CHARACTER.sub("\ufffd", text or "") for text in texts]
                    data |= {f"{name}_{n}": text for n, text in enumerate(shown, start=1)}
            line = json.dumps({"data": data}, ensure_ascii=False, allow_nan=False)
            file.write(between + line)
            between = ",\n"
        file.write("\n]\n")
    return []


def labeling_config(task: TaskPlan) -> str:
    """The configuration to paste into the project: a card a slot, a number a score."""
    cards = "\n".join(_card(task, slot) for slot in range(1, task.n_slots + 1))
    low, high = (plain_number(level) for level in task.question.scale)
    return (
        "<View>\n"
        "  <Style>.htx-text { white-space: pre-wrap; }</Style>\n"
        f'  <Header value="Score every text from {low} to {high}."/>\n'
        f"{cards}\n"
        "</View>\n"
    )


def _card(task: TaskPlan, slot: int) -> str:
    lines = [f'    <Header value="{slot}" size="5"/>']
    if task.has_sources:
        lines.append(f'    <Text name="source_{slot}" value="$source_{slot}" valueType="text"/>')
    lines.append(f'    <Text name="text_{slot}" value="$text_{slot}" valueType="text"/>')
    if not task.question.criteria:
        lines.append(_number(task.question, slot, None))
    for place, criterion in enumerate(task.question.criteria, start=1):
        lines.append(f'    <Header value={_value(criterion)} size="6"/>')
        lines.append(_number(task.question, slot, place))
    card = "border: 1px solid #ddd; border-radius: 8px; padding: 8px 16px; margin: 0 0 12px"
    return "\n".join([f'  <View style="{card}">', *lines, "  </View>"])


def _value(text: str) -> str:
    """A text as an attribute, with no ``$`` that would name a value of the task."""
    return quoteattr(NO_CHARACTER.sub("\ufffd", text).replace("$", "\uff04"))


def _number(question: Question, slot: int, place: int | None) -> str:
    low, high = (plain_number(level) for level in question.scale)
    return (
        f'    <Number name="{answer_name(slot, place)}" toName="text_{slot}" '
        f'min="{low}" max="{high}"{_slider(question.scale)} required="true"/>'
    )


def _slider(scale: tuple[float, float]) -> str:
    """``slider`` and ``step``, as far as Label Studio can check them.

    Its sliders move in steps of 1 unless told otherwise, and a step that is told must divide
    (value - min) with no remainder in floating point. Powers of two do that, those of ten do
    not. Where the lowest score is no multiple of such a step, a box to type in has to do.
    """
    low, high = map(Fraction, scale)
    if high - low >= POSITIONS:
        return ' slider="true"'
    step = Fraction(1)
    while (high - low) / step < POSITIONS:
        step /= 2
    if low % step or high % step:
        return ""
    return f' step="{float(step)!r}" slider="true"'


LABEL_STUDIO = Platform(
    "label_studio",
    ("hits-{}.json", "labeling_config-{}.xml"),
    _write_task,
    "make a Label Studio project with labeling_config-TASK.xml, import hits-TASK.json, and name "
    "its JSON export in campaign.yaml: {path: results/*.json, format: hits}; see docs/hits.md",
)
