"""Gates as Dagster shows them."""

from __future__ import annotations

import dagster as dg

from annot_pipeline.config.campaign_file import load_campaign
from annot_pipeline.gates import GateResult
from assets_defs.checks import check_result
from tests.full_campaign import write_full_campaign


def result(level, **other):
    given = {"name": "label_flips", "stage": "compare_releases", "table": "label_changes",
             "value": 0.25, "warn": 0.05, "error": None, "question": "share of items",
             "detail": "small 10 of 40", "do": "look"} | other  # fmt: skip
    return GateResult(level=level, **given)


def test_checks_show_levels_severity_and_what_could_not_be_checked(tmp_path):
    campaign = load_campaign(write_full_campaign(tmp_path))
    warned = check_result(campaign, result("warn"))
    assert not warned.passed
    assert warned.severity == dg.AssetCheckSeverity.WARN
    told = {name: value.value for name, value in warned.metadata.items()}
    assert told == {"value": 0.25, "warns above": 0.05, "fails above": "never",
                    "detail": "small 10 of 40", "do": "look"}  # fmt: skip
    failed = check_result(campaign, result("error", error=0.2, unchecked="no way to tell"))
    assert failed.severity == dg.AssetCheckSeverity.ERROR
    assert failed.metadata["could not be checked"].value == "no way to tell"
    assert "could not be checked: no way to tell" in failed.description
    assert failed.metadata["fails above"].value == 0.2
    assert check_result(campaign, result("pass")).passed
