"""What a failed build looked at: while it is the same, the next build fails in the same way."""

from __future__ import annotations

from annot_pipeline.config import LoadedCampaign
from annot_pipeline.config.signature import digest
from annot_pipeline.errors import AnnotError, StoreError
from annot_pipeline.stages.ingest.present_exports import export_stats
from annot_pipeline.storage.keys import fingerprint, present_key
from annot_pipeline.storage.pointer import POINTER
from annot_pipeline.version import __version__


def build_state(campaign: LoadedCampaign) -> str:
    """Return a digest of settings, exports, key and code that a build would use, and of gold.

    Of exports size and time are enough, of gold whether releases are there; no file is opened.
    """
    try:
        exports: object = export_stats(campaign)
    except (AnnotError, OSError) as error:
        exports = str(error)
    try:
        key = present_key(campaign.settings, campaign.store)
        used = fingerprint(key) if key else ""
    except (StoreError, OSError) as error:
        used = str(error)
    is_away = not campaign.gold_url and not (campaign.gold / POINTER).exists()
    settings = campaign.settings.model_dump(mode="json")
    return digest([settings, exports, used, is_away, __version__])
