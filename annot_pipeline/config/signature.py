"""A signature for every number: exactly the choices that can move it, version last."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from functools import reduce
from operator import getitem
from typing import Any

from annot_pipeline.config import Campaign
from annot_pipeline.version import __version__

MOVING = (
    "campaign", "sources", "items", "tasks", "quality", "standardize", "label_model",
    "labels", "judges", "dawid_skene",
    "easl.gamma", "easl.epsilon", "easl.margin", "easl.trueskill_mean", "easl.trueskill_sd",
    "agreement", "ranking", "seed",
)  # fmt: skip
"""Sections and settings that can move a number; where files lie, when builds run and what is asked
next cannot.
"""


def settings_document(settings: Campaign, keys: Iterable[str] = MOVING) -> dict[str, Any]:
    """Return sections, or single settings (``section.key``), as plain JSON values with defaults."""
    document = settings.model_dump(
        mode="json", by_alias=True, exclude={"tasks": {"__all__": {"question"}}}
    )
    return {key: reduce(getitem, key.split("."), document) for key in keys}


def release_settings(settings: Campaign) -> dict[str, Any]:
    """Return the settings that a release publishes: those that move numbers, and descriptions."""
    document = settings.model_dump(mode="json", by_alias=True)
    published = {key: reduce(getitem, key.split("."), document) for key in MOVING}
    return published | {name: document[name] for name in ("tasks", "about")}


def settings_hash(settings: Campaign, key_fingerprint: str) -> str:
    """Return the SHA-256 over `release_settings` and the key of the judges' names.

    A corrected licence has to be published, though no number changes.
    """
    published = release_settings(settings)
    published["privacy"] = {"pseudonymize": settings.privacy.pseudonymize, "key": key_fingerprint}
    return digest(published)


def signature(settings: Campaign) -> str:
    """Return the methods in one line, to be quoted beside any figure.

    Example: ``dawid_skene:start=diagonal,smoothing=0.01,...|version=0.1.0``
    """
    sections = []
    for name in ("quality", "standardize", "easl", "dawid_skene", "ranking"):
        if name == "dawid_skene":
            sections.append(f"label_model:{settings.label_model}")
        values = getattr(settings, name).model_dump()
        values = {key: v for key, v in values.items() if {name, f"{name}.{key}"} & set(MOVING)}
        sections.append(f"{name}:" + ",".join(f"{k}={v}" for k, v in values.items()))
    return "|".join([*sections, f"version={__version__}"])


def digest(document: Any) -> str:
    """Return SHA-256 of a JSON value.

    The order of its keys counts, for in ``map`` it has a meaning.
    """
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
