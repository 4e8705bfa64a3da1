"""Recorded judgments by people and by models of the same items, from a csv file.

Two shapes, told from each other by their columns. Labels: ``judge, judge_kind, item, answer``; the
truth is what more than half of an item's people answer. Comparisons: ``judge, judge_kind,
question_id, model_a, model_b, winner``; the truth is people's mean share of wins, a tie is half a
win. ``judge_kind`` is ``human`` or ``model``. A name that ends in ``.gz`` is read through gzip.
"""

from __future__ import annotations

import csv
import gzip
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from annot_pipeline.arrays import Codes, Floats
from annot_pipeline.errors import ConfigError, Problem
from studies.model_judge_coverage import (
    COMPARISONS,
    LABELS,
    Question,
    Sample,
)

Rows = Sequence[Mapping[str, str]]

COLUMNS = {
    LABELS: ("judge", "judge_kind", "item", "answer"),
    COMPARISONS: ("judge", "judge_kind", "question_id", "model_a", "model_b", "winner"),
}
N_CLASSES = 2
"""Classes whose prevalence is estimated: the largest."""
TITLE = "judgments that cannot be used"
WINNERS = "model_a, model_b, or what begins with tie"


@dataclass(frozen=True, eq=False)
class RecordedAnswers:
    """Answers on one quantity, as numbers; a model's where people answered too.

    Parameters
    ----------
    question
        What is estimated, with which model.
    items
        ``(n,)`` codes of items, each once.
    human, model
        ``(n,)`` answers as numbers.
    """

    question: Question
    items: Codes
    human: Floats
    model: Floats


@dataclass(frozen=True, eq=False)
class RecordedModelJudges:
    """All quantities of a file.

    Parameters
    ----------
    kind
        ``labels`` or ``comparisons``.
    n_items
        Items with a truth.
    n_without_truth
        Items of people without one: no answer is that of more than half of them.
    answers
        By model and quantity.
    """

    kind: str
    n_items: int
    n_without_truth: int
    answers: Sequence[RecordedAnswers]

    def draw(self, n_human: int, rng: np.random.Generator) -> Iterator[tuple[Question, Sample]]:
        """Yield the samples of one draw of ``n_human`` different items."""
        is_drawn = np.zeros(self.n_items, np.bool_)
        is_drawn[rng.choice(self.n_items, n_human, replace=False)] = True
        for one in self.answers:
            rows = is_drawn[one.items]
            yield (
                one.question,
                Sample(
                    one.human[rows], one.model[rows], one.model[~rows], one.model,
                    float(one.human.mean()), population="finite",
                ),
            )  # fmt: skip


def read_model_judges(path: Path) -> RecordedModelJudges:
    """Read a file of judgments.

    Raises
    ------
    ConfigError
        The file cannot be read, has other columns or values, or no model shares items with people.
    """
    columns, rows = _read(path)
    kind = next((kind for kind, names in COLUMNS.items() if set(names) <= set(columns)), None)
    if kind is None:
        shapes = "; or ".join(f"{kind}: {', '.join(names)}" for kind, names in COLUMNS.items())
        raise _error(path, "columns of neither labels nor comparisons", shapes, columns)
    unknown = {row["judge_kind"] for row in rows} - {"human", "model"}
    if unknown:
        raise _error(path, "unknown judge_kind", "human, model", sorted(unknown))
    judges = (_label_judges if kind == LABELS else _comparison_judges)(path, rows)
    if not judges.answers:
        raise _error(path, "no model has judged items that people judged")
    return judges


def _read(path: Path) -> tuple[list[str], Rows]:
    opened = gzip.open if path.name.lower().endswith(".gz") else open
    try:
        with opened(path, "rt", encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, strict=True, restval="")
            rows = list(reader)
            return list(reader.fieldnames or ()), rows
    except (OSError, EOFError, UnicodeDecodeError, csv.Error, zlib.error) as error:
        what = (isinstance(error, OSError) and error.strerror) or error
        raise _error(path, f"cannot be read: {what}") from None


def _error(
    path: Path, what: str, allowed: str = "", values: Iterable[str] = (), do: str = ""
) -> ConfigError:
    return ConfigError(TITLE, [Problem(str(path), what, allowed, do, tuple(values))])


def _label_judges(path: Path, rows: Rows) -> RecordedModelJudges:
    votes: dict[str, Counter[str]] = {}
    models: dict[str, dict[str, str]] = {}
    repeated = []
    for row in rows:
        if row["judge_kind"] == "human":
            votes.setdefault(row["item"], Counter())[row["answer"]] += 1
            continue
        answers = models.setdefault(row["judge"], {})
        if row["item"] in answers:
            repeated.append(f"{row['judge']}: {row['item']}")
        answers[row["item"]] = row["answer"]
    if repeated:
        raise _error(path, "items that one model labels twice", "one row each", repeated)
    truth = {
        item: answer
        for item, counts in votes.items()
        for answer, n in counts.items()
        if 2 * n > counts.total()
    }
    sizes = Counter(truth.values())
    classes = sorted(sizes, key=lambda name: (-sizes[name], name))[:N_CLASSES]
    items = sorted(truth)
    answers_by_quantity = []
    for judge in sorted(models):
        places = np.array([n for n, item in enumerate(items) if item in models[judge]], np.int64)
        for name in classes if places.size else ():
            human, model = (
                np.array([labels[items[n]] == name for n in places.tolist()], np.float64)
                for labels in (truth, models[judge])
            )
            question = Question(LABELS, judge, f"prevalence of {name}")
            answers_by_quantity.append(RecordedAnswers(question, places, human, model))
    return RecordedModelJudges(LABELS, len(items), len(votes) - len(truth), answers_by_quantity)


def _comparison_judges(path: Path, rows: Rows) -> RecordedModelJudges:
    """Return win rates; a pair is one comparison whichever side is named first."""
    shares = {"model_a": 1.0, "model_b": 0.0}
    human: dict[tuple[str, str, str], list[float]] = {}
    models: dict[str, dict[tuple[str, str, str], list[float]]] = {}
    unknown = set()
    for row in rows:
        winner, first, second = row["winner"], row["model_a"], row["model_b"]
        if winner not in shares and not winner.startswith("tie"):
            unknown.add(winner)
            continue
        share = shares.get(winner, 0.5)
        if second < first:
            first, second, share = second, first, 1 - share
        by_pair = human if row["judge_kind"] == "human" else models.setdefault(row["judge"], {})
        by_pair.setdefault((row["question_id"], first, second), []).append(share)
    if unknown:
        raise _error(path, "unknown winner", WINNERS, sorted(unknown))
    pairs = sorted(human)
    answers = [
        one for judge in sorted(models) for one in _win_rates(judge, pairs, human, models[judge])
    ]
    return RecordedModelJudges(COMPARISONS, len(pairs), 0, answers)


def _win_rates(
    judge: str,
    pairs: Sequence[tuple[str, str, str]],
    human: Mapping[tuple[str, str, str], list[float]],
    model: Mapping[tuple[str, str, str], list[float]],
) -> Iterator[RecordedAnswers]:
    """Yield a model's comparisons of each system, as shares of the system's wins."""
    places = [n for n, pair in enumerate(pairs) if pair in model]
    first, second = (np.array([pairs[n][side] for n in places]) for side in (1, 2))
    of_human, of_model = (
        np.array([np.mean(shares[pairs[n]]) for n in places]) for shares in (human, model)
    )
    items = np.array(places, np.int64)
    for system in sorted({*first.tolist(), *second.tolist()}):
        rows, is_second = (first == system) | (second == system), second == system
        question = Question(COMPARISONS, judge, f"win rate of {system}")
        yield RecordedAnswers(
            question, items[rows],
            np.where(is_second, 1 - of_human, of_human)[rows],
            np.where(is_second, 1 - of_model, of_model)[rows],
        )  # fmt: skip
