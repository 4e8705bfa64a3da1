"""The key of the judges' pseudonyms: from the environment, or made once and kept in the store.

It is HMAC-SHA256 of the campaign's name under the secret, so that one secret gives the same judge
other names in other campaigns.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from annot_pipeline.config import Campaign, Privacy
from annot_pipeline.errors import Problem, StoreError, counted
from annot_pipeline.storage.files import atomic_write, make_private, read_regular

KEY_FILE = "judge.key"
SHORTEST = 32
"""Bytes of a secret at least."""
FEWEST_DIFFERENT = 10
"""Different bytes of a secret at least: one letter 32 times is soon guessed."""
SECRET_RULE = (
    f"at least {SHORTEST} bytes, {FEWEST_DIFFERENT} of them different, and no shorter text repeated"
)
"""What a secret must be, for messages."""
HOW_TO_MAKE = "make one: python -c 'import secrets; print(secrets.token_hex(32))'"


def judge_key(settings: Campaign, store: Path) -> bytes:
    """Return the key of a campaign's names; a random secret is written (mode 600) if none is set.

    Raises
    ------
    StoreError
        The secret is damaged, or too easy to guess.
    """
    key = present_key(settings, store)
    if key is None:
        path = store / KEY_FILE
        make_private(store)
        with atomic_write(path, keep=True) as temporary:
            temporary.touch(mode=0o600)
            temporary.write_bytes(secrets.token_hex(32).encode())
        # another process may have been first
        key = _derived(_read(path), settings.campaign)
    return key


def present_key(settings: Campaign, store: Path) -> bytes | None:
    """Return the key of a campaign's names if its secret is there; writes nothing.

    Parameters
    ----------
    settings
        Name of the campaign, and the variable that holds the secret.
    store
        Folder of the working state.

    Raises
    ------
    StoreError
        The secret is damaged, or too easy to guess.
    """
    variable, path = settings.privacy.key_env, store / KEY_FILE
    if value := os.environ.get(variable):
        if weakness := weak_secret(value.encode()):
            do = f"unset {variable}: the key is in {path}" if path.exists() else HOW_TO_MAKE
            problem = Problem(f"${variable}", weakness, allowed=SECRET_RULE, do=do)
            raise StoreError("the key of the judges' names can be guessed", [problem])
        return _derived(value.encode(), settings.campaign)
    return _derived(_read(path), settings.campaign) if path.exists() else None


def weak_secret(secret: bytes) -> str:
    """Return why a secret can be guessed; empty if it follows `SECRET_RULE`."""
    if len(secret) < SHORTEST:
        return f"{counted(len(secret), 'byte')}; at least {SHORTEST} are needed"
    different = len(set(secret))
    if different < FEWEST_DIFFERENT:
        return f"only {counted(different, 'different character')}"
    # the length of the shortest text that gives this one when it is repeated and cut
    period = next(n for n in range(1, len(secret) + 1) if secret.startswith(secret[n:]))
    if period <= len(secret) // 2:
        return f"{counted(period, 'character')} repeated"
    return ""


def _derived(secret: bytes, campaign: str) -> bytes:
    return hmac.new(secret, f"annot campaign:{campaign}".encode(), hashlib.sha256).digest()


def exposed_secrets(privacy: Privacy, store: Path) -> list[str]:
    """Return what lets others read or guess the secret: modes of files, a short secret."""
    if not privacy.pseudonymize:
        return []
    exposed = []
    if (value := os.environ.get(privacy.key_env)) and (weakness := weak_secret(value.encode())):
        exposed.append(f"${privacy.key_env}: {weakness}")
    for path, name in ((store, "store"), (store / KEY_FILE, f"store/{KEY_FILE}")):
        if path.exists() and (mode := stat.S_IMODE(path.stat().st_mode)) & 0o077:
            exposed.append(f"{name} has mode {mode:o}: other users can open it")
    return exposed


def no_key(privacy: Privacy) -> Problem:
    """Return what to say where the last build's key is needed, and another would not do."""
    what = f"the key of the last build is not in the store, and ${privacy.key_env} is not set"
    return Problem("", what, do=f"set ${privacy.key_env}")


def refuse_other_key(settings: Campaign, store: Path, manifest: Mapping[str, Any]) -> None:
    """Make sure that a build gives judges the names that a release did, unless told otherwise.

    Raises
    ------
    StoreError
        The release's key is missing, or the key at hand is another.
    """
    privacy = settings.privacy
    version, before = manifest["version"], manifest["settings"].get("privacy", {})
    both = privacy.pseudonymize and before.get("pseudonymize", False)
    if privacy.new_key or not both:
        return
    key = present_key(settings, store)
    published = before.get("key_fingerprint")
    if key is None:
        what = f"it is not in {store}, and ${privacy.key_env} is not set"
    elif published and fingerprint(key) != published:
        origin = f"${privacy.key_env}" if os.environ.get(privacy.key_env) else str(store / KEY_FILE)
        what = f"{origin} is another key"
    else:
        return
    do = _how_to_give(settings, store, version, published)
    do += "; --set privacy.new_key=true, once, gives all judges new names"
    title = f"the key of the judges' names in {version} is missing"
    raise StoreError(title, [Problem("", what, do=do)])


def _how_to_give(settings: Campaign, store: Path, version: str, published: str | None) -> str:
    """Return how to give a build the key of a release, where another is at hand or none."""
    path, variable = store / KEY_FILE, settings.privacy.key_env
    if os.environ.get(variable) and path.exists():
        stored = fingerprint(_derived(_read(path), settings.campaign))
        if published == stored:
            return f"unset {variable}: {path} is the key of {version}"
    restored = f"restore {path} from a backup"
    if os.environ.get(variable):
        restored += f" and unset {variable}"
    return f"{restored}, or set ${variable} to the key of {version}"


def same_names(before: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    """Return whether judges and judgments have the same names under two published settings."""
    old, new = (settings.get("privacy", {}) for settings in (before, now))
    return all(old.get(key) == new.get(key) for key in ("pseudonymize", "key_fingerprint"))


def _read(path: Path) -> bytes:
    try:
        key = read_regular(path)
    except OSError as error:
        what = error.strerror or str(error)
        do = "restore it from a backup, or restore access to it"
        raise StoreError(f"{path}: cannot be read", [Problem("", what, do=do)]) from None
    if len(key) < SHORTEST:
        do = "restore it from a backup; deleting it gives all judges new names"
        problem = Problem("", f"the key has {len(key)} bytes", do=do)
        raise StoreError(f"{path}: damaged", [problem])
    return key


def derive(key: bytes, purpose: str) -> str:
    """Return a key for one purpose, as 64 hex digits; it does not give the key away."""
    return hmac.new(key, purpose.encode(), hashlib.sha256).hexdigest()


def fingerprint(key: bytes) -> str:
    """Return 16 hex digits that identify a key, and reveal neither it nor names."""
    return derive(key, "published fingerprint")[:16]


def published_digest(settings: Campaign, key: bytes, sha256: str) -> str:
    """Return the digest of bytes that hold raw names, as it may be published.

    All else that exports hold stands in gold, so whoever guesses the names of the judges could
    confirm the guess by a plain SHA-256.

    Parameters
    ----------
    settings
        Whether judges are pseudonyms; if not, the digest is published as it is.
    key
        Of the judges' names.
    sha256
        Digest of the bytes.
    """
    return derive(key, f"digest:{sha256}") if settings.privacy.pseudonymize else sha256


def pseudonym(key: bytes, judge: str) -> str:
    """Return a judge's public name: ``j`` and 20 hex digits (80 bits) of HMAC-SHA256."""
    return f"j{hmac.new(key, b'judge:' + judge.encode(), hashlib.sha256).hexdigest()[:20]}"
