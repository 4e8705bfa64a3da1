"""What was answered: a label or a score, and on which scale."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace

from annot_pipeline.init import names
from annot_pipeline.init.abstentions import abstentions, failures, without_abstentions
from annot_pipeline.init.questions import Reading
from annot_pipeline.init.table import Column
from annot_pipeline.storage.archive import natural_key

MOST_LABELS = 20
"""Numbers with more different values are scores."""

FEWEST_OF_A_RANGE = 6
"""Different numbers over a range wider than that which are scores, as 8, 67 and 96 are."""

MOSTLY_NUMBERS = 0.9
"""Share of values; a few words among numbers are slips."""

LONGEST_LABEL = 60
"""Mean number of characters; beyond it stands free text, or several answers in a cell."""

SCALES: list[tuple[float, float]] = [(low, high) for low, high in names.VOCABULARY["scales"]]
"""Usual scales; the first that holds all values is taken."""


def kind_of(column: Column, truth: Column | None) -> str | None:
    """Return ``scalar`` or ``categorical``; None for what is no answer, such as free text."""
    column = without_abstentions(column)
    if not column.counts or column.mean_length > LONGEST_LABEL:
        return None
    if column.numeric_share > MOSTLY_NUMBERS:
        in_between = any(not number.is_integer() for number in column.numbers)
        averaged = truth is not None and any(not n.is_integer() for n in truth.numbers)
        named = bool(names.SCALAR_NAMES & {names.plain(column.name), *names.words(column.name)})
        named |= column.n_distinct > 2 and names.counts_costs(column.name)
        many = column.n_distinct > MOST_LABELS
        many |= column.numeric_share == 1 and len(column.answers) > len(
            column.numbers
        )  # 1 and 1.00
        wide = column.high - column.low >= MOST_LABELS and column.n_distinct >= FEWEST_OF_A_RANGE
        return "scalar" if in_between or averaged or named or many or wide else "categorical"
    many = column.n_distinct > MOST_LABELS and 2 * column.n_distinct > len(column.filled)
    return None if many or column.mean_length > LONGEST_LABEL else "categorical"


def answer_in(column: Column, truth: Column | None) -> Reading | None:
    """Return the answer that a column holds, if it holds one."""
    kind = kind_of(column, truth)
    return answer_as(column, kind) if kind else None


def answer_as(column: Column, kind: str) -> Reading:
    """Return the answer that a column holds, as labels or as scores."""
    abstained, failed = abstentions(column.counts), failures(column.counts)
    column = without_abstentions(column)
    answer = Reading(columns=[column.name], kind=kind, abstained=abstained, failed=failed)
    if kind == "categorical":
        answer.lines = [("label", column.expression, labels_seen(column))]
        answer.labels = column.answers
        return _in_one_spelling(answer, column)
    evidence = f"{column.n_distinct:,} different, {column.low:g} to {column.high:g}"
    n_words = round((1 - column.numeric_share) * len(column.filled))
    if n_words:
        evidence += f"; {n_words:,} are not numbers and will be rejected"
    line = ("score", column.expression, evidence)
    return replace(answer, lines=[line], scale=scale_of(column))


def answered(reading: Reading, answer: Reading) -> Reading:
    """Return a reading whose answers are these."""
    whole = ("kind", "scale", "labels", "abstained", "failed")
    reading = replace(reading, **{name: getattr(answer, name) for name in whole})
    return reading.with_lines(*answer.lines)


YES, NO = ("1", "true", "yes"), ("0", "false", "no")
"""Spellings of two answers."""
TRUTH_VALUES = dict.fromkeys(YES[:2], "yes") | dict.fromkeys(NO[:2], "no")
"""Labels of a column that holds two spellings of both."""


def _in_one_spelling(answer: Reading, column: Column) -> Reading:
    """Return an answer whose labels that differ in capitals alone are one, as written most."""
    words = TRUTH_VALUES if answer.labels.keys() == TRUTH_VALUES.keys() else {}
    label_of: dict[str, str] = {}  # the first is the most frequent
    spelled = {
        name: label_of.setdefault(words.get(name, name).lower(), words.get(name, name))
        for name in answer.labels
    }
    if len(label_of) == len(spelled) or not isinstance(column.expression, str):
        return answer
    counts, patterns = Counter[str](), {}
    for name, label in spelled.items():
        counts[label] += answer.labels[name]
        pattern = re.escape(name.lower()).replace("\\ ", " ") + "(\\.0)?" * name.isdecimal()
        patterns[f"~^(?i:{pattern})$"] = label
    same = [f"{name} is {label}" for name, label in spelled.items() if name != label]
    line = ("label", {"column": column.expression, "map": patterns}, ", ".join(same[:4]))
    return replace(answer, lines=[line], labels=counts)


def labels_seen(column: Column) -> str:
    """Return how many labels there are, and the most frequent."""
    labels = ", ".join(sorted(list(column.answers)[:10], key=natural_key))
    return f"{len(column.answers):,} different: {labels}" + (", ..." * (len(column.answers) > 10))


def scale_of(column: Column) -> tuple[float, float] | None:
    """Return the usual scale that holds all numbers; None if no usual one does."""
    return next((s for s in SCALES if s[0] <= column.low and column.high <= s[1]), None)
