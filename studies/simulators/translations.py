"""German requests and translations of them into English, as good or bad as they shall be.

A sentence has four parts, each with renderings from good to wrong; a text costs what the places
of its renderings add up to, so worse outputs read worse. What does not belong here: what an
output is worth, and who says so (preferences).
"""

from __future__ import annotations

import itertools

import numpy as np

from annot_pipeline.arrays import Floats, Texts

PARTS: tuple[tuple[tuple[str, tuple[str, ...]], ...], ...] = (
    (
        ("Ich möchte", ("I would like", "I'd like", "I want", "I may", "Me likes")),
        ("Bitte buchen Sie", ("Please book", "Book", "Please to book", "You books", "Bid books")),
        ("Haben Sie noch", ("Do you still have", "Have you still", "Are there", "Has she still",
                            "You have not")),
        ("Wir suchen", ("We are looking for", "We look for", "We search", "We seeking", "We lose")),
    ),
    (
        ("zwei Fahrkarten", ("two tickets", "two train tickets", "two cards", "a two ticket",
                             "to drive maps")),
        ("ein Doppelzimmer", ("a double room", "a room for two", "one double room",
                              "a twice room", "a double dream")),
        ("einen Tisch", ("a table", "one table", "a desk", "a board", "an disk")),
        ("drei Plätze", ("three seats", "3 seats", "three places", "three squares", "free cakes")),
        ("ein Taxi", ("a taxi", "a cab", "one taxi", "taxi", "a taxes")),
    ),
    (
        ("in Wien", ("in Vienna", "at Vienna", "in Wien", "inside Vienna", "in wine")),
        ("am Flughafen", ("at the airport", "in the airport", "on airport", "near the plane",
                          "in the harbour")),
        ("am Hauptbahnhof", ("at the main station", "at the central station", "at main station",
                             "by the head station", "at the court yard")),
        ("in der Altstadt", ("in the old town", "in the old city", "in the old part",
                             "into the aged town", "in the old state")),
        ("am See", ("by the lake", "at the lake", "on the lake", "at lake", "by the sea")),
        ("nahe der Messe", ("near the trade fair", "close to the fair", "near the fair",
                            "near the Messe", "near the mass")),
    ),
    (
        ("für morgen früh.", ("for tomorrow morning.", "tomorrow morning.", "for tomorrow early.",
                              "for morning early.", "for good morning.")),
        ("für Montagabend.", ("for Monday evening.", "for Monday night.", "Monday in the evening.",
                              "for evening Monday.", "for full moon.")),
        ("ab Freitag.", ("from Friday.", "from Friday on.", "since Friday.", "off Friday.",
                         "from day free.")),
        ("um halb acht.", ("at half past seven.", "at seven thirty.", "at 7:30.", "at half eight.",
                           "at half past eight.")),
        ("für das Wochenende.", ("for the weekend.", "for this weekend.", "on weekend.",
                                 "for the week end.", "for the end of week.")),
    ),
)  # fmt: skip
"""Of each part the alternatives: German, and renderings from good to wrong."""

_PLACES = np.array(list(itertools.product(range(5), repeat=len(PARTS))))
_COSTS = _PLACES.sum(axis=1)
MOST_TEXTS = len(_PLACES)
"""So many different translations a sentence has."""

AVERAGE_COST, COST_OF_WORTH = 6.0, 2.5
"""Cost of a text of worth 0, and how much it falls with each unit of worth."""


def translated(rng: np.random.Generator, worth: Floats) -> tuple[Texts, Texts]:
    """Return sources, and texts of outputs: those of a segment differ, and in more than case.

    Parameters
    ----------
    rng
        The source of chance.
    worth
        ``(n_segments, n_systems)``, no more systems than `MOST_TEXTS`; 0 is average.

    Returns
    -------
    sources, texts
        ``(n_segments,)`` in German, alike where there are more segments than sentences;
        ``(n_segments, n_systems)`` in English.
    """
    sentences = np.array(list(itertools.product(*map(range, map(len, PARTS)))))
    order = np.resize(rng.permutation(len(sentences)), len(worth))
    sources, texts = [], []
    for alternatives, segment_worth in zip(sentences[order].tolist(), worth, strict=True):
        parts = [part[here] for part, here in zip(PARTS, alternatives, strict=True)]
        sources.append(" ".join(german for german, _ in parts))
        for places in _PLACES[_of_cost(rng, AVERAGE_COST - COST_OF_WORTH * segment_worth)].tolist():
            words = [english[at] for (_, english), at in zip(parts, places, strict=True)]
            texts.append(" ".join(words))
    return np.array(sources), np.array(texts).reshape(worth.shape)


def _of_cost(rng: np.random.Generator, costs: Floats) -> list[int]:
    """Choose different texts, each with the cost nearest to the requested one."""
    lots = rng.random(MOST_TEXTS)
    taken = np.zeros(MOST_TEXTS)
    choices = []
    for cost in costs.tolist():
        choice = int(np.argmin(np.abs(_COSTS - cost) + lots + taken))
        taken[choice] = np.inf
        choices.append(choice)
    return choices
