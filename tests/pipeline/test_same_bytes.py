"""From exports to release: the same bytes of the same judgments, published once."""

from __future__ import annotations

import dataclasses
import random
from itertools import pairwise

import pytest

from annot_pipeline.commands.publish import publish
from annot_pipeline.commands.status import status
from annot_pipeline.config.campaign_file import load_campaign
from annot_pipeline.contracts import GOLD
from annot_pipeline.errors import StoreError
from annot_pipeline.stages import build as pipeline
from annot_pipeline.stages.build import STAGES, Build, stages_for
from annot_pipeline.storage.tables import read_table
from tests.conftest import build_file, stage_file
from tests.pipeline.exported import ROWS, but_lineage, export, used_answers


def test_shuffled_rows_renamed_and_split_files_give_the_same_bytes(build_campaign):
    whole = build_campaign({"a.csv": export(ROWS)})
    shuffled = list(ROWS)
    random.Random(1).shuffle(shuffled)
    split = {"z.csv": export(shuffled[:40]), "b.csv": export(shuffled[40:])}
    other = build_campaign(split, "resources.threads=1")
    assert but_lineage(whole)["labels"]
    assert but_lineage(other) == but_lineage(whole)
    assert used_answers(other) == used_answers(whole)


@pytest.mark.slow
def test_shuffled_rows_and_numbers_of_threads_give_the_same_bytes(build_campaign):
    whole = build_campaign({"a.csv": export(ROWS)})
    shuffled = list(ROWS)
    random.Random(1).shuffle(shuffled)
    others = [
        build_campaign({"a.csv": export(shuffled)}, "resources.threads=1"),
        build_campaign({"a.csv": export(ROWS)}, "resources.threads=2"),
    ]
    for other in others:
        assert but_lineage(other) == but_lineage(whole)
        assert used_answers(other) == used_answers(whole)


@pytest.mark.slow
def test_records_of_one_cell_in_two_sources_have_one_order(tmp_path):
    """Nothing tells such records apart but the source."""
    lines = [f"t,i{n // 10},j{n % 7},{'xy'[n % 3 > 0]},2026-01-01T00:00:00Z" for n in range(40_000)]
    (tmp_path / "a.csv").write_text("\n".join(["task,item,judge,label,at", *lines]))
    fields = "task: task, item: item, judge: judge, submitted_at: at"
    sources = [
        f"- {{path: a.csv, format: csv, fields: {{{fields}, label: {column}}}}}"
        for column in ("label", "at")
    ]
    (tmp_path / "campaign.yaml").write_text(
        "campaign: t\ntasks: [{name: t, labels: [x]}]\nsources:\n" + "\n".join(sources)
    )
    settled = []
    for threads in (1, 2):
        sets = (f"store={tmp_path}/{threads}", f"resources.threads={threads}")
        build = Build(load_campaign(tmp_path / "campaign.yaml", sets=sets))
        runs = {stage.name: build.run_stage(stage) for stage in stages_for(["settled"])}
        table = runs["settle_judgments"].result.tables["settled"]
        settled.append(table.sha256)
    assert settled[0] == settled[1]
    records = read_table(table, ["public_id", "source_row", "fate", "source_order"]).to_pylist()
    pairs = [(a, b) for a, b in pairwise(records) if (a | b) == (a | {"source_order": 1})]
    assert len(pairs) > 20_000
    assert all(a["source_order"] < b["source_order"] for a, b in pairs)


@pytest.mark.slow
def test_lineage_is_the_same_for_the_same_files(build_campaign, tmp_path):
    first = build_campaign({"a.csv": export(ROWS)})
    again = build_campaign({"a.csv": export(ROWS)}, f"store={tmp_path}/other-store")
    assert first.hashes() == again.hashes()


@pytest.mark.slow
def test_an_incremental_build_equals_a_full_one(build_campaign, tmp_path):
    build_campaign({"1.csv": export(ROWS[:50])})
    grown = build_campaign({"1.csv": export(ROWS[:50]), "2.csv": export(ROWS[30:])})
    full = build_campaign(
        {"1.csv": export(ROWS[:50]), "2.csv": export(ROWS[30:])},
        f"store={tmp_path}/fresh", f"gold={tmp_path}/fresh-gold",
    )  # fmt: skip
    assert grown.metrics("read_records")["parsed"] == 1
    assert full.metrics("read_records")["parsed"] == 2
    assert grown.hashes() == full.hashes()


def test_nothing_new_publishes_nothing_and_runs_nothing(start_campaign):
    second = build_file(start_campaign({"a.csv": export(ROWS)}))
    assert not second.publication.published
    assert second.publication.release.version == "v0001"
    assert second.metrics("read_records")["parsed"] == 0
    looked = ("archive_exports", "read_records", "compare_releases")
    assert all(run.result.reused for name, run in second.runs.items() if name not in looked)


def test_a_changed_contract_makes_its_table_again(start_campaign, monkeypatch):
    folder = start_campaign({"a.csv": export(ROWS)})
    changed = dataclasses.replace(GOLD["labels"], row="one item, as it is now")
    monkeypatch.setattr(pipeline, "GOLD", GOLD | {"labels": changed})
    again = stage_file(folder).run("labels")
    reused = {name: run.result.reused for name, run in again.runs.items()}
    assert not reused["infer_labels"]
    assert reused["control_judges"]


def test_a_setting_that_moves_numbers_publishes(build_campaign, start_campaign):
    start_campaign({"a.csv": export(ROWS)})
    changed = build_campaign({"a.csv": export(ROWS)}, "dawid_skene.smoothing=0.5")
    assert changed.publication.published
    assert changed.publication.release.manifest["parent"]["version"] == "v0001"
    assert changed.publication.release.version == "v0002"


@pytest.mark.slow
def test_the_order_of_patterns_counts_also_when_nothing_else_changed(build_campaign):
    def source(*patterns: str) -> dict:
        label = {"column": "label", "map": {p: p[1:] for p in patterns}}
        fields = {"item": "item", "judge": "judge", "label": label}
        return {"path": "exports/*.csv", "format": "csv", "fields": fields}

    exports = {"a.csv": export(["i1,w1,yes"])}
    first = build_campaign(exports, sources=[source("~^y", "~s$")])
    assert list(used_answers(first)) == [("i1", "w1", "^y")]
    second = build_campaign(exports, sources=[source("~s$", "~^y")])
    assert list(used_answers(second)) == [("i1", "w1", "s$")]
    assert second.publication.published


@pytest.mark.slow
@pytest.mark.sampled
@pytest.mark.parametrize(
    "exports", [{"b.csv": 0}, {"a.csv": 0, "b.csv": 0}, {"a.csv": 1, "b.csv": 0}],
    ids=["another name", "a copy", "names exchanged"],
)  # fmt: skip
def test_another_name_or_a_copy_of_an_export_is_published(build_campaign, tmp_path, exports):
    """Lineage names files: what it says is that of a build from scratch, and status agrees."""
    texts = export(ROWS[:60]), export(ROWS[40:])
    both = {"a.csv": 0, "b.csv": 1} if 1 in exports.values() else {"a.csv": 0}
    first = build_campaign({name: texts[n] for name, n in both.items()})
    written = {name: texts[n] for name, n in exports.items()}
    again = build_campaign(written)
    assert again.publication.published
    [gate] = [check for check in again.publication.checks if check["name"] == "copied_exports"]
    assert gate["value"] == len(exports) - len({*exports.values()})
    assert ("b.csv as exports/a.csv" in gate["detail"]) == bool(gate["value"])
    document = status(load_campaign(tmp_path / "campaign"))
    assert not any(document["arrived"].values())
    assert not document["build_due"]
    scratch = build_campaign(written, f"store={tmp_path}/fresh", f"gold={tmp_path}/fresh-gold")
    assert again.hashes() == scratch.hashes()
    assert again.hashes()["lineage"] != first.hashes()["lineage"]
    if len(both) == 1:
        assert but_lineage(again) == but_lineage(first)
    assert not build_campaign(written).publication.published


@pytest.mark.parametrize("change", ["exports", "settings"])
def test_tables_of_different_builds_are_not_released_together(start_campaign, tmp_path, change):
    """A selection of assets that was materialized alone must not slip into gold."""
    start_campaign({"a.csv": export(ROWS)})
    folder = tmp_path / "campaign"
    sets = ["dawid_skene.smoothing=5"] if change == "settings" else []
    if change == "exports":
        (folder / "exports" / "b.csv").write_text(export(["new,w1,yes"]))
    build = Build(load_campaign(folder, sets=sets))
    for stage in STAGES[:3]:
        build.run_stage(stage)
    with pytest.raises(StoreError, match="come from different builds") as error:
        publish(build)
    stale = {"exports": "control_judges", "settings": "infer_labels"}[change]
    assert stale in str(error.value)
    assert [p.name for p in (folder / "gold").iterdir() if p.is_dir()] == ["v0001"]
