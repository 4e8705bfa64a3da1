"""Columns that answer alike: on one scale, of one form, or with the same classes."""

from __future__ import annotations

from collections.abc import Sequence, Set
from operator import eq

import numpy as np
import pyarrow as pa

from annot_pipeline.arrays import Codes, Floats
from annot_pipeline.errors import first_of
from annot_pipeline.init import names, roles
from annot_pipeline.init.abstentions import without_abstentions
from annot_pipeline.init.answers import MOST_LABELS, NO, YES, scale_of
from annot_pipeline.init.questions import Option, Question, Reading, Roles
from annot_pipeline.init.roles import Candidate
from annot_pipeline.init.table import Column, Sheet

FEWEST_QUESTIONS = 3
RATINGS = names.WORDS["ratings"] | names.WORDS["criteria"]
CLASSES = names.WORDS["classes"]
"""Words of columns whose numbers mostly stand for classes."""
FEWEST_STEPS, MOST_STEPS, FEWEST_PAIRS, SEVEN = 5, 101, 30, [*range(1, 8)]
NEARER, SURELY, FAIRLY = 0.75, 3.0, 2.0
"""Distance of two judges' different answers, as a share of that of answers taken at random; and
standard errors by which it is below the latter on a scale, and above the former of classes."""


def share_values(columns: Sequence[Column]) -> bool:
    """Return whether columns share most of their values, as questions on one scale do."""
    first = columns[0]
    if all(c.numeric_share > 0.9 for c in columns):
        return len({scale_of(without_abstentions(c)) for c in columns}) == 1
    n_shared = {c: len(first.counts.keys() & c.counts.keys()) for c in columns}
    return all(2 * n_shared[c] >= max(first.n_distinct, c.n_distinct) for c in columns)


def together(sheet: Sheet, columns: Sequence[str]) -> Column:
    """Return the cells of several columns as one."""
    cells = [chunk for name in columns for chunk in sheet.table.column(name).chunks]
    return Column("{rater}", "{rater}", pa.chunked_array(cells, pa.string()))


def is_check_of(sheet: Sheet, flag: Column, answer: Column, keys: Sequence[Column]) -> bool:
    """Return whether a column says, in every row, whether an answer is what another column has."""
    is_flag = {*map(str.lower, flag.answers)} <= {*YES, *NO} and not flag.n_blank
    if not is_flag or flag.counts.keys() == answer.counts.keys():
        return False
    names_ = [c.name for c in keys if c.counts.keys() == answer.counts.keys()]
    flags, answers = sheet.codes(flag.name), sheet.table.column(answer.name).to_pylist()
    rows = [[*map(eq, answers, sheet.table.column(name).to_pylist())] for name in names_]
    return any(len({*zip(row, flags, strict=True)}) == len({*row}) == 2 for row in rows)


def are_alike(candidates: Sequence[Candidate]) -> bool:
    """Return whether columns that may be answers share most of their values."""
    return share_values([c.column for c in candidates])


def without_copies(sheet: Sheet, candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return columns but for those that say the same as an earlier one, value for value."""
    chosen: list[Candidate] = []
    for c in candidates:
        if not any(roles.says_same(sheet, o.column.name, c.column.name) for o in chosen):
            chosen.append(c)
    return chosen


def largest_group(found: Sequence[Candidate], sure: Sequence[Candidate]) -> list[Candidate]:
    """Return the columns on one scale, or of one form, that are more than twice the others."""
    forms = [kin_of(one, found, sure) for one in sure[:10] if not is_finer(one.column)]
    groups = [*forms, *([c for c in sure if are_alike([one, c])] for one in sure[:10])]
    return max((group for group in groups if are_answers(group, sure)), key=len, default=[])


def is_finer(column: Column) -> bool:
    """Return whether cells are numbers that are not whole, more different ones than a slider has.

    Beside answers of few values these may be times.
    """
    return roles.is_measured(column) and column.n_distinct > MOST_STEPS


def is_narrow(first: Candidate, other: Candidate) -> bool:
    """Return whether numbers span less than half of what answers of many values beside them do."""
    slider, column = first.column, other.column
    if {slider.numeric_share, column.numeric_share} != {1} or slider.n_distinct <= roles.MOST_ALIKE:
        return False
    return 2 * (column.high - column.low) < slider.high - slider.low


def are_answers(group: Sequence[Candidate], sure: Sequence[Candidate]) -> bool:
    """Return whether a group has several of the likely ones, more than twice the others."""
    n_sure = sum(c in sure for c in group)
    return n_sure >= FEWEST_QUESTIONS and n_sure > 2 * (len(sure) - n_sure)


def kin_of(
    first: Candidate, candidates: Sequence[Candidate], sure: Sequence[Candidate] = ()
) -> list[Candidate]:
    """Return the columns that start with the word of one, and share its scale or are sure.

    Of a form whose columns start alike, some may hardly ever differ.
    """
    start = names.words(first.column.name)[:1]
    few = [c for c in sure if c.column.n_distinct <= MOST_LABELS]
    kin = [c for c in candidates if names.words(c.column.name)[:1] == start]
    return [c for c in kin if c in few or are_alike([first, c])]


def which_answers(sure: Sequence[Candidate]) -> Question:
    """Return the question which of several likely columns are answers."""
    listed = ", ".join(c.column.name for c in sure[:5])
    text = f"{listed} all differ within things and judges"
    return Question("label", text, answer_options([c.column for c in sure]), "Which are answers?")


def answer_options(columns: Sequence[Column]) -> list[Option]:
    """Return the largest group on one scale, all columns together, and each of the first."""
    alike = ([o for o in columns if share_values([c, o])] for c in columns[:10])
    groups = sorted((group for group in alike if len(group) > 1), key=len, reverse=True)
    options: list[Option] = []
    for some in [*groups[:1], columns, *([c] for c in columns[:5])]:
        are_scores = [c.numeric_share == 1 and c.n_distinct > 2 for c in some]
        by_role = _labels_and_scores([c.name for c in some], are_scores)
        why = f"these {len(some)}, each a question" if len(some) > 1 else roles.spoken(some[0])
        if all(option.by_role != by_role for option in options):
            options.append(Option(by_role, why))
    return options


def _labels_and_scores(names_: Sequence[str], are_scores: Sequence[bool]) -> Roles:
    """Return the columns of labels, and those of scores, as options say them."""
    by_role: dict[str, tuple[str, ...]] = {}
    for name, is_score in zip(names_, are_scores, strict=True):
        role = "score" if is_score else "label"
        by_role[role] = (*by_role.get(role, ()), name)
    return by_role


def labels_or_scores(pairs: Sequence[tuple[Column, Reading]], unclear: Sequence[str]) -> Question:
    """Return the question whether whole numbers of some columns are classes or a scale."""
    by_role = []
    for is_score in (True, False):
        are_scores = [is_score if c.name in unclear else a.kind == "scalar" for c, a in pairs]
        by_role.append(_labels_and_scores([c.name for c, _ in pairs], are_scores))
    return scale_or_classes(unclear, *by_role)


def scale_or_classes(unclear: Sequence[str], scores: Roles, labels: Roles) -> Question:
    """Return the question whether whole numbers are a scale or classes, by both answers to it."""
    text = f"{first_of(unclear)}: whole numbers may be classes, or a scale"
    options = [Option(scores, "numbers on a scale, with means"), Option(labels, "classes")]
    return Question("label", text, options, "Are they labels or scores?")


def on_one_scale(first: Reading, other: Reading) -> bool:
    """Return whether two answers are of one kind, and share a scale or most classes."""
    if first.kind != other.kind or first.scale != other.scale:
        return False
    both = first.labels.keys() & other.labels.keys()
    return 2 * len(both) >= max(len(first.labels), len(other.labels))


def has_steps(column: Column) -> bool:
    """Return whether a column holds few whole numbers from 0, 1, 2 or -n on, as scales do."""
    is_usual = column.is_whole and column.low in (0, 1, 2, -column.high)
    return is_usual and FEWEST_STEPS <= column.high - column.low + 1 <= 1.5 * column.n_distinct


def have_steps(sheet: Sheet, columns: Sequence[Column]) -> bool:
    """Return whether columns, or all together, hold few whole numbers as scales do.

    Not every step is taken in each.
    """
    columns = [*map(without_abstentions, columns)]
    every = without_abstentions(together(sheet, [c.name for c in columns]))
    are_several = all(c.n_distinct >= FEWEST_STEPS - 1 for c in columns)
    return all(map(has_steps, columns)) or (are_several and has_steps(every))


def is_scale(sheet: Sheet, things: Sequence[str], column: Column) -> bool | None:
    """Return whether few whole numbers are a scale, as `are_near` says."""
    column = without_abstentions(column)
    if not things or (len(things) == 1 and CLASSES & column.words and not RATINGS & column.words):
        return False
    return are_near(sheet.codes(*things), sheet.numbers(column.name), column, column.words)


def are_near(codes: Codes, numbers: Floats, column: Column, words: Set[str]) -> bool | None:
    """Return whether few whole numbers are a scale, on which judges are near each other.

    None if only people can say: numbers called ratings on which judges are not near, or others on
    which they are, though not much; or 1 to 7, which classes seldom are.

    Parameters
    ----------
    codes, numbers
        ``(n,)`` of cells: what was judged, -1 where it is blank, and the number.
    column
        The cells.
    words
        What they are called.
    """
    is_named = bool(RATINGS & words)
    is_class = bool(CLASSES & words) and not is_named
    if not has_steps(column):
        return False
    known = np.isin(numbers, [*column.numbers])
    order = np.argsort(codes[known], kind="stable")
    groups, numbers = codes[known][order], numbers[known][order]
    beside = (groups[1:] == groups[:-1]) & (groups[1:] >= 0) & (numbers[1:] != numbers[:-1])
    if beside.sum() < (FEWEST_STEPS if is_named else FEWEST_PAIRS):
        return is_named or (False if is_class else None)
    apart = np.abs(numbers[1:] - numbers[:-1])[beside].mean()
    values, counts = np.unique(numbers, return_counts=True)
    gaps = np.abs(values[:, None] - values[None, :])
    weights = np.outer(counts, counts) * (gaps > 0)
    usual = np.average(gaps, weights=weights)
    error = np.sqrt(np.average((gaps - usual) ** 2, weights=weights) / beside.sum())
    is_near = bool(usual - apart >= SURELY * error)
    if is_near and (is_named or (not is_class and apart <= NEARER * usual)):
        return True
    is_apart = is_class or ([*values] != SEVEN and apart - NEARER * usual >= FAIRLY * error)
    return None if is_near or is_named or not is_apart else False
