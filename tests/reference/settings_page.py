"""docs/reference/settings.md, from the JSON Schema of campaign.yaml."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from annot_pipeline.commands.schema import schema_document

Schema = dict[str, Any]

HEAD = """# Settings

All settings of `campaign.yaml`, by section. Only `campaign` and `sources` are required.
[campaign.yaml](../campaign.md) explains how to write the file, [mapping](../mapping.md) how columns
become judgments, [judge control](../judge_control.md) the tests of judges. `annot schema` prints
the same as a JSON Schema. A name with dots is nested: `quality.test` is `test` under `quality`.
`[]` stands for an entry of a list, `NAME` for a key that you choose.
"""
GATES = """The levels of gates, by gate. The [gates](gates.md) have their default levels.
"""
FIELDS = """The keys of `fields`. An item table maps only those marked in the second column.
A value is a column name or an [expression](#expressions).

| Field | In item tables | Means |
|---|---|---|
"""
EXPRESSION_KEYS = ("JoinExpression", "ConstantExpression", "CaptureExpression", "RowExpression")
FORMS = {
    "Expression": "a column or an [expression](#expressions)",
    "Condition": "[expression](#expressions) with `in` or `not`",
    "Each": "[see below](#several-records-per-row)",
    "SparkSettings": "text, number, true or false",
}
"""What stands for a definition that has a section of its own."""
LARGE = 2**53


class SettingsPage:
    """Writes the page of one schema."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.definitions: dict[str, Schema] = schema["definitions"]

    def lines(self) -> Iterator[str]:
        """Yield the lines of the page."""
        sections = self.schema["properties"]
        plain = {name: part for name, part in sections.items() if not self.model(part)}
        plain.pop("gates")
        yield HEAD
        yield "## General\n"
        yield from self.table("", plain, self.schema["required"])
        for name, part in sections.items():
            if name == "gates":
                yield f"## gates\n\n{GATES}"
                yield from self.table("gates.NAME.", *self.parts("Threshold"))
            elif model := self.model(part):
                yield f"## {name}\n\n{part['description']}\n"
                listed = "[]" if part.get("type") == "array" else ""
                yield from self.table(f"{name}{listed}.", *self.parts(model))
        yield f"## Fields\n\n{FIELDS}{self.fields()}"
        yield from self.expressions()

    def parts(self, model: str) -> tuple[dict[str, Schema], list[str]]:
        """Return the settings of a model, and the names of those that are required."""
        definition = self.definitions[model]
        return definition["properties"], definition.get("required", [])

    def model(self, part: Schema) -> str | None:
        """Return the name of the model of a setting: itself, its elements or its values."""
        rest = part.get("additionalProperties")
        values = [rest] if isinstance(rest, dict) else []
        inner = [part, part.get("items", {}), *part.get("allOf", []), *part.get("anyOf", [])]
        for option in inner + values:
            reference = option.get("$ref", "") if isinstance(option, dict) else ""
            if (name := reference.rpartition("/")[2]) and name not in FORMS:
                return name
        return None

    def table(self, prefix: str, parts: dict[str, Schema], required: list[str]) -> Iterator[str]:
        """Yield the table of some settings, those of nested sections included."""
        yield "| Setting | Values | Default | Means |\n|---|---|---|---|"
        yield from self.rows(prefix, parts, required)
        yield ""

    def rows(self, prefix: str, parts: dict[str, Schema], required: list[str]) -> Iterator[str]:
        for name, part in parts.items():
            path = f"{prefix}{name}"
            model = self.model(part)
            if path == "items[].options":
                cells = (f"`{path}`", "as `sources[].options`", "`{}`", part["description"])
                yield f"| {' | '.join(cells)} |"
                continue
            if model and name != "fields":
                steps = {"array": "[]", "object": ".NAME"}
                listed = any(option.get("type") == "array" for option in [part, *options(part)])
                step = "[]" if listed else steps.get(part.get("type", ""), "")
                yield from self.rows(f"{path}{step}.", *self.parts(model))
                continue
            default = "required" if name in required else f"`{default_text(part)}`"
            default = "of the gate" if path.startswith("gates.") else default
            values = "[fields](#fields)" if name == "fields" else self.values(part)
            cells = (f"`{path}`", values, default, part["description"])
            yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"

    def values(self, part: Schema) -> str:
        """Return which values a setting takes."""
        if name := part.get("$ref", "").rpartition("/")[2]:
            return FORMS[name]
        if "enum" in part:
            return ", ".join(f"`{word}`" for word in part["enum"])
        if "const" in part:
            return f"`{json.dumps(part['const']).strip(chr(34))}`"
        if found := part.get("allOf") or part.get("anyOf"):
            return ", ".join(dict.fromkeys(self.values(option) for option in found))
        kind = part.get("type")
        if kind == "array":
            each = self.values(part.get("items", {}))
            if part.get("minItems") == part.get("maxItems") == 2:
                return f"list of two: {each}"
            return f"list: {each}"
        if kind == "object":
            each = self.values(part["additionalProperties"])
            return f"mapping: {each}"
        names = {"string": "text", "boolean": "`true`, `false`", "null": "`null`",
                 "integer": "whole number", "number": "number"}  # fmt: skip
        return names[str(kind)] + range_text(part)

    def fields(self) -> str:
        """Return the rows of the canonical fields."""
        source, item = (
            self.definitions[name]["properties"]["fields"]["properties"]
            for name in ("Source", "ItemSource")
        )
        rows = []
        for name, part in (source | item).items():
            where = "" if name not in item else "yes" if name in source else "only"
            rows.append(f"| `{name}` | {where} | {part['description']} |")
        return "\n".join(rows) + "\n"

    def expressions(self) -> Iterator[str]:
        """Yield the sections of expressions and of `each`."""
        yield "## Expressions\n"
        yield "What a field may be other than the name of a column. [Examples](../mapping.md).\n"
        yield "| Key | Values | Means |\n|---|---|---|"
        shown: dict[str, str] = {}
        for model in ("ColumnExpression", *EXPRESSION_KEYS, "Condition"):
            for name, part in self.expression_parts(model).items():
                cells = (f"`{name}`", self.values(part), part["description"])
                row = "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
                shown.setdefault(name, row)
        yield from shown.values()
        yield "\n## Several records per row\n"
        yield "What the values of `sources[].each` may be, by variable.\n"
        yield "| Form | Makes a record for |\n|---|---|"
        for option in self.definitions["Each"]["anyOf"]:
            if name := option.get("$ref", "").rpartition("/")[2]:
                keys = ", ".join(f"`{key}`" for key in self.definitions[name]["properties"])
                yield f"| {keys} | {self.definitions[name]['description']} |"
            else:
                form = "`0..9`" if option["type"] == "string" else "`[a, b]`"
                yield f"| {form} | {option['description']} |"

    def expression_parts(self, model: str) -> dict[str, Schema]:
        """Return the keys of an expression or condition."""
        definition = self.definitions[model]
        options = definition.get("anyOf", [definition])
        return {name: part for option in options for name, part in option["properties"].items()}


def options(part: Schema) -> list[Schema]:
    return [option for option in part.get("anyOf", []) if isinstance(option, dict)]


def range_text(part: Schema) -> str:
    """Return the range of a number, in words."""
    words = {"minimum": "at least", "exclusiveMinimum": "above", "maximum": "at most",
             "exclusiveMaximum": "below"}  # fmt: skip
    bounds = [
        f"{word} {number(part[key])}"
        for key, word in words.items()
        if key in part and part[key] < LARGE
    ]
    return (" " + " and ".join(bounds)) if bounds else ""


def number(value: float) -> str:
    """Return a bound with its digits."""
    return f"{value:,.0f}" if value == int(value) and value < 10**12 else f"{value:g}"


def default_text(part: Schema) -> str:
    """Return the default of a setting as campaign.yaml has it."""
    if "default" in part:
        value = part["default"]
        if isinstance(value, str) and value.strip('"'):
            return value
        return f"'{value}'" if isinstance(value, str) else json.dumps(value)
    return "{}" if part.get("type") == "object" else "null"


def settings_page() -> str:
    """Return the page."""
    return "\n".join(SettingsPage(schema_document()).lines()).rstrip() + "\n"
