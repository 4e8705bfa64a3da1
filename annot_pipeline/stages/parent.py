"""The release that a build goes on from, looked at before any work."""

from __future__ import annotations

from collections.abc import Callable

from annot_pipeline.config import LoadedCampaign
from annot_pipeline.storage.keys import refuse_other_key
from annot_pipeline.storage.releases import Releases
from annot_pipeline.storage.store import cannot_write


def check_parent(campaign: LoadedCampaign, waiting: Callable[[], None]) -> str | None:
    """Make sure that a build may go on from the newest release, if there is one.

    Reads all its files, 1 GB a second. What a killed build published whole, but did not point to,
    is the newest release from here on; ``waiting`` is called if another build publishes just now.

    Returns
    -------
    str or None
        Its version. Whoever publishes later finds out by it whether another build was faster.

    Raises
    ------
    StoreError
        It is another campaign's, or damaged, or its judges are named with another key; or gold
        cannot be written.
    """
    releases = Releases.of(campaign)
    releases.refuse_another()
    if releases.unpointed():
        try:
            with releases.publishing(waiting):
                releases.finish_interrupted()
        except OSError as error:
            raise cannot_write(campaign.gold, error, "gold") from error
    release = releases.latest()
    if release is None:
        return None
    refuse_other_key(campaign.settings.privacy, campaign.store, release.manifest)
    release.check()
    return release.version
