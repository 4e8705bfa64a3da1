"""Surveys (one row a person, one column a question) and listening tests."""

from __future__ import annotations

import re
from typing import Any

from annot_pipeline.init import names
from annot_pipeline.init.answers import NoJudgmentsError
from annot_pipeline.init.columns import Column
from annot_pipeline.init.drafts import Draft, by_length
from annot_pipeline.init.objects import Line
from annot_pipeline.init.presets.facts import Facts, is_few, steps, time_line

QUALTRICS = frozenset({
    "StartDate", "EndDate", "Status", "IPAddress", "Progress", "Duration (in seconds)",
    "Finished", "RecordedDate", "ResponseId", "RecipientLastName", "RecipientFirstName",
    "RecipientEmail", "ExternalReference", "LocationLatitude", "LocationLongitude",
    "DistributionChannel", "UserLanguage", "PROLIFIC_PID", "workerId", "consent",
})  # fmt: skip
NO_QUESTION = frozenset(
    {"age", "gender", "sex", "country", "language", "education", "timestamp", "email", "consent",
     "time", "duration", "seconds", "date", "comments", "comment", "feedback"}
)  # fmt: skip
"""Words of columns that ask about the person, or nothing."""

NAMES_OF_PEOPLE = frozenset({
    ("name",), ("names",), ("your", "name"), ("full", "name"), ("your", "full", "name"),
    ("what", "is", "your", "name"), ("first", "and", "last", "name"), ("name", "of", "annotator"),
})  # fmt: skip
"""Words of columns that ask who answers."""

LONGEST_NAME = 60
ITEM_IN_NAME = re.compile(r"^(.*?)(?:_\d+| \[[^\[\]]*\])$")


def question_lines(questions: list[str]) -> list[Line]:
    """Return the lines of questions in columns: a task each; parts of one question are items."""
    stems = [match[1] for q in questions if (match := ITEM_IN_NAME.match(q))]
    if stems and len(set(stems)) < len(questions):
        task: Any = {"value": "{question}", "match": r"^(.*?)(?:_\d+| \[[^\[\]]*\])?$"}
        why = "the column without its number or bracket"
    else:
        task, why = {"value": "{question}"}, "a task for each question"
    return [
        ("task", task, why), ("item", {"value": "{question}"}, "what was asked about"),
        ("label", "{question}", ""),
    ]  # fmt: skip


def _questions(facts: Facts, besides: frozenset[str], skip: int = 0) -> list[str]:
    questions = []
    for name in facts.names:
        if name in besides or NO_QUESTION & {*names.words(name)} or name.endswith("_TEXT"):
            continue
        column = Column(name, name, facts.sheet.table.column(name).slice(skip))
        if is_few(column) and (column.n_distinct > 1 or len(column.filled) < 5):
            questions.append(name)
    return questions


def qualtrics(facts: Facts) -> Draft | None:
    """Map Qualtrics: three header rows, and previews among the answers."""
    if not facts.has("ResponseId") or not ({"Status", "Finished", "StartDate"} & {*facts.names}):
        return None
    first = facts.sheet.table.slice(0, 2).to_pylist()
    skip = sum('"ImportId"' in (row.get("ResponseId") or "") for row in first) * 2
    questions = _questions(facts, QUALTRICS, skip)
    if not questions:
        raise NoJudgmentsError("Qualtrics: no column holds answers of few values")
    where = []
    if "Status" in facts.names:
        where = [{"column": "Status", "not": ["Survey Preview", "Survey Test", "1", "4"]}]
    judge = facts.first("PROLIFIC_PID", "workerId") or "ResponseId"
    return Draft(
        "Qualtrics responses",
        [("judge", judge, ""), *question_lines(questions), *_survey_time(facts, skip)],
        each={"question": questions}, where=where, options={"skip_rows": skip} if skip else {},
        notes=[f"questions: {by_length(questions)}; remove what is none"],
    )  # fmt: skip


def _survey_time(facts: Facts, skip: int) -> list[Line]:
    from annot_pipeline.init.optional_fields import read_times

    for name in ("RecordedDate", "EndDate"):
        if name in facts.names:
            column = Column(name, name, facts.sheet.table.column(name).slice(skip))
            if column.counts and (line := read_times(column)):
                return [("submitted_at", *line)]
    return []


def google_forms(facts: Facts) -> Draft | None:
    """Map Google Forms: Timestamp first, then a column for each question."""
    if facts.names[:1] != ["Timestamp"] or len(facts.names) < 3:
        return None
    email = next((n for n in facts.names[1:3] if n in ("Email Address", "Username")), None)
    if email is None and facts.with_role("judge"):
        return None  # rows of judgments with a time in front
    named = [name for name in facts.names if tuple(names.words(name)) in NAMES_OF_PEOPLE]
    besides = frozenset({"Timestamp", "Email Address", "Username", "Score", *named})
    questions = _questions(facts, besides)
    if not questions:
        raise NoJudgmentsError("Google Forms: no column holds answers of few values")
    name = next((n for n in named if _names_people(facts, n)), None)
    judge: Any = email or name or {"join": [{"value": "respondent "}, {"row": True}]}
    notes = [f"questions: {by_length(questions)}; remove what is none"]
    if email is None and name is None:
        notes.append("no column says who answered: each row is taken for another person")
    return Draft(
        "Google Forms responses",
        [("judge", judge, ""), *question_lines(questions), *time_line(facts, "Timestamp")],
        each={"question": questions}, notes=notes,
    )  # fmt: skip


def _names_people(facts: Facts, name: str) -> bool:
    """Return whether a column holds another short text in every row."""
    column = facts.column(name)
    is_text = column.numeric_share == 0 and column.mean_length <= LONGEST_NAME
    return is_text and facts.sheet.is_unique(name)


def webmushra(facts: Facts) -> Draft | None:
    """Map MUSHRA tests: listeners rate stimuli of a trial; reference and anchors are controls."""
    trial = facts.first("trial_id", "trial")
    stimulus = facts.first("rating_stimulus", "stimulus", "condition")
    score = facts.first("rating_score", "score", "rating")
    if trial is None or stimulus is None or score is None:
        return None
    stimuli = facts.column(stimulus).counts
    has_controls = any(re.search("anchor|^(hidden.?)?ref", name.lower()) for name in stimuli)
    if stimulus != "rating_stimulus" and not has_controls:
        return None
    judge = facts.first(
        "session_uuid", "email", "listener", "participant", "subject", "name", "uuid"
    )
    if judge is None:
        raise NoJudgmentsError(
            "MUSHRA: no column says who listened (session_uuid, email, listener). Which one does?"
        )
    control = {"~^(?i:(hidden.?)?ref)": "good_reference", "~(?i:anchor)": "bad_reference"}
    lines: list[Line] = [
        ("judge", judge, ""), ("segment", trial, ""), ("system", stimulus, ""),
        ("score", score, ""),
    ]  # fmt: skip
    if has_controls:
        comment = "hidden references and anchors"
        lines.append(("control", steps(stimulus, map=control, otherwise="none"), comment))
    return Draft("MUSHRA", lines, "scalar", scale=(0, 100))
