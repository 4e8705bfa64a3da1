"""Rankings at equal length through the pipeline: texts of item tables, and the setting."""

from __future__ import annotations

import random

import pytest

from annot_pipeline.errors import ConfigError
from annot_pipeline.runtime.job_sizes import JobSizes
from annot_pipeline.stages.rankings import rank_systems
from tests.comparison_campaigns.compared import preferences, with_items
from tests.conftest import write_small_campaign

METHOD = "bradley_terry_length"
LENGTH = "ranking.covariates=[length]"


def campaign(tmp_path, *, has_texts: bool = True) -> tuple[str, list]:
    """Preferences of ten judges for the longer text of three systems, as exports and items."""
    draw = random.Random(3)
    lengths = {(n, system): draw.randrange(5, 60) for n in range(30) for system in "xyz"}
    rows = ["judge,segment,a,b,won"]
    for n in range(400):
        segment, (a, b) = draw.randrange(30), draw.sample("xyz", 2)
        is_longer = lengths[segment, a] > lengths[segment, b]
        won = "left" if is_longer == (draw.random() < 0.8) else "right"
        rows.append(f"w{n % 10},s{segment},{a},{b},{won}")
    texts = ["segment,system,text"] + [
        f"s{n},{system},{'y' * length if has_texts else ''}"
        for (n, system), length in lengths.items()
    ]
    return "\n".join([*rows, ""]), with_items(tmp_path, "\n".join([*texts, ""]))


def rows_of_method(built, table: str, method: str) -> list[dict]:
    return [row for row in built.rows(table) if row["method"] == method]


@pytest.mark.slow
def test_texts_of_segment_and_system(stage_campaign, tmp_path):
    text, items = campaign(tmp_path)
    built = preferences(stage_campaign, text, LENGTH, items=items)
    rows = rows_of_method(built, "system_rankings", METHOD)
    assert [row["system"] for row in rows] == ["x", "y", "z"]
    assert all(row["score"] is not None and not row["headline"] for row in rows)
    assert len(rows_of_method(built, "system_comparisons", METHOD)) == 6
    [fit] = built.metrics("rank_systems")["systems_compared"].values()
    assert fit[METHOD]["covariates"][0]["ci_low"] > 0.5
    assert fit[METHOD]["comparisons_without_text"] == 0
    without = preferences(stage_campaign, text, items=items)
    assert not rows_of_method(without, "system_rankings", METHOD)
    for table in ("system_rankings", "system_comparisons"):
        others = [row for row in built.rows(table) if row["method"] != METHOD]
        assert without.rows(table) == others


@pytest.mark.slow
def test_without_texts_rows_are_null_and_say_why(stage_campaign, tmp_path):
    text, items = campaign(tmp_path, has_texts=False)
    for more in ({"items": items}, {}):
        built = preferences(stage_campaign, text, LENGTH, **more)
        rows = rows_of_method(built, "system_rankings", METHOD)
        assert {row["rank"] for row in rows} == {None}
        assert {row["reason"] for row in rows} == {
            "no comparison of two outputs with texts: map text of items"
        }


@pytest.mark.slow
def test_the_report_has_the_effect_of_length(build_campaign, tmp_path):
    text, items = campaign(tmp_path)
    built = preferences(build_campaign, text, LENGTH, items=items)
    report = (built.publication.release.folder / "report.html").read_text()
    assert "Effect of the length of texts" in report


@pytest.mark.slow
def test_the_report_has_no_effect_of_length_unasked(build_campaign, tmp_path):
    text, items = campaign(tmp_path)
    without = preferences(build_campaign, text, items=items)
    report = (without.publication.release.folder / "report.html").read_text()
    assert "Effect of the length of texts" not in report


def test_texts_change_rankings_only_where_they_are_asked_for(stage_campaign, tmp_path, monkeypatch):
    """Without the setting, tasks are not even ranked again."""
    ranked = []

    def counting(*inputs):
        ranked.append(inputs)
        return rank(*inputs)

    rank = rank_systems.rank_systems
    monkeypatch.setattr(rank_systems, "rank_systems", counting)
    text, items = campaign(tmp_path)
    path = tmp_path / "campaign" / "items.csv"
    for sets in ((), (LENGTH,)):
        before = preferences(stage_campaign, text, *sets, items=items).rows("system_rankings")
        n_before = len(ranked)
        path.write_text(path.read_text().replace("s1,x,", "s1,x,zzzz"))
        after = preferences(stage_campaign, text, *sets, items=items).rows("system_rankings")
        assert (after != before) == bool(sets)
        assert len(ranked) - n_before == len(sets)


@pytest.mark.parametrize("value", ["[lenght]", "[length, length]", "length"])
def test_other_covariates_are_refused(tmp_path, value):
    from annot_pipeline.config.campaign_file import load_campaign

    folder = write_small_campaign(tmp_path, {"a.csv": "item,judge,label\n1,w,a\n"})
    with pytest.raises(ConfigError) as error:
        load_campaign(folder, sets=[f"ranking.covariates={value}"])
    [problem] = error.value.problems
    assert problem.where.startswith("ranking.covariates")
    words = f"{problem.what} {problem.allowed} {problem.do}"
    assert {"[lenght]": "length", "length": "list"}.get(value, "twice") in words


@pytest.mark.slow
def test_tasks_in_blocks_have_the_same_rankings(stage_campaign, tmp_path):
    """Scored HITs whose outputs stand side by side; a task too large for one job."""
    draw = random.Random(4)
    rows = ["item,segment,system,judge,hit,score,text"]
    for hit in range(60):
        for system in "xyz":
            n = draw.randrange(20, 90)
            rows.append(f"{hit % 20}{system},g{hit % 20},{system},w{hit % 8},h{hit},{n},")
    names = ("item", "segment", "system", "judge", "hit", "score")
    items = ["item,text"] + [
        f"{n}{system},{'y' * draw.randrange(5, 60)}" for n in range(20) for system in "xyz"
    ]
    (tmp_path / "campaign").mkdir(exist_ok=True)
    (tmp_path / "campaign" / "items.csv").write_text("\n".join([*items, ""]))
    source = {"path": "exports/*.csv", "format": "csv", "fields": {name: name for name in names}}
    settings = {
        "sources": [source], "tasks": [{"name": "*", "kind": "scalar", "scale": [0, 100]}],
        "items": [
            {"path": "items.csv", "format": "csv", "fields": {"item": "item", "text": "text"}}
        ],
    }  # fmt: skip
    exports = {"a.csv": "\n".join([*rows, ""])}
    whole = stage_campaign(exports, LENGTH, **settings)
    locations = (f"store={tmp_path}/store2", f"gold={tmp_path}/gold2")
    sizes = JobSizes(40, 20, task_judgments=50)
    blocks = stage_campaign(exports, LENGTH, *locations, sizes=sizes, **settings)
    assert len(blocks.runs["standardize_scores"].result.tables["standardized"].files) > 2
    one, two = (rows_of_method(built, "system_rankings", METHOD) for built in (whole, blocks))
    assert len(one) == 3
    assert all(row["score"] is not None for row in one)
    assert two == one
