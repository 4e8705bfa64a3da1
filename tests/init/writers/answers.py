"""The answers that every tool writes: of three people, or of two evaluators, on twelve items."""

from __future__ import annotations

ITEMS = [f"q{n}" for n in range(12)]
PEOPLE = ["ada", "bea", "cy"]
EVALUATORS = ["relevance", "fluency"]
TOPICS = ["film", "music", "sport"]


def label(item: int, judge: int) -> str:
    """A label of an item by a judge."""
    return "rude" if (item + judge) % 3 == 0 else "kind"


def score(item: int, judge: int) -> int:
    """A score of an item by a judge, 1 to 5."""
    return (item * 2 + judge) % 5 + 1


def topics(item: int, judge: int) -> list[str]:
    """One or two topics of an item by a judge."""
    return [TOPICS[(item + n) % 3] for n in range(1 + (item + judge) % 2)]
