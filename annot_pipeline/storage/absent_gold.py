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
from annot_pipeline.storage.fed_gold import (
    COPIES,
    FED,
    fed_gold,
    gold_name,
    gold_stem,
    unlisted_stems,
)
from annot_pipeline.storage.pointer import POINTER, VERSION
from annot_pipeline.storage.pointer_copies import PointerCopies
from annot_pipeline.storage.releases import Releases


@dataclass(frozen=True)
class AbandonedGold:
    """What the user says will not come back: versions of this gold, and places of other gold.

    Gold of which nothing tells the place has the stem of its files in the store instead.
    """

    versions: tuple[str, ...] = ()
    places: tuple[str, ...] = ()


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
    golds, unlisted = (
        other_gold(campaign, AbandonedGold()),
        unlisted_gold(campaign, AbandonedGold()),
    )
    places = {
        name: _known_place(campaign, name, [*golds, *unlisted])
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
            problems.append(Problem("--gone", what, allowed=first_of([*golds, *unlisted])))
        elif (folder := _location(campaign, name, location)) and not _absence(
            folder, campaign.store
        ):
            what = f"{folder}: is there, with its releases"
            do = f"prune it by its own campaign, with --set gold={folder}"
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
    for stem in unlisted_gold(campaign, abandoned):
        problems.append(_unlisted(campaign, stem))
    if problems:
        title = f"{campaign.store}: nothing is pruned while releases made from it are away"
        raise StoreError(title, problems, may_pass=True)


def other_gold(campaign: LoadedCampaign, abandoned: AbandonedGold) -> list[str]:
    """Return the gold that the campaign's store feeds, but its own and what is given up."""
    own = campaign.gold_url or str(campaign.gold.resolve())
    fed = fed_gold(campaign.store)
    return [location for location in fed if location != own and location not in abandoned.places]


def unlisted_gold(campaign: LoadedCampaign, abandoned: AbandonedGold) -> list[str]:
    """Return the stems of gold that the store fed, of which nothing tells where it lies.

    Not the campaign's own gold, what is given up, nor gold all of whose releases were pruned.
    """
    own = gold_stem(gold_name(campaign.store, campaign.gold_url or campaign.gold))
    return [
        stem
        for stem in unlisted_stems(campaign.store)
        if stem != own and stem not in abandoned.places and _needs_bytes(campaign.store, stem)
    ]


def _needs_bytes(store: Path, stem: str) -> bool:
    copy = _copies(store, stem).own()
    return copy is None or bool(copy.manifests.keys() - set(copy.pruned))


def _copies(store: Path, stem: str) -> PointerCopies:
    return PointerCopies(store / COPIES / f"{stem}.json")


def _unlisted(campaign: LoadedCampaign, stem: str) -> Problem:
    """Return that nothing tells where some gold lies, and what to do."""
    copies = _copies(campaign.store, stem)
    copy = copies.own()
    path = next(p for p in (copies.path, copies.numbers_path) if p.exists())
    versions = sorted(copy.manifests.keys() - set(copy.pruned)) if copy else []
    releases = first_of(versions) if versions else "unknown releases"
    what = f"it belongs to other gold, with {releases}, that {FED} does not list"
    do = (
        f"restore {campaign.store / FED}; or let a build list that gold again: annot build "
        f"{campaign.typed} --set gold=FOLDER; if it will not come back, --gone {stem}"
    )
    return Problem(str(path), what, do=do)


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


def _known_place(campaign: LoadedCampaign, name: str, golds: Sequence[str]) -> str | None:
    """Return the place, or the stem of gold that is not listed, that a name means."""
    places = _meant_places(campaign, name)
    stems = [_stem(campaign.store, location) for location in places]
    return next((location for location in [*places, name, *stems] if location in golds), None)


def _location(campaign: LoadedCampaign, name: str, location: str) -> str | None:
    """Return where gold lies that a name means; None where the name is a stem, and tells nothing.

    Parameters
    ----------
    place
        As `_known_place` returns it.
    """
    meant = _meant_places(campaign, name)
    return next((m for m in meant if location in (m, _stem(campaign.store, m))), None)


def _meant_places(campaign: LoadedCampaign, name: str) -> list[str]:
    """Return what a name may mean: a URL, or a path from here or from the campaign."""
    if is_url(name):
        return [name.rstrip("/")]
    return [os.path.realpath(name), os.path.realpath(campaign.folder / name)]


def _stem(store: Path, location: str) -> str:
    return gold_stem(gold_name(store, location if is_url(location) else Path(location)))
