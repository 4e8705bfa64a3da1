"""`about` and `tasks.question`: what a release says of itself, which moves no number."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from annot_pipeline.config import Campaign
from annot_pipeline.config.campaign_file import load_campaign
from annot_pipeline.config.signature import release_settings, settings_document, settings_hash
from annot_pipeline.errors import ConfigError
from tests.full_campaign import ABOUT

SOURCE = {"path": "a.csv", "format": "csv", "fields": {"item": "i", "judge": "j", "label": "l"}}


def load(folder: Path, **settings: Any) -> Campaign:
    document = {"campaign": "c", "sources": [SOURCE]} | settings
    (folder / "campaign.yaml").write_text(json.dumps(document), encoding="utf-8")
    return load_campaign(folder).settings


def test_nothing_of_it_moves_a_number(tmp_path):
    task = {"name": "*", "kind": "categorical"}
    plain = load(tmp_path, tasks=[task])
    said = load(tmp_path, about=ABOUT, tasks=[task | {"question": "x?"}])
    assert settings_document(plain) == settings_document(said)
    assert "about" not in settings_document(said)
    assert settings_hash(plain, "k") != settings_hash(said, "k")  # but it has to be published
    told = release_settings(said)
    assert (told["about"], told["tasks"][0]["question"]) == (ABOUT, "x?")
    assert {**told, "about": None, "tasks": None} == {
        **release_settings(plain), "about": None, "tasks": None,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("about", "where", "said"),
    [
        ({"url": "javascript:alert(1)"}, "about.url", "not a web address"),
        ({"url": 'https://x.org/"><script>'}, "about.url", "not a web address"),
        ({"url": "example.org"}, "about.url", "https://example.org/data"),
        ({"languages": ["English"]}, "about.languages", "'English' is not a language tag"),
        ({"licence": "MIT"}, "about.licence", "unknown"),
        ({"creators": "Ada"}, "about.creators", "list"),
    ],
)
def test_what_it_cannot_be(about, where, said, tmp_path):
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, about=about)
    assert where in str(caught.value)
    assert said in str(caught.value)


@pytest.mark.parametrize("url", [ABOUT["url"], "http://localhost:8000/~me/#top"])
def test_addresses_of_the_web(url, tmp_path):
    assert load(tmp_path, about={"url": url}).about.url == url
