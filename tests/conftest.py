"""Fixtures: real data beside the checkout, and campaigns built without Dagster."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hypothesis
import pyarrow as pa
import pytest

from annot_pipeline.commands import publish as publishing
from annot_pipeline.commands import release_pages
from annot_pipeline.commands.publish import Publication, publish
from annot_pipeline.config.campaign_file import load_campaign
from annot_pipeline.stages.build import STAGES, Build, Progress, StageRun
from annot_pipeline.storage.releases import Release
from annot_pipeline.storage.tables import read_table
from tests.full_campaign import write_full_campaign

KEY = "a key for tests, long enough to be one"

SHARED = Path(__file__).parents[2] / "shared"

hypothesis.settings.register_profile("no clock", deadline=None)
hypothesis.settings.load_profile("no clock")  # how long a machine takes is no matter of tests


LONG = (
    "tests/audit/test_hostile_manifests.py::test_no_command_fails_on_a_manifest_that_is_accepted[x-",
    "tests/audit/test_hostile_manifests.py::test_no_command_fails_on_a_manifest_that_is_accepted[3-",
    "tests/audit/test_hostile_manifests.py::test_no_command_fails_on_a_manifest_that_is_accepted[[5]",
    "tests/assets_defs/test_live.py::test_a_tick",
    "tests/comparison_campaigns/test_segment_ranks.py::test_a_thousand_outputs",
    "tests/guess/test_real_exports.py::test_masc_judges_and_tasks_are_told_by_file",
    "tests/guess/test_real_exports.py::test_real_exports[wmt",
    "tests/hits/test_files.py::test_a_large_batch_is_streamed",
    "tests/methods/planning/test_degradation.py::test_a_megabyte",
    "tests/methods/planning/test_degradation.py::test_tries_are_bounded",
    "tests/methods/planning/test_words.py::test_all_characters",
    "tests/pipeline/test_parts.py::test_a_build_in_parts_gives_the_same_bytes[1]",
    "tests/pipeline/test_parts.py::test_a_build_in_parts_gives_the_same_bytes[30]",
    "tests/pipeline/test_score_blocks.py::test_blocks_are_the_whole[settings2",
    "tests/pipeline/test_sizes_of_jobs.py",
    "tests/pipeline/test_score_blocks.py::test_odd_crowds[a score a judge",
    "tests/pipeline/test_score_blocks.py::test_odd_crowds[all scores are one",
    "tests/pipeline/test_score_blocks.py::test_odd_crowds[no HIT",
    "tests/pipeline/test_score_blocks.py::test_odd_crowds[no segment, HITs",
    "tests/pipeline/test_score_blocks.py::test_odd_crowds[nothing tells",
    "tests/pipeline/test_score_blocks.py::test_odd_crowds[shown again",
    "tests/published/test_comparison_campaigns.py",
    "tests/published/test_sakaguchi_vandurme_2018.py::test_the_published_gain_is_that",
    "tests/published/test_topology_wmt15.py",
    "tests/published/test_wmt15_agreement.py",
    "tests/published/test_wmt15_rankings.py",
    "tests/real_data/test_campaigns.py",
    "tests/real_data/test_labelstudio_leoka.py",
    "tests/real_data/test_masc_build.py",
    "tests/real_data/test_trace_campaigns.py",
    "tests/scalar_campaigns/test_any_order.py::test_order_and_files_and_keys_change_nothing[settings1",
    "tests/scalar_campaigns/test_any_order.py::test_order_and_files_and_keys_change_nothing[settings2",
    "tests/survival/test_builds_at_once.py::test_two_campaigns_at_once_share_nothing",
)
"""Whole campaigns of real data, large files, a clock to wait for: `make soak` runs them."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave what is long to `make soak`."""
    for item in items:
        if "SOAK" not in os.environ and item.nodeid.startswith(LONG):
            item.add_marker(pytest.mark.skip(reason="long: make soak"))


@pytest.fixture(scope="session", autouse=True)
def _no_waiting_for_disks() -> Iterator[None]:
    """A build syncs some 250 files; what that is for, no test can see: it takes a power cut."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(os, "fsync", lambda _: None)
        yield


@pytest.fixture(autouse=True)
def _reports_where_they_are_read(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What people read takes longer than a small build: made for tests marked ``reports``."""
    if request.node.get_closest_marker("reports") is None:
        monkeypatch.setattr(publishing, "_write_catalog", lambda *_: None)
        monkeypatch.setattr(release_pages, "report_html", lambda *_, **__: "not made in this test")
        monkeypatch.setattr(release_pages, "contested", lambda *_: [])


@pytest.fixture(autouse=True)
def _fixed_judge_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANNOT_KEY", KEY)
    monkeypatch.delenv("DAGSTER_HOME", raising=False)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Real judgment data, which is not part of the repository."""
    data = SHARED / "data"
    if not data.is_dir():
        pytest.skip("no ../shared/data: the real data is not part of the repository")
    return data


@pytest.fixture(scope="session")
def shared_campaigns(shared_data: Path) -> Path:
    return shared_data.parent / "campaigns"


@dataclass(frozen=True)
class Built:
    """A build that went through."""

    runs: dict[str, StageRun]
    publication: Publication

    def table(self, name: str) -> pa.Table:
        made = {n: t for run in self.runs.values() for n, t in run.result.tables.items()}
        return read_table(made[name])

    def rows(self, name: str) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self.table(name).to_pylist()
        return rows

    def facts(self, stage: str) -> dict[str, Any]:
        return dict(self.runs[stage].result.facts)

    def hashes(self) -> dict[str, str]:
        """SHA-256 of each released table, by name."""
        return {t["name"]: t["sha256"] for t in self.publication.release.manifest["tables"]}


def engine() -> tuple[str, ...]:
    """Settings of the engine that tests are run with: SPARK_MASTER names one, else this machine."""
    master = os.environ.get("SPARK_MASTER")
    return ("engine.kind=spark", f"engine.master={master}") if master else ()


def build_file(path: Path, *sets: str, progress: Progress = lambda _: None) -> Built:
    """Build a campaign file in this process, without Dagster."""
    build = Build(load_campaign(path, sets=(*engine(), *sets)), progress=progress)
    runs = {stage.name: build.run_stage(stage) for stage in STAGES}
    return Built(runs, publish(build))


@pytest.fixture(scope="session")
def full_release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    """A release that fills every gold table, with hostile names."""
    folder = write_full_campaign(tmp_path_factory.mktemp("full"))
    return build_file(folder).publication.release


Campaigns = Callable[..., Built]


@pytest.fixture
def build_campaign(tmp_path: Path) -> Campaigns:
    """Builds a small campaign of one csv source from texts of exports.

    ``build_campaign({"a.csv": "item,judge,label\\n..."}, tasks=[...])``; called again it
    builds the same campaign again, so files can be added, changed and withdrawn.
    """

    def build(exports: dict[str, str], *sets: str, **settings: Any) -> Built:
        folder = tmp_path / "campaign"
        (folder / "exports").mkdir(parents=True, exist_ok=True)
        for old in (folder / "exports").iterdir():
            old.unlink()
        for name, text in exports.items():
            (folder / "exports" / name).write_text(text, encoding="utf-8", newline="")
        document: dict[str, Any] = {
            "campaign": "small",
            "sources": [
                {
                    "path": "exports/*.csv",
                    "format": "csv",
                    "fields": {"item": "item", "judge": "judge", "label": "label"},
                }
            ],
        } | settings
        (folder / "campaign.yaml").write_text(json.dumps(document), encoding="utf-8")
        return build_file(folder, *sets)

    return build
