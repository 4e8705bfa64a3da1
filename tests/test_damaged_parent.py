"""A build goes on only from a release that is whole; status says what is not."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from annot_pipeline.cli import main
from annot_pipeline.commands.publish import publish
from annot_pipeline.commands.status import status
from annot_pipeline.config.campaign_file import load_campaign
from annot_pipeline.errors import StoreError
from annot_pipeline.stages.build import STAGES, Build
from annot_pipeline.storage.releases import Releases
from tests.audit.two_releases import EXPORT, MORE


@pytest.fixture
def built(start_campaign):
    return start_campaign({"a.csv": EXPORT})


def forge_labels(campaign):
    path = campaign / "gold" / "v0001" / "labels.parquet"
    labels = pq.read_table(path)
    changed = pa.array(["other"] * labels.num_rows)
    place = labels.schema.get_field_index("label")
    pq.write_table(labels.set_column(place, labels.schema.field(place), changed), path)


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize("name", ["labels", "lineage", "judges", "agreement"])
def test_a_build_with_news_refuses_a_damaged_parent(build_campaign, built, name):
    (built / "gold" / "v0001" / f"{name}.parquet").write_bytes(b"garbage")
    with pytest.raises(StoreError, match="not the bytes that were published") as error:
        build_campaign({"a.csv": EXPORT, "b.csv": MORE})
    [problem] = error.value.problems
    assert problem.values == (f"{name}.parquet",)
    assert f"annot verify {built}" in problem.do
    assert Releases(built / "gold").versions() == ["v0001"]
    last = status(load_campaign(built))["last_build"]
    assert "not the bytes that were published" in last["outcome"]


def test_no_table_of_the_parent_is_read_unverified(built):
    """What is damaged after the first look is found where it is read."""
    campaign = load_campaign(built)
    (built / "exports" / "b.csv").write_text(MORE)
    build = Build(campaign)
    for stage in STAGES:
        build.run_stage(stage)
    forge_labels(built)
    with pytest.raises(StoreError, match=r"labels\.parquet: not the bytes that were published"):
        publish(build)


def test_a_build_without_news_says_what_is_damaged(build_campaign, built, capsys):
    forge_labels(built)
    with pytest.raises(StoreError, match="not the bytes that were published"):
        build_campaign({"a.csv": EXPORT})
    assert status(load_campaign(built))["release"]["damaged"] == ["labels.parquet"]
    assert main(["status", str(built)]) == 0
    out = capsys.readouterr().out
    assert "damaged, not as it was published: labels.parquet" in out
    assert out.endswith(f"next: annot verify {built}\n")


def test_a_build_goes_on_once_the_damaged_release_is_moved_away(build_campaign, built, tmp_path):
    forge_labels(built)
    (built / "gold" / "v0001").rename(tmp_path / "away")
    assert build_campaign({"a.csv": EXPORT}).publication.release.version == "v0002"


def test_a_defect_is_the_outcome_of_the_build(built, monkeypatch):
    build = Build(load_campaign(built))

    def broken(*_: object) -> None:
        raise RuntimeError("judge alice@example.org")

    monkeypatch.setattr(build, "_run_stage", broken)
    with pytest.raises(RuntimeError):
        build.run_stage(STAGES[0])
    outcome = status(load_campaign(built))["last_build"]["outcome"]
    assert outcome == "a bug in annot stopped it: RuntimeError"
