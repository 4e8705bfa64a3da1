"""Logs of three systems in the form of Inspect, and answers of people to 200 of their outputs.

The grader is of one family with the first system: it forgives a third of that system's errors, and
is too strict with the others. People err in one of 20 answers.
"""

from __future__ import annotations

import csv
import json
import random
import shutil
from pathlib import Path

CAMPAIGN = Path(__file__).with_name("campaign.yaml")
N_QUESTIONS, N_PEOPLE = 600, 200
SYSTEMS = {"gpt-4o-mini": (0.64, 0.35, 0.04), "claude-3-5-haiku": (0.8, 0.05, 0.14),
           "llama-3-8b": (0.5, 0.08, 0.12)}  # fmt: skip
"""Share of right answers, of wrong ones that the grader takes for right, and of right for wrong."""
ANNOTATORS = ("ann", "ben", "cleo", "dan", "eva", "finn", "gus", "hana", "ivan", "jo")
HUMAN_ERROR = 0.05


def write_campaign(folder: Path) -> Path:
    """Write campaign.yaml and the exports into a folder, and return its path."""
    draw = random.Random(11)  # noqa: S311 - a simulation
    shutil.rmtree(folder, ignore_errors=True)
    exports = folder / "exports"
    exports.mkdir(parents=True)
    shutil.copy(CAMPAIGN, folder / "campaign.yaml")
    truth = {}
    for system, (right, forgives, strict) in SYSTEMS.items():
        samples = []
        for question in range(N_QUESTIONS):
            is_right = draw.random() < right
            truth[question, system] = is_right
            says = draw.random() >= strict if is_right else draw.random() < forgives
            value = "C" if says else "I"
            scores = {"model_graded_qa": {"value": value}}
            samples.append({"id": f"q{question:03d}", "epoch": 1, "scores": scores})
        log = {"version": 2, "eval": {"model": system}, "samples": samples}
        (exports / f"{system}.json").write_text(json.dumps(log), encoding="utf-8")
    with (exports / "people.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("annotator", "question", "model", "verdict"))
        for question, system in sorted(draw.sample(sorted(truth), N_PEOPLE)):
            is_correct = truth[question, system] ^ (draw.random() < HUMAN_ERROR)
            verdict = "correct" if is_correct else "incorrect"
            writer.writerow((draw.choice(ANNOTATORS), f"q{question:03d}", system, verdict))
    return folder
