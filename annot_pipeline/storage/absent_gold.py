"""Releases that are away, on a disk that is not mounted: what they need must not be deleted.

A store feeds gold in several places, and keeps the raw bytes that their releases were made of.
Nobody knows what a release needs whose manifest cannot be read, so nothing is deleted until it is
back or the user says that it will not come back.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from annot_pipeline.config import LoadedCampaign
from annot_pipeline.config.gold_url import is_url
from annot_pipeline.errors import AnnotError, ConfigError, Problem, StoreError, first_of
from annot_pipeline.storage.pointer import POINTER, VERSION
from annot_pipeline.storage.release_log import LOG, ReleaseLog, gold_name
from annot_pipeline.storage.releases import Releases


@dataclass(frozen=True)
class AbandonedGold:
    """What the user says will not come back: versions of this gold, and places of other gold.

    The name of the log stands for gold that its lost lines may have named.
    """

    versions: tuple[str, ...] = ()
    places: tuple[str, ...] = ()

    def names(self, store: Path) -> list[str]:
        """Return the names that the log has for the places."""
        return ["" if place == LOG else _name(store, place) for place in self.places]


def abandoned_gold(
    campaign: LoadedCampaign, releases: Releases, names: bool | Sequence[str]
) -> AbandonedGold:
    """Return what is given up: versions and places by name; True, or "": all versions gone.

    Raises
    ------
    ConfigError
        A name is of nothing that is away.
    """
    gone = releases.gone()
    if isinstance(names, bool):
        names = [""] if names else []
    versions = [name for name in names if VERSION.fullmatch(name)]
    golds = [*other_gold(campaign, AbandonedGold()), *_lost_lines(campaign, AbandonedGold())]
    places = {
        name: next((place for place in _meant_places(campaign, name) if place in golds), None)
        for name in names
        if name and name not in versions
    }
    problems = [
        Problem("--gone", f"{version}: its folder is there, or it is no release", first_of(gone))
        for version in versions
        if version not in gone
    ]
    for name, location in places.items():
        if location is None:
            what = f"{name}: the store feeds no such gold"
            problems.append(Problem("--gone", what, allowed=first_of(golds)))
        elif location != LOG and not _absence(location, campaign.store):
            what = f"{location}: is there, with its releases"
            do = f"prune it by its own campaign, with --set gold={location}"
            problems.append(Problem("--gone", what, do=do))
    if problems:
        raise ConfigError("only what is away can be given up", problems)
    struck_off = gone if "" in names else versions
    return AbandonedGold(
        tuple(struck_off), tuple(location for location in places.values() if location)
    )


def refuse_absent(campaign: LoadedCampaign, releases: Releases, abandoned: AbandonedGold) -> None:
    """Make sure that all releases can be read that the store keeps raw bytes for.

    Raises
    ------
    StoreError
        Gold that the store feeds is away, or a release of it.
    """
    own = [version for version in releases.gone() if version not in abandoned.versions]
    problems = []
    if own:
        do = f"restore it, or remove it from the list: --gone {own[0]} (--gone alone: all of them)"
        what = f"{first_of(own)} was published, but its folder does not exist"
        problems.append(Problem(releases.gold.location(), what, do=do))
    for location in other_gold(campaign, abandoned):
        if why := _absence(location, campaign.store):
            do = f"mount or restore it; if it will not come back, --gone {location}"
            problems.append(Problem(location, why, do=do))
    for log in _lost_lines(campaign, abandoned):
        what = "lines of this log were lost: they may have named gold that this store feeds"
        do = f"restore it from a backup; where this store fed no other gold, --gone {log}"
        problems.append(Problem(str(campaign.store / log), what, do=do))
    if problems:
        title = f"{campaign.store}: nothing is pruned while releases made from it are away"
        raise StoreError(title, problems, may_pass=True)


def other_gold(campaign: LoadedCampaign, abandoned: AbandonedGold) -> list[str]:
    """Return the gold that the campaign's store feeds, but its own and what is given up."""
    log = _log(campaign)
    own = log.location(log.gold)
    return [place for place in log.locations() if place != own and place not in abandoned.places]


def _lost_lines(campaign: LoadedCampaign, abandoned: AbandonedGold) -> list[str]:
    """Return the name of the log if lost lines of it may have named gold; not if given up."""
    return [LOG] if _log(campaign).read().lacks_gold and LOG not in abandoned.places else []


def _log(campaign: LoadedCampaign) -> ReleaseLog:
    return ReleaseLog(campaign.store, campaign.gold_url or campaign.gold)


def _absence(location: str, store: Path) -> str | None:
    """Return why the releases of a place cannot be read; None where they all can."""
    if not is_url(location) and not os.path.isdir(location):
        return "is away: the folder does not exist"
    try:
        releases = Releases.at(location, store, store=store)
        if releases.gold.pointer() is None:
            return f"is away: {POINTER} is missing"
        releases.refuse_rollback()
        gone = releases.gone()
        for version in releases.versions():
            releases.get(version)
    except AnnotError as error:
        whats = [problem.what for problem in error.problems]
        return f"cannot be read: {'; '.join([error.title, *whats])}"
    except OSError as error:
        return f"cannot be read: {error.strerror or error}"
    if gone:
        return f"{first_of(gone)} was published there, but its folder does not exist"
    return None


def _meant_places(campaign: LoadedCampaign, name: str) -> list[str]:
    """Return what a name may mean: the log, a URL, or a path from here or from the campaign."""
    if name == LOG:
        return [LOG]
    if is_url(name):
        return [name.rstrip("/")]
    return [os.path.realpath(name), os.path.realpath(campaign.folder / name)]


def _name(store: Path, place: str) -> str:
    return gold_name(store, place if is_url(place) else Path(place))
