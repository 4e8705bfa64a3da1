"""Freshness: how old gold may be before Dagster says so."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import lru_cache
from itertools import pairwise

import dagster as dg

from annot_pipeline.config import LoadedCampaign

LATE, TOO_LATE = 1.25, 2.0
"""Of the longest time between two ticks: when Dagster warns, and when it fails the policy."""

LEAST = timedelta(seconds=60)
"""Dagster takes no shorter window."""

MANY_TICKS = 50
WEEK, YEARS = timedelta(days=9), timedelta(days=3 * 366)
START = datetime(2024, 1, 1)


def freshness(campaign: LoadedCampaign) -> dg.FreshnessPolicy | None:
    """The policy of a campaign's gold tables and release; None if its cron hardly ever ticks."""
    schedule = campaign.settings.schedule
    fresh = schedule.fresh
    if fresh.fail_hours:
        warn = timedelta(hours=fresh.warn_hours) if fresh.warn_hours else None
        return dg.FreshnessPolicy.time_window(timedelta(hours=fresh.fail_hours), warn)
    gap = longest_gap(schedule.cron, schedule.timezone)
    if gap is None:
        return None
    warn = max(LATE * gap, LEAST)
    return dg.FreshnessPolicy.time_window(max(TOO_LATE * gap, 2 * LEAST), warn)


@lru_cache
def longest_gap(cron: str, timezone: str) -> timedelta | None:
    """Longest time between two ticks: of a week if there are many, else of three years."""
    ticks = _ticks(cron, timezone, WEEK)
    if len(ticks) < MANY_TICKS:
        ticks = _ticks(cron, timezone, YEARS)
    gaps = [after - before for before, after in pairwise(ticks)]
    return timedelta(seconds=max(gaps)) if gaps else None


def _ticks(cron: str, timezone: str, span: timedelta) -> list[int]:
    """Ticks in seconds since 1970: the partitions that Dagster would cut time into."""
    cut = dg.TimeWindowPartitionsDefinition(
        start=START, cron_schedule=cron, timezone=timezone, fmt="%s"
    )
    return [int(key) for key in cut.get_partition_keys(current_time=START + span)]
