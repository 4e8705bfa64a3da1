"""Stores of builds that publish nothing: gone when they end."""

from __future__ import annotations

import dataclasses
import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from annot_pipeline.config import Campaign, LoadedCampaign
from annot_pipeline.errors import Problem, StoreError
from annot_pipeline.storage.files import TEMPORARY
from annot_pipeline.storage.forgotten import FORGOTTEN
from annot_pipeline.storage.keys import KEY_FILE
from annot_pipeline.storage.marked_folder import STORE, claim
from annot_pipeline.storage.store import Store

PREFIX = f"{TEMPORARY}annot-"


def is_temporary(store: Path) -> bool:
    """Return whether a store is one of a build that publishes nothing."""
    return store.name.startswith(PREFIX)


@contextmanager
def temporary_store(
    campaign: LoadedCampaign, settings: Campaign, *, continues_previous: bool
) -> Iterator[LoadedCampaign]:
    """Yield the campaign with other settings and a store of its own, but for key and the forgotten.

    On Spark it lies in the campaign's store, which executors share; else in the temporary folder
    of this machine, and a store that can be read will do.

    Parameters
    ----------
    campaign
        Says where it runs, and within which limits: that moves no number.
    settings
        What to build with.
    continues_previous
        Whether it continues from the campaign's latest release; else from none.

    Raises
    ------
    StoreError
        The temporary folder cannot be written, before or within the block.
    """
    shared = campaign.settings.engine.kind == "spark"
    location = campaign.store if shared else Path(tempfile.gettempdir())
    with ExitStack() as stack:
        try:
            if shared:
                claim(location, STORE)
                stack.enter_context(
                    Store(location).shared_lock()
                )  # else a build would clean it away
            temporary = tempfile.TemporaryDirectory(
                prefix=PREFIX, dir=location, ignore_cleanup_errors=True
            )  # executors may write there yet, of what was given up
            folder = stack.enter_context(temporary)
            claim(Path(folder), STORE)
            for name in (KEY_FILE, FORGOTTEN):  # who is who, and who is left out
                if os.access(campaign.store / name, os.R_OK):
                    Path(folder, name).symlink_to((campaign.store / name).resolve())
        except OSError as error:
            raise _cannot_write(location, str(error.strerror), shared=shared) from error
        own = {"store": folder} | ({} if continues_previous else {"gold": f"{folder}/gold"})
        here = {n: getattr(campaign.settings, n) for n in ("engine", "resources", "limits")}
        try:
            yield dataclasses.replace(campaign, settings=settings.model_copy(update=own | here))
        except StoreError as error:
            if not error.title.startswith(f"{folder}: "):  # what a build says that cannot write
                raise
            raise _cannot_write(location, error.problems[0].what, shared=shared) from error


def _cannot_write(location: Path, cause: str, *, shared: bool) -> StoreError:
    do = "free space there" if shared else "free space there, or set TMPDIR"
    problem = Problem(str(location), cause, do=do)
    return StoreError("the temporary folder cannot be written", [problem])
