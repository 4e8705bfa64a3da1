"""Asset keys: working tables, gold tables and the release, prefixed by the campaign."""

from __future__ import annotations

import dagster as dg

from annot_pipeline.config import LoadedCampaign


def work_key(campaign: LoadedCampaign, table: str) -> dg.AssetKey:
    """Return the key of a table of the store, which a stage makes in every build."""
    return dg.AssetKey([campaign.settings.campaign, "work", table])


def gold_key(campaign: LoadedCampaign, table: str) -> dg.AssetKey:
    """Return the key of a published table."""
    return dg.AssetKey([campaign.settings.campaign, "gold", table])


def release_key(campaign: LoadedCampaign) -> dg.AssetKey:
    """Return the key of the release."""
    return dg.AssetKey([campaign.settings.campaign, "release"])
