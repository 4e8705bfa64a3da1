"""Settings that earlier versions had: what replaces them, and what stores of then still hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

RETIRED = {
    "dawid_skene.dependence": "remove it: label_model hierarchical, the default, finds it",
    "dawid_skene.pooling": "remove it: label_model hierarchical, the default, has judges with few "
    "labels borrow from the others",
    "dawid_skene.temper": "remove it: label_model hierarchical, the default, allows for judges who "
    "err together; name those that are related under judges",
    "ranking.resample_comparisons": "remove it: the headline treats judges and segments as "
    "random samples; other methods have bootstrap intervals where only segments repeat",
}
"""What to do about each, in the order in which settings were published."""

RETIRED_VALUES = {"ranking.resample": "judges"}
"""Values that settings had: stores of then take the default."""


def without_retired(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings without those, and those values, that are retired."""
    sections = dict(document)
    for key in RETIRED:
        section, _, name = key.partition(".")
        if name in _section(sections, section):
            sections[section] = {n: v for n, v in sections[section].items() if n != name}
    for key, value in RETIRED_VALUES.items():
        section, _, name = key.partition(".")
        if _section(sections, section).get(name) == value:
            sections[section] = {n: v for n, v in sections[section].items() if n != name}
    return sections


def _section(sections: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    section = sections.get(name)
    return section if isinstance(section, dict) else {}


def with_retired(document: Mapping[str, Any], stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings with the retired ones that a store holds, as releases of then have them."""
    sections = dict(document)
    for key in RETIRED:
        section, _, name = key.partition(".")
        if name in stored.get(section, {}) and section in sections:
            sections[section] = sections[section] | {name: stored[section][name]}
    return sections
