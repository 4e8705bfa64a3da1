"""Simulates reviews of a bakery, and the answers of 24 people of whom three answer at random."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

N_TEXTS, N_WORKERS, N_CARELESS, PER_TEXT = 400, 24, 3, 5
CLASSES = ("negative", "neutral", "positive")
THINGS = ("The bread", "The coffee", "The cake", "The service", "The soup", "The croissant")
SAID = {
    "negative": ("was stale", "was cold", "was far too sweet", "took an hour", "fell apart"),
    "neutral": ("was as usual", "comes in two sizes", "costs three euros", "is on the left"),
    "positive": ("was wonderful", "was fresh", "made my day", "was worth the wait", "is the best"),
}
ENDS = ("", ", as always", ", I think", " today", ", said my sister", " again")
"""They say nothing of the class."""
SEED = 11


def write_exports(folder: Path) -> None:
    """Write ``exports/answers.csv``, one row per answer, and ``texts.csv``, one row per review."""
    draw = np.random.default_rng(SEED)
    truth = draw.choice(3, N_TEXTS, p=(0.3, 0.25, 0.45))
    texts = []
    for label in truth.tolist():
        first, second = (_sentence(draw, label) for _ in range(2))
        mixed = _sentence(draw, int(draw.choice(3))) if draw.random() < 0.3 else ""
        texts.append(" ".join(filter(None, (first, mixed, second))))
    accuracy = draw.uniform(0.7, 0.95, N_WORKERS)
    accuracy[draw.permutation(N_WORKERS)[:N_CARELESS]] = 0  # who answer at random
    folder.joinpath("exports").mkdir(parents=True, exist_ok=True)
    with open(folder / "texts.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["text_id", "text"])
        writer.writerows((f"t{n:03d}", text) for n, text in enumerate(texts))
    with open(folder / "exports" / "answers.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["text_id", "worker", "answer"])
        for n, label in enumerate(truth.tolist()):
            for worker in draw.choice(N_WORKERS, PER_TEXT, replace=False).tolist():
                is_right = draw.random() < accuracy[worker]
                answer = label if is_right else int(draw.choice(3))
                writer.writerow([f"t{n:03d}", f"w{worker:02d}", CLASSES[answer]])


def _sentence(draw: np.random.Generator, label: int) -> str:
    said = SAID[CLASSES[label]]
    thing, end = (options[draw.integers(len(options))] for options in (THINGS, ENDS))
    return f"{thing} {said[draw.integers(len(said))]}{end}."
