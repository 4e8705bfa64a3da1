"""``pins.json``: releases that `annot prune` keeps, and why."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, RootModel, ValidationError

from annot_pipeline.errors import Problem, StoreError, first_of
from annot_pipeline.storage.files import write_json
from annot_pipeline.storage.pointer import number
from annot_pipeline.storage.releases import Releases

PINS = "pins.json"


class Pin(BaseModel):
    """Since when a release is kept, and why."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    pinned_at: str
    why: str = ""


class _Pins(RootModel[dict[str, Pin]]):
    """All pins, by version."""


def read_pins(gold: Path) -> dict[str, Pin]:
    """The pins, oldest release first.

    Raises
    ------
    StoreError
        The file is damaged: nobody knows what to keep.
    """
    path = gold / PINS
    try:
        pins = _Pins.model_validate_json(path.read_bytes()).root
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except ValidationError:
        do = f"restore it, or delete it and pin again; it should read {EXAMPLE}"
        raise StoreError(f"{path}: damaged", [Problem("", "it holds no pins", do=do)]) from None
    return {version: pins[version] for version in sorted(pins, key=number)}


EXAMPLE = '{"v0001": {"pinned_at": "2030-01-31T00:00:00+00:00", "why": "paper"}}'


def pin(releases: Releases, version: str, why: str) -> str:
    """Keep a release while the right to publish is held; returns its version.

    Raises
    ------
    StoreError
        There is no such release.
    """
    found = releases.get(version).version
    now = datetime.now(UTC).isoformat(timespec="seconds")
    _write(releases, read_pins(releases.gold) | {found: Pin(pinned_at=now, why=why)})
    return found


def unpin(releases: Releases, version: str) -> str:
    """Keep a release no longer; returns its version.

    Raises
    ------
    StoreError
        It is not pinned.
    """
    pins = read_pins(releases.gold)
    found = releases.get().version if version == "latest" else version
    if found not in pins:
        there = f"pinned: {first_of(list(pins))}" if pins else "no release is pinned"
        raise StoreError(f"{found} is not pinned", [Problem("", there)])
    _write(releases, {v: kept for v, kept in pins.items() if v != found})
    return found


def _write(releases: Releases, pins: dict[str, Pin]) -> None:
    document: dict[str, Any] = {version: kept.model_dump() for version, kept in pins.items()}
    write_json(releases.gold / PINS, document)
