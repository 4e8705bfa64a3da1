"""Usual column names of exports, and what they stand for."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

VOCABULARY: dict[str, Any] = YAML(typ="safe").load(Path(__file__).with_suffix(".yaml"))
ROLES: dict[str, list[str]] = VOCABULARY["roles"]
"""Canonical field (or other role) to names, the likeliest first; letters and digits only."""

TEXTS: dict[str, str] = VOCABULARY["texts"]
WORDS = {what: frozenset(words) for what, words in VOCABULARY["words"].items()}
"""Words of columns and files, by what they say."""

SCALAR_NAMES = frozenset({"score", "rawscore", "points", "slider", "mos"})
"""An answer of such a name is a number on a scale, however few different ones there are."""

ID_ENDINGS = WORDS["id_endings"]
"""``worker_id`` and ``worker_name`` name a worker."""

TOO_GENERAL = WORDS["too_general"]
"""Say something as a whole name, nothing as the end of one (``lifetime``, ``country code``)."""

NO_ANSWER = WORDS["no_answers"]
MEASURED_TIME = WORDS["measured_time"]
"""Words of columns that say when, or how long; never an answer."""

TRUTH_WORDS = frozenset({"gold", "golden", "truth", "true", "correct", "expected", "expert"})

_NO_WORDS = re.compile(r"\b(?:input|answer|data)\.|[(\[]\d+ ?(?:\W|to) ?\d+[)\]]$", re.IGNORECASE)
_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\d_A-Za-z]+")


def words(name: str) -> list[str]:
    """Return the words of a column name, small: ``Input.sysId`` is sys, id; of no scale (1-5)."""
    return [word.lower() for word in _WORD.findall(_NO_WORDS.sub("", name, count=1))]


def plain(name: str) -> str:
    """Return a column name as the tables here spell it."""
    return "".join(words(name))


def bare(name: str) -> str:
    """Return the same without ``id`` and the like at the end."""
    return "".join(without_id(words(name)))


@lru_cache(maxsize=4096)
def roles(name: str) -> dict[str, int]:
    """Return the roles that a column name may stand for, with their order of likelihood.

    The whole name is looked up first, then its end, then both without ``id`` and the like; the
    first that says anything counts, so that ``task_id`` is an item although ``task`` is a task.
    """
    spelled = words(name)
    if len(spelled) > LONGEST_NAME:
        return {}  # a sentence, such as a survey's question
    shorter = without_id(spelled)
    if shorter == spelled and spelled and len(spelled[-1]) > 4:
        shorter = [*spelled[:-1], spelled[-1].removesuffix("id")]
    singular = [*spelled[:-1], "id"] if spelled[-1:] == ["ids"] else spelled
    is_no_answer = not (NO_ANSWER | MEASURED_TIME | TRUTH_WORDS).isdisjoint(spelled)
    for tier, spelling in enumerate([*_spellings(singular), *_spellings(shorter)]):
        matches = {
            role: tier * 100 + names.index(spelling)
            for role, names in ROLES.items()
            if spelling in names and not (is_no_answer and role in ("answer", "preference"))
        }
        if matches:
            return matches
    return {}


LONGEST_NAME = 6
"""Words of a column's name; beyond it stands a sentence."""
ANONYMIZED = WORDS["anonymized"]
"""Words that say how an id was made, and not of what."""


def without_id(parts: list[str]) -> list[str]:
    """Return words of a name without ``id`` and the like at the end."""
    parts = [part for part in parts if part not in ANONYMIZED] or list(parts)
    while len(parts) > 1 and parts[-1] in ID_ENDINGS:
        parts.pop()
    return parts[1:] if len(parts) > 1 and parts[0] == "id" else parts  # id_user


def _spellings(parts: list[str]) -> list[str]:
    """Return the whole name, then its ends, longest first."""
    ends = ["".join(parts[start:]) for start in range(1, len(parts))]
    return ["".join(parts), *(e for e in ends if len(e) >= 4 and e not in TOO_GENERAL)]


def likelihood(name: str, role: str) -> float:
    """Return how much a column's name speaks for a role: 1 for its own name, 0 for nothing."""
    place = roles(name).get(role)
    return 0.0 if place is None else max(0.3, 1 - place / 1000)


def counts_costs(name: str) -> bool:
    """Return whether a column's name says that it counts errors, or what they cost."""
    return bool(WORDS["costs"] & {*words(name)})
