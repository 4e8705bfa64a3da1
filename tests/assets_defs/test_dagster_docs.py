"""docs/dagster.md: its settings can be written, its names exist."""

from __future__ import annotations

import re
from pathlib import Path

import dagster as dg
import pytest
from dagster.components import ResolutionContext
from dagster.components.resolved.core_models import (
    AssetPostProcessorModel,
    apply_post_processor_to_defs,
)
from ruamel.yaml import YAML

from assets_defs import JudgmentCampaign, build_definitions
from tests.assets_defs.campaigns import write_campaign

TEXT = (Path(__file__).parents[2] / "docs" / "dagster.md").read_text()
COMPONENT, PROCESSING, SCHEDULE, INSTANCE = re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL)


def read(text: str) -> dict:
    return YAML(typ="safe", pure=True).load(text)


def test_the_attributes_are_those_of_the_component():
    said = read(COMPONENT)
    assert said["type"] == "assets_defs.JudgmentCampaign"
    assert set(said["attributes"]) == set(JudgmentCampaign.model_fields)


def test_the_schedule_can_be_written(tmp_path):
    definitions = build_definitions(
        write_campaign(tmp_path / "small"), schedule=read(SCHEDULE)["schedule"]
    )
    names = {s.name for s in [*definitions.schedules, *definitions.sensors]}
    names |= {job.name for job in definitions.resolve_all_job_defs() if "small" in job.name}
    for name in names:
        assert f"`{name.replace('small', 'CAMPAIGN')}`" in TEXT, name


def test_dagster_takes_the_settings_of_the_instance(tmp_path):
    (tmp_path / "dagster.yaml").write_text(INSTANCE)
    with dg.DagsterInstance.from_config(str(tmp_path)) as instance:
        assert instance.run_monitoring_enabled
        limits = instance.get_concurrency_config().run_queue_config.tag_concurrency_limits
        assert limits[0]["key"] == "annot/campaign"
        assert not instance.telemetry_enabled


def test_the_name_of_a_campaign_may_be_replaced(tmp_path):
    """What the page says of a second instance."""
    assert 'build_definitions(path, campaign="trial", store="store2", gold="gold2")' in TEXT
    definitions = build_definitions(
        write_campaign(tmp_path / "small"), campaign="trial", store="store2", gold="gold2"
    )
    assert definitions.resolve_job_def("trial_nightly")


@pytest.mark.filterwarnings("ignore:Parameter `include_sources`")  # of Dagster itself
def test_the_first_asset_can_depend_on_another_and_has_no_dependency_of_its_own(tmp_path):
    [written] = read(PROCESSING)["post_processing"]["assets"]
    model = AssetPostProcessorModel.model()(**written)
    before = build_definitions(write_campaign(tmp_path / "small"))
    after = apply_post_processor_to_defs(model, before, ResolutionContext.default())
    key = dg.AssetKey(["small", "work", "exports"])
    parents, parents_before = (
        definitions.resolve_asset_graph().get(key).parent_keys for definitions in (after, before)
    )
    assert (parents, parents_before) == ({dg.AssetKey("labelling_tool")}, set())
