"""A build that runs elsewhere, followed by Dagster: the code of docs/spark.md as it stands."""

from __future__ import annotations

import os
import re
import runpy
from pathlib import Path

import dagster as dg
import pytest

from annot_pipeline.storage.releases import Releases
from tests.assets_defs.campaigns import write_campaign, write_export
from tests.conftest import build_file

ROOT = Path(__file__).parents[2]
# of Dagster's own clients of Pipes
pytestmark = pytest.mark.filterwarnings(
    "ignore:AssetExecutionContext.run_id:DeprecationWarning",
    "ignore:.*expected_writer_count:dagster.PreviewWarning",
)


@pytest.fixture
def there(tmp_path, monkeypatch):
    """Where the two files of the page lie, beside a campaign."""
    page = (ROOT / "docs" / "spark.md").read_text()
    code = re.findall(r"```python\n# (\S+)\n(.*?)```", page, re.DOTALL)
    assert [name for name, _ in code] == ["build_there.py", "definitions.py"]
    for name, text in code:
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]))
    return tmp_path


def build(folder: Path, instance: dg.DagsterInstance) -> dg.ExecuteInProcessResult:
    defs = runpy.run_path(str(folder / "definitions.py"))["defs"]
    job = defs.resolve_implicit_global_asset_job_def()
    return job.execute_in_process(instance=instance, raise_on_error=False)


@pytest.mark.slow
def test_a_release_is_an_asset_whose_version_is_the_releases(there):
    campaign = write_campaign(there / "campaigns" / "sentiment")
    build_file(campaign)
    write_export(campaign, "i9,w0,a\n", name="b.csv")
    with dg.DagsterInstance.ephemeral() as instance:
        result = build(there, instance)
        assert result.success
        assert Releases(campaign / "gold").versions() == ["v0001", "v0002"]
        [event] = result.asset_materializations_for_node("sentiment__release")
        assert event.metadata["version"].value == "v0002"
        assert event.tags["dagster/data_version"] == "v0002"
        said = [e.message for e in instance.all_logs(result.run_id)]
    assert any("published v0002" in message for message in said)


@pytest.mark.slow
def test_a_build_that_fails_says_why(there):
    write_campaign(there / "campaigns" / "sentiment", rows=None)
    with dg.DagsterInstance.ephemeral() as instance:
        result = build(there, instance)
        said = [str(e) for e in instance.all_logs(result.run_id)]
    assert not result.success
    assert any("no file matches exports/*.csv" in message for message in said)
