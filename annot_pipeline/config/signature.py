"""A signature for every number: exactly the choices that can move it, version last."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from functools import reduce
from operator import getitem
from typing import Any

from annot_pipeline.config import Campaign
from annot_pipeline.version import __version__

MOVING = (
    "campaign", "sources", "items", "tasks", "quality", "standardize", "label_model",
    "dawid_skene",
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
    return {key: reduce(getitem, key.split("."), document) for key in keys}


def told_document(settings: Campaign, kept: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Settings that a release tells: those that move numbers, and what they are about.

    Parameters
    ----------
    settings
        Of a campaign.
    kept
        The settings as the store keeps them. Those that the annot-pipeline of then did not know
        are at their defaults since, and were not told.
    """
    document = settings.model_dump(mode="json", by_alias=True)
    if kept is not None:
        document = _known(document, kept)
    keys = [key for key in MOVING if _holds(document, key)]
    told = {key: reduce(getitem, key.split("."), document) for key in keys}
    return told | {name: document[name] for name in ("tasks", "about") if name in document}


def settings_hash(
    settings: Campaign, key_fingerprint: str, kept: Mapping[str, Any] | None = None
) -> str:
    """SHA-256 over `told_document` and the key of the judges' names.

    A licence that is mended has to be published, though no number moves.
    """
    told = told_document(settings, kept)
    told["privacy"] = {"pseudonymize": settings.privacy.pseudonymize, "key": key_fingerprint}
    return digest(told)


def _holds(document: Mapping[str, Any], key: str) -> bool:
    section, _, name = key.partition(".")
    return section in document and (not name or name in document[section])


def _known(value: Any, kept: Any) -> Any:
    """What of a value an earlier one has keys for."""
    if isinstance(value, dict) and isinstance(kept, Mapping):
        return {key: _known(inner, kept[key]) for key, inner in value.items() if key in kept}
    if isinstance(value, list) and isinstance(kept, list) and len(value) == len(kept):
        return [_known(*both) for both in zip(value, kept, strict=True)]
    return value


def signature(settings: Campaign) -> str:
    """The methods in one line, to be quoted beside any figure.

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
    """SHA-256 of a JSON value; the order of its keys counts, for in ``map`` it has a meaning."""
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
