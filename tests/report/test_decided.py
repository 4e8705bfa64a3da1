"""Decisions of experts stand as such in report and card; labels are held against known answers."""

from __future__ import annotations

import re
from pathlib import Path

import pandas
import pyarrow as pa
import pytest

from annot_pipeline.contracts import GOLD
from annot_pipeline.report.accuracy import Accuracy, accuracies
from annot_pipeline.report.data_card import data_card
from annot_pipeline.report.report import QUERIED
from annot_pipeline.report.sections.changes import changes
from tests.conftest import Built
from tests.report.report_pages import (
    QUERIES,
    Page,
    build_into,
    contents_of,
    csv_text,
    html_of,
    rows_of_card,
    section,
    tables_of,
)

FIELDS = {"item": "item", "judge": "judge", "label": "label"}
DOCUMENT = {
    "campaign": "decided",
    "sources": [
        {"path": "exports/a*.csv", "format": "csv", "fields": FIELDS},
        {"path": "exports/x*.csv", "format": "csv",
         "fields": FIELDS | {"control": {"value": "adjudication"}}},
    ],
    "items": [{"path": "items.csv", "format": "csv",
               "fields": {"item": "item", "truth": "truth"}}],
}  # fmt: skip
LONG = "very " * 1999 + "long."
DECISIONS = {"i0": "maybe", "i1": "no", "i2": "no", "new": LONG}
"""Against the model, as a class of its own; against it; as it says; where no judgments."""


def campaign(folder: Path) -> Built:
    """Ten items, five judges: odd ones are yes to all, of even ones the first judge says yes."""
    judged = [
        {"item": f"i{n}", "judge": judge, "label": "yes" if n % 2 or judge == "p" else "no"}
        for n in range(10) for judge in "pqrst"
    ]  # fmt: skip
    experts = [{"item": i, "judge": "e", "label": label} for i, label in DECISIONS.items()]
    truth = {f"i{n}": "yes" if n % 2 else "no" for n in range(8)} | {"i0": "maybe", "i3": "no"}
    folder.mkdir(exist_ok=True)
    rows = [{"item": item, "truth": label} for item, label in truth.items()]
    (folder / "items.csv").write_text(csv_text(rows), encoding="utf-8")
    exports = {"a.csv": csv_text(judged), "x.csv": csv_text(experts)}
    return build_into(folder, exports, DOCUMENT)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    return campaign(tmp_path_factory.mktemp("decided"))


@pytest.fixture(scope="module")
def html(built: Built) -> str:
    return (built.publication.release.folder / "report.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def card(built: Built) -> str:
    return (built.publication.release.folder / "README.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_labels_by_whose_they_are(built):
    actual = contents_of(built).labelled["decided"]
    sure = sum(r["certain"] and not r["adjudicated"] for r in built.rows("labels"))
    assert (actual.n, actual.certain, actual.decided, actual.against) == (11, sure, 4, 2)
    assert actual.usable == (sure + 4) / 11
    assert contents_of(built).labelled_in_all == actual


def test_the_first_screen_and_certainty_tell_one_figure(html, built):
    share = f"{contents_of(built).labelled_in_all.usable:.1%}"
    assert f">Labels certain or decided</span> <strong>{share}</strong>" in html
    assert "; 4 decided by experts, 2 against the model" in html
    assert re.search(rf"{share} of 11 labels certain or decided, \d+\.\d% right of \d+ known", html)
    bands = html.split("<caption>Labels by probability</caption>", 1)[1].split("</table>", 1)[0]
    heads = re.findall(r"<th scope=\"col\"[^>]*>(.*?)</th>", bands)
    body = bands.split("<tr>", 1)[1]
    written = re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", body)
    cells = dict(zip(heads, written[len(heads) :], strict=False))
    assert cells["decided by an expert"] == "4"
    assert cells["labels"] == "11"
    assert cells["certain or decided"] == share
    assert "decided by an expert" in Page(html).html.split("<caption>Labels by probability", 1)[0]


def test_decisions_against_the_model_are_to_be_doubted_and_others_not(built):
    items = {row["item"]: row for row in tables_of(built)["doubtful_items"].to_pylist()}
    assert items["i0"]["reasons"] == items["i1"]["reasons"] == "expert against model"
    assert not {"i2", "new"} & items.keys()


def test_a_decision_that_says_the_same_is_a_change_of_whose_it_is(built):
    contents, now = contents_of(built), built.table("labels")
    rows = now.to_pylist()
    for row in rows:
        if row["item"] == "i2":
            row |= {"adjudicated": False, "adjudicator": None}
    old = now.schema.empty_table().from_pylist(rows, now.schema)
    manifest = contents.manifest | {"parent": {"version": "v0000"}, "changes": {}}
    empty = {name: contents.tables[name].slice(0, 0) for name in ("judges", "system_rankings")}

    def changes_since(labels: pa.Table) -> str:
        actual = QUERIES.table(
            "report/label_changes",
            {"old_labels": labels, "new_labels": now}
            | dict.fromkeys(("old_judgments", "new_judgments"), built.table("judgments"))
            | {"new_lineage": built.table("lineage")},
            {"same_names": True, "most": 9, "most_answers": 3, "forgotten": []},
        )
        before = empty | {"label_changes": actual}
        return html_of(changes, type(contents)(
            manifest, contents.tables | empty, contents.internal, before, None
        ))  # fmt: skip

    actual = changes_since(old)
    assert "Labels that changed: 1<" in actual
    shown = actual.split("Labels that changed", 1)[1]
    assert re.findall(r'row">(i\d)</th>', shown) == ["i2"]
    assert "<td>the model</td>" in shown
    assert re.search("expert j[0-9a-f]{20}", shown)
    assert "none changed" in shown
    assert "Labels that changed" not in changes_since(now)


# --- the data card ---------------------------------------------------------------------------


def test_the_card_counts_decisions_classes_and_what_is_left(card, built):
    assert rows_of_card(card, "Experts' decisions") == [["decided", "4", "2", "1"]]
    classes = {row[1]: row[2:] for row in rows_of_card(card, "Classes")}
    assert [name[:5] for name in classes] == ["no", "yes", "maybe", "very "]
    assert sum(int(row[0]) for row in classes.values()) == 11
    assert classes["maybe"] == ["1", "9.1%", "not a class of it", "", "1"]
    assert max(map(len, card.splitlines())) < 2000
    rest = sum(not (r["certain"] or r["adjudicated"]) for r in built.rows("labels"))
    assert (f"{rest} of 11 items" in card) == bool(rest)


def test_the_recipe_of_the_card_keeps_decisions(card, built, monkeypatch):
    code = card.split("```python\n", 1)[1].split("\nimport pyarrow", 1)[0]
    monkeypatch.chdir(built.publication.release.folder)
    names: dict[str, pandas.DataFrame] = {}
    exec(code, names)
    soft = names["soft"]
    assert soft.groupby(["task", "item"])["probability"].sum().round(9).eq(1).all()
    decided = soft[soft["item"].isin(list(DECISIONS))]
    assert dict(zip(decided["item"], decided["label"], strict=True)) == DECISIONS
    assert soft["item"].nunique() == 11
    assert len(soft) == 7 * 2 + 4
    assert set(names["gold"]["item"]) >= set(DECISIONS)


def test_labels_are_held_against_known_answers(html, card, built):
    """Worked by hand: of eight known items all labels but those of i1 (decided no) and i3."""
    every, sure = accuracies(tables_of(built)["label_counts"].to_pylist())
    assert every == Accuracy("decided", "all", 8, 6)
    assert every.share == 0.75
    assert every.interval == pytest.approx((0.4093, 0.9285), abs=1e-4)  # Wilson 1927
    flags = {r["item"]: r["certain"] or r["adjudicated"] for r in built.rows("labels")}
    known = [f"i{n}" for n in range(8) if flags[f"i{n}"]]
    assert (sure.n, sure.right) == (len(known), len({*known} - {"i1", "i3"}))
    (told, _) = rows_of_card(card, "Labels compared with known answers")
    assert told == ["decided", "all", "8", "6", "75.0%", "40.9% to 92.9%"]
    assert "Compared with known answers" in html
    assert "40.9% to 92.9%" in html
    unknown = {"labels": built.table("labels"), "items": GOLD["items"].empty()}
    counted = QUERIES.table("report/label_counts", unknown, QUERIED["label_counts"])
    assert accuracies(counted.to_pylist()) == []
    assert sum(row["n"] for row in counted.to_pylist()) == 11


@pytest.mark.parametrize(
    ("label_model", "says"),
    [
        ("hierarchical", "allows for judges who err together as far as held-out labels tell"),
        ("dawid_skene", "is that of `dawid_skene`, which assumes that judges err independently"),
    ],
)
def test_the_card_says_what_probabilities_allow_for(built, label_model, says):
    manifest = dict(built.publication.release.manifest)
    assert manifest["settings"]["label_model"] == "hierarchical"
    manifest["settings"] = manifest["settings"] | {"label_model": label_model}
    lines = section(data_card(manifest, tables_of(built)), "Known limits")
    assert f"`labels.probability` {says}" in lines


@pytest.mark.parametrize(
    ("certainty", "says"),
    [
        ({"is_recalibrated": True}, "are corrected by items whose class is known"),
        ({"other_label": 3}, "Dawid-Skene as the paper has it labels 3 items otherwise"),
    ],
)
def test_the_card_says_what_probabilities_rest_on(built, certainty, says):
    manifest = dict(built.publication.release.manifest)
    gold = tables_of(built)
    plain = manifest["facts"]["certainty"]["decided"]
    plain = plain | {"is_recalibrated": False, "other_label": 0}
    for changed, told in ((plain, False), (plain | certainty, True)):
        manifest["facts"] = manifest["facts"] | {"certainty": {"decided": changed}}
        assert (says in section(data_card(manifest, gold), "Known limits")) is told
