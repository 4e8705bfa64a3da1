"""``latest.json``: the newest release, the digest of every manifest ever published, and pins.

It carries a digest of itself, so that whoever finds a manifest that differs from what stands
here knows which of the two was changed.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from annot_pipeline.bounded_json import parse_bounded_json
from annot_pipeline.errors import Problem, StoreError
from annot_pipeline.storage.files import canonical_json, read_document, write_json

POINTER = "latest.json"
VERSION = re.compile(r"v(\d{4,})")
SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Pin:
    """Since when `annot prune` keeps a release, and why."""

    pinned_at: str
    why: str = ""


@dataclass(frozen=True)
class Retraction:
    """Since when a release is not to be used, who says so, and why."""

    at: str
    by: str
    because: str


@dataclass(frozen=True)
class Pointer:
    """What latest.json says.

    Parameters
    ----------
    version
        The newest release.
    manifests
        SHA-256 of the manifest of every release ever published, by version.
    pruned
        Releases that `annot prune` removed.
    pins
        Releases that `annot prune` keeps.
    retracted
        Releases that are not to be used.
    """

    version: str
    manifests: Mapping[str, str]
    pruned: tuple[str, ...] = ()
    pins: Mapping[str, Pin] = field(default_factory=dict)
    retracted: Mapping[str, Retraction] = field(default_factory=dict)

    @property
    def last(self) -> str:
        """Return the last release that was published; the newest, unless that is lost."""
        return max(self.manifests, key=number)

    def names(self, version: str) -> bool:
        """Return whether a version is that of a release."""
        return version in self.manifests

    def document(self) -> dict[str, Any]:
        """Return the JSON document."""
        digest, pruned = self.manifests[self.version], sorted(self.pruned, key=number)
        content = asdict(self) | {"manifest_sha256": digest, "pruned": pruned}
        return content | {"sha256": pointer_digest(content)}


def number(version: str) -> int:
    """Return a version's number: 12 of v0012, 0 of what is none."""
    match = VERSION.fullmatch(version)
    return int(match[1]) if match else 0


def read_pointer(gold: Path) -> Pointer | None:
    """Return the pointer of a gold folder; None where nothing was published.

    Raises
    ------
    StoreError
        It is not as it was written, or a newer annot-pipeline wrote it.
    """
    data = pointer_bytes(gold)
    return None if data is None else parse_pointer(data, gold / POINTER)


def pointer_bytes(gold: Path) -> bytes | None:
    """Return the bytes of a gold folder's pointer; None where there is none.

    Raises
    ------
    StoreError
        They cannot be read.
    """
    path = gold / POINTER
    try:
        return read_document(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        what, do = error.strerror or str(error), "restore access to it"
        raise StoreError(f"{path}: cannot be read", [Problem("", what, do=do)]) from None


def parse_pointer(data: bytes, location: Path | str) -> Pointer:
    """Return the pointer that some bytes are; ``place`` says in messages where they stand.

    Raises
    ------
    StoreError
        They are not as they were written.
    """
    try:
        return _parsed(data)
    except (ValueError, KeyError, TypeError, AttributeError):
        if _is_signed(data):
            what = "it holds what this one does not know"
            problem = Problem("", what, do="upgrade: pip install --upgrade annot-pipeline")
            raise StoreError(f"{location}: written by a newer annot-pipeline", [problem]) from None
        do = "restore it from a backup, or delete it and build again: releases stand as they are"
        problem = Problem("", "it is not as it was written", do=do)
        raise StoreError(f"{location}: damaged", [problem]) from None


def write_pointer(gold: Path, pointer: Pointer) -> None:
    """Write the pointer in one step."""
    write_json(gold / POINTER, pointer.document())


def _parsed(data: bytes) -> Pointer:
    document = parse_bounded_json(data)
    version, manifests, pruned = (document[name] for name in ("version", "manifests", "pruned"))
    pointer = Pointer(version, manifests, tuple(pruned), **marks(document))
    if canonical_json(pointer.document()) != data:
        raise ValueError("changed")
    for name, sha256 in pointer.manifests.items():
        if not VERSION.fullmatch(name) or not SHA256.fullmatch(sha256):
            raise ValueError(name)
    return pointer


def marks(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the pins and retractions of a document, as a pointer has them."""
    return {
        "pins": {version: Pin(**pin) for version, pin in document["pins"].items()},
        "retracted": {v: Retraction(**mark) for v, mark in document["retracted"].items()},
    }


def _is_signed(data: bytes) -> bool:
    """Return whether it carries its own digest: whatever it says, that is what was written."""
    try:
        document = parse_bounded_json(data)
        return bool(document.pop("sha256") == pointer_digest(document))
    except (ValueError, KeyError, TypeError, AttributeError):
        return False


def pointer_digest(document: Mapping[str, Any]) -> str:
    """Return the digest of a pointer's document, which stands beside it."""
    return hashlib.sha256(canonical_json(document)).hexdigest()
