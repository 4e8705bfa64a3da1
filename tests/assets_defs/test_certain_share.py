"""Which labels are certain is one rule: in Dagster, in the manifest, in the examples."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from annot_pipeline.config.campaign_file import load_campaign
from annot_pipeline.stages.build import Build, stages_for
from annot_pipeline.storage.tables import read_table
from assets_defs.metadata import step_metadata

ROOT = Path(__file__).parents[2]


def usable(labels: pa.Table) -> float:
    return pc.sum(labels["certain"]).as_py() / len(labels)


def test_dagster_shows_the_share_of_labels_to_train_on(tmp_path):
    """Dawid-Skene is overconfident: fewer labels of the published model are certain."""
    sets = [f"store={tmp_path / 'store'}", f"gold={tmp_path / 'gold'}"]
    example = ROOT / "examples" / "anaesthetists"
    build = Build(load_campaign(example, sets=sets))
    runs = {stage.name: build.run_stage(stage) for stage in stages_for(["labels"])}
    labels = read_table(runs["infer_labels"].result.tables["labels"])
    shown = step_metadata(build, [runs["infer_labels"]], "labels", is_persistent=False)
    assert shown["certain_share"] == usable(labels)
    assert usable(labels) < pc.mean(labels["dawid_skene_certain"]).as_py(), "else it tells nothing"


@pytest.mark.slow
def test_the_manifest_counts_published_labels(full_release):
    release = full_release
    labels = release.table("labels")
    for task, share in release.manifest["facts"]["certain_share"].items():
        rows = labels.filter(pc.equal(labels["task"].cast(pa.string()), task))
        models = rows.filter(pc.is_valid(rows["model_label"]))
        assert 0 <= share <= 1
        sure = pc.sum(models["certain"]).as_py()
        assert share <= sure / len(models)
