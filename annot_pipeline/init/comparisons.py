"""Rows that compare two: which columns name the sides, and which say what came out.

With the words in which people and models say which of two was better.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain, pairwise

import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.config.judges import MODEL_NAME
from annot_pipeline.errors import first_of, shorten
from annot_pipeline.init import names, views
from annot_pipeline.init.abstentions import abstentions, without, without_abstentions
from annot_pipeline.init.answers import NO, YES
from annot_pipeline.init.questions import (
    Line,
    NoJudgmentsError,
    Option,
    Question,
    Reading,
    Roles,
)
from annot_pipeline.init.rankings import may_be_ranks, ranks_seen
from annot_pipeline.init.roles import NAMELESS, NO_ANSWER, is_called_id
from annot_pipeline.init.table import Choice, Column, Sheet
from annot_pipeline.init.views import Pair, pairs_among
from annot_pipeline.stages.ingest.read_records import NUMBER

EITHER: dict[str, list[str]] = names.VOCABULARY["sides"]
"""Whole values, letters and digits only."""

CHOSEN = names.WORDS["chosen"]
"""One of them beside a side, in a column of yes and no: whether that side won."""

MODEL_TIE = "[[c]]"
"""Beside ``[[A]]`` and ``[[B]]``: how models are asked for their verdict (Zheng et al. 2023)."""

TIE_WORDS = names.WORDS["ties"]
TURNED = frozenset({"not", "no", "worse", "worst", "loses", "lost", "loser", "rejected", "bad"})
"""Words beside a side that may turn it round: what they mean is for people to say."""

OUTCOME_WORDS = names.WORDS["outcomes"]
"""One of them in a column's name: it says what came out."""

MORE_THAN_TIES = ("both", "neither", "none", "bad", "poor", "fail")
"""Parts of values that may mean a tie, or that there is nothing to choose."""

SHOWN_TIES = 3
SHOWN_WORDS = 20
_ARROW = re.compile(r"(?:a|1)?(?P<sign>>+|<+|=+)(?:b|2)?")
_TURNED_ARROW = re.compile(r"(?:b|2)(?P<sign>>+|<+|=+)(?:a|1)")
_WHOLE = re.compile(r"\s*(-?\d+)(\.0*)?\s*")


def is_outcome(name: str) -> bool:
    """Return whether a column's name says that it holds what came out."""
    return bool(OUTCOME_WORDS & {*names.words(name)})


def outcomes_of(column: Column, pair: Pair) -> tuple[dict[str, str], list[str]]:
    """Return the outcome of each value (``a``, ``b`` or ``tie``), and unrecognized values."""
    sides = {value: side_of(value, pair) for value in column.counts}
    recognized = {value: side for value, side in sides.items() if side}
    return recognized, [value for value, side in sides.items() if not side]


def side_of(value: str, pair: Pair) -> str | None:
    """Return ``a``, ``b`` or ``tie``, where a value says one of them without a doubt."""
    if NUMBER.fullmatch(value):  # -1 and 1.5 are no 1
        whole = _WHOLE.fullmatch(value)
        return next((s for s, spellings in EITHER.items() if whole and whole[1] in spellings), None)
    for side, name in (("a", pair.first), ("b", pair.second)):
        if value.strip().lower() == name.lower() or names.bare(value) == names.bare(name):
            return side
    written = "".join(c for c in value.casefold() if c.isalnum())
    if value.strip().casefold() == MODEL_TIE:
        return "tie"
    exact = next((side for side, spellings in EITHER.items() if written in spellings), None)
    if exact or {*value} & {*"<>="}:
        return exact or _by_arrow(value)
    return _by_words(names.words(value), pair)


def _by_arrow(value: str) -> str | None:
    """Return ``A>B``, ``>>``, ``B<A``, ``=``.

    The brackets of a model's verdict, ``[[A>B]]``, may stand around it.
    """
    bare = "".join(value.casefold().split()).strip("[]()")
    for pattern, greater in ((_ARROW, "a"), (_TURNED_ARROW, "b")):
        if match := pattern.fullmatch(bare):
            smaller = "b" if greater == "a" else "a"
            return {">": greater, "<": smaller}.get(match["sign"][0], "tie")
    return None


def _by_words(words: Sequence[str], pair: Pair) -> str | None:
    word_set = {*words}
    if word_set & TIE_WORDS:
        return "tie"
    kinds = {*range(views.X_AND_Y), pair.kind}  # x and y are sides only where columns are named so
    terms = {word for kind in kinds for word in views.SIDE_WORDS[kind][2:]}
    if word_set & (TURNED | terms):
        return None
    sides = [{views.SIDE_WORDS[kind][position] for kind in kinds} for position in (0, 1)]
    first, second = (bool(word_set & spellings) for spellings in sides)
    if first == second:
        return None
    return "a" if first else "b"


def guessed_ties(sides: Mapping[str, str]) -> str:
    """Return a note on values taken for a tie although they say more, or less; empty if none."""
    ties = [value for value, side in sides.items() if side == "tie"]
    doubtful = [v for v in ties if any(word in v.casefold() for word in MORE_THAN_TIES)]
    if not doubtful:
        return ""
    text = ", ".join(map(shorten, doubtful[:SHOWN_TIES])) + (", ..." * (len(doubtful) > SHOWN_TIES))
    return f"guessed to mean a tie: {text} (deleting the entry rejects those rows); "


def unplaced(column: Column, values: Sequence[str]) -> list[str]:
    """Return what to know about values that nothing maps."""
    if not values:
        return []
    text = first_of([f"{value} ({column.counts[value]:,})" for value in values], SHOWN_WORDS)
    return [names.TEXTS["no_side"].format(column.name, text)]


NAMED_SHARE = 0.9
"""Share of the rows with a winner whose winner must stand in one of the columns compared, for
the winner to be told by name."""

FEWEST_ROWS_A_NAME = 3
"""Rows for each different name of systems under a stem that says nothing, at least."""

MOST_OUTCOMES = 3
"""Numbers that may say a, b or a tie; more of them, each of a side of its row, are names."""

SHARED_NAMES, DIFFERENT_NAMES = 0.5, 0.9
"""Shares of such names that occur on both sides, and of rows whose two names differ."""

WHOLE_TEXTS = "{} hold whole texts: no column names what was compared"
LONGEST_LABEL = 60
LONGEST_NAME = 200
"""Mean number of characters; beyond it stand whole texts, which name nothing."""


def comparison(sheet: Sheet, choice: Choice, by_role: Roles, *, is_mturk: bool) -> list[Reading]:
    """Return which of two was better, one a question, or both their ranks; [] if nothing does.

    ``by_role``: columns that options say; ``is_mturk``: any column of answers may say the outcome.

    Raises
    ------
    NoJudgmentsError
        They compare, but in a way that no expression can say.
    """
    if answer := _won_and_lost(sheet, choice) or _three_columns(sheet, choice):
        return [answer]
    pairs = [*_given_pairs(by_role), *pairs_among(choice.remaining)]
    nameless = _nameless_pairs(sheet, choice) if not pairs else []
    for column in (c for c in choice.offered() if nameless and c.n_distinct in (2, 3)):
        _refuse_graded(nameless[0], column)
    mapped = [sheet[n] for role in OUTCOME_ROLES for n in by_role.get(role, ()) if n in sheet.names]
    answers = mapped or _answers(choice)
    if (better := by_role.get("preference")) in (("=a",), ("=b",)) and pairs:
        side: Line = ("preference", {"value": better[0][1:]}, "as was answered, in every row")
        return [_sides_of(sheet, pairs[0], [side], [])]
    if strength := by_role.get("strength"):
        return [_graded(sheet, pairs, strength)]
    orders = [(_likelihood(sheet, pair, answers, choice), pair) for pair in pairs]
    likely = [(order, pair) for order, pair in orders if order is not None]
    things = [pair for _, pair in sorted(likely, key=lambda entry: entry[0])]
    if not things:
        return _of_two_names(sheet, choice)
    for ranks in (pair for pair in pairs if pair.is_rank):
        columns = [sheet[ranks.first], sheet[ranks.second]]
        if all(column.is_whole or may_be_ranks(column) for column in columns):
            fields: list[Line] = [
                ("rank_a", columns[0].expression, ranks_seen(columns[0])),
                ("rank_b", columns[1].expression, ranks_seen(columns[1])),
            ]
            return [_sides_of(sheet, things[0], fields, [ranks.first, ranks.second])]
    compared = {name for pair in things for name in (pair.first, pair.second)}
    outcomes = mapped or _outcomes(choice)
    if is_mturk and not mapped:
        answered = choice.among(lambda name: name.startswith("Answer.")).offered()
        outcomes += [c for c in answered if c.name not in {o.name for o in outcomes}]
    rest = [c for c in choice.offered() if c not in outcomes and c.name not in compared]
    rest = [c for c in rest if len(c.counts) > 1]
    alone = [c for c in rest if _says_sides_alone(c, things[0])]
    outcomes += [c for c in rest if c in alone or _named(sheet, things[:1], c)]
    rows = compared_rows(sheet, (things[0].first, things[0].second))
    outcomes = [c for c in outcomes if c.name not in compared]
    read = [(column, _preference(rows, things, rows[column.name])) for column in outcomes]
    answers_by_column = [(column, answer) for column, answer in read if answer]
    said = [column.name for column, _ in answers_by_column if not rows[column.name].numeric_share]
    again = [c for c, _ in answers_by_column if c.name not in said]  # as numbers from 0 or 1
    again = [c for c in again if any(rows.determines(name, c.name) for name in said)]
    answers_by_column = [(c, answer) for c, answer in answers_by_column if c not in again]
    if answers_by_column:
        return _on_criteria(sheet, answers_by_column)
    for c in _outcomes(choice):
        if c.name not in compared and (OUTCOME_WORDS | CHOSEN) & c.words:
            _refuse_graded(things[0], c)
    answers = [column for column in answers if column.name not in compared]
    by_contents = things[0].may_be_systems and _are_systems(sheet, things[0])
    if len(answers) == 1 and (things[0].are_systems or by_contents):
        [column] = answers
        if things[0].stem or "preference" not in names.roles(column.name):
            _refuse_graded(things[0], column)
    return []


def _of_two_names(sheet: Sheet, choice: Choice) -> list[Reading]:
    """Return which of two systems won that are the same in all rows, each with other columns."""
    for column in _outcomes(choice):
        ties = [v for v in column.counts if TIE_WORDS & {*names.words(v)}]
        named = sorted(column.counts.keys() - {*ties})
        others = [{*names.words(n)} for n in sheet.names if n != column.name]
        are_named = all(any({*names.words(v)} <= o for o in others) for v in named)
        if len(named) != 2 or not are_named or column.numeric_share:
            continue
        if {*named} <= {*sheet.names}:
            raise NoJudgmentsError(WHOLE_TEXTS.format(" and ".join(named)))
        if not {*map(names.bare, named)} & {*chain(*EITHER.values())}:
            expression = column.mapping | {"map": dict.fromkeys(ties, "tie")} if ties else None
            why = f"names what won: {', '.join(named)}"
            sides = [(f"system_{s}", {"value": v}, why) for s, v in zip("ab", named, strict=True)]
            fields: list[Line] = [*sides, ("winner", expression or column.expression, why)]
            return [Reading(lines=fields, kind="pairwise", columns=[column.name])]
    return []


SAME = ("s", "t", "e")
"""Letters of same, tie and equal, beside a and b."""

OTHER_JUDGES = names.WORDS["judges_of_files"] | {"gold", "truth", "expected"}
OUTCOME_ROLES = ("preference", "winner")
THREE: list[list[str]] = names.VOCABULARY["outcome_columns"]
"""Names of columns of which one is 1, the others 0: a won, b won, a tie."""


def _on_criteria(sheet: Sheet, answers: Sequence[tuple[Column, Reading]]) -> list[Reading]:
    """Return the first answer, and those of other columns that answer alike, each a question.

    What another says of the pair, such as a model, a majority or a key, is no question; nor is
    what an answer says already, such as which of two lost.
    """
    own = [one for one in answers if not OTHER_JUDGES & one[0].words]
    (first, answer), *others = own or answers[:1]
    pair = [*answer.columns[:2], *(n for n in sheet.names if "segment" in names.roles(n))]
    differs = sheet.differing(pair, first.name) > 0
    name = answer.lines[-1][0]
    questions = [answer]
    for column, other in others if not answer.notes else ():
        if not (
            other.notes or other.lines[-1][0] != name or MODEL_NAME.search(column.name)
            or (name != "winner" and NO_ANSWER & column.words)
            or (differs and sheet.differing(pair, column.name) == 0)
            or any(_same(sheet, one, other) for one in questions)
        ):  # fmt: skip
            questions.append(other)
    return questions


def _same(sheet: Sheet, one: Reading, other: Reading) -> bool:
    """Return whether an answer to each row says what another says, or the opposite."""
    pairs = {*zip(_sides(sheet, one), _sides(sheet, other), strict=True)}
    return len(pairs) in (len({a for a, _ in pairs}), len({b for _, b in pairs}))


def _sides(sheet: Sheet, answer: Reading) -> list[str | None]:
    """Return which side each row says; None where it is blank."""
    three = [*answer.columns[:2], answer.columns[-1]]
    *pair, cells = (sheet.table.column(name).to_pylist() for name in three)
    if answer.lines[-1][0] == "preference":
        return [answer.lines[-1][1]["map"].get(cell) for cell in cells]
    return [
        cell and ("a" if cell == a else "b" if cell == b else "tie")
        for a, b, cell in zip(*pair, cells, strict=True)
    ]


def _three_columns(sheet: Sheet, choice: Choice) -> Reading | None:
    """Map rows whose winner stands in a column for each outcome."""
    for names_ in THREE:
        if not {*names_} <= {*choice.remaining}:
            continue
        pair = next((p for p in pairs_among(choice.remaining) if p.are_systems), None)
        if pair is None:
            continue
        outcome = {"join": [*names_], "map": {"100": "a", "010": "b", "001": "tie"}}
        fields: list[Line] = [("preference", outcome, "one of three columns is 1")]
        return _sides_of(sheet, pair, fields, [*names_])
    return None


def _given_pairs(by_role: Roles) -> list[Pair]:
    """Return the sides that options say."""
    sides = [(t, by_role.get(f"{t}_a"), by_role.get(f"{t}_b")) for t in ("system", "item")]
    return [Pair(0, thing, a[0], b[0]) for thing, a, b in sides if a and b]


def _nameless_pairs(sheet: Sheet, choice: Choice) -> list[Pair]:
    """Return neighbours without a name that hold the same names, another one in each row."""
    pairs = [Pair(0, "item", *two) for two in pairwise(choice.remaining)]
    return [p for p in pairs if all(map(NAMELESS.fullmatch, p[2:])) and _are_systems(sheet, p)]


def _graded(sheet: Sheet, pairs: list[Pair], strength: Sequence[str]) -> Reading:
    """Return how much better one of two is, as an option says: a column, and both ends."""
    column, ends = sheet[strength[0]], strength[1:]
    things = [p for p in pairs if not p.is_rank]
    if not things or len(ends) != 2 or not all(map(NUMBER.fullmatch, ends)):
        raise NoJudgmentsError("--strength needs COLUMN,B,A and columns of two sides")
    evidence, (low, high) = f"{column.low:g} to {column.high:g}", map(float, ends)
    if {*column.numbers} <= {low, high}:  # one of two is better, and nothing says how much
        sides = column.mapping | {"map": dict(zip(ends, "ba", strict=True))}
        return _sides_of(sheet, things[0], [("preference", sides, evidence)], [column.name])
    line: Line = ("strength", column.expression, evidence)
    return replace(_sides_of(sheet, things[0], [line], [column.name]), strength=(low, high))


def _answers(choice: Choice) -> list[Column]:
    """Return the columns whose names say that they hold answers."""
    columns = [*choice.with_role("answer"), *_outcomes(choice)]
    return [*{column.name: column for column in columns}.values()]


def _likelihood(
    sheet: Sheet, pair: Pair, answers: Sequence[Column], choice: Choice
) -> tuple[bool, int, int] | None:
    """Return what to prefer, the least first: by the stem, else by what the columns hold."""
    if len(sheet[pair.first].counts.keys() | sheet[pair.second].counts.keys()) < 2:
        return None
    if pair.likelihood is not None or not pair.may_be_systems:
        return pair.likelihood
    if _are_systems(sheet, pair):
        return pair.kind == views.X_AND_Y, views.CONTENTS, pair.kind
    are_sides = len(answers) == 1 and _says_sides_alone(answers[0], pair)
    others = [c for c in choice.offered() if c.name not in (pair.first, pair.second)]
    if _are_names(sheet, pair) and (are_sides or any(_named(sheet, [pair], c) for c in others)):
        return pair.kind == views.X_AND_Y, views.CONTENTS, pair.kind
    return None


def _says_sides_alone(column: Column, pair: Pair) -> bool:
    """Return whether answers, of no id, are sides or ties in words; or whether one side won."""
    sides, unknown = outcomes_of(without_abstentions(column), pair)
    are_sides = {"a", "b"} <= {*sides.values()} and not unknown and not column.numeric_share
    return not is_called_id(column.name) and (are_sides or bool(_whether(column, pair)))


def _are_systems(sheet: Sheet, pair: Pair) -> bool:
    """Return whether columns hold few short names, of which most stand on both sides."""
    first, second = sheet[pair.first].counts.keys(), sheet[pair.second].counts.keys()
    n_names = len(first | second)  # of all pairs in one order, all but two stand on both sides
    is_shared = len(first & second) >= min(SHARED_NAMES * n_names, n_names - 2)
    return is_shared and _are_names(sheet, pair)


def _are_names(sheet: Sheet, pair: Pair) -> bool:
    """Return whether columns hold few short names, which differ in nearly every row."""
    first, second = sheet[pair.first], sheet[pair.second]
    all_names = first.counts.keys() | second.counts.keys()
    if not first.counts or not second.counts or 1 in (first.numeric_share, second.numeric_share):
        return False
    is_short = max(first.mean_length, second.mean_length) <= LONGEST_LABEL
    repeats = FEWEST_ROWS_A_NAME * len(all_names) <= len(sheet)
    differs = pc.not_equal(sheet.table.column(pair.first), sheet.table.column(pair.second))
    n_different = pc.sum(differs).as_py() or 0
    return is_short and repeats and n_different >= DIFFERENT_NAMES * len(sheet)


def compared_rows(sheet: Sheet, pair: Sequence[str]) -> Sheet:
    """Return the rows that compare two: those of another question may share columns."""
    sides = [without_abstentions(sheet[name]) for name in pair]
    there = [pc.is_in(sheet.table[c.name], pa.array([*c.counts], pa.string())) for c in sides]
    return Sheet([sheet.table.filter(pc.and_(*there))], sheet.expressions)


def _refuse_graded(pair: Pair, column: Column) -> None:
    """Ask what numbers mean that say how much better one of two is, unless they are of sides.

    These are 1 and 2, with 0 for a tie; 0 and 1 alone may be either.
    """
    column = without_abstentions(column)
    is_coded = {*column.numbers} <= {0, 1, 2} and {*column.numbers} != {0, 1}
    if column.numeric_share == 1 and column.n_distinct > 1 and not is_coded:
        low, high = f"{column.low:g}", f"{column.high:g}"
        sides = {"system_a": (pair.first,), "system_b": (pair.second,)}
        options = [
            Option({**sides, "strength": (column.name, b, a)}, f"{b} says b, {a} says a")
            for b, a in ((high, low), (low, high))
        ]
        about_both = {"item": (pair.first, pair.second), "score": (column.name,)}
        options.append(Option(about_both, "it is of both, such as how alike they are"))
        text = f"{column.name} holds numbers from {low} to {high}: how much better one of two is"
        ask = names.TEXTS["which_end"].format(pair.second, pair.first)
        raise NoJudgmentsError(text, question=Question("strength", text, options, ask))


def _outcomes(choice: Choice) -> list[Column]:
    """Return the columns that may hold the outcome, the likeliest first."""
    outcomes = [c for c in choice.offered() if is_outcome(c.name) and len(c.filled) > c.n_blank]
    return [*outcomes, *(c for c in choice.with_role("preference") if c not in outcomes)]


def _preference(sheet: Sheet, things: list[Pair], column: Column) -> Reading | None:
    """Return the answer that a column holds, if it holds sides."""
    contenders = {value for p in things for n in (p.first, p.second) for value in sheet[n].counts}
    abstained = abstentions(column.counts)
    no_answers = [v for v in abstained if v not in contenders and not side_of(v, things[0])]
    abstained = {value: abstained[value] for value in no_answers}
    filled = without(column, abstained)
    if 2 * len(filled.filled) <= len(column.filled) + column.n_blank:
        return None
    answer = _sides_in(sheet, things, filled)
    return replace(answer, abstained=abstained) if answer else None


def _sides_in(sheet: Sheet, things: list[Pair], column: Column) -> Reading | None:
    """Return the answer of a column whose values are all answers, if it holds sides."""
    are_names = column.numeric_share < 1 or column.n_distinct > MOST_OUTCOMES  # or ids of what won
    if are_names and (named := _named(sheet, things, column)):
        return _by_name(sheet, named, column)
    is_told = is_outcome(column.name)
    are_texts = things[0].are_outputs or "text" in names.roles(things[0].stem)
    if column.numeric_share == 1 and not is_told and are_texts:
        return None  # numbers beside two texts are classes of the pair as often as sides
    written = {names.bare(value) for value in column.counts}
    best = next((p for p in things if {names.bare(p.first), names.bare(p.second)} <= written), None)
    pair = best or things[0]
    if is_told and column.numeric_share == 1 and not {*column.numbers} <= {0, 1, 2}:
        return None
    sides, unknown = outcomes_of(column, pair)
    if whether := _whether(column, pair):
        sides, unknown = whether, []
    spelled = {v.strip().lower() for v in sides}
    is_letter = len(unknown) == 1 and unknown[0].strip().lower() in SAME
    if {"a", "b"} <= spelled and is_letter:
        sides, unknown = {**sides, unknown[0]: "tie"}, []
    n_placed = sum(column.counts[value] for value in sides)
    both = {"a", "b"} <= {*sides.values()} and 2 * n_placed > len(column.filled)
    one = is_told and not unknown and sides and column.numeric_share < 1
    if not both and not one:
        return None
    comment = ", ".join(f"{value} ({column.counts[value]:,})" for value in sides)
    comment = guessed_ties(sides) + comment
    if {*sides.values()} == {"tie"}:  # so far: what later rows may call the sides
        sides = {pair.first: "a", pair.second: "b"} | sides
        comment += f"; no other so far: guessed that {pair.first} and {pair.second} name the sides"
    fields: list[Line] = [("preference", column.mapping | {"map": sides}, comment)]
    return _sides_of(sheet, pair, fields, [column.name], unplaced(column, unknown))


def _whether(column: Column, pair: Pair) -> dict[str, str]:
    """Return what yes and no say in a column that asks whether one side won; {} in others."""
    words, answers = column.words - {*names.words(pair.stem)}, {*column.counts}
    if (
        not words & (OUTCOME_WORDS | CHOSEN)
        or words & TURNED
        or not answers
        or not all(a.lower() in (*YES, *NO) for a in answers)
    ):
        return {}
    both = [words & {*names.words(n)} - {*names.words(pair.stem)} for n in pair[2:]]
    if bool(both[0]) == bool(both[1]):
        return {}
    yes, no = "ab" if both[0] else "ba"
    return {a: yes if a.lower() in YES else no for a in column.counts}


def _by_name(sheet: Sheet, pair: Pair, column: Column) -> Reading:
    """Return the answer of a column that names what won; words for ties are mapped."""
    contenders = {*sheet[pair.first].counts, *sheet[pair.second].counts}
    sides, _ = outcomes_of(column, pair)
    values = [value for value in column.counts if value not in contenders]
    ties = {value: "tie" for value in values if sides.get(value) == "tie"}
    expression = column.expression
    if {*ties} - {"tie"}:
        expression = column.mapping | {"map": ties}
    unknown = [value for value in values if value not in ties]
    notes = [f"{len(unknown)} values name neither side and are rejected"] if unknown else []
    comment = f"names what won: {column.n_distinct:,} different" + (", with ties" if ties else "")
    return _sides_of(sheet, pair, [("winner", expression, comment)], [column.name], notes)


def _named(sheet: Sheet, things: list[Pair], column: Column) -> Pair | None:
    """Return the columns of which one holds, in each row, what this column says.

    None if none do.
    """
    winner = sheet.table.column(column.name)
    for pair in things:
        ours, theirs = (sheet.table.column(name) for name in (pair.first, pair.second))
        same = (pc.fill_null(pc.equal(winner, side), False) for side in (ours, theirs))
        matches = pc.or_(*same)
        sides, _ = outcomes_of(column, pair)
        ties = {value for value, side in sides.items() if side == "tie"}
        n_won = len(column.filled) - sum(column.counts[value] for value in ties)
        if n_won and pc.sum(matches).as_py() >= NAMED_SHARE * n_won:
            return pair
    return None


def _won_and_lost(sheet: Sheet, choice: Choice) -> Reading | None:
    """Map rows of which one column names what won, another what lost."""
    by_name = {names.bare(name): name for name in reversed(choice.remaining)}
    for pair in views.WON_AND_LOST:
        if {*pair} <= by_name.keys():
            won, lost = (by_name[name] for name in pair)
            if max(sheet[won].mean_length, sheet[lost].mean_length) > LONGEST_NAME:
                continue
            fields: list[Line] = [("preference", {"value": "a"}, f"{won} is what won")]
            return _sides_of(sheet, Pair(0, "", won, lost), fields, [])
    return None


def _sides_of(
    sheet: Sheet, pair: Pair, answer: list[Line], columns: list[str], notes: list[str] | None = None
) -> Reading:
    """Return the two sides: systems that worked on a segment, or simply two items."""
    sides = [sheet[pair.first], sheet[pair.second]]
    long = [column.name for column in sides if column.mean_length > LONGEST_NAME]
    if long:
        raise NoJudgmentsError(WHOLE_TEXTS.format(" and ".join(long)))
    thing = "item" if pair.are_outputs or "item" in pair.stem.split("_") else "system"
    lines = [column.line(f"{thing}_{side}") for side, column in zip("ab", sides, strict=True)]
    used = [pair.first, pair.second, *columns]
    return Reading(lines=[*lines, *answer], kind="pairwise", columns=used, notes=notes or [])
