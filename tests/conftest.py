"""Fixtures: real data where it is present, and campaigns built without Dagster."""

from __future__ import annotations

import gc
import json
import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hypothesis
import pyarrow as pa
import pytest

from annot_pipeline.commands.publish import Publication, publish
from annot_pipeline.config.campaign_file import load_campaign
from annot_pipeline.runtime.job_sizes import DEFAULT_SIZES, JobSizes
from annot_pipeline.stages.build import STAGES, Build, Progress, StageRun, stages_for
from annot_pipeline.stages.registry import MAKER
from annot_pipeline.storage.releases import Release
from annot_pipeline.storage.tables import read_table
from tests.full_campaign import write_full_campaign

KEY = "a key for tests, long enough to be one"

hypothesis.settings.register_profile("no clock", deadline=None)
hypothesis.settings.load_profile("no clock")  # how long a machine takes is no matter of tests


ROOM = 8 << 30
"""Bytes that a folder in memory must have free to hold what tests write."""


def pytest_configure() -> None:
    """Let tests write to memory where there is room: a build syncs some 250 files to the disk."""
    memory = Path("/dev/shm")
    if os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > ROOM:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(memory))


def pytest_collection() -> None:
    """Put off the search for garbage among the tests, a tenth of the time of collecting them."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Collect only objects that tests make, as rarely as the command does."""
    gc.freeze()
    gc.enable()
    gc.set_threshold(50_000)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip slow tests, and all but a sample of sampled ones, unless SOAK is set."""
    if os.environ.get("SOAK"):
        return
    n_parameters: Counter[str] = Counter()
    for item in items:
        if item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.skip(reason="slow: make soak"))
        sampled = item.get_closest_marker("sampled")
        if sampled is not None:
            function = item.nodeid.partition("[")[0]
            every = sampled.kwargs.get("every")
            n = n_parameters[function]
            if n % every if every else n:
                item.add_marker(pytest.mark.skip(reason="sampled: make soak"))
            n_parameters[function] += 1


@pytest.fixture(scope="session", autouse=True)
def _fixed_judge_key() -> Iterator[None]:
    """One key for fixtures of every scope: with a drawn one, pseudonyms differ at every run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ANNOT_KEY", KEY)
        patch.delenv("DAGSTER_HOME", raising=False)
        yield


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Folder of real judgment data, which is not part of the repository."""
    if not os.environ.get("ANNOT_REAL_DATA"):
        pytest.skip("ANNOT_REAL_DATA is not set: see tests/real_data/README.md")
    data = Path(os.environ["ANNOT_REAL_DATA"]).resolve()
    if not data.is_dir():
        pytest.skip(f"ANNOT_REAL_DATA: {data} is not a folder")
    return data


@pytest.fixture(scope="session")
def shared_campaigns(shared_data: Path) -> Path:
    """Folder of campaign files for the real data, which lies beside it."""
    campaigns = shared_data.parent / "campaigns"
    if not campaigns.is_dir():
        pytest.skip(f"no {campaigns} beside ANNOT_REAL_DATA")
    return campaigns


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

    def metrics(self, stage: str) -> dict[str, Any]:
        return dict(self.runs[stage].result.document)

    def hashes(self) -> dict[str, str]:
        """SHA-256 of each released table, by name."""
        return {t["name"]: t["sha256"] for t in self.publication.release.manifest["tables"]}


def engine() -> tuple[str, ...]:
    """Settings of the engine that tests are run with: SPARK_MASTER names one, else this machine."""
    master = os.environ.get("SPARK_MASTER")
    return ("engine.kind=spark", f"engine.master={master}") if master else ()


def build_file(
    path: Path,
    *sets: str,
    progress: Progress = lambda _: None,
    sizes: JobSizes = DEFAULT_SIZES,
) -> Built:
    """Build a campaign file in this process, without Dagster."""
    campaign = load_campaign(path, sets=(*engine(), *sets))
    build = Build(campaign, progress=progress, sizes=sizes)
    runs = {stage.name: build.run_stage(stage) for stage in STAGES}
    return Built(runs, publish(build))


class RunsOnDemand(dict[str, StageRun]):
    """Runs of stages by name; a stage is run, after those that it needs, when it is asked for."""

    def __init__(self, build: Build) -> None:
        super().__init__()
        self._build = build

    def __missing__(self, name: str) -> StageRun:
        for stage in stages_for(table for table, made_by in MAKER.items() if made_by.name == name):
            if stage.name not in self:
                self[stage.name] = self._build.run_stage(stage)
        return self[name]


class Staged:
    """A campaign of which only the stages are run that the tables asked for need.

    For tests that read tables of stages: a build runs all stages and publishes a release. Exports
    are read when it is made, so they may change afterwards.
    """

    def __init__(self, build: Build) -> None:
        self.runs = RunsOnDemand(build)
        self.metrics("settle_judgments")

    def run(self, *tables: str) -> Staged:
        """Make some tables now, before something changes on which they depend."""
        for name in tables:
            self.metrics(MAKER[name].name)
        return self

    def table(self, name: str) -> pa.Table:
        return read_table(self.runs[MAKER[name].name].result.tables[name])

    def rows(self, name: str) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self.table(name).to_pylist()
        return rows

    def metrics(self, stage: str) -> dict[str, Any]:
        return dict(self.runs[stage].result.document)


def stage_file(
    path: Path,
    *sets: str,
    progress: Progress = lambda _: None,
    sizes: JobSizes = DEFAULT_SIZES,
) -> Staged:
    """Run the stages of a campaign file that tables need, as they are asked for."""
    campaign = load_campaign(path, sets=(*engine(), *sets))
    return Staged(Build(campaign, progress=progress, sizes=sizes))


@pytest.fixture(scope="session")
def full_build(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """A build that fills every gold table, with hostile names."""
    return build_file(write_full_campaign(tmp_path_factory.mktemp("full")))


@pytest.fixture(scope="session")
def full_release(full_build: Built) -> Release:
    """The release of `full_build`."""
    return full_build.publication.release


@pytest.fixture(scope="session")
def labels_builds(tmp_path_factory: pytest.TempPathFactory) -> tuple[Built, Built]:
    """Two builds of a small campaign of labels, for tests that change nothing of it.

    In the second one export is corrected: all judges call item 7 bad.
    """
    from tests.report.report_pages import label_rows, labels_campaign

    folder = tmp_path_factory.mktemp("labels")
    corrected = [row | {"label": "no"} if row["item"] == "item 7" else row for row in label_rows()]
    return labels_campaign(folder), labels_campaign(folder, corrected)


@pytest.fixture(scope="session")
def hostile_build(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """A build of hostile names, for tests that change nothing of it."""
    from tests.report.report_pages import hostile_campaign

    return hostile_campaign(tmp_path_factory.mktemp("hostile"))


Campaigns = Callable[..., Built]


def write_small_campaign(folder: Path, exports: dict[str, str], **settings: Any) -> Path:
    """Write a small campaign of one csv source from texts of exports, in place of the last."""
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
    return folder


@pytest.fixture
def build_campaign(tmp_path: Path) -> Campaigns:
    """Builds a small campaign of one csv source from texts of exports.

    ``build_campaign({"a.csv": "item,judge,label\\n..."}, tasks=[...])``; called again it
    builds the same campaign again, so files can be added, changed and withdrawn.
    """

    def build(
        exports: dict[str, str], *sets: str, sizes: JobSizes = DEFAULT_SIZES, **settings: Any
    ) -> Built:
        folder = write_small_campaign(tmp_path / "campaign", exports, **settings)
        return build_file(folder, *sets, sizes=sizes)

    return build


@pytest.fixture(scope="session")
def copy_campaign(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Copies a campaign to a folder; the function that writes and builds it is called once.

    ``copy_campaign(build, folder, start=other)``: it goes on from the campaign of the other one.
    """

    def copy(
        build: Callable[[Path], object],
        folder: Path,
        *,
        start: Callable[[Path], object] | None = None,
    ) -> Path:
        key = (build, os.environ.get("ANNOT_KEY"))
        if key not in _CAMPAIGNS:
            path = tmp_path_factory.mktemp("built") / "campaign"
            if start:
                copy(start, path)
            build(path)
            _CAMPAIGNS[key] = path
        return shutil.copytree(_CAMPAIGNS[key], folder, symlinks=True)

    return copy


_CAMPAIGNS: dict[object, Path] = {}
"""Campaigns that tests of this process start from, by what was built."""


@pytest.fixture
def start_campaign(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Starts the campaign of `build_campaign` with a first release, which tests share.

    For tests that go on from a release: its folder is copied from the first test that built it.
    """

    def start(exports: dict[str, str], *sets: str, **settings: Any) -> Path:
        folder = write_small_campaign(tmp_path / "campaign", exports, **settings)
        document = (folder / "campaign.yaml").read_bytes()
        key = (str(exports), sets, document, os.environ.get("ANNOT_KEY"))
        if key not in _CAMPAIGNS:
            path = tmp_path_factory.mktemp("built") / "campaign"
            build_file(shutil.copytree(folder, path), *sets)
            _CAMPAIGNS[key] = path
        return shutil.copytree(_CAMPAIGNS[key], folder, symlinks=True, dirs_exist_ok=True)

    return start


@pytest.fixture
def stage_campaign(tmp_path: Path) -> Callable[..., Staged]:
    """As `build_campaign`, for tests that read tables of stages and no release."""

    def stage(
        exports: dict[str, str], *sets: str, sizes: JobSizes = DEFAULT_SIZES, **settings: Any
    ) -> Staged:
        folder = write_small_campaign(tmp_path / "campaign", exports, **settings)
        return stage_file(folder, *sets, sizes=sizes)

    return stage
