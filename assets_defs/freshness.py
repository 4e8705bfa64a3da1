"""Freshness: how old gold may be before Dagster says so."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import lru_cache
from itertools import pairwise
from zoneinfo import ZoneInfo

import dagster as dg

from annot_pipeline.config import LoadedCampaign

LATE, TOO_LATE = 1.25, 2.0
"""Of the longest time between two ticks: when Dagster warns, and when it fails the policy."""

LEAST = timedelta(seconds=60)
"""Dagster takes no shorter window."""

DAY, YEARS = timedelta(days=1), timedelta(days=3 * 366)
START = datetime(2024, 1, 1)


def freshness(campaign: LoadedCampaign) -> dg.FreshnessPolicy | None:
    """Return the policy of a campaign's gold tables and release.

    None where nobody says how often gold is made: the schedule is not active, and the campaign
    gives no hours.
    """
    schedule = campaign.settings.schedule
    fresh = schedule.fresh
    if fresh.fail_hours:
        warn = timedelta(hours=fresh.warn_hours) if fresh.warn_hours else None
        return dg.FreshnessPolicy.time_window(timedelta(hours=fresh.fail_hours), warn)
    if not schedule.active:
        return None
    gap = longest_gap(schedule.cron, schedule.timezone)
    return dg.FreshnessPolicy.time_window(max(TOO_LATE * gap, 2 * LEAST), max(LATE * gap, LEAST))


@lru_cache
def longest_gap(cron: str, timezone: str) -> timedelta:
    """Return the longest time between two ticks of three years and the next.

    Every day that has ticks has them at the same times, so that the longest gap lies where the
    most days have none, or within one such day: only there minutes are looked at.
    """
    days = _ticks(" ".join(["0", "0", *cron.split()[2:]]), timezone, START, START + YEARS)
    before, after = max(pairwise(days), key=lambda pair: pair[1] - pair[0])
    ticks = _ticks(cron, timezone, before - DAY, after + 2 * DAY)
    return max(after - before for before, after in pairwise(ticks))


def _ticks(cron: str, timezone: str, start: datetime, end: datetime) -> list[datetime]:
    """Return ticks of a span and the next.

    Where partitions begin that Dagster would cut it into.
    """
    cut = dg.TimeWindowPartitionsDefinition(
        start=start.replace(tzinfo=None), cron_schedule=cron, timezone=timezone,
        fmt="%Y-%m-%dT%H:%M:%S%z", end_offset=1,
    )  # fmt: skip
    keys = cut.get_partition_keys(current_time=end.replace(tzinfo=ZoneInfo(timezone)))
    return [datetime.fromisoformat(key) for key in keys]
