"""When gold is late: from the longest gap between two ticks, or as it is said."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import dagster as dg
import pytest

from annot_pipeline.errors import ConfigError
from assets_defs import build_definitions
from assets_defs.freshness import longest_gap
from tests.assets_defs.campaigns import write_campaign


@pytest.mark.parametrize("cron", ["99 * * * *", "0 0 31 2 *"])
def test_a_cron_that_is_never_is_refused_in_our_words(tmp_path, cron):
    write_campaign(tmp_path / "small", schedule={"cron": cron})
    with pytest.raises(ConfigError, match=r"(?s)schedule\.cron: .* is never.*allowed:.*do:"):
        build_definitions(tmp_path / "small")


@pytest.mark.parametrize(
    ("cron", "hours"),
    [
        ("0 2 * * *", 24), ("0 2 * * 1-5", 72), ("0 */6 * * *", 6), ("0 2 1 * *", 31 * 24),
        ("*/10 8-18 * * 1-5", 61 + 1 / 6), ("*/10 * 1 * *", 30 * 24 + 1 / 6),
        ("0 * 1-7 * *", 24 * 24 + 1), ("*/15 * * 1 *", 335 * 24 + 1 / 4), ("0 9-17 * * *", 16),
        ("* * * * *", 1 / 60), ("0 2 1 1 *", 366 * 24), ("0 0 29 2 *", 1461 * 24),
        ("0 2,8 * * 7", 6 * 24 + 18),
    ],
)  # fmt: skip
def test_the_longest_time_between_ticks(cron, hours):
    assert longest_gap(cron, "UTC") == timedelta(hours=hours)


def test_an_hour_more_where_clocks_go_back():
    assert longest_gap("30 3 * * *", "Europe/Paris") == timedelta(hours=25)


def policies_of(folder: Path, **schedule) -> dict[str, dg.FreshnessPolicy]:
    definitions = build_definitions(folder, schedule=schedule)
    return {
        spec.key.to_user_string(): spec.freshness_policy
        for spec in definitions.resolve_all_asset_specs()
        if spec.freshness_policy
    }


def windows(folder: Path, **schedule) -> tuple[float, float | None]:
    policies = policies_of(folder, **schedule)
    assert {"small/release", "small/gold/labels"} <= set(policies)
    assert not any(key.startswith("small/work") for key in policies)
    policy = policies["small/gold/labels"]
    warn = policy.warn_window and policy.warn_window.to_timedelta() / timedelta(hours=1)
    return policy.fail_window.to_timedelta() / timedelta(hours=1), warn


def test_gold_is_late_when_nights_are_missed(tmp_path):
    folder = write_campaign(tmp_path / "small")
    assert windows(folder, active=True) == (48, 30)
    assert windows(folder, fresh={"fail_hours": 5}) == (5, None)
    assert windows(folder, fresh={"fail_hours": 5, "warn_hours": 2}) == (5, 2)
    assert windows(folder, active=True, cron="* * * * *")[1] >= 1 / 60


def test_gold_that_no_schedule_makes_is_never_late(tmp_path):
    """With the sensor alone, weeks without an export are no failure."""
    folder = write_campaign(tmp_path / "small")
    assert policies_of(folder, sensor={"active": True}) == {}


@pytest.mark.parametrize(
    ("fresh", "said"),
    [({"warn_hours": 3}, "needs fail_hours"), ({"warn_hours": 3, "fail_hours": 2}, "less than")],
)
def test_freshness_that_warns_last_is_refused(tmp_path, fresh, said):
    with pytest.raises(ConfigError, match=said):
        build_definitions(write_campaign(tmp_path / "small"), schedule={"fresh": fresh})
