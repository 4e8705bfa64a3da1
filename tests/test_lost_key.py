"""The key of the judges' names: losing it never renames them in silence."""

from __future__ import annotations

import hmac
import json

import pytest

from annot_pipeline.cli import main
from annot_pipeline.commands.status import status
from annot_pipeline.config.campaign_file import load_campaign
from annot_pipeline.errors import StoreError
from annot_pipeline.storage.keys import fingerprint
from tests.audit.two_releases import EXPORT, MORE

OTHER = "another key, which is long enough too"


@pytest.fixture
def campaign(start_campaign, monkeypatch):
    monkeypatch.delenv("ANNOT_KEY")
    return start_campaign({"a.csv": EXPORT})


def test_a_lost_key_stops_the_build_and_no_other_is_made(build_campaign, campaign):
    key = campaign / "store" / "judge.key"
    kept = key.read_bytes()
    key.unlink()
    with pytest.raises(StoreError, match="the key of the judges' names in v0001") as error:
        build_campaign({"a.csv": EXPORT, "b.csv": MORE})
    assert not key.exists()
    assert f"restore {key}" in error.value.problems[0].do
    key.write_bytes(kept)
    changes = build_campaign({"a.csv": EXPORT, "b.csv": MORE}).publication.release.manifest[
        "changes"
    ]
    assert (changes["new_judgments"], changes["withdrawn_judgments"]) == (2, 0)
    assert (changes["added_exports"], changes["judges_have_other_names"]) == (1, False)


def test_another_key_is_refused_and_status_says_so(build_campaign, campaign, monkeypatch):
    monkeypatch.setenv("ANNOT_KEY", OTHER)
    with pytest.raises(StoreError, match="is missing") as error:
        build_campaign({"a.csv": EXPORT})
    assert error.value.problems[0].what == "$ANNOT_KEY is another key"
    state = status(load_campaign(campaign))
    assert (state["settings_changed"], state["build_due"]) == (None, None)
    assert state["not_compared"]["what"] == "$ANNOT_KEY is another key"


@pytest.mark.slow
def test_new_names_are_a_decision_and_are_told_as_such(
    build_campaign, campaign, monkeypatch, capsys
):
    monkeypatch.setenv("ANNOT_KEY", OTHER)
    built = build_campaign({"a.csv": EXPORT}, "privacy.new_key=true")
    manifest = built.publication.release.manifest
    changes = manifest["changes"]
    assert changes["judges_have_other_names"]
    judgments = {n: v for n, v in changes.items() if "judgments" in n}
    assert set(judgments.values()) == {None}
    assert (changes["new_labels"], changes["changed_labels"], changes["removed_labels"]) == (0,) * 3
    assert main(["releases", str(campaign)]) == 0
    assert "judges have other names" in capsys.readouterr().out
    # asked for once; the next build goes on with the new key, and has nothing to publish
    assert not build_campaign({"a.csv": EXPORT}).publication.published


@pytest.mark.slow
def test_the_fingerprint_is_published_and_the_decision_is_not(build_campaign):
    built = build_campaign({"a.csv": EXPORT}, "privacy.new_key=true")
    privacy = built.publication.release.manifest["settings"]["privacy"]
    secret = b"a key for tests, long enough to be one"
    key = hmac.digest(secret, b"annot campaign:small", "sha256")
    assert privacy["key_fingerprint"] == fingerprint(key)
    assert "new_key" not in json.dumps(built.publication.release.manifest)


@pytest.mark.slow
def test_names_that_are_no_pseudonyms_need_no_key(build_campaign, campaign):
    build_campaign({"a.csv": EXPORT}, "privacy.pseudonymize=false")
    (campaign / "store" / "judge.key").unlink()
    again = build_campaign({"a.csv": EXPORT}, "privacy.pseudonymize=false")
    assert again.publication.release.manifest["changes"]["new_judgments"] == 0
