"""The archive of raw bytes, the order of exports, and the key of pseudonyms."""

from __future__ import annotations

import hashlib
import stat

import pytest

from annot_pipeline.config import Privacy
from annot_pipeline.errors import ConfigError, StoreError
from annot_pipeline.storage.archive import archive_file, archived, find_exports, natural_key
from annot_pipeline.storage.keys import derive, judge_key, pseudonym


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

    def found(pattern, latest=False):
        return [e.relative for e in find_exports(folder, pattern, latest=latest, where="x")]

    assert found("../data/*.csv") == ["../data/a.csv", "../data/b.csv"]
    assert found("../data/**/*.csv") == ["../data/a.csv", "../data/b.csv", "../data/deep/c.csv"]
    assert found("../data/*.csv", latest=True) == ["../data/b.csv"]
    assert found("../data/d.txt") == ["../data/d.txt"]
    assert found(str(tmp_path / "data" / "a.csv")) == ["../data/a.csv"]
    with pytest.raises(ConfigError) as error:
        found("../data/*.json")
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


def test_the_key_comes_from_the_environment_or_is_made_once(tmp_path, monkeypatch):
    privacy = Privacy(key_env="SOME_KEY")
    made = judge_key(privacy, tmp_path)
    assert judge_key(privacy, tmp_path) == made
    assert len(made) >= 32
    assert stat.S_IMODE((tmp_path / "judge.key").stat().st_mode) == 0o600
    monkeypatch.setenv("SOME_KEY", "given")
    assert judge_key(privacy, tmp_path) == b"given"


def test_a_damaged_key_is_refused(tmp_path):
    (tmp_path / "judge.key").write_bytes(b"")
    with pytest.raises(StoreError, match="damaged"):
        judge_key(Privacy(key_env="SOME_KEY"), tmp_path)


def test_pseudonyms_depend_on_key_and_judge_alone():
    assert pseudonym(b"k", "ann") == pseudonym(b"k", "ann")
    assert len({pseudonym(b"k", "ann"), pseudonym(b"k", "bob"), pseudonym(b"l", "ann")}) == 3
    assert derive(b"k", "judgment") != derive(b"k", "fingerprint")
