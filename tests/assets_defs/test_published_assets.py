"""Gold assets are materialized by publication alone: what depends on them runs for a release."""

from __future__ import annotations

import re
from pathlib import Path

import dagster as dg
import pytest

from annot_pipeline.contracts import GOLD
from annot_pipeline.storage.releases import Releases
from assets_defs import build_definitions
from tests.assets_defs.campaigns import ROWS, write_campaign, write_export

PAGE = (Path(__file__).parents[2] / "docs" / "dagster.md").read_text(encoding="utf-8")
FLIPPED = ROWS.replace(",a\n", ",c\n").replace(",b\n", ",a\n").replace(",c\n", ",b\n")
GATES = {"label_flips": {"error": 0.2, "minimum": 1}}


def recipe() -> dg.AssetsDefinition:
    """Return the asset that docs/dagster.md shows, for the campaign of this test."""
    [code] = re.findall(r"```python\n(@dg\.asset\(.*?)```", PAGE, re.DOTALL)
    names: dict[str, object] = {"dg": dg}
    exec(code.replace('"sentiment"', '"small"'), names)
    model = names["model"]
    assert isinstance(model, dg.AssetsDefinition)
    return model


def night(definitions: dg.Definitions, instance: dg.DagsterInstance) -> dg.ExecuteInProcessResult:
    job = definitions.resolve_job_def("small_nightly")
    return job.execute_in_process(instance=instance, raise_on_error=False)


def gold_versions(instance: dg.DagsterInstance) -> dict[str, str]:
    """Return the data version of each gold asset, as Dagster last saw it."""
    keys = {table: dg.AssetKey(["small", "gold", table]) for table in GOLD}
    events = {t: instance.get_latest_materialization_event(key) for t, key in keys.items()}
    return {
        table: event.asset_materialization.tags["dagster/data_version"]
        for table, event in events.items()
        if event and event.asset_materialization
    }


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    return write_campaign(tmp_path / "small", gates=GATES)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Parameter .include_sources.")  # of Dagster's own tester
def test_a_failed_night_materializes_no_gold_and_starts_nothing_downstream(campaign):
    definitions = dg.Definitions.merge(
        build_definitions(campaign), dg.Definitions(assets=[recipe()])
    )
    model = recipe().key
    cursor = None

    def requested(instance: dg.DagsterInstance) -> int:
        nonlocal cursor
        result = dg.evaluate_automation_conditions(definitions, instance, cursor=cursor)
        cursor = result.cursor
        return result.get_num_requested(model)

    with dg.DagsterInstance.ephemeral() as instance:
        assert requested(instance) == 0
        assert night(definitions, instance).success
        assert requested(instance) == 1
        before = gold_versions(instance)
        write_export(campaign, FLIPPED)
        failed = night(definitions, instance)
        assert not failed.success
        errors = [
            str(evaluation.description)
            for evaluation in failed.get_asset_check_evaluations()
            if not evaluation.passed and evaluation.severity == dg.AssetCheckSeverity.ERROR
        ]
        assert len(errors) == 1
        assert "label_flips" in errors[0]
        assert Releases(campaign / "gold").versions() == ["v0001"]
        assert gold_versions(instance) == before
        assert requested(instance) == 0
        write_export(campaign, ROWS + "i9,w0,a\ni9,w1,a\n")
        assert night(definitions, instance).success
        assert requested(instance) == 1


@pytest.mark.slow
def test_all_gold_assets_are_the_published_tables(campaign):
    with dg.DagsterInstance.ephemeral() as instance:
        assert night(build_definitions(campaign), instance).success
        release = Releases(campaign / "gold").get()
        published = {table["name"]: table for table in release.manifest["tables"]}
        versions = gold_versions(instance)
        assert {"labels", "judges", "lineage"} <= versions.keys()
        assert versions == {name: published[name]["sha256"] for name in versions}
        for name in versions:
            table = published[name]
            event = instance.get_latest_materialization_event(dg.AssetKey(["small", "gold", name]))
            metadata = event.asset_materialization.metadata
            assert metadata["release"].value == "v0001"
            assert campaign / metadata["path"].value == release.folder / table["file"]
            assert metadata["dagster/row_count"].value == table["rows"]


def test_tables_of_the_store_have_keys_and_a_group_of_their_own(campaign):
    specs = {spec.key: spec for spec in build_definitions(campaign).resolve_all_asset_specs()}
    work = {key: spec for key, spec in specs.items() if key.path[1] == "work"}
    assert {key.path[2] for key in work} == {
        "exports", "settled", "controlled", "labels", "agreement", "judges",
    }  # fmt: skip
    assert {spec.group_name for spec in work.values()} == {"small_work"}
    others = {
        key.to_user_string(): spec.group_name for key, spec in specs.items() if key not in work
    }
    assert set(others.values()) == {"small"}
    assert {"small/gold/labels", "small/release"} <= others.keys()


def test_checks_of_the_release_are_on_the_release(campaign):
    graph = build_definitions(campaign).resolve_asset_graph()
    [check] = [
        key for key in graph.asset_check_keys
        if key.asset_key == dg.AssetKey(["small", "release"]) and key.name == "gates"
    ]  # fmt: skip
    description = graph.get_check_spec(check).description
    for gate in ("label_flips", "prevalence_drift", "vanished_judgments", "agreement_fall"):
        assert gate in description
