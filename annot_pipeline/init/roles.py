"""Which column is which: every column scored for every role by what its cells hold.

A judge's values recur over things, and things meet several judges, each at most once; a thing's
values determine its descriptions; an answer differs within things and within judges. Names are one
sign among others. `WEIGHTS` is the only place where signs meet.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, field
from itertools import product

import numpy as np

from annot_pipeline.config.judges import MODEL_NAME
from annot_pipeline.init import names
from annot_pipeline.init.abstentions import abstentions
from annot_pipeline.init.answers import NO, YES, answer_in
from annot_pipeline.init.table import Choice, Column, Sheet
from annot_pipeline.init.views import pairs_among

WEIGHTS: dict[str, float] = names.VOCABULARY["weights"]
"""What each sign of a judge, a thing and an answer weighs, from 0 (not so) to 1 (so)."""

CLEARLY = 0.4
"""By how much a reading must be ahead of the next one."""
ONCE, RARELY = 0.97, 0.5
"""Shares of rows that differ in judge and thing: enough, and too few to be repeats."""
MOST_TRIED = 12
UNIQUE = 0.3
"""How much it says that a judge meets a thing once, where every row has another thing."""
FEWEST_RATIO = 2.0
"""Things a judge, where neither has a name, at least: else nobody knows which is which."""

REPEATS = names.WORDS["repeats"]
"""Words of columns that number the answers of one judge to one item."""
PARTS = frozenset({"trial", "turn", "page", "clip", "block", "step", "part", "hit", "unit"})
PERSONAL = names.WORDS["personal"]
"""Words of columns that say something about the person, or how the answer came in."""
NO_ANSWER = REPEATS | PERSONAL | names.MEASURED_TIME | names.NO_ANSWER | names.WORDS["beside"]
NO_THING = names.WORDS["no_thing_roles"]
"""Roles whose columns name nothing that was judged, unless they may be an item, too."""


@dataclass(frozen=True)
class Pairing:
    """A judge's column and a thing's, and what speaks for them.

    Parameters
    ----------
    judge, thing
        Names of columns; None: no column.
    signs
        Sign to how much it is so, from 0 to 1.
    """

    judge: str | None
    thing: str | None
    signs: dict[str, float] = field(default_factory=dict)

    @property
    def score(self) -> float:
        """Return the weighted sum of the signs."""
        return sum(WEIGHTS[sign] * value for sign, value in self.signs.items())

    def __str__(self) -> str:
        once = self.signs.get("at most one answer", 0)
        met = self.signs.get("things meet several judges", 0)
        return f"{once:.0%} of rows differ in both; {met:.0%} of {self.thing} have several judges"


def pairings(choice: Choice, judges: Sequence[str], things: Sequence[str]) -> list[Pairing]:
    """Return what may be judge and thing, the best first."""
    tried = product(judges[:MOST_TRIED], things[:MOST_TRIED])
    found = [Pairing(*pair, _signs(choice, *pair)) for pair in tried if pair[0] != pair[1]]
    return sorted(found, key=lambda pairing: -pairing.score)


def _signs(choice: Choice, judge: str, thing: str) -> dict[str, float]:
    sheet = choice.sheet
    codes = sheet.codes(judge, thing)
    n_rows = int((codes >= 0).sum())
    n_judges, n_things = sheet.combinations(judge), sheet.combinations(thing)
    n_known = sheet.n_filled(thing)
    if not n_rows or n_things < 2:
        return {"a thing has one judge": 1.0}
    both = sheet.combinations(judge, thing)
    is_unique = n_things == n_rows > n_judges  # which every row would be: it says nothing
    return {
        "judge is named so": names.likelihood(judge, "judge") * n_rows / max(n_known, 1),
        "judge recurs": min(1.0, math.log(max(n_rows / n_judges, 1)) / math.log(8)),
        "judges are fewer than things": float(n_judges < n_things),
        "at most one answer": UNIQUE if is_unique else both / n_rows,
        "things meet several judges": sheet.met_by_several([thing], judge),
        "thing is named so": thing_likelihood(thing),
        "thing determines others": 0.0 if is_unique else _described(choice, thing, judge),
        "a thing has one judge": float(both == n_things < n_rows),
    }


def thing_likelihood(name: str) -> float:
    """Return how much a name says that the column names what was judged: an id more than a text."""
    is_text = "text" in names.roles(name)
    is_id = is_text and is_called_id(name)
    return max(
        names.likelihood(name, "text" if is_id else "item") * (0.5 if is_text > is_id else 1),
        0.8 * names.likelihood(name, "segment"),
        0.3 * names.likelihood(name, "hit"),
    )  # fmt: skip


def _described(choice: Choice, thing: str, judge: str) -> float:
    """Return the share of columns that a thing determines, of those that it does not name."""
    others = [c for c in choice.remaining[:40] if c not in (thing, judge)]
    others = [c for c in others if 1 < choice.sheet[c].n_distinct < len(choice.sheet)]
    fixed = [c for c in others if choice.sheet.determines(thing, c)]
    return len(fixed) / len(others) if others else 0.0


JUDGING = names.WORDS["judging"]
"""Words that name who judges, and nobody else who takes part."""


def judge_columns(choice: Choice) -> list[str]:
    """Return the columns that may say who judged: those named so, or those that can be."""
    likely = [c for c in choice.with_role("judge") if not _is_one_of_many(choice, c)]
    once = [c for c in likely if c.n_distinct >= ONCE * len(c.filled)]
    flags = [c for c in likely if _is_flag(c)]
    likely = [c for c in likely if c not in once or "item" not in names.roles(c.name)]
    numbered = [c for c in flags if c.is_whole and not names.words(c.name)[1:]]  # judges 0 and 1
    likely = [c for c in likely if c not in flags or c in numbered]
    sure = [c for c in likely if JUDGING & c.words and c.n_distinct > 1]
    named = [c.name for c in sure or likely]
    people = (are_people, lambda c: _is_described_person(choice, c))
    named = named or [c.name for is_it in people for c in choice.offered() if is_it(c)]
    if named:
        return named
    return [column.name for column in choice.offered() if may_be_judge(choice.sheet, column)]


def _is_described_person(choice: Choice, column: Column) -> bool:
    """Return whether an id recurs with several of a person's own data, such as age and gender.

    Not one with texts of its own, which it names, as of a patient.
    """
    sheet = choice.sheet
    if not is_called_id(column.name) or column.is_unique:
        return False
    varied = [c for c in choice.offered() if c.n_distinct > 1]
    said = [c for c in varied if sheet.determines(column.name, c.name)]
    n_own = sum(bool(PERSONAL & c.words) for c in said)
    is_bare = names.words(column.name) == ["id"] and len(sheet) >= ROWS_AN_ID * column.n_distinct
    recurs = is_bare or are_ids(column)  # else it may be a patient's, in hardly two rows
    return n_own > (1 if recurs else 3) and not any("text" in names.roles(c.name) for c in said)


def _is_one_of_many(choice: Choice, column: Column) -> bool:
    """Return whether a column named as judges are holds what its neighbours hold: answers."""
    if column.n_distinct > MOST_ALIKE:
        return False
    others = [c for c in choice.offered()[:100] if c is not column and c.n_distinct <= 20]
    alike = [c for c in others if column.counts.keys() & c.counts.keys()]
    named = [c for c in alike if "judge" in names.roles(c.name)]
    has_gaps = _has_gaps(column) and any(_has_gaps(c) for c in alike if c not in named)
    are_words = len(named) > 1 and column.numeric_share < 1
    return has_gaps or are_words or is_one_of_alike(choice.sheet, column)


def _is_flag(column: Column) -> bool:
    """Return whether a column says yes or no."""
    return {*map(str.lower, column.counts)} <= {*YES, *NO}


FEWEST_ALIKE, MOST_ALIKE = 3, 20
"""Neighbours with the very values of a column, which is then one of them whatever it is called;
and how many values it has at most."""


def is_one_of_alike(sheet: Sheet, column: Column) -> bool:
    """Return whether several other columns hold the very values of a column, as answers do."""
    n_alike = sum(sheet[n].counts.keys() == column.counts.keys() for n in sheet.names[:100])
    return n_alike > FEWEST_ALIKE and column.n_distinct <= MOST_ALIKE  # it is one of them


def _has_gaps(column: Column) -> bool:
    """Return whether some cells are blank, or say that there is no answer, as NA does."""
    return bool(column.n_blank or abstentions(column.counts))


def has_properties(choice: Choice, name: str) -> bool:
    """Return whether a column determines several others that are no person's own: it is a thing."""
    sheet = choice.sheet
    rest = [c for c in choice.offered() if c.name != name and not PERSONAL & c.words]
    coarser = [c for c in rest if 2 < 2 * c.n_distinct < sheet[name].n_distinct]
    return sum(sheet.determines(name, c.name) for c in coarser) >= FEWEST_ALIKE


KEY = "@key"
"""Column of the keys of records that are an object's values."""


def may_be_judge(sheet: Sheet, column: Column) -> bool:
    """Return whether cells may be names or numbers of people, whatever the column is called."""
    words = names.words(column.name)
    # an id may be the person's where what was judged has a name of its own, or has two sides
    others = [n for n in sheet.names if n != column.name]
    named = (n for n in others if is_called_id(n) or "item" in names.roles(n))
    is_id = words == ["id"] and (any(named) or bool(pairs_among(others)))
    is_id |= is_called_id(column.name) and "session" in words
    every = (names.roles(n).keys() for n in sheet.names if column.name == KEY)
    is_id |= any({"system", "segment"} & roles for roles in every)
    says_other = names.roles(column.name) or (PERSONAL | NO_ANSWER | names.TRUTH_WORDS) & {*words}
    if (says_other and not is_id) or column.name.startswith(("Input.", "Answer.")):
        return False
    return (
        column.n_distinct >= 2
        and not is_one_of_alike(sheet, column)
        and 3 * column.n_distinct <= len(column.filled)
        and column.n_blank <= 0.1 * len(sheet)
        and column.mean_length <= 40
        and (column.numeric_share < 1 or column.is_whole)
    )


def thing_columns(choice: Choice) -> list[str]:
    """Return the columns that may say what was judged, those named so first."""
    likely = [c for role in ("item", "segment", "text") for c in choice.with_role(role)]
    named = [c.name for c in likely if not is_measured(c)]
    others = [c for c in choice.offered() if c.name not in named]
    rest = [c.name for c in others if may_be_thing(c) or _is_number_of_things(choice, c)]
    return list(dict.fromkeys([*named, *rest]))


def _is_number_of_things(choice: Choice, column: Column) -> bool:
    """Return whether whole numbers that no name explains recur, and determine properties."""
    is_bare = column.is_whole and not (column.is_unique or names.roles(column.name))
    return is_bare and not NO_ANSWER & column.words and has_properties(choice, column.name)


def is_measured(column: Column) -> bool:
    """Return whether cells are numbers of which some are no whole ones: they name nothing."""
    return column.numeric_share == 1 and not column.is_whole


EMPTY = frozenset({"{}", "[]"})
"""Cells of forms in which nothing was answered."""
NAMELESS = re.compile(r"c[0-9]+")
"""Names that `sniff` gives to columns of a file without header."""


def may_be_thing(column: Column) -> bool:
    """Return whether cells may name what was judged, whatever the column is called."""
    roles = names.roles(column.name)
    if roles.keys() & NO_THING or PERSONAL & column.words:
        return False
    is_id = is_called_id(column.name) or NAMELESS.fullmatch(column.name) is not None
    if not roles and column.numeric_share > 0.9 and not is_id:
        return False  # as likely an answer
    is_filled = column.n_blank <= 0.1 * len(column.filled)
    return is_filled and column.n_distinct >= 3 and not is_measured(column)


def are_models(column: Column) -> bool:
    """Return whether most values of a column are names of language models."""
    counts = column.counts
    n_models = sum(n for name, n in counts.items() if MODEL_NAME.search(name))
    return not column.is_unique and n_models > len(column.filled) / 2


def are_people(column: Column) -> bool:
    """Return whether cells say who judged by a word and a number, as Participant 7."""
    shown = [names.words(value) for value in [*column.counts][:20]]
    return column.n_distinct > 1 and all(
        len(words) == 2 and words[1].isdigit() and "judge" in names.roles(words[0])
        for words in shown
    )


FEWEST_IDS, ROWS_AN_ID = 3, 5


def are_ids(column: Column) -> bool:
    """Return whether cells look like ids of people: letters and digits, each in several rows."""
    values = list(column.counts)
    n_ids = sum(any(c.isdigit() for c in v) and any(c.isalpha() for c in v) for v in values)
    is_many = len(values) >= FEWEST_IDS and len(column.filled) >= ROWS_AN_ID * len(values)
    return is_many and n_ids > 0.9 * len(values)


# --- answers -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Candidate:
    """A column that may hold answers, and what speaks for it."""

    column: Column
    is_named: bool
    in_things: float
    in_judges: float
    is_fixed: bool

    @property
    def signs(self) -> dict[str, float]:
        """Return each sign to how much it is so, from 0 to 1."""
        likely = names.likelihood(self.column.name, "answer") if self.is_named else 0.0
        return {
            "answer is named so": likely, "differs within things": self.in_things,
            "differs within judges": self.in_judges,
            "is fixed by things, judges or design": float(self.is_fixed),
        }  # fmt: skip

    @property
    def score(self) -> float:
        """Return the weighted sum of the signs."""
        return sum(WEIGHTS[sign] * value for sign, value in self.signs.items())

    @property
    def is_sure(self) -> bool:
        """Return whether the cells alone say that it is an answer."""
        return self.in_things > 0 and self.in_judges > 0 and not self.is_fixed


DIFFERS = 0.1
"""Share of things in which a column differs that is no truth of them, whatever it is called."""


def answer_columns(
    choice: Choice,
    thing: Sequence[str],
    judge: str | None,
    truth: Column | None,
    unlikely: Set[str] = NO_ANSWER,
    like: Set[str] = frozenset(),
) -> list[Candidate]:
    """Return the columns that may be answers: named so, or by what they hold; the best first.

    Names with ``unlikely`` words are of something else, but for columns that hold what answers
    hold: all of ``like``.
    """
    sheet, found = choice.sheet, []
    ids = [c.name for c in choice.offered() if is_called_id(c.name)]
    ids = [n for n in ids if FEWEST_TOLD * sheet.combinations(n) <= len(sheet)]
    filled = {form(c.name) for c in choice.offered() if len(c.filled) > c.n_blank}
    for column in choice.offered():
        roles = names.roles(column.name)
        if "truth" in roles and judge and thing and sheet.differing(thing, column.name) >= DIFFERS:
            values = {*column.counts}  # as of a rubric: correct, complete, concise
            roles = {} if sum({*c.counts} == values for c in choice.offered()) > 1 else roles
        listed = re.findall(r"\w+", column.name.partition("[")[2])  # as of: Better? [Y/N]
        is_named = "answer" in roles or {*listed} >= column.counts.keys() != set()
        is_named |= _in_answers(column) or ("judge" in roles and _is_flag(column))
        if (column.n_distinct < 2 and not is_named) or {*column.counts} <= EMPTY:
            continue
        is_rare = len(column.filled) <= column.n_blank and form(column.name) not in filled
        if is_rare and not (is_named and len(column.filled) > 1):
            continue
        if _is_id(column, is_named) or (column.are_dates and not is_named):
            continue
        is_short = column.numeric_share == 1 or unlikely != NO_ANSWER
        others = {"rank", "preference"} | ({"text", "source", "reference"} if is_short else set())
        is_other = roles.keys() - others or (unlikely - {"is", "has"}) & column.words
        if is_other and not is_named and column.counts.keys() != like:
            continue
        is_design = WEAK & column.words and is_by_design(column)
        if is_design or answer_in(column, truth) is None:
            continue
        in_things = sheet.differing(thing, column.name) if thing else 0.0
        in_judges = sheet.differing([judge], column.name) if judge else 1.0
        recurs = bool(thing) and sheet.combinations(*thing) < len(sheet)
        is_fixed = recurs and (
            are_fixed(sheet, thing, column.name)
            or (judge is not None and sheet.determines(judge, column.name))
            or (
                judge is not None
                and not (is_named or column.numeric_share)
                and _is_crossed(sheet, [judge], column.name, least=1)
            )
            or any(sheet.determines(i, column.name) for i in ids if i != column.name)
            or _is_crossed(sheet, thing, column.name, least=CROSSED if roles else 1)
        )
        is_fixed |= len(thing) > 1 and any(sheet.determines(t, column.name) for t in thing)
        is_text = not column.numeric_share and column.n_distinct > 100 and column.mean_length > 20
        if (column.is_unique or is_text) and not (is_named or roles) and not is_measured(column):
            continue
        found.append(Candidate(column, is_named, in_things, in_judges, is_fixed))
    return sorted(found, key=lambda candidate: -candidate.score)


def _in_answers(column: Column) -> bool:
    """Return whether a value stands in an object that is called answers, as scores are."""
    whole = column.mapping.get("column", "")
    is_inner = "json" in column.mapping and not NO_ANSWER & column.words
    is_number = column.numeric_share == 1 and not column.is_row_number
    may_be_answer = not column.is_unique or (is_number and not is_called_id(column.name))
    return is_inner and may_be_answer and "answer" in names.roles(whole.removesuffix("s"))


def form(name: str) -> str:
    """Return what numbered columns share; another name as it is."""
    return re.sub(r"(?<!\d)\d+$", "#", name)


def may_name_people(column: Column) -> bool:
    """Return whether a column is called an id, or a key, or holds ids or numbers without a name."""
    is_nameless = column.name == KEY or NAMELESS.fullmatch(column.name) is not None
    return is_nameless or is_called_id(column.name) or are_ids(column)


def is_called_id(name: str) -> bool:
    """Return whether a column is called an id of something."""
    words = names.words(name)
    return bool(words) and (words[-1] in names.ID_ENDINGS or words[-1].endswith("id"))


LARGEST_ANSWER = 100_000
TYPED_WRONG = 0.001
"""Share of answers that may be larger: 111,111 for 100, once in thousands."""
CROSSED = 5
"""Rows of each thing and value from which a column that is called an answer is a condition."""


def _is_id(column: Column, is_named: bool) -> bool:
    """Return whether a column holds ids or sums: it is called so, or its numbers are huge."""
    huge = sum(n for number, n in column.numbers.items() if number > LARGEST_ANSWER)
    is_huge = column.numeric_share > 0.9 and huge > TYPED_WRONG * len(column.filled)
    return (is_called_id(column.name) and not is_named) or is_huge


def are_fixed(sheet: Sheet, thing: Sequence[str], name: str) -> bool:
    """Return whether each thing has one value of a column."""
    return sheet.differing(thing, name) == 0


WEAK, CRITERIA = names.WORDS["weak_answers"], names.WORDS["criteria"]
"""Words of answers that are descriptions as often, and of what is asked of texts and sounds."""
BY_CHANCE = 0.001
"""How likely it is at most that answers come out equally often, for that to be a design."""


def is_by_design(column: Column) -> bool:
    """Return whether all values are in equally many rows, and by chance hardly would be.

    The chance is that of the multinomial distribution with equal shares, by Stirling's formula.
    """
    n_values, n_each = column.n_distinct, next(iter(column.counts.values()), 0)
    chance = math.sqrt(n_values) * (2 * math.pi * max(n_each, 1)) ** ((1 - n_values) / 2)
    return {*column.counts.values()} == {n_each} and n_each > 1 and chance < BY_CHANCE


def are_criteria(column: Column, share: float = 1.0) -> bool:
    """Return whether values are criteria, such as fluency: which question was answered."""
    named = [v for v in column.counts if CRITERIA & {*names.words(v)}]
    return column.n_distinct > 1 and len(named) >= share * column.n_distinct


def _is_crossed(sheet: Sheet, thing: Sequence[str], name: str, *, least: int) -> bool:
    """Return whether all things come with all values equally often: a condition, by design."""
    n_things, n_values = sheet.combinations(*thing), sheet.combinations(name)
    cells = sheet.codes(*thing, name)
    cells = cells[cells >= 0]
    if n_values < 2 or n_things < 3 or not len(cells):
        return False
    counts = np.unique(cells, return_counts=True)[1]
    return len(counts) == n_things * n_values and least <= counts.min() == counts.max()


def is_even(sheet: Sheet, judge: str, name: str) -> bool:
    """Return whether judges meet the values of a column nearly equally often, by design."""
    codes = sheet.codes(judge, name)
    counts = np.unique(codes[codes >= 0], return_counts=True)[1]
    is_balanced = len(counts) and np.ptp(counts) <= min(2, counts.mean() / 3)
    return bool(is_balanced) and not (sheet[name].n_blank or sheet.determines(judge, name))


LEAST_OMEGA_SQUARED, LEAST_ERRORS = 0.05, 5.0
"""Share of the variance of answers to one thing that a column explains at least, and by how many
standard errors this is above chance."""


def explains(sheet: Sheet, thing: Sequence[str], name: str, answer: str) -> bool:
    """Return whether answers to one thing differ by a column, as an analysis of variance says."""
    numbers, codes = sheet.numbers(answer), sheet.codes(answer)
    if np.isnan(numbers).mean() > 0.5:  # labels: the most frequent one, or another
        numbers = np.where(codes < 0, np.nan, codes == np.bincount(codes[codes >= 0]).argmax())
    has_answer = (sheet.codes(*thing, name) >= 0) & ~np.isnan(numbers)
    numbers, residual, n_groups = numbers[has_answer], [], []
    for key in (thing, [*thing, name]):
        group = np.unique(sheet.codes(*key)[has_answer], return_inverse=True)[1]
        means = np.bincount(group, numbers) / np.bincount(group)
        residual.append(float(((numbers - means[group]) ** 2).sum()))
        n_groups.append(len(means))
    between, within = n_groups[1] - n_groups[0], len(numbers) - n_groups[1]
    if not between or not within or not residual[0]:
        return False
    f = (residual[0] - residual[1]) / between / max(residual[1] / within, 1e-9)
    omega_squared = between * (f - 1) / (between * (f - 1) + between + within)
    is_sure = f - 1 >= LEAST_ERRORS * math.sqrt(2 / between + 2 / within)
    return is_sure and omega_squared >= LEAST_OMEGA_SQUARED


FEWEST_TOLD = 5
"""Rows a value at least, for what a column determines to be a coarser copy of it; and rows that
hold another value than most."""


def says_same(sheet: Sheet, first: str, second: str) -> bool:
    """Return whether a column is what another says, value for value, or coarser.

    A rare value that stands beside a rare one says nothing.
    """
    other = sheet[second]
    is_told = len(other.filled) - max(other.counts.values(), default=0) >= FEWEST_TOLD
    recurs = len(sheet) >= FEWEST_TOLD * sheet.combinations(first)
    is_back = recurs or sheet.determines(second, first)
    return is_told and is_back and sheet.determines(first, second)


def same_thing(sheet: Sheet, first: str, second: str) -> bool:
    """Return whether each value of one column comes with one value of the other, and back."""
    return sheet.determines(first, second) and sheet.determines(second, first)


# --- what tells answers of one judge to one thing apart ---------------------------------------


def telling_columns(sheet: Sheet, key: Sequence[str], columns: Iterable[Column]) -> list[str]:
    """Return the columns of which each makes nearly all rows of a judge and thing different."""
    n_rows = sheet.n_filled(*key)
    n_once = sheet.combinations(*key)
    telling = []
    for column in columns:
        roles = names.roles(column.name).keys()
        is_other = roles & (NO_THING - {"task", "truth"}) or "native_id" in roles
        if (is_other and not {"item", "hit"} & roles) or column.n_distinct < 2 or column.is_unique:
            continue
        if is_measured(column):
            continue
        if names.MEASURED_TIME & column.words or column.n_blank > 0:
            continue
        both = sheet.combinations(*key, column.name)
        if both >= ONCE * n_rows and both > n_once:
            telling.append(column.name)
    return telling


# --- how to speak of cells without showing them ---------------------------------------------------


def shape_of(text: str) -> str:
    """Return the shape of a cell: capitals, letters and digits by one sign each, as ``Aa9``."""
    plain = re.sub(r"[^\W\d_]", lambda m: "A" if m[0].isupper() else "a", text)
    plain = re.sub(r"\d", "9", plain)
    return re.sub(r"(.)\1+", r"\1", plain)[:12]


def spoken(column: Column) -> str:
    """Return what a column holds, without any of its cells."""
    if not column.counts:
        return "blank in all rows"
    shapes = dict.fromkeys(map(shape_of, list(column.counts)[:50]))
    each = len(column.filled) / column.n_distinct
    shown = ", ".join([*shapes][:3]) + (", ..." if len(shapes) > 3 else "")
    return f"{column.n_distinct:,} different, {each:,.1f} rows each, as {shown}"
