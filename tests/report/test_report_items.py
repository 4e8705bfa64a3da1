"""Pages of contested items, and decisions of experts."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest

from annot_pipeline.contracts import GOLD
from annot_pipeline.report.contents import Contents
from annot_pipeline.report.report import QUERIED
from annot_pipeline.report.sections.adjudicated import adjudicated
from annot_pipeline.report.sections.contested import contested
from annot_pipeline.report.sections.item import item_anchor
from tests.report.report_pages import MARKUP, QUERIES, SCRIPT, Page, html_of


def trace(**more: Any) -> dict[str, Any]:
    """Two judges say yes, one no; the second judge decides."""
    place = {
        "source_file": "a.csv", "source_row": 1234, "line": 1236, "cell": "c1",
        "source_digest": "ab" * 32, "fate": "used", "reason": None,
    }  # fmt: skip
    judgment = {
        "judgment_id": "f" * 32, "judge": "j1", "fate": "used", "reason": None, "control": "none",
        "answer": "yes", "evidence": 1.25, "submitted_at": "2024-05-01T10:00:00+00:00",
        "likelihoods": [{"label": "yes", "probability": 0.9}, {"label": "no", "probability": 0.2}],
        "places": [
            place, place | {"source_row": 7, "line": None, "cell": None, "fate": "duplicate"},
        ],
    }  # fmt: skip
    return {
        "campaign": "c", "release": "v0002", "task": "good", "item": "item 1",
        "kind": "categorical", "text": f"{SCRIPT}\n{MARKUP}",
        "label": {"label": "yes", "probability": 0.75, "certain": False, "entropy": 0.5,
                  "adjudicated": False, "model_label": "yes", "model_probability": 0.75},
        "distribution": [
            {"label": "no", "probability": 0.25, "dawid_skene_probability": 0.125, "votes": 1},
            {"label": "yes", "probability": 0.75, "dawid_skene_probability": 0.875, "votes": 2},
        ],
        "judgments": [
            judgment,
            judgment | {"judge": "j3", "fate": "judge_failed", "reason": "p = 0.4", "answer": "no",
                        "evidence": None, "likelihoods": None, "control": "ask_again"},
        ],
        "other_records": [{"judge": "j9", "fate": "rejected", "reason": "label is blank", **{
            k: place[k] for k in ("source_file", "source_row", "cell", "source_digest")}}],
        "set_aside": [{"judge": "j1", "left_out_of": "z_scores", "reason": "no variance"}],
        "judges": [
            {"judge": "j1", "verdict": "passed", "dropped": False, "p_value": 0.01},
            {"judge": "j3", "verdict": "failed", "dropped": True, "p_value": 0.4,
             "test": "paired_t", "n_pairs": 12},
        ],
        "without_judge": [
            {"judge": "j1", "n_judgments": 1, "label": "yes", "probability": 0.6, "flips": False},
            {"judge": "j2", "n_judgments": 1, "label": "no", "probability": 0.7, "flips": True},
        ],
        "flipped_by": ["j2"], "held_fixed": "Parameters are held fixed.",
        "chain": [{"stage": "infer_labels", "code_version": "3", "run": "r" * 32,
                   "data_versions": {"labels": "cd" * 32}, "inputs": {}}],
    } | more  # fmt: skip


def contents(*traces: dict[str, Any], **tables: pa.Table) -> Contents:
    return Contents({}, tables, {}, traces)


def test_a_page_says_who_said_what_and_where_it_stands():
    html = html_of(contested, contents(trace()))
    page = Page(html)
    assert not page.open
    assert page.texts["h3"] == ["item 1"]
    assert not page.all("script") + page.all("h1")
    assert "&lt;script&gt;alert(1)&lt;/script&gt;\n&lt;/td&gt;" in html
    anchor = item_anchor(trace())
    assert f'<a href="#{anchor}">item 1</a>' in html
    assert f'id="{anchor}"' in html
    assert "Without the judgments of <strong>j2</strong> the label changes." in html
    assert "a.csv row 1,234 (line 1,236), c1</span><br>" in html
    assert "a.csv row 7 (duplicate)" in html
    assert f'title="digest {"ab" * 32}"' in html
    assert '<td class="number" data-v="1.25">1.250</td>' in html
    assert "judge failed (ask_again): p = 0.4" in html
    assert "label is blank" in html
    first = html.index('<th scope="row">yes</th><td class="number">75.0%</td>')
    assert first < html.index('<th scope="row">no</th><td class="number">25.0%</td>')
    shown = html[first : html.index("</table>", first)]
    assert shown.index("87.5%") < shown.index("12.5%"), "Dawid-Skene's own stand beside"
    without = html.split("<caption>Without one judge", 1)[1].split("</table>", 1)[0]
    assert "60.0%" in without
    assert "Dawid-Skene" not in without, "what is published is what a judge could change"


@pytest.mark.slow
def test_a_build_finds_the_lines_of_rows(build_campaign):
    rows = 'item,judge,label\ni1,"A\nB",x\ni1,c,y\ni2,c,x\n'
    folder = build_campaign({"a.csv": rows}).publication.release.folder
    html = (folder / "report.html").read_text(encoding="utf-8")
    assert "exports/a.csv row 1 (line 2)" in html
    assert "exports/a.csv row 2 (line 4)" in html


def test_a_decision_of_an_expert_stands_with_the_answer_of_the_model():
    label = trace()["label"] | {
        "label": "no", "probability": 0.25, "adjudicated": True, "adjudicator": "expert 1",
        "adjudicated_at": "2024-06-01", "adjudication_reason": SCRIPT,
    }  # fmt: skip
    html = html_of(contested, contents(trace(label=label)))
    assert "an expert decided against the model, which says yes" in html
    assert "decided by an expert" in html
    assert "expert 1, 2024-06-01: “&lt;script&gt;alert(1)&lt;/script&gt;”" in html
    assert "The model's own answer: <strong>yes</strong>, probability 75.0%." in html
    alone = label | {"model_label": None, "model_probability": None, "probability": None}
    assert "No judge judged it." in html_of(contested, contents(trace(label=alone)))


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

    html = html_of(adjudicated, contents(**queried(labels)))
    assert "3 labels are an expert's decision, 1 of them against the model" in html
    assert html.index('row">b</th>') < html.index('row">c</th>') < html.index('row">a</th>')
    assert "&lt;b&gt;" in html
    assert "2024-06-01 12:00" in html
    assert html_of(adjudicated, contents(**queried(GOLD["labels"].empty()))) == ""


def test_an_item_keeps_its_anchor_wherever_it_stands_in_the_list():
    """A link to an item leads to that item in the next release too, or nowhere."""
    first, second = trace(item="a"), trace(item="b")
    assert item_anchor(first) == item_anchor(trace(item="a", flipped_by=[]))
    names = [item_anchor(t) for t in (first, second, trace(item="a", task="other"))]
    assert len(set(names)) == 3
    alone, last = html_of(contested, contents(first)), html_of(contested, contents(second, first))
    assert f'id="{names[0]}"' in alone
    assert f'id="{names[0]}"' in last


@pytest.mark.parametrize("share", [0.0, 0.61, 1.0])
def test_a_bar_is_its_probability_however_wide_it_is_drawn(share):
    """The unit of the bar's length is a hundredth of its width, not a pixel."""
    row = {"label": "yes", "probability": share, "dawid_skene_probability": share, "votes": 1}
    html = html_of(contested, contents(trace(distribution=[row])))
    assert 'viewBox="0 0 100 10" preserveAspectRatio="none"' in html
    assert f'rect width="{100 * share:g}"' in html
