"""Nights as they are: a new project, a daemon, a clock, and several campaigns on one SQLite.

What takes minutes runs under `make soak`. Screenshots need Chromium where Debian puts it: without
it the test that takes them is skipped in its end, or fails if REQUIRE_BROWSER is set.
"""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

import annot_pipeline
from annot_pipeline.storage.releases import Releases
from examples.week.nights import write_night
from examples.week.play import CAMPAIGN, MENDED
from tests.assets_defs.campaigns import ROWS, write_campaign, write_export
from tests.assets_defs.deployment import (
    BIN,
    PATIENCE,
    Deployment,
    pictures,
    skip_without_pictures,
    until,
)

AGREED = "".join(f"i{i},w{j},{'ab'[(i + (i % 7 == j)) % 2]}\n" for i in range(30) for j in range(5))
"""Answers of judges who err now and then: no gate warns."""

ALERTS = """\
from pathlib import Path


def tell(failure):
    (Path(__file__).parent / "told.txt").write_text(f"{failure.campaign}: {failure.message}")
"""
CHECKS = """{assetNodes {assetKey {path} assetChecksOrError {... on AssetChecks {checks {
    name executionForLatestMaterialization {status evaluation {severity}}}}}}}"""


@pytest.mark.slow
def test_from_a_new_project_to_gold(tmp_path):
    live = Deployment(tmp_path)
    project, folder = new_project(live)
    assert "assets_defs.JudgmentCampaign" in live.run("dg", "list", "components", at=project)
    live.run("dg", "check", "yaml", at=project)
    live.run("dg", "check", "defs", at=project)
    with live.running("dg", "dev", "--port", str(live.port), at=project):
        until(lambda: answers(live), "the web server")
        write_export(folder, AGREED)
        until(lambda: [r for r in live.runs() if r["status"] == "SUCCESS"], "a run by the sensor")
        assert annot_pipeline.load_gold(folder / "gold", "labels").num_rows == 30
        checks = statuses(live)
        assert set(checks) == {"gates", "great_expectations"}
        assert {name for name, status in checks.items() if status != "SUCCEEDED"} == set()
        pictures(live, tmp_path, "night/release", "Passed")
        write_export(folder, ",w1,a\n" * 90, "broken.csv")
        told = project / "src" / "shop" / "told.txt"
        until(told.exists, "the alert")
        assert "rejected_share" in told.read_text()
        assert Releases(folder / "gold").versions() == ["v0001"]
    live.run("dg", "check", "defs", at=project)
    skip_without_pictures()


def new_project(live: Deployment) -> tuple[Path, Path]:
    """A project with a campaign whose sensor is active; its folder, and that of the data."""
    live.run("create-dagster", "project", "--no-uv-sync", "shop")
    project = live.folder / "shop"
    said = live.run("dg", "scaffold", "defs", "assets_defs.JudgmentCampaign", "night", at=project)
    assert "next: " in said
    folder = project / "src" / "shop" / "defs" / "night"
    (project / "src" / "shop" / "alerts.py").write_text(ALERTS)
    (folder / "defs.yaml").write_text(
        "type: assets_defs.JudgmentCampaign\n"
        "attributes: {campaign: ., on_failure: 'shop.alerts:tell'}\n"
    )
    written = (folder / "campaign.yaml").read_text()
    active = written.replace(
        "sensor: {active: false}", "sensor: {active: true, interval_seconds: 5}"
    )
    assert active != written
    (folder / "campaign.yaml").write_text(active)
    return project, project / "data" / "night"


def answers(live: Deployment) -> bool:
    try:
        return bool(live.ask("{version}"))
    except OSError:
        return False


def statuses(live: Deployment) -> dict[str, str]:
    """How the newest execution of each check went."""
    return {
        check["name"]: check["executionForLatestMaterialization"]["status"]
        for node in live.ask(CHECKS)["assetNodes"]
        for check in node["assetChecksOrError"].get("checks", ())
    }


@pytest.mark.slow
def test_a_tick_of_the_clock_publishes(tmp_path):
    """The daemon alone, without a web server."""
    live = Deployment(tmp_path)
    folder = write_campaign(tmp_path / "c", schedule={"cron": "* * * * *", "active": True})
    definitions_file(tmp_path, folder)
    with live.running("dagster-daemon", "run", "-f", "defs.py"):
        until((folder / "gold" / "latest.json").exists, "a release")
    assert annot_pipeline.load_gold(folder / "gold", "labels").num_rows == 9


@pytest.mark.slow
def test_a_flood_at_night_stops_and_one_setting_lets_the_next_night_go_on(tmp_path):
    """The flood of docs/week.md, built by the daemon."""
    live = Deployment(tmp_path)
    folder = write_week(tmp_path / "week")
    (tmp_path / "alerts.py").write_text(ALERTS)
    definitions_file(tmp_path, folder, on_failure="alerts:tell")
    alert, gold = tmp_path / "told.txt", Releases(folder / "gold")
    with live.running("dagster-daemon", "run", "-f", "defs.py"):
        until((folder / "gold" / "latest.json").exists, "a release of seven nights")
        write_night(23, folder / "exports", renamed=True)
        until(alert.exists, "the alert")
        assert alert.read_text().startswith("week: ")
        assert "suspected_labels: 23.08% of items were decided by" in alert.read_text()
        assert gold.versions() == ["v0001"]
        assert "quality.suspected: drop in campaign.yaml builds without these" in live.run(
            "annot", "status", str(folder)
        )
        text = (folder / "campaign.yaml").read_text()
        (folder / "campaign.yaml").write_text(
            text.replace("  test: known_answer\n", "  test: known_answer\n  suspected: drop\n")
        )
        until(lambda: gold.versions() == ["v0001", "v0002"], "a release without these people")
    assert annot_pipeline.load_gold(folder / "gold", "labels").num_rows == 8 * 25


def write_week(folder: Path) -> Path:
    """The campaign of the week as it is on Sunday, with a clock."""
    write_night(22, folder / "exports", renamed=True)
    text = CAMPAIGN.read_text(encoding="utf-8")
    for old, new in MENDED:
        text = text.replace(old, new)
    clock = "\nschedule: { cron: '* * * * *', active: true }\n"
    (folder / "campaign.yaml").write_text(text + clock, encoding="utf-8")
    return folder


DYING = """
import os, pathlib, time
import assets_defs.release


def hang(build):
    pathlib.Path("pid").write_text(str(os.getpid()))
    time.sleep(600)


assets_defs.release.publish = hang
"""


@pytest.mark.slow
def test_a_run_that_is_killed_from_outside_is_told(tmp_path):
    live = Deployment(tmp_path)
    folder = write_campaign(tmp_path / "c", schedule={"cron": "* * * * *", "active": True})
    (tmp_path / "alerts.py").write_text(ALERTS)
    file = definitions_file(tmp_path, folder, on_failure="alerts:tell")
    file.write_text(DYING + file.read_text())
    with live.running("dagster-daemon", "run", "-f", "defs.py"):
        until((tmp_path / "pid").exists, "a run that publishes")
        os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)
        until((tmp_path / "told.txt").exists, "the alert")
    said = (tmp_path / "told.txt").read_text()
    assert said.startswith("small: the run was ended from outside")
    assert "do:" in said
    assert not (folder / "gold").exists()


def definitions_file(folder: Path, *campaigns: Path, on_failure: str | None = None) -> Path:
    file = folder / "defs.py"
    built = ", ".join(
        f"build_definitions({str(c)!r}, on_failure={on_failure!r})" for c in campaigns
    )
    file.write_text(
        "import dagster as dg\nfrom assets_defs import build_definitions\n"
        f"defs = dg.Definitions.merge({built})\n"
    )
    return file


@pytest.mark.slow
def test_parallel_runs_on_one_sqlite(tmp_path):
    """Two campaigns at once, each in a process, recorded by one instance."""
    live = Deployment(tmp_path)
    campaigns = {name: write_campaign(tmp_path / name, name) for name in ("one", "two")}
    definitions_file(tmp_path, *campaigns.values())
    live.run("dagster", "run", "list")  # makes the tables, which Dagster does unlocked, as a daemon
    runs = [
        subprocess.Popen(
            [BIN / "dagster", "job", "execute", "-f", "defs.py", "-j", f"{name}_nightly"],
            cwd=tmp_path, env=live.env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )
        for name in campaigns
    ]  # fmt: skip
    for run in runs:
        said, _ = run.communicate(timeout=PATIENCE)
        assert run.returncode == 0, said[-3000:]
        assert "database is locked" not in said
    hashes = set()
    for folder in campaigns.values():
        manifest = Releases(folder / "gold").get().manifest
        hashes |= {t["sha256"] for t in manifest["tables"] if t["name"] == "judge_confusion"}
        assert len(annot_pipeline.load_gold(folder / "gold", "labels")) == ROWS.count("w0")
    assert len(hashes) == 2  # tasks are named after their campaigns: nothing is shared
