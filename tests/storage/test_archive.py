"""The archive of raw bytes, the order of exports, and the key of pseudonyms."""

from __future__ import annotations

import hashlib
import hmac
import json
import stat

import pytest

from annot_pipeline.config import Campaign
from annot_pipeline.config.campaign_file import kept_settings
from annot_pipeline.errors import ConfigError, StoreError
from annot_pipeline.storage.archive import archive_file, archived, find_exports, natural_key
from annot_pipeline.storage.keys import (
    derive,
    exposed_secrets,
    judge_key,
    pseudonym,
)


def test_natural_order():
    names = ["night-10.csv", "night-2.csv", "night-02.csv", "Night-1.csv", "a/b.csv"]
    assert sorted(names, key=natural_key) == [
        "Night-1.csv", "a/b.csv", "night-02.csv", "night-2.csv", "night-10.csv",
    ]  # fmt: skip


def test_globs_are_relative_to_the_campaign_and_may_go_up(tmp_path):
    (tmp_path / "data" / "deep").mkdir(parents=True)
    for name in ("b.csv", "a.csv", "deep/c.csv", "d.txt"):
        (tmp_path / "data" / name).write_text(name)
    (tmp_path / "campaign").mkdir()
    folder = tmp_path / "campaign"

    def actual(pattern):
        return [e.relative for e in find_exports(folder, pattern, where="x")]

    assert actual("../data/*.csv") == ["../data/a.csv", "../data/b.csv"]
    assert actual("../data/**/*.csv") == ["../data/a.csv", "../data/b.csv", "../data/deep/c.csv"]
    assert actual("../data/d.txt") == ["../data/d.txt"]
    assert actual(str(tmp_path / "data" / "a.csv")) == ["../data/a.csv"]
    with pytest.raises(ConfigError) as error:
        actual("../data/*.json")
    assert "no file matches ../data/*.json" in str(error.value)
    assert "a.csv" in str(error.value)  # what lies there instead


def test_bytes_are_kept_once_by_their_digest(tmp_path):
    export = tmp_path / "a.csv"
    export.write_bytes(b"item\xff\n")
    digest, size = archive_file(export, tmp_path / "archive")
    assert (digest, size) == (hashlib.sha256(b"item\xff\n").hexdigest(), 6)
    assert archived(tmp_path / "archive", digest).read_bytes() == b"item\xff\n"
    export.write_bytes(b"other")
    archive_file(export, tmp_path / "archive")
    archive_file(export, tmp_path / "archive")
    kept = [p for p in (tmp_path / "archive").rglob("*") if p.is_file()]
    assert len(kept) == 2


SECRET = "a secret of more than 32 characters"


def named(campaign: str) -> Campaign:
    """Return settings of a campaign whose secret is in $SOME_KEY."""
    source = {"path": "a.csv", "format": "csv", "fields": dict.fromkeys(FIELDS, "x")}
    document = {"campaign": campaign, "sources": [source], "privacy": {"key_env": "SOME_KEY"}}
    return kept_settings(json.dumps(document), campaign)


FIELDS = ("item", "judge", "label")


def test_the_key_comes_from_the_environment_or_is_made_once(tmp_path, monkeypatch):
    made = judge_key(named("one"), tmp_path)
    assert judge_key(named("one"), tmp_path) == made
    assert judge_key(named("other"), tmp_path) != made
    assert len(made) >= 32
    assert stat.S_IMODE((tmp_path / "judge.key").stat().st_mode) == 0o600
    monkeypatch.setenv("SOME_KEY", SECRET)
    key = hmac.digest(SECRET.encode(), b"annot campaign:one", "sha256")
    assert judge_key(named("one"), tmp_path) == key


WEAK = {
    "x": "1 byte; at least 32",
    "a" * 40: "only 1 different character",
    "31 bytes of a secret are too few"[:31]: "31 bytes; at least 32",
    "abcdefghi" * 4 + "a": "only 9 different characters",
    "abcdefgh" * 4: "only 8 different characters",
    "a secret of 20 chars" * 2: "20 characters repeated",
    "a secret of 20 chars" * 2 + "a sec": "20 characters repeated",
}


@pytest.mark.parametrize("weak", WEAK)
def test_a_secret_that_can_be_guessed_is_refused(tmp_path, monkeypatch, weak):
    monkeypatch.setenv("SOME_KEY", weak)
    with pytest.raises(StoreError, match=r"(?s)can be guessed.*SOME_KEY.*token_hex") as error:
        judge_key(named("one"), tmp_path)
    assert WEAK[weak] in str(error.value)
    assert "10 of them different, and no shorter text repeated" in str(error.value)


@pytest.mark.parametrize("made", ["9f86d081884c7d659a2feaa0c55ad015", SECRET])
def test_a_secret_that_cannot_be_guessed_is_taken(tmp_path, monkeypatch, made):
    monkeypatch.setenv("SOME_KEY", made)
    assert judge_key(named("one"), tmp_path)


def test_files_that_others_can_open_are_named(tmp_path):
    judge_key(named("one"), tmp_path)
    tmp_path.chmod(0o755)
    (tmp_path / "judge.key").chmod(0o644)
    assert exposed_secrets(named("one").privacy, tmp_path) == [
        "store has mode 755: other users can open it",
        "store/judge.key has mode 644: other users can open it",
    ]
    tmp_path.chmod(0o700)
    (tmp_path / "judge.key").chmod(0o600)
    assert exposed_secrets(named("one").privacy, tmp_path) == []


def test_a_damaged_key_is_refused(tmp_path):
    (tmp_path / "judge.key").write_bytes(b"")
    with pytest.raises(StoreError, match="damaged"):
        judge_key(named("one"), tmp_path)


def test_pseudonyms_depend_on_key_and_judge_alone():
    assert pseudonym(b"k", "ann") == pseudonym(b"k", "ann")
    assert len({pseudonym(b"k", "ann"), pseudonym(b"k", "bob"), pseudonym(b"l", "ann")}) == 3
    assert derive(b"k", "judgment") != derive(b"k", "fingerprint")
