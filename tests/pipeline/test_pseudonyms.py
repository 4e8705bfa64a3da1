"""Judges are pseudonyms: in every file of a release, with any key."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from annot_pipeline.storage.tables import read_table
from tests.pipeline.exported import ROWS, export, fates

JUDGE = "alice@example.invalid"


def everything_said(folder: Path) -> str:
    """All text of a release, Parquet decoded."""
    texts = []
    for path in sorted(folder.iterdir()):
        if path.suffix == ".parquet":
            texts.append(json.dumps(read_table(path).to_pylist(), default=str))
        else:
            texts.append(path.read_text())
    return "\n".join(texts)


def test_judges_are_pseudonyms_everywhere(build_campaign, stage_campaign):
    rows = [f"i{i},{JUDGE},{'yes' if i % 2 else 'no'}" for i in range(9)]
    any_rejects = "gates.rejected_share.error=1"
    built = build_campaign({"a.csv": export([*rows, f",{JUDGE},x"])}, any_rejects)
    said = everything_said(built.publication.release.folder)
    assert "i1" in said  # it is decoded: an item's name is found
    assert "alice" not in said
    assert "alice" not in json.dumps([r.result.stored() for r in built.runs.values()])
    names = {r["judge"] for r in built.rows("lineage")}
    assert all(name.startswith("j") and len(name) == 21 for name in names)
    open_ = stage_campaign({"a.csv": export(rows)}, "privacy.pseudonymize=false")
    assert {r["judge"] for r in open_.rows("judges")} == {JUDGE}


@pytest.mark.slow
def test_reasons_and_settings_do_not_name_judges(build_campaign):
    judge = {"column": "judge", "json": "w", "map": {JUDGE: "w1", "w2": "w2"}}
    fields = {"item": "item", "judge": judge, "label": "label"}
    sources = [
        {"path": "exports/*.csv", "format": "csv", "fields": fields},
        {"path": "exports/*.jsonl", "format": "jsonl", "fields": fields | {"judge": "judge"}},
    ]
    lines = ['{"item": "i1", "judge": "w3", "label": "yes"}', f'["{JUDGE}", "i1", "yes"]']
    built = build_campaign(
        {
            "a.csv": f'item;judge;label\ni1;{{w: {JUDGE}}};yes\ni1;{{"w": "w2"}};yes\n',
            "b.jsonl": "\n".join(lines),
        },
        "gates.rejected_share.error=1",
        sources=sources,
    )
    assert fates(built) == {"used": 2, "rejected": 2}
    assert "alice" not in everything_said(built.publication.release.folder)


def test_published_judgment_ids_do_not_confirm_a_guess_of_who_judged(stage_campaign):
    built = stage_campaign({"a.csv": export(ROWS)})
    internal = {r["judgment_id"] for r in built.rows("controlled")}
    published = {r["judgment_id"] for r in built.rows("lineage")}
    assert len(published) == len(internal)
    assert not published & internal
    assert all(len(i) == 32 and set(i) <= set("0123456789abcdef") for i in published)


@pytest.mark.slow
def test_calculations_do_not_depend_on_the_key(build_campaign, monkeypatch):
    one = build_campaign({"a.csv": export(ROWS)})
    monkeypatch.setenv("ANNOT_KEY", "quite another key, long enough to be one")
    two = build_campaign({"a.csv": export(ROWS)}, "privacy.new_key=true")
    for table in ("labels", "label_distributions", "prevalence", "items"):
        assert one.hashes()[table] == two.hashes()[table]
    assert one.hashes()["judges"] != two.hashes()["judges"]
    assert two.publication.published  # the key counts as a setting


def test_a_path_that_tells_the_judge_is_warned_of(stage_campaign):
    """File names are published as they are."""
    fields = {"item": "item", "judge": {"capture": "(?P<judge>[a-z]+)[.]csv"}, "label": "label"}
    sources = [{"path": "exports/*.csv", "format": "csv", "fields": fields}]
    exports = {"alice.csv": "item,label\ni1,x\n", "bob.csv": "item,label\ni1,x\n"}
    warned = stage_campaign(exports, sources=sources)
    gates = {g.name: g for g in warned.runs["read_records"].gates}
    assert gates["judges_in_paths"].level == "warn"
    plain = stage_campaign(exports, sources=sources, privacy={"pseudonymize": False})
    gates = {g.name: g for g in plain.runs["read_records"].gates}
    assert gates["judges_in_paths"].level == "pass"
