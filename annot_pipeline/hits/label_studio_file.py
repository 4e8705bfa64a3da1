"""Label Studio: a list of tasks, a HIT each, and the labeling configuration that shows them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

from annot_pipeline.exports.hit_bookkeeping import ANSWERS, NAME, answer_name, plain_number
from annot_pipeline.hits.batch import Platform
from annot_pipeline.hits.plan import PREFERRED, PlannedHit, TaskPlan, scale_of
from annot_pipeline.hits.spreadsheet_safe import NO_CHARACTER
from annot_pipeline.stages.planning.hit_plan import Question

POSITIONS = 100
"""A slider has at least as many."""

AT = "{{idx}}"
"""Where Label Studio puts the number of what it repeats, from 0."""

HEADERS = {
    "compare": "Which text is better? Only if you see no difference in quality, they are equal.",
    "label": "Choose what is true of each text.",
}
CARD = "border: 1px solid #ddd; border-radius: 8px; padding: 8px 16px; margin: 0 0 12px"
SIDE_BY_SIDE = (
    "display: grid; grid-template-columns: repeat(auto-fit, minmax(300px, 1fr)); gap: 12px"
)


def _write_task(task: TaskPlan, paths: Sequence[Path]) -> list[str]:
    tasks, config = paths
    config.write_text(labeling_config(task), encoding="utf-8", newline="\n")
    with tasks.open("w", encoding="utf-8", newline="\n") as file:
        between = "[\n"
        for planned in task.hits():
            data: dict[str, Any] = {NAME: planned.hit.document()}
            columns = {
                name: [NO_CHARACTER.sub("\ufffd", text or "") for text in texts]
                for name, texts in _columns(task, planned)
            }
            if task.question.ask == "score":
                for name, texts in columns.items():
                    data |= {f"{name}_{n}": text for n, text in enumerate(texts, start=1)}
            else:
                rows = zip(*columns.values(), strict=True)
                data["slots"] = [dict(zip(columns, row, strict=True)) for row in rows]
            line = json.dumps({"data": data}, ensure_ascii=False, allow_nan=False)
            file.write(between + line)
            between = ",\n"
        file.write("\n]\n")
    return []


def _columns(task: TaskPlan, planned: PlannedHit) -> Iterator[tuple[str, Sequence[str | None]]]:
    yield "text", planned.texts
    if task.question.ask == "compare":
        yield "text_b", planned.texts_b
    if task.has_sources:
        yield "source", planned.sources


def labeling_config(task: TaskPlan) -> str:
    """Return the configuration to paste into the project: a card a slot.

    Of scores the cards are written out, a number a score. HITs of choices differ in how many
    slots they have, so their card is repeated for each slot of the data.
    """
    if task.question.ask == "score":
        low, high = (plain_number(level) for level in scale_of(task.question))
        header = f"Score every text from {low} to {high}."
        cards = "\n".join(_card(task, slot) for slot in range(1, task.n_slots + 1))
    else:
        header = HEADERS[task.question.ask]
        cards = f'  <Repeater on="$slots" indexFlag="{AT}">\n{_choice_card(task)}\n  </Repeater>'
    return (
        "<View>\n"
        "  <Style>.htx-text { white-space: pre-wrap; }</Style>\n"
        f'  <Header value="{header}"/>\n'
        f"{cards}\n"
        "</View>\n"
    )


def _choice_card(task: TaskPlan) -> str:
    """Return a repeated slot; each attribute has its number once, which all releases can read."""
    question = task.question
    lines = [_text("source")] if task.has_sources else []
    if question.ask == "compare":
        lines.append(f'<View style="{SIDE_BY_SIDE}">')
        for name, header in (("text", "Text A"), ("text_b", "Text B")):
            lines.append(f'  <View><Header value="{header}" size="6"/>{_text(name)}</View>')
        lines.append("</View>")
        offered = PREFERRED
    else:
        lines.append(_text("text"))
        offered = tuple((str(n), label) for n, label in enumerate(question.labels, start=1))
    lines.append(
        f'<Choices name="{ANSWERS[question.ask]}_at_{AT}" toName="text_at_{AT}" '
        'choice="single-radio" showInline="true" required="true">'
    )
    lines += [f'  <Choice value={_value(title)} alias="{alias}"/>' for alias, title in offered]
    lines.append("</Choices>")
    return "\n".join([f'    <View style="{CARD}">', *(f"      {x}" for x in lines), "    </View>"])


def _text(name: str) -> str:
    return f'<Text name="{name}_at_{AT}" value="$slots[{AT}].{name}" valueType="text"/>'


def _card(task: TaskPlan, slot: int) -> str:
    lines = [f'    <Header value="{slot}" size="5"/>']
    if task.has_sources:
        lines.append(f'    <Text name="source_{slot}" value="$source_{slot}" valueType="text"/>')
    lines.append(f'    <Text name="text_{slot}" value="$text_{slot}" valueType="text"/>')
    if not task.question.criteria:
        lines.append(_number(task.question, slot, None))
    for position, criterion in enumerate(task.question.criteria, start=1):
        lines.append(f'    <Header value={_value(criterion)} size="6"/>')
        lines.append(_number(task.question, slot, position))
    return "\n".join([f'  <View style="{CARD}">', *lines, "  </View>"])


def _value(text: str) -> str:
    """Return a text as an attribute of the labelling interface.

    It has no ``$`` that would name a value of the task, and no number of what is repeated.
    """
    text = NO_CHARACTER.sub("\ufffd", text).replace("$", "\uff04")
    return quoteattr(text.replace("{{", "\uff5b\uff5b"))


def _number(question: Question, slot: int, position: int | None) -> str:
    low, high = (plain_number(level) for level in scale_of(question))
    return (
        f'    <Number name="{answer_name(slot, position)}" toName="text_{slot}" '
        f'min="{low}" max="{high}"{_slider(scale_of(question))} required="true"/>'
    )


def _slider(scale: tuple[float, float]) -> str:
    """Return ``slider`` and ``step``, as far as Label Studio can check them.

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
