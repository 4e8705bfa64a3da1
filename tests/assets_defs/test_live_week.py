"""A week through the daemon: a flood on Wednesday, what people decide, one alert, one all-clear.

Asserted by GraphQL, by what the hooks were told, and by the log of an asset downstream, which
trains on published releases only. Screenshots need Chromium, as those of `test_live`.
"""

from __future__ import annotations

import json
import re
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from annot_pipeline import load_gold
from annot_pipeline.storage.candidates import Candidates
from annot_pipeline.storage.files import file_sha256
from annot_pipeline.storage.releases import Releases
from tests.assets_defs.campaigns import write_campaign, write_export
from tests.assets_defs.deployment import (
    BIN,
    PATIENCE,
    Deployment,
    pictures,
    skip_without_pictures,
    until,
)

FLOOD = "".join(f"flood{i},x{j},b\n" for i in range(40) for j in range(12))
"""Twelve people who give one answer to all items, which only they see."""
DEFINITIONS = """\
from pathlib import Path

import dagster as dg

from annot_pipeline.storage.releases import Releases
from assets_defs import build_definitions

FOLDER = Path(__file__).parent


def tell(build):
    with (FOLDER / "told.txt").open("a") as told:
        told.write(f"{type(build).__name__}: {build.message}\\n---\\n")


@dg.asset(
    deps=[dg.AssetKey(["week", "gold", "labels"])],
    automation_condition=dg.AutomationCondition.any_deps_match(
        dg.AutomationCondition.data_version_changed()
    ).since_last_handled(),
)
def model() -> None:
    release = Releases(FOLDER / "week" / "gold").get()
    items = release.table("labels")["item"].to_pylist()
    with (FOLDER / "trained.txt").open("a") as log:
        log.write(f"{release.version} {len(items)} {any(i.startswith('flood') for i in items)}\\n")


automation = dg.AutomationConditionSensorDefinition(
    "automation",
    target=dg.AssetSelection.all(),
    default_status=dg.DefaultSensorStatus.RUNNING,
    minimum_interval_seconds=5,
)
defs = dg.Definitions.merge(
    dg.Definitions(assets=[model], sensors=[automation]),
    build_definitions(FOLDER / "week", on_failure=tell, on_recovery=tell),
)
"""
RELEASES = """{assetOrError(assetKey: {path: ["week", "release"]}) {... on Asset {
    assetMaterializations {metadataEntries {label ... on TextMetadataEntry {text}
        ... on BoolMetadataEntry {boolValue}}}}}}"""
CHECKS = """{assetNodes {assetKey {path} assetChecksOrError {... on AssetChecks {checks {
    name executionForLatestMaterialization {status evaluation {description}}}}}}}"""
RELOAD = "mutation {reloadWorkspace {__typename}}"


def good(day: str) -> str:
    """Answers of judges who err now and then: no gate stops them."""
    rows = ((i, j, "ab"[(i + (i % 7 == j)) % 2]) for i in range(30) for j in range(5))
    return "".join(f"{day}{i},w{j},{answer}\n" for i, j, answer in rows)


PAGE = (Path(__file__).parents[2] / "docs" / "week.md").read_text("utf-8")


@pytest.mark.parametrize("query", [RELEASES, CHECKS])
def test_the_page_has_the_queries(query: str) -> None:
    assert f"```graphql\n{query}\n```" in PAGE


@pytest.mark.slow
def test_a_week_with_a_flood(tmp_path: Path) -> None:
    live = Deployment(tmp_path)
    sensor = {"active": True, "interval_seconds": 5}
    folder = write_campaign(tmp_path / "week", "week", rows=None, schedule={"sensor": sensor})
    write_export(folder, good("mon"), "monday.csv")
    (tmp_path / "defs.py").write_text(DEFINITIONS)
    gold, trained, told = Releases(folder / "gold"), tmp_path / "trained.txt", tmp_path / "told.txt"

    def annot(*command: str) -> str:
        return live.run("annot", command[0], str(folder), *command[1:])

    with live.running("dagster", "dev", "-f", "defs.py", "-p", str(live.port)):
        until(lambda: lines(trained) == ["v0001 30 False"], "Monday's labels are trained on")
        write_export(folder, good("tue"), "tuesday.csv")
        until(lambda: lines(trained)[1:] == ["v0002 60 False"], "and Tuesday's")

        write_export(folder, FLOOD, "wednesday.csv")
        until(told.exists, "the alert")
        [alert] = told_so_far(told)
        assert alert.startswith("FailedBuild: a gate failed: nothing was published")
        assert "suspected_labels: 40.00% of items" in alert
        assert "in Dagster: launch the job week_publish_candidate" in alert
        assert [run["status"] for run in nightly(live)] == ["FAILURE", "SUCCESS", "SUCCESS"]
        failed = failed_checks(live)
        assert {path[-1] for path, *_ in failed} >= {"release"}
        assert {name for _, name, _ in failed} == {"gates"}  # the contract suites did not run
        assert any("suspected_labels" in description for *_, description in failed)
        pictures(live, tmp_path, "week/release", "Failed")

        # the candidate is looked at
        changes = annot("diff", "latest", "candidate", "--rows", "50")
        assert len({*re.findall(r"flood\d+", changes)}) == 40, changes
        assert Candidates(folder / "store").get().tables["labels"]["rows"] == 100
        assert load_gold(folder / "gold", "labels").num_rows == 60
        # launched by hand, it fails again, as does a mistyped decision, and nobody is told again
        config = {"candidate": "latest", "accept": ["suspected_lables"], "because": "?", "by": "a"}
        mistyped = {"ops": {"week__publish_candidate": {"config": config}}}
        for job, options in (("nightly", []), ("publish_candidate", ["-c", "mistyped.yaml"])):
            (tmp_path / "mistyped.yaml").write_text(json.dumps(mistyped))
            again = subprocess.run(
                [BIN / "dagster", "job", "execute", "-f", "defs.py", "-j", f"week_{job}", *options],
                cwd=tmp_path, env=live.env, capture_output=True, timeout=PATIENCE,
            )  # fmt: skip
            assert again.returncode != 0
        time.sleep(45)  # more than the sensors take
        assert told_so_far(told) == [alert]

        # Tuesday had the first of them: back to Monday, both exports are excluded
        annot("rollback", "v0001", "--because", "the flood began on Tuesday", "--by", "ann")
        exclude(folder, "tuesday.csv", "wednesday.csv")
        write_export(folder, good("thu"), "thursday.csv")
        live.ask(RELOAD)
        until(lambda: len(told_so_far(told)) == 2, "the all-clear")
        assert told_so_far(told)[1].startswith("RecoveredBuild: builds succeed again after run ")
        until(lambda: lines(trained)[2:] == ["v0004 60 False"], "Thursday's labels are trained on")
        assert published(live) == ["v0004", "v0002", "v0001"]
        assert failed_checks(live) == []
        time.sleep(30)
        assert len(told_so_far(told)) == 2
    assert gold.versions() == ["v0001", "v0002", "v0003", "v0004"]
    items = load_gold(folder / "gold", "labels")["item"].to_pylist()
    assert {item[:3] for item in items} == {"mon", "thu"}
    assert "ok" in annot("verify")
    skip_without_pictures()


def lines(log: Path) -> list[str]:
    return log.read_text().splitlines() if log.exists() else []


def told_so_far(told: Path) -> list[str]:
    return told.read_text().split("\n---\n")[:-1]


def nightly(live: Deployment) -> list[dict[str, str]]:
    """The runs of the job, the newest first."""
    return [run for run in live.runs() if run["jobName"] == "week_nightly"]


def published(live: Deployment) -> list[str]:
    """The versions that runs published, the newest first."""
    events = live.ask(RELEASES)["assetOrError"]["assetMaterializations"]
    entries = [
        {e["label"]: e.get("text", e.get("boolValue")) for e in event["metadataEntries"]}
        for event in events
    ]
    return [entry["version"] for entry in entries if entry["published"]]


def failed_checks(live: Deployment) -> list[tuple[list[str], str, str]]:
    """Keys of assets whose newest check failed, with its name and what it says."""
    failed = []
    for node in live.ask(CHECKS)["assetNodes"]:
        for check in node["assetChecksOrError"].get("checks", ()):
            newest: dict[str, Any] = check["executionForLatestMaterialization"] or {}
            if newest.get("status") not in ("SUCCEEDED", None):
                description = (newest["evaluation"] or {}).get("description") or ""
                failed.append((node["assetKey"]["path"], check["name"], description))
    return failed


def exclude(folder: Path, *names: str) -> None:
    document = json.loads((folder / "campaign.yaml").read_text())
    document["sources"][0]["exclude"] = [
        {"digest": file_sha256(folder / "exports" / name), "because": "a flood"} for name in names
    ]
    (folder / "campaign.yaml").write_text(json.dumps(document))
