"""A release that would name judges who have pseudonyms is not published; reasons quote no names."""

from __future__ import annotations

import hashlib
import hmac
import itertools
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from annot_pipeline.commands.release_manifest import PAGES
from annot_pipeline.contracts import GOLD
from annot_pipeline.contracts.name_key import WORD
from annot_pipeline.errors import ConfigError, GateError, shorten
from annot_pipeline.gates.measures import published_names
from annot_pipeline.stages.gold import published_names as published_names_module
from annot_pipeline.stages.gold.metrics import ReleaseMetrics
from annot_pipeline.stages.gold.published_names import PublishedNames, own_words, prose_words
from annot_pipeline.stages.shared.name_search import (
    NOT_SHOWN,
    CellNames,
    NameSearch,
    is_distinctive,
    masked_reason,
    masked_reasons,
    quoted_cells,
)
from annot_pipeline.storage.releases import Release
from annot_pipeline.storage.tables import StoredTable, write_table
from tests.conftest import Campaigns
from tests.gates.broken_tables import table_of

JUDGES = ("erin.wide@example.org", "A2XYZQ8KJ3LM0P", "Bob_Smith.1987")
ROWS = "item,judge,label\n" + "".join(f"i{n},{judge},a\n" for n in range(4) for judge in JUDGES)


def test_names_are_found_as_whole_words_only():
    search = NameSearch.from_names([*JUDGES, "short", "1234567", "müller-lüdenscheidt", "#hashed"])
    assert search.in_text("by Bob_Smith.1987.") == {"Bob_Smith.1987"}
    assert search.in_text("(erin.wide@example.org)") == {"erin.wide@example.org"}
    assert search.in_text("müller-lüdenscheidt, #hashed") == {"müller-lüdenscheidt", "#hashed"}
    for text in ("Bob_Smith.19871", "xBob_Smith.1987", "A2XYZQ8KJ3LM0", "short 1234567", ""):
        assert search.in_text(text) == set(), text
    column = pa.chunked_array([["nobody", None, "x A2XYZQ8KJ3LM0P y"], ["erin.wide@example.org"]])
    assert search.in_column(column) == {"A2XYZQ8KJ3LM0P", "erin.wide@example.org"}
    assert search.in_column(column.dictionary_encode()) == search.in_column(column)


def test_reasons_quote_no_cell_that_may_name_a_judge():
    search = NameSearch.from_names(JUDGES)
    reasons = pa.array([
        "score is not a number: 'soon'", "score is not a number: 'asked A2XYZQ8KJ3LM0P'",
        "label is not a declared class: 'ann@example.org'", 'score is not a number: "o\'x@y"', None,
    ])  # fmt: skip
    assert masked_reasons(reasons, search).to_pylist() == [
        "score is not a number: 'soon'", f"score is not a number: {NOT_SHOWN}",
        f"label is not a declared class: {NOT_SHOWN}", f"score is not a number: {NOT_SHOWN}", None,
    ]  # fmt: skip


def test_a_cell_that_is_a_name_is_not_quoted_however_short_it_is():
    names = ["erin", "O'Neil", "a", "42", "Zo\u00eb", "x" * 70]
    search, cells = NameSearch.from_names(names), CellNames.from_names(names)
    for text in (
        "label is not a declared class: 'erin'", "label is not a declared class: ' ERIN\t'",
        "label is not a declared class: 'O'Neil'", 'seconds is not a number: "O\'Neil"',
        "control is not one of none, known_answer: 'a'", "score is outside the scale: 42.0",
        "seconds is not a number: '42'", "submitted_at is not a time: 'zoe\u0308'",
        "a file that takes precedence holds another answer; this one: 'erin', 3.0",
        f"label is not a declared class: '{'x' * 60}'",
        f"seconds is not a number: {shorten('x' * 70)}", "seconds is not a number: 'erin\\n'",
    ):  # fmt: skip
        shown = masked_reason(text, search, cells)
        assert shown.endswith(NOT_SHOWN), text
        assert shown.startswith(text.partition(":")[0])
    for text in (
        "label is not a declared class: 'erins'", "score is outside the scale: 420.0",
        "label is blank", "control item: known_answer", "label is not a declared class: ''",
    ):  # fmt: skip
        assert masked_reason(text, search, cells) == text


@pytest.mark.slow
def test_the_gate_says_whose_names_by_their_pseudonyms(build_campaign, tmp_path):
    """The name is in the export, at the rows that lineage has of this judge: no message has it."""
    with pytest.raises(GateError, match="published_names") as raised:
        build_campaign({"a.csv": ROWS.replace("i3,", "A2XYZQ8KJ3LM0P,")})
    text = str(raised.value)
    assert "A2XYZQ8KJ3LM0P" not in text
    [judge] = re.findall(r"judges (j[0-9a-f]{20}), \w", text)
    [lineage] = tmp_path.rglob("candidates/*/v0001/lineage.parquet")
    rows = pq.read_table(lineage).to_pylist()
    own = {row["source_row"] for row in rows if row["judge"] == judge}
    assert own == {n for n, line in enumerate(ROWS.split()) if "A2XYZQ8KJ3LM0P" in line}


SHORT = ("erin", "bo_b2", "zz.9q", "1", "yes")
"""Judges; two of them are labels or numbers, too."""


@pytest.mark.slow
def test_short_names_in_shifted_rows_are_not_published(build_campaign, tmp_path):
    """A name in each column that a reason, a gate or a list quotes, also of another export."""
    columns = {
        "task": "t", "item": "i0", "judge": "bo_b2", "label": "yes", "control": "none",
        "seconds": "3", "submitted_at": "2026-01-01T00:00:00Z", "reward": "0.05", "truth": "",
        "score": "",
    }  # fmt: skip

    def export(*rows: dict[str, str]) -> str:
        lines = [",".join({**columns, **row}.values()) for row in rows]
        return "\n".join([",".join(columns), *lines, ""])

    whole = [{"item": f"i{n}", "judge": judge} for n in range(4) for judge in SHORT]
    whole += [{"item": "i0", "judge": j, "task": "u", "label": "yes"} for j in SHORT[2:]]
    shifted = [
        {"label": "erin"}, {"label": " Zz.9Q "}, {"control": "zz.9q"}, {"seconds": "bo_b2"},
        {"submitted_at": "erin"}, {"reward": "erin", "item": "i8"}, {"seconds": "1x"},
        {"control": "known_answer", "truth": "bo_b2", "item": "i9"},
        {"control": "known_answer", "truth": "far", "item": "i9", "judge": "yes"},
        {"task": "u", "label": "erin", "judge": "zz.9q"}, {"label": "maybe"},
    ]  # fmt: skip
    fields = {name: name for name in columns if name not in ("item", "score")}
    items = "item,source\ni1,a\ni2,erin\n"
    matched = {"column": "source", "match": "^[a-d]$"}
    exports = {"a.csv": export(*whole), "b.csv": export(*shifted)}
    (tmp_path / "campaign").mkdir()
    (tmp_path / "campaign" / "items.csv").write_text(items)
    built = build_campaign(
        exports,
        sources=[{"path": "exports/*.csv", "format": "csv", "fields": fields | {"item": "item"}}],
        items=[
            {"path": "items.csv", "format": "csv", "fields": {"item": "item", "source": matched}}
        ],
        tasks=[{"name": "*", "kind": "categorical", "labels": ["yes", "1", "no"]}],
        gates={"rejected_share": {"error": 1}},
    )
    folder = built.publication.release.folder
    short = re.compile(r"(?<![\w.])(erin|bo_b2|zz\.9q)(?![\w.])", re.IGNORECASE)
    for path in sorted(folder.iterdir()):
        if path.suffix == ".parquet":
            table = pq.read_table(path)
            texts = [str(v) for name in table.column_names for v in table[name].to_pylist()]
        else:
            texts = path.read_text(encoding="utf-8").splitlines()
        assert [text for text in texts if short.search(text)] == [], path.name
    reasons = {row["reason"] for row in built.rows("lineage") if row["fate"] == "rejected"}
    assert f"label is not a declared class: {NOT_SHOWN}" in reasons
    assert f"submitted_at is not a time: {NOT_SHOWN}" in reasons
    assert "label is not a declared class: 'maybe'" in reasons
    assert "seconds is not a number: '1x'" in reasons
    aside = {row["reason"] for row in built.rows("set_aside")}
    assert f"the truth is not a declared class: {NOT_SHOWN}" in aside
    assert "the truth is not a declared class: 'far'" in aside
    checks = {c["name"]: c for c in built.publication.release.manifest["checks"]}
    assert checks["unread_rewards"]["detail"].startswith("exports/b.csv row ")
    assert checks["unread_rewards"]["detail"].endswith(NOT_SHOWN)
    assert checks["unread_items"]["detail"].endswith(NOT_SHOWN)
    assert checks["published_names"]["level"] == "pass"


@pytest.mark.slow
def test_a_truth_that_is_a_name_stops_no_build(build_campaign):
    rows = ROWS.replace("label", "label,control,truth").replace(",a\n", ",a,none,\n")
    rows += "i1,Bob_Smith.1987,a,known_answer,see A2XYZQ8KJ3LM0P\n"
    fields = {name: name for name in ("item", "judge", "label", "control", "truth")}
    built = build_campaign(
        {"a.csv": rows},
        sources=[{"path": "exports/*.csv", "format": "csv", "fields": fields}],
        tasks=[{"name": "*", "kind": "categorical", "labels": ["a", "b"]}],
    )
    [reason] = {row["reason"] for row in built.rows("set_aside")}
    assert reason == f"the truth is not a declared class: {NOT_SHOWN}"


@pytest.mark.slow
def test_a_new_judge_masks_a_cell_of_an_export_that_was_settled_before(stage_campaign, tmp_path):
    """As a build from scratch does; while no cell is a name, parts are not made again."""
    tasks = [{"name": "*", "kind": "categorical", "labels": ["a", "b"]}]
    fields = {"task": "task", "item": "item", "judge": "judge", "label": "label"}
    sources = [{"path": "exports/*.csv", "format": "csv", "fields": fields}]
    settings: dict[str, Any] = {
        "tasks": tasks, "sources": sources, "gates": {"rejected_share": {"error": 1}},
    }  # fmt: skip
    head = "task,item,judge,label\n"
    first = (
        head + "".join(f"t,i{n},w{j},a\n" for n in range(3) for j in range(3)) + "t,i1,w1,erin\n"
    )
    second = head + "".join(f"u,i{n},{j},a\n" for n in range(3) for j in ("erin", "w1"))
    before = stage_campaign({"a.csv": first}, **settings)
    assert "label is not a declared class: 'erin'" in {r["reason"] for r in before.rows("lineage")}
    exports = {"a.csv": first, "b.csv": second}
    after = stage_campaign(exports, **settings)
    assert f"label is not a declared class: {NOT_SHOWN}" in {
        row["reason"] for row in after.rows("lineage")
    }
    places = (f"store={tmp_path}/fresh", f"gold={tmp_path}/fresh-gold")
    fresh = stage_campaign(exports, *places, **settings)
    for table in ("lineage", "judgments", "set_aside", "labels"):
        assert after.table(table).equals(fresh.table(table)), table


@pytest.mark.slow
def test_a_name_in_a_reason_is_not_published(build_campaign: Campaigns):
    """Rows that somebody wrote the name of another judge into, or an address."""
    rows = ROWS + "i1,Bob_Smith.1987,see A2XYZQ8KJ3LM0P\ni2,Bob_Smith.1987,ann@example.org\n"
    built = build_campaign(
        {"a.csv": rows},
        tasks=[{"name": "*", "kind": "categorical", "labels": ["a", "b"]}],
        gates={"rejected_share": {"error": 1}},
    )
    reasons = {row["reason"] for row in built.rows("lineage") if row["fate"] == "rejected"}
    assert reasons == {f"label is not a declared class: {NOT_SHOWN}"}


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("exports", "settings", "place"),
    [
        ({"Bob_Smith.1987.csv": ROWS}, {}, "lineage.source_file"),
        ({"a.csv": ROWS + "i-A2XYZQ8KJ3LM0P,Bob_Smith.1987,a\n"}, {}, "labels.item"),
        ({"a.csv": ROWS + "see Erin.Wide@EXAMPLE.org,Bob_Smith.1987,a\n"}, {}, "labels.item"),
        (  # a label by mistake is no licence for other columns
            {
                "a.csv": ROWS + "i1,erin.wide@example.org,A2XYZQ8KJ3LM0P\n"
                "i-A2XYZQ8KJ3LM0P,Bob_Smith.1987,a\n"
            },
            {},
            "labels.item",
        ),
        ({"a.csv": ROWS}, {"about": {"description": "by erin.wide@example.org"}}, "manifest.json"),
    ],
)
def test_a_release_that_names_a_judge_is_stopped(
    build_campaign, tmp_path, exports, settings, place
):
    with pytest.raises(GateError) as raised:
        build_campaign(exports, **settings)
    text = str(raised.value)
    assert "published_names" in text
    assert place in text
    assert not any(judge in text.replace("Bob_Smith.1987.csv", "") for judge in JUDGES)
    assert not (tmp_path / "campaign" / "gold" / "v0001").exists()
    built = build_campaign(exports, "privacy.pseudonymize=false", **settings)
    assert built.publication.published


def test_values_of_several_tables_are_searched_once(tmp_path, monkeypatch):
    searched = []

    def logged(search, column):
        searched.append(sorted(column.unique().drop_null().to_pylist()))
        return in_column(search, column)

    in_column = NameSearch.in_column
    monkeypatch.setattr(NameSearch, "in_column", logged)
    names = ("labels", "scores")
    places = []
    for items in (["i1", "i2", "i2"], ["i1", "i1", f"i-{JUDGES[1]}"]):
        stored = {}
        for name, some in zip(names, (items[:2], items[1:]), strict=True):
            rows = [{"task": "t", "item": item} for item in some]
            file = write_table(tmp_path / f"{name}.parquet", table_of(rows, GOLD[name]))
            stored[name] = StoredTable((file,))
        searched.clear()
        places.append(PublishedNames(JUDGES, stored, {}).metrics().places)
        if items[2] == "i2":
            assert searched.count(["i1", "i2"]) == 1
            assert ["i1"] not in searched
    assert places == [[], ["scores.item (1 name)"]]


AUTHORS = ("graham", "davidson", "bradley", "carpenter", "wilson", "hunter", "cooper", "whitney")
"""Surnames that our code cites; some name a method in a report or a setting too."""
COMMON = (
    "expert", "duplicate", "superseded", "median", "source", "number", "decision", "columns",
    "function", "padding", "bootstrap", "smoothing",
)  # fmt: skip
"""Words of reasons, pages, their style, settings and values."""


def judged_by(judges: Sequence[str], *items: str) -> str:
    rows = [f"i{n},{judge},{'ab'[n % 2]}\n" for n in range(6) for judge in judges]
    rows += [f"{item},{judge},a\n" for item in items for judge in judges[:2]]
    return "item,judge,label\n" + "".join([*rows, rows[0]])


@pytest.mark.slow
@pytest.mark.sampled
@pytest.mark.parametrize("author", AUTHORS)
def test_a_surname_that_code_cites_is_found_in_an_item(build_campaign, author):
    with pytest.raises(GateError) as raised:
        build_campaign({"a.csv": judged_by(AUTHORS, f"item-{author}-3")})
    assert "labels.item (1 name)" in str(raised.value)


@pytest.mark.slow
def test_our_own_words_are_no_names_of_labels(build_campaign):
    first = build_campaign({"a.csv": judged_by([*AUTHORS, *COMMON])})
    assert first.publication.published


@pytest.mark.slow
def test_our_own_words_are_no_names(build_campaign):
    """Judges called as words of the report, reasons, settings and methods; no item names them."""
    scores = "item,judge,score\n" + "".join(
        f"s{n},{judge},{n}\n" for n in range(4) for judge in (*AUTHORS, *COMMON)
    )
    fields = {name: name for name in ("item", "judge", "score")}
    scored = {"path": "exports/s.csv", "format": "csv", "fields": fields | {"task": {"value": "s"}}}
    labelled = source("judge") | {"path": "exports/a.csv"}
    exports = {"a.csv": judged_by([*AUTHORS, *COMMON]), "s.csv": scores}
    tasks = [{"name": "s", "kind": "scalar", "scale": [0, 3]}]
    again = build_campaign(exports, sources=[labelled, scored], tasks=tasks)
    assert again.publication.published


@pytest.mark.slow
@pytest.mark.parametrize("text", ["checked by graham", "after Davidson, 1970"])
def test_a_surname_in_what_the_campaign_writes_is_found(build_campaign, text):
    with pytest.raises(GateError, match="published_names") as raised:
        build_campaign({"a.csv": judged_by(AUTHORS)}, about={"description": text})
    assert "manifest.json (1 name)" in str(raised.value)
    assert re.search(r"judges j[0-9a-f]{20}, manifest.json", str(raised.value))


OF_DRAWINGS = {"clippath", "dasharray", "dashoffset", "linecap"}
"""Words of the SVG that matplotlib writes: nobody is called so."""
CODED = re.compile(r"[\w+/]{43,}")
"""Digests in base64 and images in a page."""


def words_of(*files: Path) -> set[str]:
    texts = (CODED.sub(" ", file.read_text("utf-8")) for file in files)
    return {word.lower() for text in texts for word in WORD.findall(text) if is_distinctive(word)}


def test_all_words_of_a_release_are_our_own_or_the_campaigns(full_release: Release):
    """A judge who is called as any word that we write must not stop a release."""
    folder = full_release.folder
    campaign = folder.parents[1]
    written = words_of(campaign / "campaign.yaml", *(campaign / "exports").iterdir())
    published = words_of(*(path for path in folder.iterdir() if path.suffix in PAGES))
    assert {"wilson", "policy"} <= published  # of descriptions of columns, and of templates
    others = published - written - OF_DRAWINGS
    others -= own_words(others)
    assert sorted(word for word in others if word.isascii() and word.isalpha()) == []


def test_words_that_are_not_searched_are_those_of_published_sentences():
    common = {"expert", "duplicate", "median"}
    assert prose_words([*AUTHORS, *common, "Anna", ""]) == common


def test_names_that_code_alone_cites_are_no_words_of_ours():
    package = Path(published_names_module.__file__).parents[2]
    code = "".join(path.read_text("utf-8") for path in (package / "methods").rglob("*.py"))
    assert {"Graham", "Carpenter"} <= set(WORD.findall(code))
    assert own_words(["Graham", "carpenter", "Expert", ""]) == {"expert"}


MAPPINGS: dict[str, Any] = {
    "joined": {"join": [{"value": "mturk"}, "judge"], "sep": "_"},
    "mapped": {"column": "judge", "map": {"A2XYZQ8KJ3LM0P": "annotator2"}, "else": "somebody"},
    "cut out": {"column": "judge", "match": "^(.)"},
    "by a pattern": {"column": "judge", "map": {"~A2.*": "annotator2", "~.*": "somebody"}},
}


def source(judge: Any) -> dict[str, Any]:
    fields = {"item": "item", "judge": judge, "label": "label"}
    return {"path": "exports/*.csv", "format": "csv", "fields": fields}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mapping", "exports", "settings", "place"),
    [
        ("joined", {"A2XYZQ8KJ3LM0P.csv": ROWS}, {}, "lineage.source_file"),
        ("mapped", {"a.csv": ROWS + "i-A2XYZQ8KJ3LM0P,Bob_Smith.1987,a\n"}, {}, "labels.item"),
        ("cut out", {"a.csv": ROWS}, {"about": {"description": "by A2XYZQ8KJ3LM0P"}},
         "manifest.json"),
        ("by a pattern", {"A2XYZQ8KJ3LM0P.csv": ROWS}, {}, "lineage.source_file"),
    ],
)  # fmt: skip
def test_names_of_exports_are_searched_that_the_mapping_changes(
    build_campaign, mapping, exports, settings, place
):
    """Where names are searched does not depend on how they are mapped."""
    with pytest.raises(GateError) as raised:
        build_campaign(exports, sources=[source(MAPPINGS[mapping])], **settings)
    assert "published_names" in str(raised.value)
    assert place in str(raised.value)


@pytest.mark.slow
@pytest.mark.sampled
@pytest.mark.parametrize("mapping", MAPPINGS.values(), ids=MAPPINGS)
def test_reasons_quote_no_name_that_the_mapping_changes(build_campaign, mapping):
    built = build_campaign(
        {"a.csv": ROWS + "i1,Bob_Smith.1987,see a2xyzq8kj3lm0p\n"},
        sources=[source(mapping)],
        tasks=[{"name": "*", "kind": "categorical", "labels": ["a", "b"]}],
        gates={"rejected_share": {"error": 1}},
    )
    [reason] = {row["reason"] for row in built.rows("lineage") if row["fate"] == "rejected"}
    assert reason == f"label is not a declared class: {NOT_SHOWN}"


@pytest.mark.slow
def test_a_team_that_several_judges_share_is_no_name(build_campaign):
    rows = "item,judge,label,team\n" + "".join(
        f"southern-{n},{judge},a,southern\n" for n in range(4) for judge in JUDGES
    )
    built = build_campaign(
        {"southern.csv": rows}, sources=[source({"join": ["team", "judge"], "sep": "/"})]
    )
    assert built.publication.published


@pytest.mark.parametrize(
    "name", ["\u0130brahim", "\u0393\u0399\u03a9\u03a1\u0393\u039f\u03a3", "\u0130stem-12"]
)
def test_letters_that_python_and_arrow_lower_differently(name):
    """A capital I with a dot, and a sigma at the end of a word."""
    search = NameSearch.from_names([name])
    text = f"checked by {name} twice"
    assert search.in_text(text) == {name}
    assert search.in_column(pa.chunked_array([[text, None, "other"]])) == {name}


@pytest.mark.parametrize("tail", ["+1" * 200_000, ".x" * 100_000, "(" * 5_000, "\x00"])
def test_cells_that_python_cannot_parse_are_taken_as_they_are(tail):
    assert quoted_cells(f"label is not a declared class: 'a'{tail}'") == [f"a'{tail}"]


def test_names_of_one_first_word_are_told_apart():
    search = NameSearch.from_names([f"judge-{n:03}" for n in range(500)])
    text = "judge 007 and judge-041, not judge-0415 nor xjudge-043; Judge-499."
    assert search.in_text(text) == {"judge-041", "judge-499"}
    assert search.without(["judge-041"]).in_text(text) == {"judge-499"}


def test_letters_and_accents_are_one_character_or_two():
    search = NameSearch.from_names(["Zo\u00eb-M\u00fcller9"])
    apart = "by zoe\u0308-mu\u0308ller9."
    assert len(search.in_text(apart)) == 1
    assert len(search.in_column(pa.chunked_array([[apart]]))) == 1
    assert search.masked(apart, search.in_text(apart)) == f"by {NOT_SHOWN}."


@pytest.mark.slow
def test_what_the_campaign_maps_is_no_leak_and_short_names_are_counted(build_campaign):
    """Labels and item texts may be names; what is too short to look for is said."""
    rows = ROWS.replace(",a\n", ",A2XYZQ8KJ3LM0P\n") + "i0,ann,A2XYZQ8KJ3LM0P\ni1,123456,x\n"
    built = build_campaign({"a.csv": rows})
    [check] = [
        check
        for check in built.publication.release.manifest["checks"]
        if check["name"] == "published_names"
    ]
    assert (check["level"], check["value"]) == ("pass", 0)
    assert "2 names not checked" in check["detail"]
    assert published_names(ReleaseMetrics([], 0, 1)).detail.startswith("1 name not checked: ")


@pytest.mark.slow
def test_the_report_lists_the_gate(start_campaign):
    release = start_campaign({"a.csv": ROWS}) / "gold" / "v0001"
    manifest = json.loads((release / "manifest.json").read_text(encoding="utf-8"))
    assert "published_names" in {check["name"] for check in manifest["checks"]}
    report = (release / "report.html").read_text(encoding="utf-8")
    assert f"{len(manifest['checks'])} gates" in report


@pytest.mark.slow
def test_candidate_names_cannot_be_confirmed_by_digests(start_campaign, tmp_path):
    """All but the names stands in gold: whoever guesses them can write the export, and hash it."""
    release = start_campaign({"a.csv": ROWS}) / "gold" / "v0001"
    published = b"".join(path.read_bytes() for path in sorted(release.rglob("*.json"))).decode()
    table = pq.read_table(release / "lineage.parquet")
    published += "".join(set(table["source_digest"].to_pylist()))
    export = (tmp_path / "campaign" / "exports" / "a.csv").read_bytes()
    for candidates in itertools.permutations(JUDGES):
        guess = export.decode()
        for judge, candidate in zip(JUDGES, candidates, strict=True):
            guess = guess.replace(judge, candidate)
        assert hashlib.sha256(guess.encode()).hexdigest() not in published
    for path in (tmp_path / "campaign" / "store").rglob("*.parquet"):
        if b"erin.wide" in path.read_bytes():  # tables of the store with raw names
            assert hashlib.sha256(path.read_bytes()).hexdigest() not in published, path.name
    [source] = json.loads((release / "manifest.json").read_text(encoding="utf-8"))["sources"]
    key = hmac.digest(b"a key for tests, long enough to be one", b"annot campaign:small", "sha256")
    plain = hashlib.sha256(export).hexdigest()
    assert (
        source["source_digest"] == hmac.new(key, f"digest:{plain}".encode(), "sha256").hexdigest()
    )


def test_an_unknown_column_of_a_judge_is_told_by_its_place(build_campaign):
    wide = "item,erin.wide@example.org\ni1,a\n"
    source: dict[str, Any] = {
        "path": "exports/*.csv",
        "format": "csv",
        "each": {"who": ["erin.wide@example.org", "frank.wide@example.org"]},
        "fields": {"item": "item", "judge": {"value": "{who}"}, "label": "{who}"},
    }
    with pytest.raises(ConfigError) as raised:
        build_campaign({"a.csv": wide}, sources=[source])
    text = str(raised.value) + json.dumps(raised.value.document())
    assert "wide@example.org" not in text
    assert "entries 2 of 2" in text


def test_a_repeated_key_and_bytes_that_are_no_text_are_told_by_their_place(
    stage_campaign,
):
    lines = '{"item": "i1", "judge": "j1", "label": "a"}\n' * 3
    repeated = '{"item": "i2", "erin.wide@example.org": "a", "erin.wide@example.org": "b"}\n'
    fields = {"item": "item", "judge": "judge", "label": "label"}
    source = {"path": "exports/*.jsonl", "format": "jsonl", "fields": fields}
    built = stage_campaign(
        {"a.jsonl": lines + repeated}, sources=[source], gates={"rejected_share": {"error": 1}}
    )
    reasons = {row["reason"] for row in built.rows("lineage") if row["fate"] == "rejected"}
    assert reasons == {"not a JSON object: key 3 of an object repeats an earlier key"} or all(
        "erin" not in reason and "key 3" in reason for reason in reasons
    )


@pytest.mark.parametrize("join", [pytest.param(False, marks=pytest.mark.slow), True])
def test_header_rows_name_no_judge(stage_campaign, join):
    """Qualtrics repeats the name of an embedded column below it; the mapping names it, too."""
    text = (
        "ResponseId,PROLIFIC_PID,Q1\nResponse ID,PROLIFIC_PID,Rate a\n"
        'ImportId,"{""ImportId"":""PROLIFIC_PID""}",x\nR_1,5f0a9be1c2,yes\nR_2,5f0a9be1c3,no\n'
    )
    judge = {"join": ["PROLIFIC_PID", {"value": "p"}]} if join else "PROLIFIC_PID"
    source = {
        "path": "exports/*.csv", "format": "csv", "options": {"skip_rows": 2},
        "fields": {"item": {"value": "Q1"}, "judge": judge, "label": "Q1"},
    }  # fmt: skip
    built = stage_campaign({"a.csv": text}, sources=[source])
    assert len(built.rows("judges")) == 2
    fates = [(r["source_row"], r["fate"]) for r in built.rows("lineage")]
    assert sorted(fates) == [(1, "filtered"), (2, "filtered"), (3, "used"), (4, "used")]
