"""Releases of an earlier annot-pipeline, which knew fewer settings: compared, and built again."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from annot_pipeline.audit.verify.everything import verify
from annot_pipeline.cli import main
from annot_pipeline.config import Campaign
from annot_pipeline.config.campaign_file import kept_settings, load_campaign
from annot_pipeline.config.signature import digest, release_settings, settings_hash
from annot_pipeline.contracts import SCHEMA_VERSION
from annot_pipeline.storage.keys import derive, present_key
from tests.audit.two_releases import KEY, build, manifest_of, rewrite

NEW = ("tolerance", "max_parameters")
"""Settings of ``dawid_skene`` that the earlier version did not know."""


def released_key(settings: Campaign, folder: Path) -> bytes:
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("ANNOT_KEY", KEY)
        key = present_key(settings, folder / "store")
    assert key
    return key


@pytest.fixture(scope="module")
def upgraded(built, tmp_path_factory) -> Path:
    """A campaign whose first release is one of a version before calibration, of schema 2."""
    folder = shutil.copytree(built, tmp_path_factory.mktemp("upgraded") / "campaign")
    store = folder / "store" / "settings"
    [kept] = store.iterdir()
    settings = load_campaign(folder).settings
    document = release_settings(settings)
    for name in NEW:
        del document["dawid_skene"][name]
    document["privacy"] = {
        "pseudonymize": True, "key": derive(released_key(settings, folder), "fingerprint"),
    }  # fmt: skip
    whole = json.loads(kept.read_text())
    for name in NEW:
        del whole["dawid_skene"][name]
    (store / f"{digest(document)}.json").write_text(json.dumps(whole))

    def earlier(manifest):
        manifest["settings_hash"] = digest(document)
        manifest["schema_version"] = 2
        for name in NEW:
            del manifest["settings"]["dawid_skene"][name]

    rewrite(folder, "v0001", earlier)
    return folder


def test_what_was_not_known_is_no_part_of_the_hash(upgraded):
    settings = load_campaign(upgraded).settings
    kept = settings.model_dump(mode="json", by_alias=True)
    assert settings_hash(settings, "k", kept) == settings_hash(settings, "k")
    del kept["dawid_skene"]["max_parameters"]
    assert settings_hash(settings, "k", kept) != settings_hash(settings, "k")
    whole = release_settings(settings)
    assert release_settings(settings, kept)["dawid_skene"] == {
        name: value for name, value in whole["dawid_skene"].items() if name != "max_parameters"
    }
    del kept["dawid_skene"], kept["easl"]["margin"], kept["sources"][0]["format"]
    told = release_settings(settings, kept)
    assert "dawid_skene" in whole
    assert list(told) == [name for name in whole if name not in ("dawid_skene", "easl.margin")]
    assert "format" in whole["sources"][0]
    assert "format" not in told["sources"][0]


def test_settings_that_are_retired_stay_part_of_the_hash(upgraded):
    """A store of a version that had them: they are read past, and its release is known again."""
    settings = load_campaign(upgraded).settings
    kept = settings.model_dump(mode="json", by_alias=True)
    plain = settings_hash(settings, "k", kept)
    kept["dawid_skene"] |= {"pooling": "held_out", "temper": 0.5}
    assert kept_settings(json.dumps(kept), "kept") == settings
    published = release_settings(settings, kept)["dawid_skene"]
    assert list(published.items())[-2:] == [("pooling", "held_out"), ("temper", 0.5)]
    assert settings_hash(settings, "k", kept) != plain


def test_it_is_compared_with_causes(upgraded, monkeypatch, capsys):
    monkeypatch.setenv("ANNOT_KEY", KEY)
    assert main(["diff", str(upgraded), "v0001", "v0002", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["causes_found"]
    assert {s["path"] for s in document["inputs"]["settings"]} == {
        "dawid_skene.tolerance", "dawid_skene.max_parameters",
    }  # fmt: skip
    assert {"what": "schema of the tables", "old": "2", "new": str(SCHEMA_VERSION)} in (
        document["inputs"]["code"]
    )
    assert {cause for row in document["rows"] for cause in row["causes"]} == {"new judgments"}


@pytest.mark.slow
def test_it_is_compared_where_the_key_is_another(upgraded, monkeypatch, capsys):
    monkeypatch.setenv("ANNOT_KEY", "another key for tests, long enough to be one")
    assert main(["diff", str(upgraded), "v0001", "v0002"]) == 0
    assert "  dawid_skene.max_parameters  " in capsys.readouterr().out


def test_tables_of_another_schema_are_not_made_again(upgraded, monkeypatch):
    monkeypatch.setenv("ANNOT_KEY", KEY)
    document = verify(load_campaign(upgraded), "v0001", rebuild=True)
    [rebuilt] = document["rebuilt"]
    assert (rebuilt["tables"], rebuilt["other_code"]) == (0, [f"schema 2, now {SCHEMA_VERSION}"])
    [finding] = [f for f in document["findings"] if "compared" in f["what"]]
    assert "tables of schema 2" in finding["what"]
    assert "annot diff" in finding["do"]


def test_settings_that_were_edited_are_not_trusted(upgraded, monkeypatch, capsys):
    monkeypatch.setenv("ANNOT_KEY", KEY)
    wanted = manifest_of(upgraded, "v0001")["settings_hash"]
    path = upgraded / "store" / "settings" / f"{wanted}.json"
    text = path.read_text()
    path.write_text(text.replace('"smoothing": 0.01', '"smoothing": 0.5'))
    assert path.read_text() != text
    try:
        assert main(["diff", str(upgraded), "v0001", "v0002"]) == 1
    finally:
        path.write_text(text)
    assert "are not those of then" in capsys.readouterr().err


def test_the_next_build_publishes_on(upgraded, monkeypatch):
    monkeypatch.setenv("ANNOT_KEY", KEY)
    build(upgraded, {"a.csv": "item,judge,label\ni0,w0,a\ni0,w1,a\n"})
    assert manifest_of(upgraded, "v0003")["parent"]["version"] == "v0002"
