"""What was answered: a label, several in a list, or a score, and on which scale."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from annot_pipeline.init import names
from annot_pipeline.init.abstentions import abstentions, failures, without_abstentions
from annot_pipeline.init.questions import NoJudgmentsError, Reading
from annot_pipeline.init.table import Column
from annot_pipeline.init.views import parsed
from annot_pipeline.storage.archive import natural_key

MOST_LABELS = 20
"""Numbers with more different values are scores."""

FEWEST_OF_A_RANGE = 6
"""Different numbers over a range wider than that which are scores, as 8, 67 and 96 are."""

MOSTLY_NUMBERS = 0.9
"""Share of values; a few words among numbers are slips."""

LONGEST_LABEL = 60
"""Mean number of characters; beyond it stands free text, or several answers in a cell."""

CELLS_LOOKED_AT = 5_000
MOST_OPTIONS = 100

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
        is_spelled = len(column.answers) > len(column.numbers)  # as 1 and 1.00
        many |= column.numeric_share == 1 and is_spelled
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
        answer.lines = [("label", column.expression, labels_seen(column.answers))]
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


def labels_seen(counts: Mapping[str, int]) -> str:
    """Return how many labels there are, and the most frequent."""
    labels = ", ".join(sorted(list(counts)[:10], key=natural_key))
    return f"{len(counts):,} different: {labels}" + (", ..." * (len(counts) > 10))


def scale_of(column: Column) -> tuple[float, float] | None:
    """Return the usual scale that holds all numbers; None if no usual one does."""
    return next((s for s in SCALES if s[0] <= column.low and column.high <= s[1]), None)


# --- lists in a cell ---


def set_answer(column: Column, each: Mapping[str, Any], *, lines: bool = False) -> Reading | None:
    """Return the answer of a column of lists, with ``each`` where they hold several options.

    None where cells are single answers. Lists are JSON, Label Studio's choices, or, where a preset
    says so, the ``lines`` of a cell.
    """
    if not isinstance(column.expression, str) or each:
        return None
    written = column.filled[:CELLS_LOOKED_AT].to_pylist()
    cells = [parsed(cell) for cell in written]
    are_texts = not any(isinstance(c, list | dict) for c in cells)
    for mark in ("\n",) if lines else ("|", ";", ","):
        parts = [cell.split(mark) for cell in written if are_texts]
        several = {one for part in parts if len(part) > 1 for one in part}
        if several and (lines or several <= {part[0] for part in parts if len(part) == 1}):
            label = {"column": column.name, "split": mark, "has": "{option}"}
            return _options(column, parts, label)
    if any(isinstance(cell, dict) and isinstance(cell.get("choices"), list) for cell in cells):
        chosen = [cell["choices"] if isinstance(cell, dict) else [cell] for cell in cells]
        if any(re.search(r"[^\w -]", str(one)) for cell in chosen for one in cell):
            raise NoJudgmentsError(
                f"Label Studio: {column.name} holds several answers with signs in their names; "
                "export as JSON instead"
            )
        keys = {'~(^|")({option})($|")': "yes"}
        return _options(column, chosen, {"column": column.name, "map": keys, "else": "no"})
    if not cells or not all(isinstance(cell, list) for cell in cells):
        return None
    if any(isinstance(one, dict | list) for cell in cells for one in cell):
        return None
    if all(len(cell) <= 1 for cell in cells):
        counts = Counter(str(one) for cell in cells for one in cell)
        label = {"column": column.name, "json": "0"}
        return Reading(lines=[("label", label, "")], columns=[column.name], labels=counts)
    return _options(column, cells, {"column": column.name, "has": "{option}"})


def _options(column: Column, cells: list[list[Any]], label: dict[str, Any]) -> Reading | None:
    counts: Counter[str] = Counter()
    for cell in cells:
        counts.update({str(one) for one in cell})
    options = sorted(counts, key=natural_key)
    if len(options) > MOST_OPTIONS:
        return None
    task = {"value": f"{column.name}:{{option}}"}
    fields = [("task", task, "several in a cell"), ("label", label, "whether it was chosen")]
    return Reading(lines=fields, columns=[column.name], each={"option": options})
