"""Wide tables: one row an item and one column a judge, or one row a person."""

from __future__ import annotations

import re
from collections import Counter
from fnmatch import fnmatchcase
from typing import Any

from annot_pipeline.init import names
from annot_pipeline.init.abstentions import abstentions, failures, without_abstentions
from annot_pipeline.init.answers import NoJudgmentsError
from annot_pipeline.init.drafts import Draft
from annot_pipeline.init.objects import Line
from annot_pipeline.init.presets.facts import Facts, is_few
from annot_pipeline.init.presets.lists import is_abstention_matrix
from annot_pipeline.init.presets.surveys import NO_QUESTION, question_lines

FEWEST = 2
_NUMBERED = re.compile(r"(.*?\D)(\d+|[A-Z])")
FUNCTIONS = frozenset({"lf", "labelingfunction", "labelfn", "annot", "anno", "ann"})
OVERLAP = 0.5
"""Share of its values that a column has in common with the others, to be one more judge."""


def judge_columns(facts: Facts) -> Draft | None:
    """Map columns named after judges, such as rater_1, rater_2: one row an item."""
    families: dict[str, list[str]] = {}
    for name in facts.names:
        match = _NUMBERED.fullmatch(name) or re.fullmatch(r"(lf_)(.+)", name)
        if match:
            stem = "".join(names.words(match[1]))
            if "judge" in names.roles(match[1]) or stem in FUNCTIONS:
                families.setdefault(match[1], []).append(name)
    for stem, columns in families.items():
        if len(columns) >= FEWEST and (draft := _numbered_pairs(facts, stem, columns)):
            return draft
        if len(columns) >= FEWEST and all(_is_answer(facts, name) for name in columns):
            return _by_judge(facts, columns, f"{stem}*")
    return None


def _numbered_pairs(facts: Facts, stem: str, columns: list[str]) -> Draft | None:
    """Map judges and answers in numbered columns side by side: annotator_1, label_1, ...."""
    numbers = [name.removeprefix(stem) for name in columns]
    stems = [
        name.removesuffix(numbers[0])
        for name in facts.names
        if name.endswith(numbers[0]) and name not in columns
    ]
    fitting = [s for s in stems if s and all(s + number in facts.names for number in numbers)]
    answers = [s for s in fitting if "answer" in names.roles(s)]
    if not answers:
        return None
    item = next((n for n in facts.names if facts.sheet.is_unique(n) and _names_items(n)), None)
    if len(answers) > 1 or item is None:
        raise NoJudgmentsError(
            f"{columns[0]} and {answers[0]}{numbers[0]} stand side by side. Which columns are the "
            f"answers ({', '.join(answers)}), and which is the id of the item?"
        )
    lines: list[Line] = [
        ("judge", stem + "{i}", ""), ("item", item, ""), ("label", answers[0] + "{i}", "")
    ]  # fmt: skip
    return Draft("judges and answers in numbered columns", lines, each={"i": numbers})


def _is_answer(facts: Facts, name: str) -> bool:
    column = facts.column(name)
    return not column.counts or is_few(column) or without_abstentions(column).numeric_share == 1


def _by_judge(facts: Facts, columns: list[str], pattern: str) -> Draft:
    matched = [name for name in facts.names if fnmatchcase(name, pattern)]
    each: Any = {"columns": pattern} if matched == columns else columns
    counts = Counter[str]()
    for name in columns:
        counts.update(facts.column(name).counts)
    values = counts.keys() - abstentions(counts).keys() - failures(counts).keys()
    rest = [name for name in facts.names if name not in columns]
    item = next((n for n in rest if facts.sheet.is_unique(n) and _names_items(n)), None)
    notes = []
    if item is None and rest and all(facts.sheet.is_unique(n) for n in rest):
        item = rest[0]
    if item is None:
        if any("item" in names.roles(name) for name in rest):
            raise NoJudgmentsError(
                f"looks like one column a judge ({columns[0]}, ...), but no column is the id of "
                f"the item: none of {', '.join(rest)} is different in every row. Which is it?"
            )
        notes = ["no column names the items: the number of the row does"]
    is_score = _is_score(values)
    lines: list[Line] = [
        ("judge", {"value": "{rater}"}, "the name of the column"),
        ("item", item or {"row": True}, ""),
        ("score" if is_score else "label", "{rater}", ""),
    ]  # fmt: skip
    gold = next((n for n in rest if "truth" in names.roles(n)), None)
    if gold and not is_score and facts.column(gold).counts.keys() & values:
        lines.append(("truth", gold, ""))
    abstain = ["-1"] if is_abstention_matrix(values) else []
    return Draft(
        "a matrix with one column a judge", lines, "scalar" if is_score else "categorical",
        each={"rater": each}, abstain=abstain, notes=notes,
    )  # fmt: skip


def _names_items(name: str) -> bool:
    return bool({"item", "text", "native_id", "segment"} & names.roles(name).keys())


def _is_score(values: set[str]) -> bool:
    try:
        numbers = {float(value) for value in values}
    except ValueError:
        return False
    return any(not n.is_integer() for n in numbers) or len(numbers) > 20


def wide(facts: Facts) -> Draft | None:
    """Map a table of answers whose columns are judges, or questions to one person a row."""
    if draft := judge_columns(facts):
        return draft
    answers = _alike(facts)
    if len(answers) < FEWEST:
        return None
    rest = [name for name in facts.names if name not in answers]
    person = next((n for n in rest if "judge" in names.roles(n) and facts.sheet.is_unique(n)), None)
    if person is not None:
        each = {"question": answers}
        lines: list[Line] = [("judge", person, "one row each"), *question_lines(answers)]
        return Draft("a survey, one row a person", lines, each=each)
    is_matrix = not rest and all(facts.column(n).numeric_share == 1 for n in answers)
    values = {value for name in answers for value in facts.column(name).counts}
    if is_matrix and is_abstention_matrix(values):
        return _by_judge(facts, answers, "*")
    item = next((n for n in rest if facts.sheet.is_unique(n) and _names_items(n)), None)
    if item is None and rest:
        return None
    has_blanks = all(facts.column(name).n_blank for name in answers)
    roles = any(names.roles(name) for name in answers)
    if has_blanks and not roles and (item is not None or not rest):
        return _by_judge(facts, answers, "")
    text = ", ".join(answers)
    raise NoJudgmentsError(
        f"looks like one row an item, with answers in {text}. Are these columns judges or "
        f'questions? If judges: each: {{rater: [{text}]}}, judge: {{value: "{{rater}}"}}, '
        f'label: "{{rater}}", item: {item or "{row: true}"}. If questions: who answered them? '
        f'Or counts of votes? Then each: {{k: [{text}]}}, label: {{value: "{{k}}"}}, '
        'votes: "{k}"'
    )


def _alike(facts: Facts) -> list[str]:
    """Return the columns that share a small alphabet of answers."""
    offered = [
        name
        for name in facts.names
        if not NO_QUESTION & {*names.words(name)}
        and not {"judge", "truth", "submitted_at", "seconds"} & names.roles(name).keys()
        and is_few(facts.column(name))
        and not (facts.sheet.is_unique(name) and len(facts.sheet) > 2)
    ]
    best: list[str] = []
    for first in offered:
        values = facts.column(first).counts.keys()
        alike = [
            name
            for name in offered
            if len(values & facts.column(name).counts.keys())
            >= OVERLAP * max(len(values), facts.column(name).n_distinct)
        ]
        best = max(best, alike, key=len)
    return best
