"""The section on model judges: side by side, where to ask, a page each, and models alone."""

from __future__ import annotations

import html
import re

import pytest

from annot_pipeline.report.render import interval, number
from tests.conftest import build_file
from tests.model_judges.test_judge_kinds import BOTH, HUMAN, MODEL, MODELS
from tests.model_judges.test_model_tables import score_rows
from tests.report.report_pages import csv_text

TAG = re.compile(r"<[^>]+>")


def texts(built):
    folder = built.publication.release.folder
    page = html.unescape((folder / "report.html").read_text(encoding="utf-8"))
    section = page.partition('id="models"')[2].partition("</section>")[0]
    return page, " ".join(TAG.sub(" ", section).split()), (folder / "README.md").read_text()


@pytest.mark.slow
def test_people_and_models_stand_side_by_side(build_campaign):
    second = MODEL.replace("gpt-4o", "gpt-3").replace(",x\n", ",z\n")
    built = build_campaign(BOTH | {"c.csv": second}, judges=MODELS)
    page, section, card = texts(built)
    assert "60 judgments of judges whom a task does not use are measured only" in section
    [row] = [r for r in built.rows("judge_validation") if r["judge"] == "gpt-4o"]
    assert f"gpt-4o small people 20 3 {row['agreement']:.1%}" in section
    assert "Where models and people differ most" in section
    assert "Items that people should judge next" in section
    ask = section.partition("Items that people should judge next")[2]
    assert " i20 " in ask  # no person judged it, and models differ
    assert "z (1)" in ask
    assert "gpt-4o, small What is known figure value note model gpt-4o family gpt" in section
    assert "intervals hold for these models" not in page
    assert "| small | gpt-4o | people | 20 |" in card
    assert "Judgments with the fate `measured`" in card


@pytest.mark.slow
def test_models_alone_are_told_on_the_first_screen_and_of_every_table(build_campaign):
    built = build_campaign({"b.csv": MODEL}, judges=MODELS)
    page, _, card = texts(built)
    words = "The judges are models: intervals hold for these models, over items."
    assert words in page.partition('id="records"')[0]
    assert words in card
    manifest = built.publication.release.manifest
    assert {table["note"] for table in manifest["tables"]} == {words}
    croissant = (built.publication.release.folder / "croissant.json").read_text(encoding="utf-8")
    assert croissant.count(words) == len(manifest["tables"])


@pytest.mark.slow
def test_the_bias_of_a_model_has_its_interval(build_campaign):
    fields = {name: name for name in ("segment", "system", "judge", "score")}
    built = build_campaign(
        {"a.csv": csv_text(score_rows())}, judges=MODELS,
        sources=[{"path": "exports/*.csv", "format": "csv", "fields": fields}],
        tasks=[{"name": "*", "kind": "scalar", "scale": [0, 100]}],
    )  # fmt: skip
    [row] = built.rows("judge_validation")
    ends = interval(row["bias_low"], row["bias_high"])
    assert f" {number(row['bias'])} {ends} {number(row['error'])} " in texts(built)[1]


@pytest.mark.slow
def test_what_a_judgment_of_a_model_cost(build_campaign, tmp_path):
    lines = MODEL.splitlines()
    paid = "\n".join([lines[0] + ",cost", *(line + ",0.002 USD" for line in lines[1:])]) + "\n"
    fields = {name: name for name in ("item", "judge", "label")}
    sources = [
        {"path": "exports/a.csv", "format": "csv", "fields": fields},
        {"path": "exports/b.csv", "format": "csv", "fields": fields | {"reward": "cost"}},
    ]
    built = build_campaign({"a.csv": HUMAN, "b.csv": paid}, judges=MODELS, sources=sources)
    [cost] = built.publication.release.manifest["facts"]["model_cost"]
    assert (cost["n_paid"], cost["currency"]) == (30, "USD")
    assert cost["paid"] == pytest.approx(0.06)
    assert "cost of a judgment 0.002 USD" in texts(built)[1]
    assert build_file(tmp_path / "campaign").publication.release.version == "v0001"
