"""Chooses the shape of an export: reads each view of it, and takes the one that is complete."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from typing import Any

from annot_pipeline.init import matrix, names, views
from annot_pipeline.init.comparisons import is_outcome
from annot_pipeline.init.counts import vote_counts
from annot_pipeline.init.questions import NoJudgmentsError, Reading, Roles
from annot_pipeline.init.readings import is_column, read_columns, read_view, unmapped_note
from annot_pipeline.init.roles import WEAK, are_models, is_measured
from annot_pipeline.init.table import Sheet
from annot_pipeline.init.who import MTURK_ANSWER

PLACES = "who labelled is unknown: judges are places in the list, so do not measure them"


def read_sheet(sheet: Sheet, format_: str, by_role: Roles) -> list[Reading]:
    """Return the readings of a table, one a question; with questions where cells do not say.

    Raises
    ------
    NoJudgmentsError
        It holds no judgments, or only people can say what its columns are.
    """
    if format_ == "mturk" and not any(name.startswith(MTURK_ANSWER) for name in sheet.names):
        if not by_role and (form := matrix.person_form(sheet)):
            return form
        format_ = "csv"  # of a form of the requester's own, whose fields have no prefix
    starts = {name.partition(".")[0] for name in sheet.names if "." in name}
    workers = [n for n in sheet.names if "judge" in names.roles(n)]
    workers = [n for n in workers if not names.ANONYMIZED & {*names.words(n)}]
    if "Answer" in starts and ("Input" in starts or not workers):
        format_ = "mturk"  # whatever else of the batch was left out, as its workers were
    rows = views.rows_view(sheet)
    if by_role.get("each"):
        return matrix.each_by_option(sheet, format_, by_role)
    named = {n for role, values in by_role.items() for n in values if is_column(role, n)}
    if not named <= {*rows.columns}:
        for view in _views_with(sheet, named):
            read_columns(view.sheet, by_role)
            return read_view(view, format_, by_role)
    read_columns(rows.sheet, by_role)
    open_ = {"judge", "item"} if format_ == "mturk" else set()
    for view in () if by_role and not open_ else views.numbered_views(sheet):
        if _judges_parts(view) and named <= {*view.columns}:
            with suppress(NoJudgmentsError):
                numbered = read_view(view, format_, by_role)
                asked = {q.role for r in numbered for q in r.questions}
                if asked <= open_ and ("item" in asked or _uses_parts(view, numbered)):
                    return numbered
    if format_ == "mturk":
        return read_view(rows, format_, by_role)
    error: NoJudgmentsError | None = None
    if not by_role and (counts := vote_counts(sheet)):
        return [matrix.counted_judges(sheet, counts) or counts]
    by_name = [] if by_role else matrix.judge_grid(sheet, format_)
    if by_name := by_name or ([] if by_role else matrix.judges_by_name(sheet, rows)):
        return by_name
    if not by_role and (places := views.places_view(sheet)):
        return read_view(places, format_, {"system": (views.RANKED,)})
    try:
        readings = read_view(rows, format_, by_role)
    except NoJudgmentsError as caught:
        readings, error = [], caught
    columns = [n for r in readings for n in r.columns if n in sheet.names]
    if not by_role and (systems := matrix.named_systems(sheet, columns)):
        return [replace(readings[0], questions=[systems])]
    answers = [rows.sheet[n] for r in readings for n in r.columns if n in rows.columns]
    weak = [c for c in answers if is_measured(c) or WEAK & c.words]  # means, or descriptions
    are_weak = by_role and 2 * len(weak) > len(answers)  # beside answers in lists, if there are any
    things = [names.words(str(r.expression("item"))) for r in readings]
    grouped = matrix.GROUP in things and not matrix.has_questions(readings)
    if readings and not matrix.has_questions(readings) and not (are_weak or grouped):
        return readings
    for others in _others(sheet, format_, by_role, named):
        return others
    if not by_role and (whole := _unnamed(sheet, format_) or matrix.person_form(sheet, grouped)):
        return whole
    if any(r.kind == "pairwise" for r in readings):
        return readings
    asked = {q.role for r in readings for q in r.questions}
    is_open = error is None and not {"judge", "item"} & asked
    may_be_matrix = not by_role and not is_open and (error is None or not error.question)
    if may_be_matrix and (by_column := matrix.judge_matrix(sheet)):
        return [by_column]
    if error is not None:
        if error.question:
            error.question = matrix.with_judges(sheet, error.question, by_role)
        raise error
    if readings and (are_weak or not _is_near(readings)):
        for view in views.cell_views(sheet):
            with suppress(NoJudgmentsError):
                inner = read_view(view, format_, by_role) if named <= {*view.columns} else []
                is_near = _is_near(inner) or _offers_judges(inner)
                if is_near and (matrix.has_questions(inner) or _uses_parts(view, inner)):
                    return inner
    for reading in readings:
        reading.questions[:] = [matrix.with_judges(sheet, q, by_role) for q in reading.questions]
    return readings


def _judges_parts(view: views.View) -> bool:
    """Return whether each of several things side by side has an answer beside it."""
    parts = [view.sheet[name] for name in view.parts if name != views.OVER]
    own = [c.name for c in parts if not c.name.startswith(MTURK_ANSWER)]
    named = {role for name in own for role in names.roles(name)}
    is_named = {"system", "item"} & named or {"judge", "answer"} <= named
    return bool(is_named) or 0 < sum(map(matrix.is_answer, parts)) < len(parts)


def _offers_judges(readings: Sequence[Reading]) -> bool:
    """Return whether it is asked who judged, and columns are offered."""
    asked = (q for r in readings for q in r.questions if q.role == "judge")
    offered = (n for q in asked for o in q.options for n in o.by_role.get("judge", ()))
    return any(is_column("judge", n) for n in offered)


def _is_near(readings: Sequence[Reading]) -> bool:
    """Return whether answers are known, and who judged, unless columns are offered for it."""
    are_known = all(r.expression("label") != "?" for r in readings)
    is_asked = any(q.role == "judge" for r in readings for q in r.questions)
    return are_known and (not is_asked or _offers_judges(readings))


def _views_with(sheet: Sheet, named: set[str]) -> Iterator[views.View]:
    """Yield the views, but that of rows as they are, that have some columns."""
    every = chain(views.numbered_views(sheet), views.cell_views(sheet))
    return (view for view in every if named <= {*view.columns})


def _others(sheet: Sheet, format_: str, by_role: Roles, named: set[str]) -> Iterator[list[Reading]]:
    """Yield the complete readings of other views."""
    for view in _views_with(sheet, named):
        if view.shape == "numbered" and not _judges_parts(view):
            continue  # batteries of questions: each holds answers, and none says to what
        try:
            readings = read_view(view, format_, by_role)
        except NoJudgmentsError:
            continue
        asked = {q.role for r in readings for q in r.questions}
        is_deep = len(view.each) > 1  # it has all that other views of these rows have
        if asked == {"item"} and view.shape == "numbered" and by_role:
            yield readings  # side by side with its answers stands what they are about
        if not (asked <= {"item"} if is_deep else not asked) or not _uses_parts(view, readings):
            keyed = _keyed(sheet, view, format_) if view.shape == "keys" else []
            if keyed and {q.role for r in keyed for q in r.questions} <= {"item"}:
                yield keyed
            continue
        yield readings


def _uses_parts(view: views.View, readings: Sequence[Reading]) -> bool:
    """Return whether answers, and what they are about or who gave them, are parts of the view."""
    parts = [n for n in view.parts if n != views.OVER or view.shape == "keys"]
    expressions = [view.sheet[n].expression for n in parts]
    return all(
        sum(any(e == x or x in _inner(e) for x in expressions) for _, e, _ in r.lines) > 1
        for r in readings
    )


def _inner(expression: Any) -> list[Any]:
    if not isinstance(expression, dict):
        return []
    return [expression.get("column"), *expression.get("join", [])]


def _unnamed(sheet: Sheet, format_: str) -> list[Reading]:
    """Return lists of the answers of several judges whom nobody names, all of them answers."""
    unnamed = []
    majorities = [n for n in sheet.names if "truth" in names.roles(n)]  # of these very answers
    recurring = [n for n in sheet.names if 2 * sheet.combinations(n) <= len(sheet)]  # persons
    by_role = {"judge": (views.OVER,), "ignore": tuple(majorities)}
    for view in views.cell_views(sheet):
        if (
            view.shape != "list"
            or is_outcome(view.taken[0])
            or any(sheet.determines(n, view.taken[0]) for n in recurring if n != view.taken[0])
            or (view.sheet[view.parts[-1]].expression == "{a.value}" and not _repeats(sheet, view))
        ):
            continue
        with suppress(NoJudgmentsError):
            readings = read_view(view, format_, by_role)
            answers = {name for r in readings for name in r.columns}
            is_all = {*view.parts} == {views.OVER, *answers} and not matrix.has_questions(readings)
            if is_all and len(view.sheet) >= 2 * len(sheet):
                name = {"value": f"{view.taken[0]} {{a}}"}
                judge = ("judge", name, "places in a list: no persons")
                notes = [PLACES, *unmapped_note([sheet[n] for n in majorities])]
                unnamed += [replace(r.with_lines(judge), notes=notes + r.notes) for r in readings]
    return unnamed


def _repeats(sheet: Sheet, view: views.View) -> bool:
    """Return whether a label repeats in a list: else they may be the several of one judge."""
    cells = [views.parsed(cell) for cell in sheet[view.taken[0]].filled[:5000].to_pylist()]
    return any(isinstance(cell, list) and len({*map(str, cell)}) < len(cell) for cell in cells)


def _keyed(sheet: Sheet, view: views.View, format_: str) -> list[Reading]:
    """Return objects whose keys are judges: keys recur, some are missing, and values are shared."""
    over, value = view.sheet[views.OVER], view.parts[-1]
    named = {role for n in view.columns if n not in view.parts for role in names.roles(n)}
    if are_models(over) and "system" in named:  # what they judged was made by something else
        return read_view(view, format_, {"judge": (views.OVER,)})
    if view.sheet[value].expression != "{k.value}" or not matrix.is_few(view.sheet[value]):
        return []
    is_partial = len(view.sheet) < over.n_distinct * len(sheet)
    shared = view.sheet.met_by_several([value], views.OVER)
    people = [sheet[n] for n in sheet.names if "judge" in names.roles(_plain(n))]
    listed = " ".join(cell for c in people for cell in c.filled[:200].to_pylist())
    tokens = {*re.findall(r"[^\s,;\[\]\"']+", listed)}
    are_judges = bool(tokens) and tokens.issuperset(list(over.counts)[:5])
    is_named = is_partial and shared == 1 and "judge" in names.roles(_plain(view.taken[0]))
    return read_view(view, format_, {"judge": (views.OVER,)}) if are_judges or is_named else []


def _plain(name: str) -> str:
    return re.sub(r"s$", "", re.sub(r"^(by|per)_", "", name))
