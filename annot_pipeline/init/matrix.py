"""Tables whose columns are judges, or questions to one person a row."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence, Set
from dataclasses import replace
from fnmatch import fnmatchcase
from itertools import chain, combinations
from operator import eq
from os.path import commonpath
from typing import Any

import numpy as np

from annot_pipeline.config.judges import model_families
from annot_pipeline.errors import ConfigError, Problem
from annot_pipeline.init import names, roles, views, written_numbers
from annot_pipeline.init.abstentions import without_abstentions
from annot_pipeline.init.alike import are_near, has_steps, scale_or_classes, together
from annot_pipeline.init.answers import LONGEST_LABEL, MOST_LABELS, answer_as, scale_of
from annot_pipeline.init.comparisons import is_outcome
from annot_pipeline.init.counts import item_ids
from annot_pipeline.init.questions import (
    ORDER,
    Line,
    NoJudgmentsError,
    Option,
    Question,
    Reading,
    Roles,
    expression_of,
)
from annot_pipeline.init.readings import read_view
from annot_pipeline.init.table import Column, Sheet
from annot_pipeline.init.what import EACH_ROW
from annot_pipeline.init.who import MEANS, agreement, is_free_text

FEWEST, MANY = 2, 4
MOST_COMPARED, FEWEST_ROWS, HARDLY = 10, 10, 0.03
"""Columns whose agreement is looked at, and how much of it beyond chance is hardly any: judges of
one thing agree, questions do not."""
CLEARLY = 0.2
"""Least agreement beyond chance between any two columns that are offered as judges."""
MOST_OPTIONS = 50
ADDED = {*ORDER} - {"judge", "item", "label", "score"}
"""Roles of a matrix that only an answer adds."""
TRUTH = frozenset({"gold", "golden", "truth"})
OVERLAP, MOSTLY = 0.5, 0.9
"""Share of its values that a column has in common with the others, to be one more judge; and of
questions that are on one scale, for the others to be about the person."""
FUNCTIONS = frozenset({"lf", "labelingfunction", "labelfn", "annot", "anno", "ann", "coder"})
GROUP = ["condition"]
NO_QUESTION = names.WORDS["no_questions"]
"""Words of columns that ask about the person, or nothing."""
ITEM_IN_NAME = re.compile(r"^(?:\w+\[\w+\]\. )?(.*?)(?:_\d+| ?\[[^\[\]]*\])$", re.DOTALL)
# a part of a question has a number or a bracket behind; LimeSurvey repeats it before, as a code
_NUMBERED = re.compile(r"(.*?\D)(\d+|[A-Z])")


def each_by_option(sheet: Sheet, format_: str, by_role: Roles) -> list[Reading]:
    """Return the reading of columns, or of a list, that an option says hold several judgments."""
    each = by_role["each"]
    rest = {role: values for role, values in by_role.items() if role != "each"}
    patterns = [n for name in each for n in sheet.names if fnmatchcase(n, name)]
    if len(patterns) == 1:
        for view in views.cell_views(sheet):
            if view.taken[0] == patterns[0] and (readings := read_view(view, format_, rest)):
                return readings
    if len(patterns) < FEWEST:
        what = f"{len(patterns)} columns match; columns: {', '.join(sheet.names[:40])}"
        raise ConfigError("an answer names no columns", [Problem("--each", what)])
    if rest.get("judge") == ("each",):
        if grid := judge_grid(sheet, format_, patterns):
            return grid
        pattern = each[0] if len(each) == 1 else ""
        role = next((r for r in ("score", "label") if rest.get(r) == ("each",)), "")
        rest.pop(role, None)
        if rest.keys() == {"judge"} and item_ids(sheet, patterns) is None:
            is_number = sheet[patterns[0]].numeric_share == 1
            rest[role or ("score" if is_number else "label")] = ("@answer",)
            view = views.columns_view(views.plain_view(sheet), patterns, "rater", pattern)
            return read_view(view, format_, rest)
        reading = by_judge(sheet, patterns, pattern, rest.get("item", ()), role)
        others = [(r, expression_of(n), "as was answered") for r, n in rest.items() if r in ADDED]
        return [reading.with_lines(*others)]
    if rest.get("system") == ("each",):
        plain = views.columns_view(views.plain_view(sheet), patterns, "system", each[0])
        crossed = views.grid_view(sheet, patterns)
        return read_view(crossed or plain, format_, {**rest, "system": (views.OVER,)})
    if person := rest.get("judge"):
        return [survey(sheet, patterns, person[0], "as was answered")]
    options = [Option({**by_role, "judge": ("each",)}, "each of the columns is a judge")]
    asked = Question("judge", "Who judged?", options)
    raise NoJudgmentsError("which judges gave the answers?", question=asked)


def judges_by_name(sheet: Sheet, rows: views.View) -> list[Reading]:
    """Return columns named after judges, such as rater_1, rater_2: one row an item, or a pair.

    Where there are several families, as tag_ann1 and stance_ann1, each is a question.
    """
    families: dict[str, list[str]] = {}
    pairs = views.pairs_among(rows.columns)
    are_compared = any(p.are_systems or p.first not in sheet.names for p in pairs)
    for name in sheet.names[:5000]:
        match = _NUMBERED.fullmatch(name) or re.fullmatch(r"(lf_)(.+)", name)
        if match:
            words = names.words(match[1])
            is_function = "".join(words) in FUNCTIONS or words[-1:] in (["ann"], ["annot"])
            if "judge" in names.roles(match[1]) or is_function or (is_outcome(match[1]) and pairs):
                families.setdefault(match[1], []).append(name)
    readings: dict[str, Reading] = {}
    for stem, columns in families.items():
        if len(columns) < FEWEST:
            continue
        if is_outcome(stem):
            return _outcomes(rows, stem, stem, columns)
        if are_compared and all(views.says_sides(sheet[n].counts) for n in columns):
            return _outcomes(rows, stem, "preference", columns)
        if all(is_answer(sheet[name]) for name in columns):
            readings[stem] = by_judge(sheet, columns, f"{stem}*")
    if len(readings) < 2:
        return [*readings.values()]
    return [r.with_lines(("task", {"value": s}, "a question")) for s, r in readings.items()]


def judge_grid(sheet: Sheet, format_: str, asked: Sequence[str] = ()) -> list[Reading]:
    """Return columns of a judge and a question each, as rater1_fluency; of ``asked`` ones any."""
    of_judges = {n: ["judge" in names.roles(word) for word in names.words(n)] for n in sheet.names}
    named = [n for n in sheet.names if {*of_judges[n]} == {True, False}]
    named = [] if any(map(roles.is_called_id, named)) else named  # these name the judges
    named = [n for n in named if is_answer(sheet[n]) and not roles.NO_ANSWER & {*names.words(n)}]
    view = views.grid_view(sheet, asked or named)
    readings = read_view(view, format_, {"judge": ("each",)}) if view else []
    items = {str(r.expression("item")) for r in readings} & {*sheet.names}
    return readings if not has_questions(readings) and all(map(sheet.is_unique, items)) else []


def named_systems(sheet: Sheet, answers: Sequence[str]) -> Question | None:
    """Return the question whether columns of answers are systems, where one is called so."""
    grid = views.grid_view(sheet, answers) if len(answers) > 1 else None
    systems = grid.each["rater"] if grid else answers
    words = {word for name in systems for word in names.words(name)}
    are_named = model_families(systems) or names.WORDS["systems"] & words
    if len(answers) < FEWEST or not are_named or names.WORDS["criteria"] & words:
        return None
    role, listed = "score" if sheet[answers[0]].numeric_share == 1 else "label", ", ".join(systems)
    by_system = {"each": tuple(answers), "system": ("each",)}
    options = [Option(by_system, "systems"), Option({role: tuple(answers)}, "a question each")]
    text = f"{listed}: systems, by their names"
    return Question("system", text, options, "Did they make what was judged?")


def _have_outputs(sheet: Sheet, answers: Sequence[str]) -> bool:
    """Return whether texts stand in columns that differ as those of answers do: base_, tuned_."""
    starts, _, ends = zip(*(name.partition("_") for name in answers), strict=True)
    texts = [n.partition("_") for n in sheet.names if is_free_text(sheet[n])]
    rests = [{rest for first, _, rest in texts if first == start} for start in starts]
    return len({*ends}) == 1 and bool(rests[0].intersection(*rests[1:]))


def _outcomes(rows: views.View, stem: str, outcome: str, columns: Sequence[str]) -> list[Reading]:
    """Return comparisons with a column of winners for each judge."""
    view = views.columns_view(rows, columns, "rater", f"{stem}*", outcome)
    return [r for r in read_view(view, "csv", {"judge": ("each",)}) if r.kind == "pairwise"]


def is_few(column: Column) -> bool:
    """Return whether a column has few enough values to be a question's answers."""
    if column.are_dates:
        return False
    if 2 * column.n_distinct > len(column.filled):  # hardly any value repeats: short words at most
        return 0 < column.n_distinct <= MOST_LABELS and column.mean_length <= 20
    is_chosen = column.n_distinct <= MOST_LABELS and len(column.filled) >= 5 * column.n_distinct
    is_short = column.mean_length <= LONGEST_LABEL
    return 0 < column.n_distinct <= MOST_OPTIONS and (is_short or is_chosen)


def is_answer(column: Column) -> bool:
    """Return whether a column may hold a judge's answers."""
    return not column.counts or is_few(column) or without_abstentions(column).numeric_share == 1


def by_judge(
    sheet: Sheet, columns: Sequence[str], pattern: str, items: Sequence[str] = (), role: str = ""
) -> Reading:
    """Return a matrix with one column a judge.

    Parameters
    ----------
    items
        Columns that name what was judged, where they are given.
    role
        What the cells of judges are, where it is given.
    """
    answers = without_abstentions(together(sheet, columns))
    by_each = {"each": tuple(columns), "judge": ("each",)}
    values = answers.counts.keys()
    rest = [name for name in sheet.names if name not in columns]
    item = items[0] if items else item_ids(sheet, columns)
    notes = []
    whole = [n for n in rest if sheet.is_unique(n) and roles.is_called_id(n)]
    if item is None and rest and (whole or all(sheet.is_unique(n) for n in rest)):
        item = (whole or rest)[0]
    what: Any = expression_of(items) if items else item
    what = {"row": True} if item in (None, "row") else what
    if item is None:
        if any("item" in names.roles(name) for name in rest):
            options = [Option(by_each | {"item": ("row",)}, EACH_ROW)]
            options += [Option(by_each | {"item": (n,)}) for n in rest]
            text = names.TEXTS["no_item"].format(columns[0], ", ".join(rest))
            raise NoJudgmentsError(text, question=Question("item", text, options))
        named = combinations([n for n in rest if not sheet[n].numeric_share], 2)
        pair = next((p for p in named if sheet.combinations(*p) == len(sheet)), None)
        what = {"join": [*pair], "sep": ":"} if pair else what
        notes = ["no column names the items: the number of the row does"] * (not pair)
    is_fine = not answers.is_whole or len(answers.numbers) > MOST_LABELS
    spelled = written_numbers.number_in(answers).get("{rater}")  # with a decimal comma
    is_glob = [name for name in sheet.names if fnmatchcase(name, pattern)] == [*columns]
    each: Any = {"columns": pattern} if is_glob else [*columns]
    rows = np.tile(np.arange(len(sheet)), len(columns))
    cells = np.concatenate([sheet.numbers(name) for name in columns])
    is_score = role == "score" if role else (
        bool(spelled) or (answers.numeric_share == 1 and is_fine)
        or are_near(rows, cells, answers, {*names.words(columns[0])})
    )  # fmt: skip
    both = (by_each | {role: ("each",)} for role in ("score", "label"))
    questions = [scale_or_classes(columns, *both)] * (is_score is None)
    lines: list[Line] = [
        ("judge", {"value": "{rater}"}, "the name of the column"),
        ("item", what, ""),
        ("score", spelled or "{rater}", "") if is_score
        else ("label", spelled or answer_as(answers, "categorical").expression("label"), ""),
    ]  # fmt: skip
    gold = next((n for n in rest if "truth" in names.roles(n) or TRUTH & {*names.words(n)}), None)
    if gold and not is_score and sheet[gold].counts.keys() & values:
        lines.append(("truth", gold, ""))
    has_minus = answers.numeric_share == 1 and answers.low == -1  # among classes from 0
    minus = {"-1", "-1.0"} & values if has_minus else ()
    return Reading(
        "a matrix with one column a judge", lines, "scalar" if is_score else "categorical",
        scale_of(answers) if is_score and not spelled else None, each={"rater": each}, notes=notes,
        abstain=[*minus], questions=questions,
    )  # fmt: skip


def counted_judges(sheet: Sheet, counts: Reading) -> Reading | None:
    """Return the columns of judges whose answers other columns count, where all are there."""
    votes = str(counts.expression("votes"))
    counted = [votes.replace("{k}", label) for label in counts.each.get("k", ())]
    judges = [name for name in _alike(sheet) if name not in counted and sheet[name].n_blank]
    if not judges or {*counted} - {*sheet.names}:
        return None
    filled = [(sheet.codes(name) >= 0) * -1.0 for name in judges]
    is_sum = all(sum(row) == 0 for row in zip(*map(sheet.numbers, counted), *filled, strict=True))
    return by_judge(sheet, judges, "", [str(counts.expression("item"))]) if is_sum else None


def judge_matrix(sheet: Sheet) -> Reading | None:
    """Return a table of answers whose columns are judges, or questions to one person a row."""
    if len(sheet.names) > views.MOST_COLUMNS:
        text = f"the file has {len(sheet.names):,} columns, of which none is called as judges are"
        glob = commonpath(sheet.names[1:]) + "*"
        options = [Option({"each": (glob,), "judge": ("each",)}, "each of them is a judge")]
        ask = "Which of them hold answers?"
        raise NoJudgmentsError(text, question=Question("each", text, options, ask))
    answers = _alike(sheet)
    n_means = sum(bool(MEANS & {*names.words(name)}) for name in sheet.names)
    if len(answers) < FEWEST or n_means > 1:  # a table of means has no single answers
        return None
    rest = [name for name in sheet.names if name not in answers]
    person = next((n for n in rest if "judge" in names.roles(n) and sheet.is_unique(n)), None)
    if person is not None:
        return survey(sheet, answers, person, "one row each")
    if all(map(sheet.is_unique, rest)) and (sides := _sides(sheet, answers)):
        return sides
    if any(roles.are_people(sheet[n]) and not sheet.is_unique(n) for n in rest):
        return None  # who judged is in a column without a name
    values = {value for name in answers for value in sheet[name].counts}
    is_matrix = not rest and all(sheet[n].numeric_share == 1 for n in answers)
    if is_matrix and together(sheet, answers).low == -1:
        return by_judge(sheet, answers, "*")
    item = item_ids(sheet, answers)
    if item is None and len(rest) == 1 and len(answers) > MOST_OPTIONS and sheet.is_unique(rest[0]):
        item = rest[0]
    unnamed = (n for n in rest if roles.NAMELESS.fullmatch(n) and sheet.is_unique(n))
    item = item or next(unnamed, None)
    if item is None and rest:
        return None
    has_blanks = (all if rest else any)(sheet[n].n_blank for n in answers)
    has_roles = any(names.roles(name).keys() - {"judge"} for name in answers)
    are_names = all(len(names.words(name)) <= names.LONGEST_NAME for name in answers)
    is_several = len([v for v in values if sum(v in sheet[n].counts for n in answers) > 1]) > 1
    is_sure = has_blanks and not has_roles and are_names and is_several
    if is_sure and (item is not None or not rest):
        return by_judge(sheet, answers, "")
    text = ", ".join(answers)
    starts = {*(tuple(names.words(n)[:-1]) for n in answers)} - {()}
    kin = [n for n in sheet.names if tuple(names.words(n)[:-1]) in starts and is_few(sheet[n])]
    asked = tuple(n for n in sheet.names if n in (*answers, *kin))
    ask = names.TEXTS["judges_or_questions"].format(text)
    is_rubric = any(names.WORDS["criteria"] & {*names.words(n)} for n in asked)
    pairs = [*combinations([sheet[n] for n in answers[:MOST_COMPARED]], 2)]
    are_alike = sum(agreement(sheet, *pair) for pair in pairs) >= HARDLY * len(pairs)
    if not is_rubric and all(sheet[n].is_whole for n in answers):
        votes = f'each: {{k: [{text}]}}, label: {{value: "{{k}}"}}, votes: "{{k}}"'
        ask += f" Or counts of votes? Then {votes}"
    role = "score" if all(has_steps(sheet[n]) for n in asked) else "label"
    by_row = role if rest else "each"  # of which nothing else says what was judged
    grid = views.grid_view(sheet, asked)
    why = f"{', '.join(grid.each['rater'])} are judges" if grid else "each column is a judge"
    options = [
        Option({"each": asked if grid else tuple(answers), "judge": ("each",)}, why),
        *[Option({"each": tuple(answers), "judge": (item or "",)}, f"each {item} is a person")]
        * bool(item),
        Option({role: asked, "judge": ("=NAME",)}, "questions, all answered by NAME"),
        Option({by_row: asked, "judge": ("anonymous",)}, "questions; each row is a person"),
    ]
    if _have_outputs(sheet, answers):
        options.insert(0, Option({"each": asked, "system": ("each",)}, "systems: so are texts"))
    elif (is_rubric or not (are_alike or role == "score")) and not grid:
        options = [*options[-2:], *options[:-2]]
    lines: list[Line] = [("judge", "?", ""), ("item", item or "?", ""), (role, "{rater}", "")]
    kind = "scalar" if role == "score" else "categorical"
    open_ = [Question("judge", ask, options)]
    return Reading("", lines, kind, each={"rater": [*answers]}, questions=open_)


def with_judges(sheet: Sheet, question: Question, by_role: Roles) -> Question:
    """Return a question with a new first option: that columns which agree clearly are judges."""
    columns = [n for n in _alike(sheet) if n not in chain(*by_role.values())]
    pairs = [*combinations([sheet[n] for n in columns[:MOST_COMPARED]], 2)]
    are_criteria = any(names.WORDS["criteria"] & {*names.words(n)} for n in columns)
    agree = pairs and min(agreement(sheet, *pair) for pair in pairs) >= CLEARLY
    if question.role not in ("judge", "label") or "judge" in by_role or are_criteria or not agree:
        return question
    judges = Option({"each": tuple(columns), "judge": ("each",)}, "each column is a judge")
    return replace(question, options=[judges, *question.options])


def _sides(sheet: Sheet, answers: Sequence[str]) -> Reading | None:
    """Return two columns that share their values, and never in a row: two were compared."""
    few = sheet[answers[0]].n_distinct <= MANY or len(sheet) < FEWEST_ROWS
    if len(answers) != FEWEST or few or agreement(sheet, *(sheet[n] for n in answers)) >= 0:
        return None
    same = map(eq, *(sheet.table.column(n).to_pylist() for n in answers))
    sides = {f"item_{side}": (name,) for side, name in zip("ab", answers, strict=True)}
    options = [
        Option(sides | {"preference": (f"={side}",)}, f"{name} is better in each row")
        for side, name in zip("ab", answers, strict=True)
    ]
    text = f"{' and '.join(answers)} share their values, but are never the same: two sides"
    lines: list[Line] = [("judge", "?", ""), ("preference", "?", "")]
    lines += [(side, name, "") for side, (name,) in sides.items()]
    ask = "Which of them is better?"
    asked = [Question("preference", text, options, ask)]
    return None if any(same) else Reading("", lines, "pairwise", questions=asked)


def person_form(sheet: Sheet, is_doubtful: bool = False) -> list[Reading]:
    """Return rows that are a named person each, with a column a question; [] if they are not.

    It is doubtful where a condition may be what was judged.
    """
    people = [n for n in sheet.names if "judge" in names.roles(n)]
    person = next((n for n in people if _is_once(sheet[n])), None)
    groups = [n for n in sheet.names if names.words(n) == GROUP]
    named = [n for n in sheet.names if n not in groups]
    if any(names.roles(n).keys() & {"item", "system"} for n in named):
        return []
    if person and groups:  # which was judged, or in which the person was
        alike = [n for n in _alike(sheet) if not is_of_person(n, roles.PERSONAL)]
        options = [
            Option({"each": tuple(alike), "judge": (person,)}, "each column was judged"),
            Option({"item": tuple(groups), "judge": (person,)}, f"{groups[0]} was judged"),
        ]
        text = f"each {person} has one row, and one {groups[0]}"
        doubts = [Question("item", text, options, "What was judged?")] * is_doubtful
        form = replace(survey(sheet, alike, person, "one row each"), questions=doubts)
        return [form] * (len(alike) >= MANY)
    if person is None:
        return _batteries(sheet)
    rated = [n for n in sheet.names if "answer" in names.roles(n) and sheet[n].numeric_share == 1]
    few = [n for n in sheet.names if n != person and is_few(sheet[n]) and sheet[n].n_distinct > 1]
    asked = [n for n in few if not is_of_person(n, roles.PERSONAL)]
    asked = [n for n in asked if not names.roles(n).get("status")]
    questions = rated * (len(rated) > MOST_OPTIONS) or asked
    alike = _alike(sheet)  # beside which a role, or a place, is of the person
    questions = alike if len(alike) > MOSTLY * len(questions) else questions
    return [survey(sheet, questions, person, "one row each")] if len(questions) > FEWEST else []


def _batteries(sheet: Sheet) -> list[Reading]:
    """Return rows that are an unnamed person each, with batteries of questions: bat_1, stress_6.

    These are several, or stand beside the person's own data; one scale each is a source.
    """
    families: dict[str, list[str]] = {}
    for name in sheet.names:
        match = _NUMBERED.fullmatch(name)
        is_filled = len(sheet[name].filled) > sheet[name].n_blank
        if match and is_filled and is_few(sheet[name]) and not roles.is_measured(sheet[name]):
            families.setdefault(match[1], []).append(name)
    several = [family for family in families.values() if len(family) >= FEWEST]
    n_large = sum(len(family) > FEWEST for family in several)
    n_own = sum(bool(roles.PERSONAL & {*names.words(n)}) for n in sheet.names)
    questions = [*chain(*several)]
    ids = [n for n in sheet.names if roles.is_called_id(n)]
    is_sure = n_large >= (FEWEST if n_own > 1 else MANY) and all(map(sheet.is_unique, ids))
    if not is_sure or views.grid_view(sheet, questions):
        return []
    person: Any = ids[0] if ids else {"join": [{"value": "respondent "}, {"row": True}]}
    by_scale: dict[Any, list[str]] = {}
    for name in questions:
        column = without_abstentions(sheet[name])
        by_scale.setdefault(column.numeric_share == 1 and scale_of(column), []).append(name)
    return [survey(sheet, some, person, "one row each") for some in by_scale.values()]


def is_of_person(name: str, more: Set[str] = frozenset()) -> bool:
    """Return whether a column asks about the person, or nothing: a sentence may ask of anything."""
    words = names.words(name)
    return bool((NO_QUESTION | more) & {*words}) and len(words) <= names.LONGEST_NAME


def _is_once(column: Column) -> bool:
    """Return whether no value of a column is in two rows; a second header may leave it blank."""
    is_once = column.n_distinct >= roles.ONCE * len(column.filled)
    return is_once and column.n_blank <= 1 < column.n_distinct


def _alike(sheet: Sheet) -> list[str]:
    """Return the columns that share a small alphabet of answers, and their like with numbers."""
    asked = [n for n in sheet.names if not (NO_QUESTION | TRUTH) & {*names.words(n)}]
    groups = [n for n in sheet.names if names.words(n) == GROUP]  # which say what people saw
    asked = [n for n in asked if not any(sheet.determines(group, n) for group in groups)]
    roles_of = {n: names.roles(n).keys() for n in asked}
    named = [n for n in roles_of if not {"truth", "submitted_at", "seconds"} & roles_of[n]]
    named = [n for n in named if names.words(n)[-1:] not in (["id"], ["uid"], ["uuid"])]
    fewest = {n: 1 if "judge" in roles_of[n] else 3 for n in named}  # rows of which each may differ
    is_other = {n: sheet.is_unique(n) and len(sheet) >= fewest[n] for n in named}
    offered = [n for n in named if is_few(sheet[n]) and not is_other[n]]
    is_bare = all(map(roles.NAMELESS.fullmatch, sheet.names))  # and rare values say nothing
    best: list[str] = []
    for first in offered[:MOST_OPTIONS]:
        values = sheet[first].counts.keys()
        n_shared = {n: len(values & sheet[n].counts.keys()) for n in offered}
        least = {n: max(len(values) * (not is_bare), sheet[n].n_distinct) for n in offered}
        alike = [n for n in offered if n_shared[n] >= OVERLAP * least[n]]
        best = max(best, alike, key=len)
    is_number = written_numbers.NUMBER.fullmatch
    numbers = [name for name in sheet.names if all(map(is_number, sheet[name].counts))]
    form_of = {name: re.sub(r"\d+", "#", name) for name in numbers}
    steps = {value for name in best for value in sheet[name].counts}
    run = offered[offered.index(best[0]) : offered.index(best[-1])] if len(steps) > 2 else []
    best = [n for n in offered if n in best or (n in run and sheet[n].counts.keys() <= steps)]
    best = [name for name in best if not _is_majority(sheet, name, best)]
    forms = {form_of[name] for name in best if name in form_of and not is_bare} - {*best}
    return [name for name in sheet.names if name in best or form_of.get(name) in forms]


def _is_majority(sheet: Sheet, name: str, among: Sequence[str]) -> bool:
    """Return whether a column holds in each row what most others do, which are not always one."""
    if not FEWEST < len(among) - 1 < roles.MOST_ALIKE:
        return False
    others = [sheet.table.column(n).to_pylist() for n in among if n != name]
    tops = [Counter(row).most_common(1)[0] for row in zip(*others, strict=True)]
    pairs = [*zip(tops, sheet.table.column(name).to_pylist(), strict=True)]
    clear = [(n, v == cell) for (v, n), cell in pairs if 2 * n > len(others)]
    n_split = sum(n < len(others) for n, _ in clear)
    return n_split > MANY and all(is_same for _, is_same in clear)


def question_lines(questions: Sequence[str], are_scores: bool) -> list[Line]:
    """Return the lines of questions in columns: a task each; parts of one question are items."""
    stems = [match[1] for q in questions if (match := ITEM_IN_NAME.match(q))]
    places = zip(*(re.findall(r"[A-Za-z]\d+", q) for q in questions), strict=False)
    n_varied = sum(len({*numbers}) > 1 for numbers in places)  # 2 of R1Q1: which is the item?
    if stems and len(set(stems)) < len(questions):
        lines = "(?s)" * any("\n" in question for question in questions)
        task = {"value": "{question}", "match": f"{lines}{ITEM_IN_NAME.pattern[:-1]}?$"}
        why = "the column without its number or bracket"
    elif n_varied < 2 <= len(questions) and len({re.sub(r"\d+", "", q) for q in questions}) == 1:
        bare = re.sub(r"^[\W\d_]+|[\W\d_]+$", "", questions[0])
        task, why = {"value": bare}, "columns differ in numbers"
    else:
        task, why = {"value": "{question}"}, "a task for each question"
    return [
        ("task", task, why), ("item", {"value": "{question}"}, "what was asked about"),
        ("score" if are_scores else "label", "{question}", ""),
    ]  # fmt: skip


def survey(sheet: Sheet, questions: Sequence[str], person: Any, why: str) -> Reading:
    """Return a survey, one row a person and one column a question."""
    answers = without_abstentions(together(sheet, questions))
    are_many = answers.numeric_share == 1 and answers.n_distinct > MOST_LABELS
    are_scores = has_steps(answers) or are_many
    lines: list[Line] = [("judge", person, why), *question_lines(questions, are_scores)]
    shape = ("scalar", scale_of(answers)) if are_scores else ("categorical", None)
    return Reading("a survey, one row a person", lines, *shape, each={"question": [*questions]})


def has_questions(readings: Sequence[Reading]) -> bool:
    """Return whether any reading leaves a question open."""
    return any(r.questions for r in readings)
