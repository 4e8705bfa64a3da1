"""Store, gold, spill and exports of a campaign, held against each other before anything is written.

A folder that lies in another would be deleted with it, or published with it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from annot_pipeline.config import LoadedCampaign
from annot_pipeline.errors import ConfigError, Problem
from annot_pipeline.storage.archive import glob_exports, is_glob
from annot_pipeline.storage.checked_export import is_written_by_builds
from annot_pipeline.storage.marked_folder import FOLDERS, STORE, refuse_foreign
from annot_pipeline.storage.spill import SPILL
from annot_pipeline.storage.temporary import is_temporary

OUTSIDE = "a new folder outside of gold, store, spill and exports"


def check_places(campaign: LoadedCampaign) -> None:
    """Refuse folders of a campaign in which a build would delete, or publish, what it must not.

    Raises
    ------
    ConfigError
        Store, gold, spill or exports lie within each other, or hold files that no build wrote.
    """
    problems = [*_overlaps(campaign)]
    if problems:
        raise ConfigError(f"{campaign.file}: folders are within each other", problems)
    refuse_foreign(campaign.store, STORE, campaign.folder)
    refuse_foreign(campaign.spill, SPILL, campaign.folder)


def check_copy(campaign: LoadedCampaign, folder: Path) -> None:
    """Refuse a folder for a copy of a release that is within folders of its campaign.

    Raises
    ------
    ConfigError
        It is in gold, store, spill or exports, or one of these is in it.
    """
    copy = folder.resolve()
    problems = [*_overlaps_of_gold(campaign, copy)]
    for name, own in (("gold", campaign.gold), ("spill", campaign.spill)):
        if copy.is_relative_to(own.resolve()):
            problems.append(_problem("", copy, f"is in the {name} folder of the campaign"))
    if problems:
        problems = [replace(problem, where="--to", allowed=OUTSIDE) for problem in problems]
        raise ConfigError("the release cannot be copied there", problems)


def _overlaps(campaign: LoadedCampaign) -> Iterator[Problem]:
    store, spill = campaign.store.resolve(), campaign.spill.resolve()
    if spill != store / "spill" and _is_in_store(spill, store):
        yield _problem("resources.spill", spill, "is the store, or one of its folders")
    if not campaign.gold_url:
        yield from _overlaps_of_gold(campaign, campaign.gold.resolve())


def _overlaps_of_gold(campaign: LoadedCampaign, gold: Path) -> Iterator[Problem]:
    """Yield what is wrong where releases would lie in a folder."""
    store, spill = campaign.store.resolve(), campaign.spill.resolve()
    # a store in the folder of the campaign, as ``store: .``, or of a build that publishes nothing
    may_hold_gold = campaign.folder.resolve().is_relative_to(store) or is_temporary(store)
    if _is_in_store(gold, store) or (gold.is_relative_to(store) and not may_hold_gold):
        yield _problem("gold", gold, "is the store, or one of its folders: builds delete there")
    elif store.is_relative_to(gold):
        what = "is in the gold folder: readers of gold would get the key and raw exports"
        yield _problem("store", store, what)
    if spill.is_relative_to(gold) and campaign.settings.resources.spill:
        yield _problem("resources.spill", spill, "is in the gold folder")
    yield from _exports_in_gold(campaign, gold)


def _exports_in_gold(campaign: LoadedCampaign, gold: Path) -> Iterator[Problem]:
    """Yield what is wrong where gold is, holds or lies in a folder that exports are read from.

    It may lie below the folder of the campaign, though a glob starts there.
    """
    settings = campaign.settings
    patterns = {f"sources.{n}.path": source.path for n, source in enumerate(settings.sources)}
    patterns |= {f"items.{n}.path": items.path for n, items in enumerate(settings.items)}
    for where, pattern in patterns.items():
        fixed, paths = glob_exports(campaign.folder, pattern, where)
        exports = fixed.resolve()
        if gold.is_relative_to(exports) and gold != exports:
            if is_glob(pattern) and not campaign.folder.resolve().is_relative_to(exports):
                what = f"is in a folder of exports ({pattern}): nothing there is published"
                yield _problem("gold", gold, what)
                return
        elif not exports.is_relative_to(gold):
            continue
        real = (Path(os.path.realpath(path)) for path in paths if not path.is_dir())
        if any(p.is_relative_to(gold) and not is_written_by_builds(p, gold) for p in real):
            what = f"holds exports ({pattern}): readers of gold would get raw exports"
            yield _problem("gold", gold, what)
            return


def _is_in_store(folder: Path, store: Path) -> bool:
    """Return whether a folder is the store, or in one of the folders where builds delete."""
    return folder == store or any(folder.is_relative_to(store / name) for name in FOLDERS)


def _problem(setting: str, folder: Path, what: str) -> Problem:
    return Problem(setting, f"{folder} {what}", do="name a separate folder")
