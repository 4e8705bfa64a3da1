"""Descriptions of settings, read from the docstrings of their models, and of canonical fields."""

from __future__ import annotations

import inspect
import re

from pydantic import BaseModel

PARAMETERS_HEADING = re.compile(r"^Parameters\n-{3,}\n", re.MULTILINE)
PARAMETER = re.compile(r"^(?P<names>\w+(?:, \w+)*)\n(?P<text>(?:(?: {4}.*)?\n)+)", re.MULTILINE)

FIELD_DESCRIPTIONS = {
    "task": "What was asked. Without it, the task is the campaign's name.",
    "judge": "Who judged.",
    "item": "What was judged. Without it, the item is segment/system, % and / percent-encoded.",
    "system": "System whose output was judged.",
    "segment": "Input that several systems worked on.",
    "document": "Document that the segment belongs to. Intervals and tests of systems then count "
    "documents instead of segments.",
    "criterion": "Which of several criteria was judged.",
    "label": "The label that the judge gave.",
    "votes": "How many unnamed judges gave the label.",
    "score": "The score that the judge gave.",
    "item_a": "First item of a pair.",
    "item_b": "Second item of a pair.",
    "system_a": "System of the first output of a pair.",
    "system_b": "System of the second output of a pair.",
    "preference": "Which of a pair is better: a, b or tie.",
    "winner": "Name of the better item or system of a pair.",
    "strength": "How much better one of a pair is, on the scale of strength.",
    "ranking": "Which ranking the record is part of.",
    "rank": "Rank of the item in the ranking; 1 is the best.",
    "rank_a": "Rank of the first item of a pair.",
    "rank_b": "Rank of the second item of a pair.",
    "hit": "HIT: the unit of work in which the judgment was made.",
    "position": "Position of the judgment in its HIT.",
    "control": "Kind of control: none, ask_again, bad_reference, good_reference, known_answer, "
    "adjudication or audit.",
    "control_of": "Item, or native_id of the ordinary judgment, that the control belongs to; of an "
    "audit, its sample.",
    "truth": "The known right answer.",
    "native_id": "Identifier of the judgment in the export. Equal rows with one identifier are one "
    "judgment.",
    "status": "Status of the assignment. Judgments with the status Rejected are dropped.",
    "submitted_at": "When the judgment was submitted.",
    "seconds": "Seconds that the judgment took.",
    "hit_seconds": "Seconds that the HIT took.",
    "why": "The expert's reason for an adjudication.",
    "reward": "What the assignment was paid, such as 0.05 USD.",
    "judge_version": "Version of the model that judged.",
    "judge_prompt": "Prompt of the model that judged, or what identifies it.",
    "judge_temperature": "Temperature of the model that judged.",
    "selection_probability": "Probability with which people were asked about the item, above 0 "
    "and up to 1. That of an item table takes precedence.",
    "text": "Text of the item, of judgments as the judge saw it.",
    "source": "Source text of the item.",
    "reference": "Reference text of the item.",
}
"""Canonical fields of judgments and of items."""


def summary(docstring: str | None) -> str:
    """Return what a docstring says before its parameters, as one paragraph."""
    text = PARAMETERS_HEADING.split(inspect.cleandoc(docstring or ""))[0]
    return _plain(text)


def parameter_descriptions(docstring: str | None) -> dict[str, str]:
    """Return the descriptions of a numpy docstring's parameters by name."""
    _, *sections = PARAMETERS_HEADING.split(inspect.cleandoc(docstring or ""))
    return {
        name: _plain(match["text"])
        for section in sections[:1]
        for match in PARAMETER.finditer(section + "\n")
        for name in match["names"].split(", ")
    }


def setting_descriptions(model: type[BaseModel]) -> dict[str, str]:
    """Return the descriptions of a model's settings, named as campaign.yaml names them."""
    described: dict[str, str] = {}
    for base in reversed(model.__mro__):
        described |= parameter_descriptions(base.__doc__)
    return {
        info.alias or name: described[name]
        for name, info in model.model_fields.items()
        if name in described
    }


def _plain(text: str) -> str:
    return " ".join(text.replace("``", "`").split())
