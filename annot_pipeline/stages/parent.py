"""The release that a build goes on from, looked at before any work."""

from __future__ import annotations

from annot_pipeline.config import LoadedCampaign
from annot_pipeline.storage.keys import refuse_other_key
from annot_pipeline.storage.releases import Releases


def check_parent(campaign: LoadedCampaign) -> None:
    """Make sure that a build may go on from the newest release, if there is one.

    Reads all its files, 1 GB a second.

    Raises
    ------
    StoreError
        It is another campaign's, or damaged, or its judges are named with another key.
    """
    releases = Releases.of(campaign)
    releases.refuse_another()
    release = releases.latest()
    if release:
        refuse_other_key(campaign.settings.privacy, campaign.store, release.manifest)
        release.check()
