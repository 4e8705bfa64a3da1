"""Asset keys: every table and the release, prefixed by the campaign."""

from __future__ import annotations

import dagster as dg

from annot_pipeline.config import LoadedCampaign
from annot_pipeline.contracts import GOLD


def table_key(campaign: LoadedCampaign, table: str) -> dg.AssetKey:
    """Key of a table: gold tables lie under ``gold``."""
    name = campaign.settings.campaign
    return dg.AssetKey([name, "gold", table] if table in GOLD else [name, table])


def release_key(campaign: LoadedCampaign) -> dg.AssetKey:
    """Key of the release."""
    return dg.AssetKey([campaign.settings.campaign, "release"])
