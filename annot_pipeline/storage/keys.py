"""The key of the judges' pseudonyms: from the environment, or made once and kept in the store."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from annot_pipeline.config import Privacy
from annot_pipeline.errors import Problem, StoreError
from annot_pipeline.storage.files import make_private, replacing

KEY_FILE = "judge.key"
SHORTEST = 32
"""Bytes of a key that was made here."""


def judge_key(privacy: Privacy, store: Path) -> bytes:
    """The campaign's key; a random one is written (mode 600) where none is given."""
    key = present_key(privacy, store)
    if key is None:
        path = store / KEY_FILE
        make_private(store)
        with replacing(path, keep=True) as temporary:
            temporary.touch(mode=0o600)
            temporary.write_bytes(secrets.token_hex(32).encode())
        key = _read(path)  # another process may have been first
    return key


def present_key(privacy: Privacy, store: Path) -> bytes | None:
    """The campaign's key if there is one; writes nothing."""
    given = os.environ.get(privacy.key_env)
    if given:
        return given.encode()
    path = store / KEY_FILE
    return _read(path) if path.exists() else None


def no_key(privacy: Privacy) -> Problem:
    """What to say where the last build's key is needed, and another would not do."""
    what = f"the key of the last build is not in the store, and ${privacy.key_env} is not set"
    return Problem("", what, do=f"set ${privacy.key_env}")


def refuse_other_key(privacy: Privacy, store: Path, manifest: Mapping[str, Any]) -> None:
    """Make sure that a build gives judges the names that a release did, unless told otherwise.

    Raises
    ------
    StoreError
        The release's key is missing, or the key at hand is another.
    """
    version, before = manifest["version"], manifest["settings"].get("privacy", {})
    both = privacy.pseudonymize and before.get("pseudonymize", False)
    if privacy.new_key or not both:
        return
    key, known = present_key(privacy, store), before.get("key_fingerprint")
    if key is None:
        what = f"it is not in {store}, and ${privacy.key_env} is not set"
    elif known and fingerprint(key) != known:
        given = f"${privacy.key_env}" if os.environ.get(privacy.key_env) else str(store / KEY_FILE)
        what = f"{given} is another key"
    else:
        return
    do = (
        f"restore {store / KEY_FILE} from a backup, or set ${privacy.key_env} to the key of "
        f"{version}; --set privacy.new_key=true, once, gives all judges new names"
    )
    title = f"the key of the judges' names in {version} is missing"
    raise StoreError(title, [Problem("", what, do=do)])


def same_names(before: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    """Whether judges and judgments are named alike under two published settings."""
    old, new = (settings.get("privacy", {}) for settings in (before, now))
    if old.get("pseudonymize") != new.get("pseudonymize"):
        return False
    known = old.get("key_fingerprint")  # older releases do not tell
    return known is None or known == new.get("key_fingerprint")


def _read(path: Path) -> bytes:
    key = path.read_bytes()
    if len(key) < SHORTEST:
        raise StoreError(
            f"{path}: damaged",
            [
                Problem(
                    "",
                    f"the key has {len(key)} bytes",
                    do="restore it from a backup; deleting it gives all judges new names",
                )
            ],
        )
    return key


def derive(key: bytes, purpose: str) -> str:
    """A key for one purpose, as 64 hex digits; it does not give the key away."""
    return hmac.new(key, purpose.encode(), hashlib.sha256).hexdigest()


def fingerprint(key: bytes) -> str:
    """16 hex digits that tell a key from others, and nothing of it or of names."""
    return derive(key, "published fingerprint")[:16]


def pseudonym(key: bytes, judge: str) -> str:
    """A judge's public name: ``j`` and 20 hex digits (80 bits) of HMAC-SHA256."""
    digest = hmac.new(key, b"judge:" + judge.encode(), hashlib.sha256).hexdigest()
    return f"j{digest[:20]}"
