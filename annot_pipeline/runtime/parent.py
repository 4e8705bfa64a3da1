"""The release that a build goes on from, looked at before any work."""

from __future__ import annotations

from collections.abc import Callable

from annot_pipeline.config import LoadedCampaign
from annot_pipeline.errors import Problem, StoreError
from annot_pipeline.storage.keys import refuse_other_key
from annot_pipeline.storage.releases import Release, Releases
from annot_pipeline.storage.shortages import cannot_write


def check_parent(campaign: LoadedCampaign, waiting: Callable[[], None]) -> str | None:
    """Check that a build may continue from the newest release, if there is one.

    Reads all its files, 1 GB a second. What a killed build published whole, but did not point to,
    is the newest release from here on; ``waiting`` is called if another build publishes just now.

    Returns
    -------
    str or None
        Its version. Whoever publishes later finds out by it whether another build was faster.

    Raises
    ------
    StoreError
        It is another campaign's, or damaged, or its judges are named with another key; or gold was
        put back to an older state, or cannot be written.
    """
    releases = Releases.for_campaign(campaign)
    releases.refuse_another()
    releases.refuse_rollback()
    if releases.unpointed():
        try:
            with releases.publishing(waiting):
                releases.finish_interrupted()
        except OSError as error:
            raise cannot_write(releases.gold.folder, error, releases.gold.setting) from error
    release = releases.latest()
    if release is None:
        return None
    refuse_other_key(campaign.settings, campaign.store, release.manifest)
    release.check()
    return release.version


def refuse_overtaken(newest: Release | None, parent: str | None, published_key: str) -> None:
    """Publish only on the release that was the newest when this build looked at its exports.

    Else a slow build would put older exports on top of newer ones, and its gates would have held
    it against another parent. A release of the same look at the exports is no other build's.

    Parameters
    ----------
    newest
        The newest release.
    parent
        Version of the newest release when this build looked at its exports, if there was one.
    published_key
        The key of the result of ``archive_exports``, as manifests publish it.

    Raises
    ------
    StoreError
        Another build published meanwhile.
    """
    if newest is None or newest.version == parent:
        return
    if published_key in {run["key"] for run in newest.manifest["runs"]}:
        return
    what = f"another build published {newest.version} while this one ran: nothing was published"
    began = parent or "no release"
    problem = Problem("", f"this one began when there was {began}", do="build again")
    raise StoreError(what, [problem])
