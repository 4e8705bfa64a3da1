"""Items to doubt: which they are, in which order, and what the page holds of them."""

from __future__ import annotations

import json
import math
import re
import zlib
from base64 import b64decode
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

import pyarrow as pa
import pytest

from annot_pipeline.contracts import GOLD
from annot_pipeline.report.contents import Contents
from annot_pipeline.report.report import QUERIED, section_html
from annot_pipeline.report.sections import doubt as module
from annot_pipeline.report.sections.certainty import adjudicated
from annot_pipeline.report.sections.doubt import doubt
from annot_pipeline.storage.manifest_changes import source_digest
from tests.report.report_pages import QUERIES, build_into, contents_of, csv_text, html_of, tables_of


def unpacked(data: str) -> dict[str, Any]:
    """The items as the page's script reads them."""
    unpacked_data: dict[str, Any] = json.loads(zlib.decompress(b64decode(data)))
    return unpacked_data


OPEN = {"privacy": {"pseudonymize": False}}


def rows_of(built: Any) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = tables_of(built)["doubtful_items"].to_pylist()
    return rows


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Labels and scores of four items each, three judges; a fifth label has two judges."""
    rows = [
        {"task": "tone", "judge": f"w{j}", "item": f"i{i}", "label": "yes" if j < i else "no",
         "score": ""}
        for i in range(4) for j in range(3)
    ] + [
        {"task": "worth", "judge": f"w{j}", "item": f"k{i}", "label": "",
         "score": 50 + 10 * i + (i * j * 7) % 5}
        for i in range(4) for j in range(3)
    ]  # fmt: skip
    rows += [{"task": "tone", "judge": f"w{j}", "item": "i4", "label": label, "score": ""}
             for j, label in enumerate(["yes", "no"])]  # fmt: skip
    fields = {name: name for name in ("task", "judge", "item", "label", "score")}
    document = {
        "campaign": "mixed", **OPEN,
        "sources": [{"path": "exports/*.csv", "format": "csv", "fields": fields}],
        "tasks": [{"name": "tone", "kind": "categorical"}, {"name": "worth", "kind": "scalar"}],
    }  # fmt: skip
    return build_into(tmp_path_factory.mktemp("mixed"), {"a.csv": csv_text(rows)}, document)


def test_labels_that_are_not_certain_and_items_on_which_judges_differ(mixed):
    rows = rows_of(mixed)
    labels = [row for row in rows if row["kind"] == "label"]
    published = mixed.table("labels").to_pylist()
    uncertain = {row["item"]: row["probability"] for row in published if not row["certain"]}
    assert {row["item"] for row in labels} == {*uncertain}
    assert [row["probability"] for row in labels] == sorted(uncertain.values())
    (split,) = [row for row in labels if row["item"] == "i4"]
    assert split["reasons"].startswith("uncertain, split votes")
    assert {split["label"], split["runner_up"]} == {"yes", "no"}
    assert split["told"] == f"{math.floor(100 * split['probability'])}% probable, votes 1 to 1"
    alike = [row["told"].partition(", ")[2] for row in labels if row["item"] in ("i0", "i3")]
    assert {*alike} <= {"3 votes alike"}
    scores = [row for row in rows if row["kind"] == "score"]
    z = {}
    for row in mixed.table("judgments").to_pylist():
        if row["z"] is not None:
            z.setdefault(row["item"], []).append(row["z"])
    widths = [max(z[row["item"]]) - min(z[row["item"]]) for row in scores]
    assert len(widths) == 4
    assert widths == sorted(widths, reverse=True)


def test_answers_say_who_where_and_what_they_weigh(mixed):
    answers = [
        row for row in tables_of(mixed)["doubtful_answers"].to_pylist() if row["item"] == "i4"
    ]
    assert [(a["judge"], a["answer"], a["source_row"]) for a in answers] == [
        ("w0", "yes", 25), ("w1", "no", 26),
    ]  # fmt: skip
    (item,) = [row for row in rows_of(mixed) if row["item"] == "i4"]
    confusion = {
        (row["judge"], row["true_label"], row["observed_label"]): row["probability"]
        for row in mixed.table("judge_confusion").to_pylist()
    }
    for answer in answers:
        likely, other = (
            confusion[answer["judge"], label, answer["answer"]]
            for label in (item["label"], item["runner_up"])
        )
        assert answer["evidence"] == pytest.approx(math.log(likely / other))


def test_the_page_holds_every_item_with_the_line_of_each_answer(mixed):
    html = (mixed.publication.release.folder / "report.html").read_text(encoding="utf-8")
    data = unpacked(re.search(r'id="doubt-data">(.*?)</script>', html)[1])
    rows = rows_of(mixed)
    columns = data["columns"]
    assert {name: len(values) for name, values in columns.items()} == dict.fromkeys(
        columns, len(rows)
    )
    tone = data["tasks"].index("tone")
    pairs = [*zip(columns["task"], columns["item"], strict=True)]
    own = pairs.index((tone, "i4"))
    assert columns["votes"][own] == "no x1, yes x1"
    judges, answers, evidence, file, rows_of_file, offset, fates, n = data["answered"][str(own)]
    assert n == len(judges) == 2
    judge, answer, row = judges[0], answers[0], rows_of_file[0]
    assert (len(evidence), fates) == (2, [])
    assert (data["judges"][judge][0], data["answers"][answer]) == ("w0", "yes")
    short, whole, digest = data["files"][file]
    (source,) = mixed.publication.release.manifest["sources"]
    assert (short, row, row + offset) == ("a.csv", 25, 26)
    assert (whole, digest) == (source["name"], source_digest(source))
    assert None not in evidence
    assert data["classes"][tone] == ["no", "yes"]
    anchor = data["judges"][judge][1]
    assert f'<tr id="{anchor}">' in html


def test_too_many_items_are_cut_and_the_commands_for_all_are_told(mixed, monkeypatch):
    """How many of how many are listed, by which rule, and of how many stand all answers."""
    contents = contents_of(mixed)
    rows = contents.tables["doubtful_items"].to_pylist()
    (label,) = [row for row in rows if row["item"] == "i4"]
    texts = [sha256(str(n).encode()).hexdigest() * 10 for n in range(2_000)]
    many = [
        label | {"item": f"i{n:05}", "place": n + 1, "text": text} for n, text in enumerate(texts)
    ]
    table = pa.Table.from_pylist(many, contents.tables["doubtful_items"].schema)
    crowd = Contents(contents.manifest, contents.tables | {"doubtful_items": table}, {})
    monkeypatch.setattr(module, "MOST_BYTES", 70_000)
    facts = doubt(crowd)
    assert 0.8 * module.MOST_BYTES < len(facts["data"]) <= module.MOST_BYTES
    assert 100 < facts["n_listed"] < 2_000
    assert facts["n_answered"] == module.MOST_ANSWERED
    data = unpacked(facts["data"])
    assert len(data["columns"]["item"]) == facts["n_listed"]
    assert max(map(len, data["columns"]["text"])) == module.MOST_TEXT
    html = section_html("doubt", facts | {"n_uncertain": 2_000, "n_listed": 900, "n_answered": 800})
    assert "900 of them are listed, the least probable first; the first 800 with who said" in html
    assert "annot items campaign.yaml --uncertain -o queue.csv" in html
    assert "annot serve campaign.yaml" in html
    html = section_html("doubt", facts | {"n_uncertain": 900, "n_listed": 900, "n_answered": 900})
    assert "All are listed, the least probable first." in html
    empty = contents.tables | {"doubtful_items": table.slice(0, 0)}
    assert doubt(Contents(contents.manifest, empty, {})) == {}


@pytest.mark.slow
def test_a_pair_that_judges_fight_over(tmp_path):
    votes = [("x", "y", "aab"), ("y", "z", "aaa"), ("x", "z", "abab")]
    rows = [
        {"judge": f"w{n}", "segment": "s", "a": a, "b": b, "won": won}
        for a, b, wins in votes for n, won in enumerate(wins)
    ]  # fmt: skip
    rows[0] |= {"a": "y", "b": "x", "won": "b"}  # shown in the other order
    fields = {"judge": "judge", "segment": "segment", "system_a": "a", "system_b": "b",
              "preference": "won"}  # fmt: skip
    document = {"campaign": "small", **OPEN, "sources": [
        {"path": "exports/*.csv", "format": "csv", "fields": fields}]}  # fmt: skip
    built = build_into(tmp_path, {"a.csv": csv_text(rows)}, document)
    actual = [(row["kind"], row["item"]) for row in rows_of(built)]
    assert actual == [("preference", "s/x | s/z"), ("preference", "s/x | s/y")]  # 2 and 1 lose
    answers = tables_of(built)["doubtful_answers"].to_pylist()
    told = [row["answer"] for row in answers if row["item"] == "s/x | s/y"]
    assert told == ["s/x is better", "s/x is better", "s/y is better"]


def test_a_huge_score_comes_first_though_it_makes_its_judges_z_scores_small():
    rows = [
        {"task": "t", "item": f"i{n:02}", "judge": f"w{w}", "fate": "used",
         "score": 50.0 + n + w * (n == 7), "z": n / 10 + w * (n == 7)}
        for n in range(30) for w in range(2)
    ]  # fmt: skip
    rows[3 * 2 + 1] |= {"score": 111_111.0, "z": 0.9}  # of item 3, whose other z is .3
    inputs = {name: GOLD[name].empty() for name in ("labels", "label_distributions", "items")}
    inputs["judgments"] = pa.Table.from_pylist(rows, GOLD["judgments"].schema)
    table = QUERIES.table("report/doubtful_items", inputs, QUERIED["doubtful_items"])
    assert table["item"].to_pylist()[:2] == ["i03", "i07"]
    assert table["told"].to_pylist()[:2] == ["scores 53 to 111111", "scores 57 to 58"]


def test_preferences_of_people_that_models_contradict_come_after_those_of_people():
    def row(segment: str, judge: str, preference: str, fate: str) -> dict[str, Any]:
        return {"task": "t", "judge": judge, "preference": preference, "fate": fate,
                "item_a": f"{segment}/x", "item_b": f"{segment}/y"}  # fmt: skip

    judged = {
        "agreed": ["a", "a", "a", "a"], "one model": ["a", "a", "b", "a"],
        "both models": ["a", "a", "b", "b"], "a tie": ["tie", "tie", "b", "b"],
        "people": ["a", "b", "a", "a"],
    }  # fmt: skip
    rows = [
        row(segment, judge, preference, "measured" if judge.startswith("m") else "used")
        for segment, preferences in judged.items()
        for judge, preference in zip(("p1", "p2", "m1", "m2"), preferences, strict=True)
    ]
    inputs = {name: GOLD[name].empty() for name in ("labels", "label_distributions", "items")}
    inputs["judgments"] = pa.Table.from_pylist(rows, GOLD["judgments"].schema)
    table = QUERIES.table("report/doubtful_items", inputs, QUERIED["doubtful_items"])
    segments = [item.split("/")[0] for item in table["item"].to_pylist()]
    assert segments == ["people", "both models", "one model"]
    assert table["reasons"].to_pylist() == [
        "preferences differ",
        *["models differ from people"] * 2,
    ]
    assert table["told"].to_pylist() == [
        "preferences 1 to 1", "people 2 to 0, models 0 to 2", "people 2 to 0, models 1 to 1",
    ]  # fmt: skip


def test_decisions_against_the_model_come_first():
    def row(item: str, label: str, model: str | None) -> dict[str, Any]:
        return {
            "task": "t", "item": item, "label": label, "model_label": model,
            "certain": False, "dawid_skene_certain": False,
            "probability": None, "model_probability": None, "adjudicated": True,
            "adjudicator": "e", "adjudicated_at": datetime(2024, 6, 1, 12, tzinfo=UTC),
            "adjudication_reason": "<b>", "n_judgments": 0, "n_judges": 0,
        }  # fmt: skip

    rows = [row("a", "yes", "yes"), row("b", "no", "yes"), row("c", "no", None)]
    labels = pa.Table.from_pylist(rows, GOLD["labels"].schema)

    def queried(labels: pa.Table) -> dict[str, pa.Table]:
        inputs = {"labels": labels, "items": GOLD["items"].empty()}
        names = ("label_counts", "decisions")
        return {n: QUERIES.table(f"report/{n}", inputs, QUERIED[n]) for n in names}

    html = html_of(adjudicated, Contents({}, queried(labels), {}))
    assert "3 labels are an expert's decision, 1 of them against the model" in html
    assert html.index('row">b</th>') < html.index('row">c</th>') < html.index('row">a</th>')
    assert "&lt;b&gt;" in html
    assert "2024-06-01 12:00" in html
    assert html_of(adjudicated, Contents({}, queried(GOLD["labels"].empty()), {})) == ""
