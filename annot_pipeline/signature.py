"""A signature for every number: exactly the choices that can move it, version last."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Any

from annot_pipeline.config import Campaign
from annot_pipeline.version import __version__

MOVING = (
    "campaign", "sources", "items", "tasks", "quality", "standardize", "dawid_skene",
    "easl.gamma", "easl.epsilon", "easl.margin", "easl.trueskill_mean", "easl.trueskill_sd",
    "agreement", "ranking", "seed",
)  # fmt: skip
"""Sections and settings that can move a number; where files lie, when builds run and what is asked
next cannot.
"""


def settings_document(settings: Campaign, keys: Iterable[str] = MOVING) -> dict[str, Any]:
    """Sections, or single settings (``section.key``), as plain JSON values with defaults."""
    document = settings.model_dump(
        mode="json", by_alias=True, exclude={"tasks": {"__all__": {"question"}}}
    )
    found = {}
    for key in keys:
        value = document
        for part in key.split("."):
            value = value[part]
        found[key] = value
    return found


def told_document(settings: Campaign) -> dict[str, Any]:
    """Settings that a release tells: those that move numbers, and what they are about."""
    whole = settings.model_dump(mode="json", by_alias=True)
    return settings_document(settings) | {name: whole[name] for name in ("tasks", "about")}


def settings_hash(settings: Campaign, key_fingerprint: str) -> str:
    """SHA-256 over all that can move a number or a published name, and what it is about.

    A licence that is mended has to be published, though no number moves.
    """
    document = told_document(settings)
    document["privacy"] = {"pseudonymize": settings.privacy.pseudonymize, "key": key_fingerprint}
    return digest(document)


def signature(settings: Campaign) -> str:
    """The methods in one line, to be quoted beside any figure.

    Example: ``dawid_skene:start=diagonal,smoothing=0.01,...|version=0.1.0``
    """
    sections = []
    for name in ("quality", "standardize", "easl", "dawid_skene", "ranking"):
        values = getattr(settings, name).model_dump()
        values = {key: v for key, v in values.items() if {name, f"{name}.{key}"} & set(MOVING)}
        sections.append(f"{name}:" + ",".join(f"{k}={v}" for k, v in values.items()))
    return "|".join([*sections, f"version={__version__}"])


def digest(document: Any) -> str:
    """SHA-256 of a JSON value; the order of its keys counts, for in ``map`` it has a meaning."""
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
