"""The data card: every figure from the tables, every text from exports shown as text."""

from __future__ import annotations

import json
import re

import pytest

from annot_pipeline import load_gold
from annot_pipeline.contracts import GOLD
from annot_pipeline.report.citation import bibtex, citation, question
from annot_pipeline.report.data_card import front_matter, main_table
from annot_pipeline.report.markdown import (
    MOST_CHARACTERS,
    Marked,
    cell,
    escape,
    written,
)
from tests.full_campaign import ABOUT, TASK
from tests.report.report_pages import rows, section


@pytest.fixture(scope="module")
def card(full_release) -> str:
    return (full_release.folder / "README.md").read_text(encoding="utf-8")


# --- texts of others -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain, 3.5 words", "plain, 3.5 words"),
        ("<img src=x onerror=alert(1)>", "&lt;img src=x onerror=alert(1)&gt;"),
        ("a|b\nc", r"a\|b c"),
        ("*a* _b_ `c` ~~d~~", r"\*a\* \_b\_ \`c\` \~\~d\~\~"),
        ("![x](y) {z} #h", r"\!\[x\](y) \{z\} \#h"),
        ("\\", r"\\"),
        ("see https://evil.org, WWW.evil.org", "see https&#58;//evil.org, &#87;WW.evil.org"),
        ("- item", r"\- item"),
        ("12. item", r"12\. item"),
        ("=====", r"\====="),
        ("&amp;", "&amp;amp;"),
        ("\x1b[31mred\x00", "\ufffd\\[31mred\ufffd"),
        ("\u202eabc", "\ufffdabc"),
    ],
)
def test_text_of_exports_is_no_markup(text, shown):
    assert escape(text) == shown


def test_cells_are_escaped_and_short():
    assert cell("x|y") == r"x\|y"
    assert cell(Marked("`x`")) == written(Marked("`x`")) == "`x`"
    assert [cell(value) for value in (None, 1234.5, 12_345)] == ["", "1234.500", "12,345"]
    long = "x" * (MOST_CHARACTERS + 1)
    assert cell(long) == f"{long[:-1]}… (121 characters)"
    assert written(long) == long


def test_hostile_names_stand_in_the_card_as_text(card):
    body = re.sub(r"(?m)^    .*$", "", card.split("---\n", 2)[2])  # code is shown as it is
    assert not re.search(r"<(?!/?details>|/?summary>|https://example\.org/)", body)
    assert escape(TASK) in body
    assert "\n# Second" not in body
    assert "\n1. no list" not in body
    assert "onerror" in body
    # what rows hold, all of it ours or escaped: as many cells everywhere in a table
    for block in re.findall(r"(?m)(?:^\|.*\n)+", body):
        widths = {len(re.split(r"(?<!\\)\|", line)) for line in block.splitlines()}
        assert len(widths) == 1, block


# --- figures -------------------------------------------------------------------------------


def test_who_judged(card):
    """Counted by hand: 4 judges x 8 items; 3 x 24 scores and 1 more; 2 judges x 9 pairs."""
    actual = {row[0]: row[1:] for row in rows(section(card, "Who judged"))}
    assert actual[escape(TASK)] == ["4", "32", "8", "8", "4"]
    assert actual["quality"][:3] == ["4", "73", "1 to 24, median 24"]
    assert actual["which"] == ["2", "18", "9", "", ""]
    assert "Judges are pseudonyms" in card


def test_who_was_filtered(card, full_release):
    """Judge q0 scores degraded copies higher and fails; q1 and q2 pass; q9 has no control.

    The two judges of preferences answered too few pairs for a verdict.
    """
    text = section(card, "Who was filtered, and by which test")
    assert "Test `paired_t`, contrast `paired`, alpha 0.05" in text
    actual = {row[0]: row[1:] for row in rows(text) if len(row) == 6}
    assert actual["quality"] == ["2", "1", "1", "0", "1"]
    assert actual["which"] == ["0", "0", "2", "0", "0"]
    lost = full_release.manifest["facts"]["fates"]["judge_failed"]
    assert lost == 24
    assert "24 judgments of judges who were dropped" in text


def test_agreement_has_its_intervals(card, full_release):
    wanted = {(r["task"], r["statistic"]): r for r in full_release.table("agreement").to_pylist()}
    actual = rows(section(card, "How judges agree"))
    kappa = wanted[TASK, "fleiss_kappa"]
    row = [escape(TASK), escape("fleiss_kappa"), f"{kappa['value']:.3f}",
           "", "8", "4", "fewer than 20 items for an interval"]  # fmt: skip
    assert row in actual
    task, statistic = next(key for key in wanted if "inter_kappa_raw_5" in key)
    kappa = wanted[task, statistic]
    assert [escape(task), escape(statistic), f"{kappa['value']:.3f}", "", kappa["reason"]] in [
        [*row[:4], row[-1]] for row in actual
    ]
    assert not any("unfiltered" in row[1] for row in actual)


def test_limits_and_gates(card, full_release):
    text = section(card, "Known limits")
    warned = [c for c in full_release.manifest["checks"] if c["level"] != "pass"]
    assert warned
    for check in warned:
        assert f"Gate `{check['name']}`" in text
    assert "allows for judges who err together as far as held-out labels tell" in text
    assert "`dawid_skene_probability` takes judges to err independently" in text
    assert "only who judged is a pseudonym" in text


def test_every_table_and_column_is_described(card):
    text = section(card, "Tables")
    for name, contract in GOLD.items():
        assert f"| `{name}.parquet` |" in text
        for column in contract.columns:
            assert f"| `{column.name}` | {column.type} |" in text
    fates = "measured, judge\\_failed, control, adjudication, used"
    assert f"How the judgment was used: {fates}" in text


@pytest.mark.slow
def test_judges_who_are_no_pseudonyms_are_told_of(build_campaign):
    built = build_campaign({"a.csv": "item,judge,label\ni,w,x\n"}, privacy={"pseudonymize": False})
    card = (built.publication.release.folder / "README.md").read_text(encoding="utf-8")
    assert "1 record in 1 export: " in card
    assert "Judges are named as in the exports" in card
    assert "mind whom you share this with" in card
    assert "No judge was tested: the exports contain no controls that the test can use" in card
    assert "License: not stated" in card
    assert "Experts' decisions" not in card


@pytest.mark.slow
def test_a_word_about_it_is_published_though_no_number_moves(build_campaign):
    exports = {"a.csv": "item,judge,label\ni,w,x\n"}
    first = build_campaign(exports)
    mended = build_campaign(exports, about={"license": "MIT"})
    asked = build_campaign(
        exports, about={"license": "MIT"}, tasks=[{"name": "*", "question": "x?"}]
    )
    versions = [b.publication.release.version for b in (first, mended, asked)]
    assert versions == ["v0001", "v0002", "v0003"]
    contents = {b.publication.release.manifest["content_sha256"] for b in (first, mended, asked)}
    assert len(contents) == 1
    assert all(run.result.reused for name, run in mended.runs.items() if name == "infer_labels")
    assert question(asked.publication.release.manifest, "small") == "x?"
    assert question(mended.publication.release.manifest, "small") is None


# --- front matter and citation -------------------------------------------------------------


@pytest.mark.parametrize(
    ("license_", "lines"),
    [
        ("Apache-2.0", ['license: "apache-2.0"']),
        ("https://example.org/terms", ['license: "other"', 'license_link: "https://example.org/terms"']),
        ("Ours: ask \"us\"", ['license: "other"', 'license_name: "Ours: ask \\"us\\""']),
    ],
)  # fmt: skip
def test_licences_as_the_hub_writes_them(license_, lines, full_release):
    manifest = json.loads(json.dumps(full_release.manifest))
    manifest["settings"]["about"]["license"] = license_
    assert [line for line in front_matter(manifest) if line.startswith("license")] == lines


@pytest.mark.parametrize(
    ("filled", "main"),
    [
        ({"labels", "scores"}, "labels"),
        ({"scores", "system_rankings"}, "scores"),
        ({"segment_ranks", "system_rankings"}, "system_rankings"),
        ({"lineage"}, "lineage"),
    ],
)
def test_the_main_table_is_one_with_rows(filled, main):
    manifest = {"tables": [{"name": name, "rows": int(name in filled)} for name in GOLD]}
    assert main_table(manifest) == main


def test_a_citation_names_version_and_content(full_release):
    manifest = full_release.manifest
    said = citation(manifest)
    assert said.startswith(f"{', '.join(ABOUT['creators'])}. {ABOUT['title']}. Release v0001, 20")
    assert manifest["content_sha256"] in said
    entry = bibtex(manifest)
    assert entry.startswith("@misc{full_v0001,\n")
    assert f"  note = {{content sha256 {manifest['content_sha256']}}}," in entry
    assert r"title = {{Moods: \"quoted\" \& \{braced\}".replace(r"\"", '"') in entry
    assert "author = {{Ada <Lovelace>} and {Société: Générale}}" in entry
    assert entry.count("{") - entry.count(r"\{") == entry.count("}") - entry.count(r"\}")


def test_rankings_are_those_of_the_headline(card, full_release):
    """One row a task and component: wins, and the systems that no other beats."""
    shown = rows(section(card, "Rankings of systems"))
    table_rows = load_gold(full_release.folder.parent, "system_rankings").to_pylist()
    headline = [row for row in table_rows if row["headline"]]
    assert {row[0] for row in shown} == {escape(row["task"]) for row in headline}
    wins = sum(row["wins"] or 0 for row in headline)
    assert sum(int(row[3]) for row in shown) == wins
