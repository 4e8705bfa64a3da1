"""The reference of settings has every setting of campaign.yaml."""

from __future__ import annotations

import re
from pathlib import Path

from annot_pipeline.config import Campaign
from annot_pipeline.config.json_schema import FIELD_DESCRIPTIONS
from annot_pipeline.config.sources import CANONICAL_FIELDS
from tests.recorded_pages import check_page
from tests.reference.settings_page import SettingsPage, default_text, settings_page

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "settings.md"
ROW = re.compile(r"^\| `([^`]+)` \| (.*) \| (.*) \| (.*) \|$", re.MULTILINE)


def test_the_page_is_up_to_date():
    check_page(PAGE, settings_page())


def test_every_setting_is_on_it():
    page = settings_page()
    named = {re.split(r"\W", row[0])[0] for row in ROW.findall(page)}
    assert named == set(Campaign.model_fields)
    fields = page.partition("## Fields\n")[2].partition("\n## ")[0]
    names = re.findall(r"^\| `(\w+)` \|", fields, re.MULTILINE)
    assert set(names) == set(FIELD_DESCRIPTIONS) >= set(CANONICAL_FIELDS)


def test_names_are_unique_and_defaults_are_those_of_the_models():
    rows = {name: default for name, _, default, _ in ROW.findall(settings_page())}
    assert len(ROW.findall(settings_page())) == len(rows) > 130
    assert rows["campaign"] == rows["sources[].path"] == "required"
    assert rows["quality.test"] == "`paired_t`"
    assert rows["sources[].options.escape"] == "`''`"
    assert rows["controlled_hits.spacing"] == "`[40, 60]`"
    assert rows["quality.known_accuracy"] == "`null`"
    assert rows["gates.NAME.warn"] == "of the gate"


def test_values_are_described():
    page = SettingsPage({"definitions": {}, "properties": {}})
    assert page.values({"type": "integer", "minimum": 2}) == "whole number at least 2"
    assert page.values({"enum": ["a", "b"]}) == "`a`, `b`"
    assert page.values({"anyOf": [{"type": "string"}, {"type": "null"}]}) == "text, `null`"
    two = {"type": "array", "minItems": 2, "maxItems": 2, "items": {"type": "number"}}
    assert page.values(two) == "list of two: number"
    assert default_text({"default": '"'}) == "'\"'"
