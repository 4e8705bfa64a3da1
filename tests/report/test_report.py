"""The report says what the release holds, as text, in parts that assistive software can read."""

from __future__ import annotations

import hashlib
import json
import re
import zlib
from base64 import b64decode, b64encode
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from annot_pipeline.contracts import GOLD
from annot_pipeline.report.data_card import data_card
from annot_pipeline.report.render import attribute, number, text
from annot_pipeline.report.report import DETAILS, SECTIONS, report_html, section_html
from annot_pipeline.report.sections.changes import changed, changed_rows, changes
from annot_pipeline.report.sections.use import next_commands
from annot_pipeline.storage.manifest import files_of
from tests.conftest import Built
from tests.report.report_pages import (
    HOSTILE,
    LABEL_CHANGE,
    LONG,
    SCRIPT,
    Page,
    contents_of,
    html_of,
    label_rows,
    labels_campaign,
)


@pytest.fixture(scope="module")
def small(labels_builds: tuple[Built, Built]) -> Built:
    return labels_builds[0]


@pytest.fixture(scope="module")
def hostile(hostile_build: Built) -> Page:
    return Page(report_of(hostile_build))


def report_of(built: Built) -> str:
    return (built.publication.release.folder / "report.html").read_text(encoding="utf-8")


def test_texts_from_outside_are_texts():
    assert text("<b>&\"'") == "&lt;b&gt;&amp;&quot;&#x27;"
    assert text("a\x00b\u202ec") == "<bdi>a\ufffdb\ufffdc</bdi>"  # neither control nor reordering
    assert text("שלום") == "<bdi>שלום</bdi>"
    assert text("क्\u200dष") == "<bdi>क्\u200dष</bdi>"  # letters that need a joiner keep it
    assert text("x" * 120) == "x" * 120
    assert text("x" * 121) == "x" * 120 + '<span class="cut">… (121 characters)</span>'
    assert len(text(LONG)) < 200
    assert attribute('a"\n <b>') == "a&quot; &lt;b&gt;"


@pytest.mark.parametrize(
    ("value", "kind", "written"),
    [
        (1.0, "share", "100.0%"), (0.99961, "share", ">99.9%"), (0.0004, "share", "<0.1%"),
        (0.0, "share", "0.0%"), (0.0006, "share", "0.1%"), (-0.25, "share", "\u221225.0%"),
        (-0.0001, "share", ">\u22120.1%"), (0.00099, "p", "9.9e-04"), (0.05, "p", "0.050"),
        (1234567, "count", "1,234,567"), (-1.5, "real", "\u22121.500"), (65.0, "real", "65.00"),
        (1e-7, "real", "1.00e-07"), (0.0, "real", "0.000"), (3, "real", "3"),
        (float("nan"), "real", ""), (None, "count", ""),
    ],
)  # fmt: skip
def test_numbers_are_rounded_but_never_to_what_they_are_not(value, kind, written):
    assert number(value, kind) == written


@pytest.mark.parametrize(
    ("kind", "scale", "assumed", "is_listed"),
    [("scalar", [0, 100], 0, True), ("scalar", [0, 100], 1, False), ("scalar", None, 0, False),
     ("categorical", None, 0, False), ("pairwise", None, 0, False)],
)  # fmt: skip
def test_the_next_batch_is_listed_where_the_default_design_plans_one(
    small, kind, scale, assumed, is_listed
):
    """Nothing is planned on a scale that is assumed, or without one."""
    contents = contents_of(small, kinds={"t": kind})
    check = {
        "name": "assumed_scales", "level": "warn" if assumed else "pass", "table": "scores",
        "value": assumed, "error": None, "question": "number of tasks", "detail": "t",
    }  # fmt: skip
    settings = {**contents.settings, "tasks": [{"name": "*", "scale": scale}]}
    manifest = contents.manifest | {"checks": [check], "settings": settings}
    contents = replace(contents, manifest=manifest)
    assert any("annot hits" in line for line in next_commands(contents)) == is_listed


def test_cells_say_their_value_to_scripts_where_they_show_no_number():
    rows = [("task", share, 0.5) for share in (1 / 3, 0.99961, 0.0001)]
    facts = dict.fromkeys(("held_out", "against_truth", "drawings"), ()) | {
        "expected": [(task, share, "", 4, 1, None) for task, share, _ in rows],
        "n_tasks": 1, "most_tasks": 9, "n_tasks_with_truth": 0,
    }  # fmt: skip
    shown = section_html("calibration", facts)
    values = re.findall(r'<td class="number"( data-v="[^"]*")?>([^<]*%|&[lg]t;[^<]*)</td>', shown)
    assert values == [
        ("", "33.3%"), (' data-v="0.99961"', "&gt;99.9%"), (' data-v="0.0001"', "&lt;0.1%"),
    ]  # fmt: skip
    row = {"task": "t", "interval": "", "meaning": "alpha_nominal", "n_judges": None, "reason": ""}
    none = {"statistic": "none", "value": float("nan"), "n_items": None, "n_judges": 2}
    rows = [
        row | {"statistic": "<i>", "value": 1 / 3, "n_items": 4},
        row | none | {"reason": SCRIPT},
    ]
    shown = section_html("agreement", {"drawings": [], "rows": rows, "n_rows": 900})
    assert '<th scope="row">&lt;i&gt;</th><td>t</td>' in shown
    assert '<td class="number">0.333</td>' in shown
    assert '<td class="number">4</td><td></td>' in shown
    assert '<td class="number"></td><td></td><td></td><td class="number">2</td>' in shown
    assert "&lt;script&gt;" in shown
    assert "2 of 900 rows are shown" in shown


def test_structure_is_sound(small, hostile):
    for page in (Page(report_of(small)), hostile):
        assert not page.open
        own = [i for i in page.ids if not re.match(r"f[0-9a-f]{8}-", i)]
        assert len(own) == len(set(own)), "ids are unique, but for those of equal figures"
        links = [a["href"] for a in page.all("a")]
        inside = [link[1:] for link in links if link.startswith("#") and "item%3D" not in link]
        assert not set(inside) - set(page.ids), "links lead somewhere"
        beside = {link for link in links if not link.startswith("#")}
        files = {f"{name}.parquet" for name in GOLD} | {"README.md", "croissant.json"}
        assert beside - {"https://example.org/data"} == files | {"manifest.json"}
        levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch(r"h[1-6]", tag)]
        assert levels[0] == 1
        assert levels.count(1) == 1
        steps = pairwise(levels)
        assert all(after <= before + 1 for before, after in steps), "no level is left out"
        assert len(page.all("caption")) == len(page.all("table"))
        assert all(th["scope"] in ("col", "row") for th in page.all("th"))
        assert all(svg.get("aria-label") or svg.get("aria-hidden") for svg in page.all("svg"))
        for tag in ("main", "nav", "header", "footer"):
            assert len(page.all(tag)) == 1, tag
        assert [label["aria-label"] for label in page.all("nav")] == ["Contents"]


def test_nothing_comes_from_elsewhere(small, hostile):
    for page in (Page(report_of(small)), hostile):
        policy = page.all("meta")[1]["content"]
        data, script = page.texts["script"]
        assert json.loads(zlib.decompress(b64decode(data)))["columns"]["item"]
        digest = b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert f"default-src 'none'; script-src 'sha256-{digest}';" in policy
        assert not page.all("iframe") + page.all("object") + page.all("embed") + page.all("base")
        assert not [a for _, a in page.elements for name in a if name.startswith("on")]
        sources = [a["src"] for _, a in page.elements if "src" in a]
        assert not sources
        assert [a["href"] for a in page.all("link")] == ["data:,"]
        assert not re.search(
            r"@import|url\((?!#)", "".join(re.findall(r"<style>.*?</style>", page.html, re.S))
        )


def test_hostile_names_are_elements_nowhere(hostile):
    assert hostile.texts["h1"] == ["<script>alert(1)</script> v0001"]
    assert not hostile.all("img")
    assert len(hostile.all("script")) == 2
    assert "x" not in hostile.ids  # of the name of a file
    for name in HOSTILE:
        if name.isascii() and name != LONG:
            assert text(name) in hostile.html, name
    assert "مرحبا" in hostile.html
    assert "\u202e" not in hostile.html
    assert "(10,000 characters)" in hostile.html
    shown = re.sub(r'<script type="application/json".*?</script>', "", hostile.html)
    assert "long " * 900 not in shown


@pytest.mark.slow
def test_what_changed_since_the_release_before(tmp_path, monkeypatch):
    monkeypatch.setenv("ANNOT_KEY", "a key for tests, long enough to be one")
    labels_campaign(tmp_path)
    rows = label_rows()
    for row in rows:
        if row["item"] == "item 7":  # all judges were wrong
            row["label"] = "no"
    page = Page(report_of(labels_campaign(tmp_path, rows)))
    assert "What changed" in page.texts["h2"]
    assert "Labels that changed: 1" in page.texts["h3"]
    changes = page.html[page.html.index('id="changes"') : page.html.index('id="judges"')]
    assert '<th scope="row">item 7</th><td>good</td><td>yes</td><td>no</td>' in changes
    assert "annot diff campaign.yaml v0001 v0002" in changes
    assert '<th scope="row">exports/labels-1.csv</th><td>other bytes</td>' in changes
    assert "Settings that differ" not in page.texts["h3"]


def test_rows_that_differ_are_found_by_their_key():
    old = pa.table({"k": ["a", "b", "c", "d"], "v": [1, 2, None, 4], "w": [0, 0, 0, 0]})
    new = pa.table({"k": ["d", "c", "b", "e"], "v": [None, None, 3, 5], "w": [9, 9, 9, 9]})
    actual = changed(old, new, ("k",), ("v",), ("w",)).to_pylist()
    assert [(r["k"], r["v_old"], r["v"], r["w_old"], r["w"]) for r in actual] == [
        ("b", 2, 3, 0, 9), ("d", 4, None, 0, 9),
    ]  # fmt: skip
    assert changed(old, old, ("k",), ("v",), ("w",)).num_rows == 0


@pytest.mark.slow
def test_twenty_thousand_judges_make_no_large_page(small):
    """The page, its figures too, and the data card; what is shown of them is said."""
    contents = contents_of(small)
    row = contents.judges[0]
    verdicts = ("passed", "failed", "undetermined")
    many = [
        row | {"judge": f"j{n:05}", "n_judgments": n, "verdict": verdicts[n % 3], "dropped": False,
               "p_value": n / 20_000, "n_pairs": n, "seconds_per_judgment": 1.0 + n % 97}
        for n in range(20_000)
    ]  # fmt: skip
    confusion = contents.tables["judge_confusion"].to_pylist()
    of_one = [r for r in confusion if r["judge"] == confusion[0]["judge"]]
    table = pa.Table.from_pylist(many, GOLD["judges"].schema)
    crowd = contents.tables | {
        "judges": table,
        "judge_confusion": pa.Table.from_pylist(
            [r | {"judge": f"j{n:05}"} for n in range(20_000) for r in of_one],
            contents.tables["judge_confusion"].schema,
        ),
    }
    html = report_html(contents.manifest, crowd, contents.internal)
    assert len(html) < 3_000_000
    assert "200 of 20,000 rows, one a judge and task, are shown" in html
    assert "600 of 20,000 judges shown: those who failed" in html
    assert len(set(re.findall(r"j\d{5}", html))) < 400
    assert len(data_card(contents.manifest, crowd)) < 100_000


def test_hashes_are_short_where_the_manifest_has_them_whole(small):
    manifest = small.publication.release.manifest
    method = report_of(small).partition('id="method"')[2]
    hashes = [file["sha256"] for table in manifest["tables"] for file in files_of(table)]
    assert hashes
    for sha in (*hashes, manifest["settings_hash"]):
        assert f">{sha[:12]}<" in method
    tables = re.findall(r"<table.*?</table>", method, re.DOTALL)
    assert not re.search(r"[0-9a-f]{64}", " ".join(tables))


def test_a_report_is_the_same_bytes_for_the_same_release(small):
    contents = contents_of(small)
    reports = {report_html(contents.manifest, contents.tables, contents.internal) for _ in "ab"}
    assert len(reports) == 1


def test_files_of_the_page_are_in_the_package():
    folder = Path(__file__).parents[2] / "annot_pipeline" / "report"
    assert (folder / "style.css").is_file()
    assert (folder / "script.js").is_file()
    templates = {path.name for path in (folder / "templates").iterdir()}
    assert {f"{anchor}.html" for anchor, *_ in SECTIONS + DETAILS} < templates


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("counts", "settings", "decided", "causes"),
    [
        ({"new_judgments": 2}, {}, False, ["new judgments"]),
        ({"new_judgments": 0, "withdrawn_judgments": 1}, {}, False, ["withdrawn judgments"]),
        ({"superseded_judgments": 1, "judgments_of_judges_who_fail_now": 4}, {}, False,
         ["corrected judgments", "verdicts"]),
        ({"new_judgments": 2, "new_decisions": 1}, {}, True, ["adjudications"]),
        ({"new_judgments": 2, "new_decisions": 1}, {}, False, ["new judgments", "adjudications"]),
        ({"new_judgments": 2}, {"seed": 2}, False, ["new judgments", "settings"]),
        ({"new_judgments": 2}, {"about": {"title": "t"}}, False, ["new judgments"]),
        ({"new_judgments": None}, {}, False, []),
    ],
)  # fmt: skip
@pytest.mark.slow
def test_a_label_names_the_inputs_that_can_have_changed_it(
    tmp_path_factory, counts, settings, decided, causes
):
    built = labels_campaign(tmp_path_factory.mktemp("causes"))
    contents = contents_of(built)
    changed = dict.fromkeys(LABEL_CHANGE, None) | {
        "task": "good", "item": "i", "label_old": "yes", "label": "no", "adjudicated": decided,
        "adjudicated_old": False, "n_changed": 1,
    }  # fmt: skip
    old = contents.manifest | {"settings": contents.settings | settings}
    previous = {name: contents.tables[name] for name in ("judges", "system_rankings")}
    since = replace(
        contents, manifest=contents.manifest | {"parent": {"version": "v0000"}, "changes": counts},
        previous=previous | {"label_changes": pa.Table.from_pylist([changed])},
        previous_manifest=old,
    )  # fmt: skip
    assert changes(since)["tables"]["labels"]["rows"][0]["causes"] == causes
    shown = html_of(changes, since)
    assert " or ".join(causes) in re.sub("<[^>]+>", "", shown)
    assert set(re.findall('href="#([^"]*)"', shown)) <= {*re.findall('id="([^"]*)"', shown)} | {
        "adjudicated", "changed-exports", "changed-judges"  # of data that this test makes up
    }  # fmt: skip


def test_a_judge_who_counts_again_is_no_change_from_failed_to_failed(labels_builds):
    """A verdict is listed if it stays while `quality.labels` says that its answers count."""
    contents = contents_of(labels_builds[1])
    judges = contents.tables["judges"]
    at = judges.schema.get_field_index("dropped")
    turned = judges.set_column(at, "dropped", pc.invert(judges["dropped"]))
    labels = pa.table({name: pa.array([], pa.int64()) for name in LABEL_CHANGE})
    rankings = contents.tables["system_rankings"]
    since = replace(
        contents, manifest=contents.manifest | {"parent": {"version": "v0000"}, "changes": {}},
        previous={"judges": turned, "system_rankings": rankings, "label_changes": labels},
        previous_manifest=contents.manifest,
    )  # fmt: skip
    shown = html_of(changes, since)
    listed = shown[shown.index("Verdicts that changed") :]
    text = " ".join(re.sub("<[^>]+>", " ", listed).split())
    assert "counted counts now" in text
    assert " no yes " in text


def test_ranks_that_changed_are_those_alone():
    """A system at the rank that it had is in another list, if its cluster is another."""
    then = [("a", 1, 1), ("b", 2, 1), ("c", 3, 2), ("d", 4, 2)]
    now = [("a", 1, 1), ("b", 3, 2), ("c", 2, 2), ("d", 4, 3)]
    empty = {name: pa.schema(GOLD[name].schema).empty_table() for name in ("judges", "labels")}

    def tables(rows):
        table = [
            {"task": "t", "method": "m", "system": s, "rank": r, "cluster": c, "score": 0.5,
             "headline": True}
            for s, r, c in rows
        ]  # fmt: skip
        return empty | {"system_rankings": pa.Table.from_pylist(table)}

    old = tables(then) | {"label_changes": pa.table({"n_changed": pa.array([], pa.int64())})}
    actual = changed_rows(old, tables(now))
    assert [row["system"] for row in actual["ranks"]["rows"]] == ["b", "c"]
    assert [row["system"] for row in actual["clusters"]["rows"]] == ["d"]
    assert (actual["ranks"]["n"], actual["clusters"]["n"]) == (2, 1)


@pytest.mark.slow
def test_a_campaign_of_one_judge_says_that_nobody_was_compared(tmp_path):
    rows = [row for row in label_rows() if row["judge"] == "judge 0"]
    assert len(rows) == 12
    page = Page(report_of(labels_campaign(tmp_path, rows)))
    assert not page.open
    shown = re.sub(r"<[^>]+>", " ", page.html.split('class="tiles"')[1].split("</ul>")[0])
    words = " ".join(shown.split())
    assert "Judges who count 1 none was tested" in words
    assert "looks random" not in words
    assert "Few labels are certain" in page.html
