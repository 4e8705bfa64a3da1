"""The JSON Schema of campaign.yaml, with the gates."""

from __future__ import annotations

import json
from typing import Any

from annot_pipeline.config.json_schema import Schema, campaign_schema
from annot_pipeline.gates import GATES, Gate


def schema_document() -> Schema:
    """Return the JSON Schema of campaign.yaml."""
    return campaign_schema({gate.name: _described(gate) for gate in GATES})


def schema_text() -> str:
    """Return the JSON Schema of campaign.yaml as published: indented, ASCII, one line end."""
    return json.dumps(schema_document(), indent=2) + "\n"


def _described(gate: Gate[Any]) -> str:
    """Return what a gate measures and its default levels."""
    levels = gate.levels(None)
    words = [
        f"warns above {levels.warn:g}" if levels.warn is not None else "never warns",
        f"fails above {levels.error:g}" if levels.error is not None else "never fails",
    ]
    question = gate.asks(levels)
    return f"{question[:1].upper()}{question[1:]}; by default {' and '.join(words)}."
