"""The JSON Schema of campaign.yaml says what the loader accepts, and describes every setting.

``UPDATE_DOCS=1 pytest tests/test_campaign_schema.py`` writes docs/campaign.schema.json.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from jsonschema import Draft7Validator
from ruamel.yaml import YAML

from annot_pipeline.cli import main
from annot_pipeline.commands.schema import schema_document, schema_text
from annot_pipeline.config.campaign_file import load_campaign
from annot_pipeline.config.json_schema import FIELD_DESCRIPTIONS
from annot_pipeline.contracts.descriptions import parameter_descriptions, summary
from annot_pipeline.errors import ConfigError
from annot_pipeline.gates import check_gate_names
from tests.recorded_pages import check_page

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "campaign.schema.json"
CAMPAIGN_PAGE = (ROOT / "docs" / "campaign.md").read_text()
SCHEMA = schema_document()
VALIDATOR = Draft7Validator(SCHEMA)
EXAMPLES = sorted((ROOT / "examples").glob("*/campaign.yaml"))
CASES = sorted((ROOT / "tests" / "cases").glob("*/campaign.yaml"))
LEAST = """
campaign: c
sources:
  - {path: x.csv, format: csv, fields: {judge: j, item: i, label: l}}
"""


def parse(text: str) -> object:
    return YAML(typ="safe", pure=True).load(text)


def accepts(text: str) -> bool:
    return VALIDATOR.is_valid(parse(text))


def loads(text: str, folder: Path) -> bool:
    (folder / "campaign.yaml").write_text(text)
    try:
        load_campaign(folder)
    except ConfigError:
        return False
    return True


def test_the_published_schema_is_up_to_date():
    check_page(PAGE, schema_text())


def test_the_command_prints_it(capsys):
    assert main(["schema"]) == 0
    assert capsys.readouterr().out == schema_text()


def test_it_is_a_schema():
    Draft7Validator.check_schema(SCHEMA)
    assert "$defs" not in schema_text()


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.parent.name)
def test_examples_are_valid(file):
    errors = [f"{e.json_path}: {e.message}" for e in VALIDATOR.iter_errors(parse(file.read_text()))]
    assert errors == []


def test_it_accepts_every_campaign_that_loads():
    n_loaded = 0
    for file in CASES:
        try:
            check_gate_names(load_campaign(file).settings.gates)
        except ConfigError:
            continue
        n_loaded += 1
        errors = list(VALIDATOR.iter_errors(parse(file.read_text(encoding="utf-8-sig"))))
        assert errors == [], file.parent.name
    assert n_loaded > 60


ADDED = {
    "list of judges": "judges: [{name: 'gpt-*', kind: model}]",
    "section of judges": "judges: {declared: [{name: 'gpt-*', kind: model}], use: models}",
    "Spark": "engine: {kind: spark, config: {spark: {executor: {cores: 2, memory: 2g}}}}",
    "gate": "gates: {rejected_share: {warn: 0.1, error: null}}",
    "tuple": "controlled_hits: {spacing: [40, 60]}",
    "null": "about: {title: null}",
    "regularized": "ranking: {regularize: 0.1}",
    "not regularized": "ranking: {regularize: none}",
    "whole number": "labels: {certain_at: 0.9}\nquality: {min_power: 0}",
}


@pytest.mark.parametrize("text", ADDED.values(), ids=ADDED)
def test_short_forms_are_valid(text, tmp_path):
    assert loads(LEAST + text, tmp_path)
    assert accepts(LEAST + text)


WRONG = {
    "unknown key": "sed: 3",
    "unknown key of a section": "quality: {tset: none}",
    "word": "next_hits: {design: easy}",
    "number as text": "seed: '3'",
    "text as number": "owners: [3]",
    "range": "labels: {certain_at: 0.5}",
    "list for a mapping": "about: [title]",
    "three for two": "controlled_hits: {spacing: [40, 50, 60]}",
    "label model": "label_model: majority",
    "judge": "judges: [{nam: x}]",
}


@pytest.mark.parametrize("text", WRONG.values(), ids=WRONG)
def test_mistakes_are_not_valid(text, tmp_path):
    assert not loads(LEAST + text, tmp_path)
    assert not accepts(LEAST + text)


def source(text: str) -> str:
    return "campaign: c\nsources:\n  - {path: x, " + text + "}\n"


FIELDS = "fields: {judge: j, item: i, label: l}"
SOURCES = {
    "format: hits": True,
    "format: hits, fields: {judge: {value: x}}": True,
    "format: csv": False,
    f"format: xls, {FIELDS}": False,
    "format: csv, fields: {judge: j, item: i, lable: l}": False,
    "format: csv, fields: {judge: j, item: {join: [a, {value: x}], sep: '-'}, label: l}": True,
    "format: csv, fields: {judge: j, item: {join: []}, label: l}": False,
    "format: csv, fields: {judge: j, item: i, label: {column: a, map: {x: y}, else: z}}": True,
    "format: csv, fields: {judge: j, item: i, label: {columm: a}}": False,
    "format: csv, fields: {judge: j, item: {row: true}, label: l}": True,
    "format: csv, fields: {judge: j, item: {row: false}, label: l}": False,
    f"format: csv, {FIELDS}, where: [{{column: a, in: [x]}}]": True,
    f"format: csv, {FIELDS}, where: [{{join: [a, b], not: [x]}}]": True,
    f"format: csv, {FIELDS}, where: [{{column: a, ni: [x]}}]": False,
    f"format: csv, {FIELDS}, where: [a]": False,
    f"format: csv, {FIELDS}, each: {{i: 0..9, k: [a, b]}}": True,
    f"format: csv, {FIELDS}, each: {{r: {{columns: 'r_*'}}, a: {{list: b}}}}": True,
    f"format: csv, {FIELDS}, each: {{i: 0-9}}": False,
    f"format: csv, {FIELDS}, each: {{i: [a, a]}}": False,
    f"format: csv, {FIELDS}, options: {{delimiter: '::'}}": False,
}


@pytest.mark.parametrize(("text", "valid"), SOURCES.items(), ids=SOURCES)
def test_sources_are_valid_as_the_loader_says(text, valid, tmp_path):
    assert loads(source(text), tmp_path) is valid
    assert accepts(source(text)) is valid


def settings(schema: dict[str, object], path: str) -> list[tuple[str, dict[str, object]]]:
    """Every property of a schema with its path."""
    rows = []
    for key, value in schema.items():
        if key in ("properties", "definitions") and isinstance(value, dict):
            for name, inner in value.items():
                rows += [(f"{path}.{name}", inner)] * (key == "properties")
                rows += settings(inner, f"{path}.{name}")
        elif isinstance(value, dict) and key not in ("if", "else"):
            rows += settings(value, path)
        elif isinstance(value, list):
            for inner in value:
                rows += settings(inner, path) if isinstance(inner, dict) else []
    return rows


def test_every_setting_is_described():
    rows = settings(SCHEMA, "campaign")
    assert len(rows) > 250
    blank = [name for name, schema in rows if not schema.get("description")]
    assert blank == []
    texts = [str(schema["description"]) for _, schema in rows]
    assert [text for text in texts if not re.match(r"[`A-Za-z0-9]", text)] == []
    assert [text for text in texts if not text.endswith(".")] == []


def test_fields_of_items_and_judgments_are_described_once():
    source_fields = SCHEMA["definitions"]["Source"]["properties"]["fields"]["properties"]
    item_fields = SCHEMA["definitions"]["ItemSource"]["properties"]["fields"]["properties"]
    assert source_fields.keys() | item_fields.keys() == FIELD_DESCRIPTIONS.keys()


def test_docstrings_are_read():
    text = """A model.

    More of it.

    Parameters
    ----------
    one
        First, over
        two lines.

        And a paragraph.
    two, three
        ``both``.

    Raises
    ------
    ValueError
        Never.
    """
    described = parameter_descriptions(text)
    assert described["one"] == "First, over two lines. And a paragraph."
    assert described["two"] == described["three"] == "`both`."
    assert summary(text) == "A model. More of it."
    assert (parameter_descriptions(None), summary(None)) == ({}, "")


def test_the_page_says_how_to_use_it():
    assert "annot schema > campaign.schema.json" in CAMPAIGN_PAGE
    (line,) = re.findall(r"^# (yaml-language-server: .*)$", CAMPAIGN_PAGE, re.MULTILINE)
    assert line == "yaml-language-server: $schema=campaign.schema.json"
    assert json.loads(PAGE.read_text()) == SCHEMA
