"""JSON Schema of campaign.yaml with descriptions, for editors: it accepts what is loaded.

Draft 7, which all editors know. Rules between settings, such as which test needs which contrast,
are not in it: `annot validate` checks those.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, get_args

from pydantic import BaseModel

from annot_pipeline.config.campaign import Campaign
from annot_pipeline.config.expressions import TAGS
from annot_pipeline.config.sources import FieldName, ItemFieldName
from annot_pipeline.config.strict_section import Section
from annot_pipeline.contracts.descriptions import parameter_descriptions, summary
from annot_pipeline.methods.labels.models import LABEL_MODELS

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


Schema = dict[str, Any]

DRAFT = "http://json-schema.org/draft-07/schema#"
EXPRESSION_KINDS = tuple(model.__name__ for model in TAGS)
RANGE = r"^[0-9]{1,9}\.\.[0-9]{1,9}$"
STRINGS: Schema = {"type": "array", "items": {"type": "string"}}


def campaign_schema(gates: Mapping[str, str]) -> Schema:
    """Return the JSON Schema of campaign.yaml.

    Parameters
    ----------
    gates
        Descriptions of gates by name: the keys that ``gates`` may have.
    """
    document = Campaign.model_json_schema()
    definitions = document.pop("$defs")
    models = {model.__name__: model for model in _subclasses(Section)}
    for name, definition in definitions.items():
        _describe(definition, models[name])
    _describe(document, Campaign)
    _add_short_forms(document, definitions)
    document["properties"]["label_model"]["enum"] = list(LABEL_MODELS)
    document["properties"]["gates"] = {
        "description": document["properties"]["gates"]["description"],
        "type": "object",
        "properties": {
            name: {"$ref": "#/$defs/Threshold", "description": text} for name, text in gates.items()
        },
        "additionalProperties": False,
    }
    head = {"$schema": DRAFT, "title": "campaign.yaml of annot-pipeline"}
    body: Schema = _draft_7(document | {"definitions": definitions})
    return head | {key: value for key, value in body.items() if key != "title"}


def _subclasses(model: type[Section]) -> Iterator[type[Section]]:
    for inner in model.__subclasses__():
        yield inner
        yield from _subclasses(inner)


def _describe(definition: Schema, model: type[Section]) -> None:
    """Add the texts of a model's docstring to its schema."""
    definition["description"] = summary(model.__doc__)
    for name, text in setting_descriptions(model).items():
        definition["properties"][name]["description"] = text


def _add_short_forms(document: Schema, definitions: dict[str, Schema]) -> None:
    """Add what validators of the models accept, which pydantic's schema does not know."""
    definitions["Expression"] = {
        "description": "How a field is made from the columns of an export.",
        "anyOf": [
            {"type": "string", "description": "Name of a column."},
            *({"$ref": f"#/$defs/{name}"} for name in EXPRESSION_KINDS),
        ],
    }
    definitions["JoinExpression"]["properties"]["join"]["items"] = {"$ref": "#/$defs/Expression"}
    definitions["Condition"] = _condition(definitions)
    definitions["Each"] = {
        "anyOf": [
            {"type": "string", "pattern": RANGE, "description": "Range of numbers, such as 0..9."},
            STRINGS | {"minItems": 1, "uniqueItems": True, "description": "Values."},
            *(
                {"$ref": f"#/$defs/{name}"}
                for name in ("EachElement", "EachKey", "EachColumn", "EachBestWorst")
            ),
        ]
    }
    source, item_source = definitions["Source"], definitions["ItemSource"]
    source["properties"]["each"]["additionalProperties"] = {"$ref": "#/$defs/Each"}
    _name_fields(source, get_args(FieldName))
    _name_fields(item_source, get_args(ItemFieldName))
    source["required"].remove("fields")
    source["if"] = {"properties": {"format": {"const": "hits"}}}
    source["else"] = {"required": ["fields"]}
    definitions["SparkSettings"] = {
        "anyOf": [
            {"type": ["string", "number", "boolean"]},
            {"type": "object", "additionalProperties": {"$ref": "#/$defs/SparkSettings"}},
        ]
    }
    config = definitions["Engine"]["properties"]["config"]
    config["additionalProperties"] = {"$ref": "#/$defs/SparkSettings"}
    definitions["Labels"]["properties"]["certain_at"] |= {
        "exclusiveMinimum": 0.5,
        "exclusiveMaximum": 1,
    }
    definitions["Judges"]["properties"]["table"] = {
        "description": "CSV file of more judges, relative to campaign.yaml, one row per judge.",
        "type": "string",
    }
    judges = document["properties"]["judges"]
    declared = {"type": "array", "items": {"$ref": "#/$defs/JudgeSettings"}}
    document["properties"]["judges"] = {
        "description": judges["description"],
        "anyOf": [{"$ref": "#/$defs/Judges"}, declared],
    }


def _name_fields(source: Schema, names: Iterable[str]) -> None:
    """Give the property ``fields`` of a source its keys, each with a description."""
    source["properties"]["fields"] = {
        "description": source["properties"]["fields"]["description"],
        "type": "object",
        "properties": {
            name: {"$ref": "#/$defs/Expression", "description": FIELD_DESCRIPTIONS[name]}
            for name in names
        },
        "additionalProperties": False,
    }


def _condition(definitions: Mapping[str, Schema]) -> Schema:
    """Return the schema of a condition: an expression with ``in`` and ``not`` beside its keys."""
    written = definitions["Condition"]
    lists = {name: written["properties"][name] for name in ("in", "not")}
    kinds = [definitions[name] for name in EXPRESSION_KINDS]
    return {
        "description": written["description"],
        "type": "object",
        "anyOf": [kind | {"properties": kind["properties"] | lists} for kind in kinds],
    }


def _draft_7(node: Any) -> Any:
    """Return a schema of pydantic's as draft 7, without generated titles and long defaults."""
    if isinstance(node, list):
        return [_draft_7(inner) for inner in node]
    if not isinstance(node, dict):
        return node
    schema: Schema = {}
    for key, value in node.items():
        if key in ("properties", "definitions"):
            schema[key] = {name: _draft_7(inner) for name, inner in value.items()}
        elif key == "prefixItems":
            schema["items"] = _draft_7(value[0])
        elif key == "$ref":
            schema["$ref"] = value.replace("#/$defs/", "#/definitions/")
        elif key != "title" and not (key == "default" and isinstance(value, dict | None)):
            schema[key] = _draft_7(value)
    if len(schema) > 1 and "$ref" in schema:  # draft 7 ignores what is written beside a $ref
        schema["allOf"] = [{"$ref": schema.pop("$ref")}]
    return schema
