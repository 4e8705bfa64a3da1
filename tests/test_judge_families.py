"""Declared families of judges: what is published of them, and warnings of useless entries."""

from __future__ import annotations

import json

import pytest

from annot_pipeline.audit.diff.releases import diff_releases
from annot_pipeline.cli import main
from annot_pipeline.cli.diff import diff_lines
from annot_pipeline.config.campaign_file import load_campaign
from annot_pipeline.config.judges import JudgeSettings
from annot_pipeline.stages.ingest.declared_judges import (
    declared_judges,
    undeclared_models,
)
from annot_pipeline.storage.keys import pseudonym
from tests.conftest import build_file, write_small_campaign

pytestmark = pytest.mark.slow

ALICE, SHORT = "alice.smith@example.com", "j1"
JUDGES = (ALICE, "alice.jones@example.com", SHORT, "bob.brown@example.com")
EXPORT = "item,judge,label\n" + "".join(
    f"i{n},{judge},{'xy'[(n + (judge == SHORT)) % 2]}\n" for n in range(6) for judge in JUDGES
)
FAMILIES = [
    {"name": ALICE, "family": "smiths"},
    {"name": "alice.*", "family": "smiths"},
    {"name": SHORT, "family": "models"},
    {"name": "bob*", "family": "models"},
]


def test_patterns_of_judges_are_published_as_pseudonyms(build_campaign):
    built = build_campaign({"a.csv": EXPORT}, judges=FAMILIES)
    release = built.publication.release
    published = release.manifest["settings"]["judges"]
    assert [entry["family"] for entry in published] == ["smiths", "smiths", "models", "models"]
    ids = {row["judge"] for row in built.rows("judges")}
    names = [entry["name"] for entry in published]
    assert {names[0], names[2]} <= ids  # an exact name is the judge's pseudonym
    assert not {names[1], names[3]} & ids
    for page in release.folder.iterdir():
        if page.suffix in (".json", ".md", ".html"):
            text = page.read_text(encoding="utf-8")
            assert "alice" not in text, page.name
            assert "bob" not in text, page.name
            assert f'"{SHORT}"' not in text, page.name
    families = "Declared families of related judges: models (2 judges), smiths (2 judges)."
    for page in ("README.md", "report.html"):
        assert families in (release.folder / page).read_text(encoding="utf-8")


def test_patterns_are_published_as_they_are_where_judges_have_no_pseudonyms(build_campaign):
    built = build_campaign({"a.csv": EXPORT}, judges=FAMILIES, privacy={"pseudonymize": False})
    assert built.publication.release.manifest["settings"]["judges"] == [
        {"kind": "human"} | entry for entry in FAMILIES
    ]


def test_the_digest_depends_on_the_key():
    assert pseudonym(b"one key", SHORT) != pseudonym(b"another key", SHORT)


def changed(build_campaign, tmp_path, before, after):
    """Return the text of the diff of two releases, and the published entries of the second."""
    build_campaign({"a.csv": EXPORT}, judges=before)
    built = build_campaign({"a.csv": EXPORT}, judges=after)
    diff = diff_releases(load_campaign(tmp_path / "campaign"), ("v0001", "v0002"), causes=False)
    settings = built.publication.release.manifest["settings"]
    return "\n".join(diff_lines(diff.document(0))), settings["judges"]


def test_diff_names_the_family_that_was_added(build_campaign, tmp_path):
    text, (entry,) = changed(build_campaign, tmp_path, [], [{"name": "alice.*", "family": "x"}])
    assert f"  judges.0  none  {entry['name']}, family x" in text.splitlines()
    assert "alice" not in text


def test_diff_names_the_family_whose_pattern_changed(build_campaign, tmp_path):
    before, after = ([{"name": name, "family": "x"}] for name in ("alice.*", "*.com"))
    text, (entry,) = changed(build_campaign, tmp_path, before, after)
    added, removed = (line for line in text.splitlines() if line.startswith("  judges.0  "))
    if removed.endswith(f"{entry['name']}, family x"):
        added, removed = removed, added
    assert added.endswith(f"{entry['name']}, family x")
    assert removed.endswith("  none")
    assert "alice" not in text


def test_diff_names_both_families_of_a_pattern(build_campaign, tmp_path):
    before, after = ([{"name": "alice.*", "family": family}] for family in "xy")
    text, _ = changed(build_campaign, tmp_path, before, after)
    assert "  judges.0.family  x    y" in text.splitlines()


def test_diff_finds_the_cause_with_another_key(tmp_path, monkeypatch):
    """Settings of a release under another key differ in digests alone."""
    folder = write_small_campaign(tmp_path / "campaign", {"a.csv": EXPORT}, judges=FAMILIES)
    build_file(folder)
    monkeypatch.setenv("ANNOT_KEY", "another key for tests, long enough to be one")
    build_file(folder, "labels.certain_at=0.8", "privacy.new_key=true")
    diff = diff_releases(load_campaign(folder), ("v0001", "v0002"))
    assert diff.causes_found


# --- entries that relate no judges ---------------------------------------------------------


@pytest.mark.parametrize(
    ("entries", "families", "unused"),
    [
        ([("a*", "f")], {"f": 2}, []),
        ([("a1", "f"), ("a2", "f")], {"f": 2}, []),
        ([("z*", "f")], {"f": 0}, ["judges.0 (family f): matches no judge"]),
        ([("b", "f")], {"f": 1}, ["judges.0 (family f): its family has one judge"]),
        (
            [("a*", "f"), ("a1", "g")],
            {"f": 2, "g": 0},
            ["judges.1 (family g): earlier entries match all its judges"],
        ),
        ([("a*", "f"), ("*", "g")], {"f": 2, "g": 1},
         ["judges.1 (family g): its family has one judge"]),
        ([], {}, []),
    ],
)  # fmt: skip
def test_entries_that_relate_no_judges(entries, families, unused):
    settings = [JudgeSettings(name=name, family=family) for name, family in entries]
    declared = declared_judges(["a1", "a2", "b"], settings)
    assert (declared.families, declared.unused) == (families, unused)


def test_a_model_alone_is_no_useless_entry():
    """It has its own order effect; a pattern of no judge stays useless."""
    settings = [
        JudgeSettings(name="b*", kind="model", family="f"),
        JudgeSettings(name="z*", kind="model", family="g"),
        JudgeSettings(name="a1", kind="human", family="h"),
    ]
    assert declared_judges(["a1", "a2", "b"], settings).unused == [
        "judges.1 (family g): matches no judge",
        "judges.2 (family h): its family has one judge",
    ]


def test_useless_entries_are_warned_of(tmp_path, capsys):
    judges = [{"name": "nobody*", "family": "x"}, *FAMILIES]
    folder = write_small_campaign(tmp_path / "campaign", {"a.csv": EXPORT}, judges=judges)
    assert main(["validate", str(folder), "--json"]) == 0
    validated = json.loads(capsys.readouterr().out)
    built = build_file(folder)
    gates = [gate.document() for gate in built.runs["read_records"].gates]
    for checks in (validated["gates"], gates, built.publication.release.manifest["checks"]):
        (check,) = (check for check in checks if check["name"] == "unused_judge_settings")
        assert (check["level"], check["value"]) == ("warn", 1)
        assert check["detail"] == "judges.0 (family x): matches no judge"
    main(["status", str(folder)])
    assert "unused_judge_settings" in capsys.readouterr().out


def test_entries_that_call_a_judge_person_and_model_are_ambiguous():
    settings = [
        JudgeSettings(name="gpt-*", kind="model"),
        JudgeSettings(name="*-mini"),
        JudgeSettings(name="*"),
    ]
    declared = declared_judges(["gpt-4", "gpt-4-mini", "tom-mini", "ann"], settings)
    assert declared.ambiguous == ["judges.0 and judges.1 (1 judge)"]


def test_entries_that_give_a_model_two_versions_are_ambiguous_unless_one_is_the_exception():
    def ambiguous(*names: str) -> list[str]:
        entries = [
            JudgeSettings(name=name, kind="model", version=str(n)) for n, name in enumerate(names)
        ]
        return declared_judges(["gpt-4", "gpt-4o", "claude-4o"], entries).ambiguous

    assert ambiguous("gpt-*", "*-4o") == ["judges.0 and judges.1 (1 judge)"]
    assert ambiguous("gpt-4o", "gpt-*") == []
    assert ambiguous("gpt-*", "*") == []


def test_judges_named_like_models_are_told_where_nobody_says_what_they_are():
    names = ["gpt-4", "claude-3-opus", "ann"]
    both = {"gpt-4": "openai", "claude-3-opus": "anthropic"}
    assert undeclared_models(names, []) == both
    assert undeclared_models(names, [JudgeSettings(name="*")]) == both
    person = [JudgeSettings(name="gpt-4")]
    assert undeclared_models(names, person) == {"claude-3-opus": "anthropic"}
    models = [JudgeSettings(name="gpt-*", kind="model"), JudgeSettings(name="cl*", kind="model")]
    assert undeclared_models(names, models) == {}
    assert undeclared_models([*names, "grok"], models) == {"grok": "xai"}
    assert undeclared_models(["grok", "ann"], []) == {}


def test_an_entry_may_say_the_family_of_a_system():
    settings = [JudgeSettings(name="llama*", kind="model", family="meta")]
    assert declared_judges(["ann"], settings).unused == ["judges.0 (family meta): matches no judge"]
    assert not declared_judges(["ann"], settings, lambda: ["llama-3"]).unused
