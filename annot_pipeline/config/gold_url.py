"""Gold in an object store: what such a URL may look like, and where its releases are copied to."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

SCHEMES = ("s3", "gs", "az")
COPIES = "releases"
"""Folder of a store: copies of releases whose gold is an object store; safe to delete."""


def is_url(gold: str) -> bool:
    """Return whether gold is an object store, and no folder."""
    return "://" in gold


def plain_url(gold: str) -> str:
    """Return a URL in its one spelling: ``s3://bucket/a/b``.

    Raises
    ------
    ValueError
        It is none, or says more than a place: a password belongs in the environment. The message
        does not repeat it.
    """
    scheme, _, rest = gold.partition("://")
    if scheme not in SCHEMES:
        allowed = ", ".join(f"{name}://" for name in SCHEMES)
        raise ValueError(f"not a supported object store; write a folder, or one of {allowed}")
    if "@" in rest:
        raise ValueError(
            "a URL with a user or password; credentials come from the environment, as "
            "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY or a profile"
        )
    parts = rest.rstrip("/").split("/")
    if not all(parts) or {".", ".."} & {*parts} or re.search(r"[?#*\[\]\s]", rest):
        raise ValueError(f"not a location in an object store; write {scheme}://BUCKET/FOLDER")
    return f"{scheme}://{'/'.join(parts)}"


def copy_folder(store: Path, url: str) -> Path:
    """Return where a store keeps copies of the releases of a URL."""
    words = re.sub(r"[^a-z0-9]+", "-", url.lower())[:40].strip("-")
    return store / COPIES / f"{words}-{hashlib.sha256(url.encode()).hexdigest()[:8]}"
