"""Pins: releases that `annot prune` keeps, and why; ``latest.json`` holds them, with its digest."""

from __future__ import annotations

from datetime import UTC, datetime

from annot_pipeline.errors import Problem, StoreError, first_of
from annot_pipeline.storage.pointer import Pin, number
from annot_pipeline.storage.releases import Releases


def read_pins(releases: Releases) -> dict[str, Pin]:
    """Return the pins, oldest release first.

    Raises
    ------
    StoreError
        latest.json is not as it was written: nobody knows what to keep.
    """
    pointer = releases.gold.pointer()
    pins = pointer.pins if pointer else {}
    return {version: pins[version] for version in sorted(pins, key=number)}


def pin(releases: Releases, version: str, why: str) -> str:
    """Pin a release so that prune keeps it, and return its version; needs the right to publish.

    Raises
    ------
    StoreError
        There is no such release.
    """
    pinned = releases.get(version).version
    now = datetime.now(UTC).isoformat(timespec="seconds")
    releases.set_pins(read_pins(releases) | {pinned: Pin(now, why)})
    return pinned


def unpin(releases: Releases, version: str) -> str:
    """Remove the pin of a release, and return its version.

    Raises
    ------
    StoreError
        It is not pinned.
    """
    pins = read_pins(releases)
    unpinned = releases.get().version if version == "latest" else version
    if unpinned not in pins:
        pins_text = f"pinned: {first_of(list(pins))}" if pins else "no release is pinned"
        raise StoreError(f"{unpinned} is not pinned", [Problem("", pins_text)])
    releases.set_pins({v: pin for v, pin in pins.items() if v != unpinned})
    return unpinned
