"""Reads a view of an export: who judged what, how it was answered, and what is left to ask."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, combinations
from os.path import commonprefix
from typing import Any

import numpy as np
import pyarrow.compute as pc

from annot_pipeline.errors import ConfigError, Problem, first_of
from annot_pipeline.init import names, optional_fields, rankings, roles
from annot_pipeline.init.abstentions import (
    abstentions,
    without_abstentions,
    without_nan,
)
from annot_pipeline.init.answers import (
    MOST_LABELS,
    MOSTLY_NUMBERS,
    answer_as,
    answer_in,
    kind_of,
    scale_of,
)
from annot_pipeline.init.beliefs import weighed
from annot_pipeline.init.cell_sets import set_answer
from annot_pipeline.init.comparisons import (
    CHOSEN,
    OUTCOME_ROLES,
    OUTCOME_WORDS,
    compared_rows,
    comparison,
    outcomes_of,
)
from annot_pipeline.init.objects import find_control, find_task
from annot_pipeline.init.questions import (
    ColumnsByRole,
    Line,
    NoJudgmentsError,
    Option,
    Question,
    Reading,
)
from annot_pipeline.init.roles import Candidate, Pairing
from annot_pipeline.init.table import Choice, Column, Sheet, rounded
from annot_pipeline.init.views import MOST_COLUMNS, OVER, View, grid_view, pairs_among, parsed
from annot_pipeline.init.written_numbers import with_numbers

MTURK_ANSWER, MTURK_INPUT = "Answer.", "Input."
SHOWN_COLUMNS = 40
FREE_TEXT = 20
"""Mean number of characters of answers that may be labels although hardly any repeats."""
BESIDE = roles.PERSONAL | names.WORDS["remarks"] | names.MEASURED_TIME
"""Words of columns that differ from row to row without saying who judged, or what."""
HARDLY = 0.1
"""How often a column differs at least, as a share of how often the most varied answers do."""
COMMENTS, FLAGS = (
    names.WORDS["remarks"],
    optional_fields.SUCCESS | optional_fields.FAILURE | optional_fields.UNSCORED,
)
MEANS = frozenset({"mean", "avg", "average", "std", "sd", "stdev", "median", "ci", "var", "sem"})
MOSTLY_PAIRS = 0.9
"""Share of rows with both sides below which rows without them are taken for another question's."""
ANOTHER = "another answer? give it as --label or --score, too"
BARE_ID = 0.6
"""How much it says of a thing that it is an id of something: more than that it is a text."""
EACH_QUESTION, EACH_ROW = "one task a question", "every row is another item"
MOST_JOINED = 6
"""Columns of which two may name the item together."""
SIDES = ("item_a", "item_b", "system_a", "system_b")
PLAIN = ("segment", "system", "truth", "control", "hit", "status", "native_id", "text", "document")
"""Roles that options may give a column as it is."""


def read_view(view: View, format_: str, by_role: ColumnsByRole) -> list[Reading]:
    """Return the readings of a view, one a question; with questions where the cells do not say.

    Raises
    ------
    NoJudgmentsError
        It holds no answers that can be read.
    """
    return _Reader(view, format_, by_role).read()


def read_columns(sheet: Sheet, by_role: ColumnsByRole) -> None:
    """Raise ConfigError where an answer names a column that is not there, or contradicts cells."""
    for role, values in by_role.items():
        for name in values:
            if not is_column(role, name):
                continue
            option = f"--{role.replace('_', '-')} {name}"
            if name not in sheet.names:
                shown = ", ".join(sheet.names[:SHOWN_COLUMNS])
                problem = Problem(option, "no such column", allowed=shown)
                raise ConfigError("an answer names a column that is not there", [problem])
            column = (with_numbers(sheet, name) if role == "score" else sheet)[name]
            if what := _contradiction(len(sheet), role, column):
                raise ConfigError("an answer contradicts the data", [Problem(option, what)])


def is_column(role: str, name: str) -> bool:
    """Return whether an answer names a column: others are words, or what ``each`` runs over."""
    if role in ("each", "strength"):
        return False
    if role in ("judge", "preference"):
        return name not in ("anonymous", "file", "each") and not name.startswith("=")
    return (role, name) != ("item", "row")


def _contradiction(n_rows: int, role: str, column: Column) -> str:
    """Return how cells contradict a role, without showing any; empty if they do not."""
    if not column.counts:
        return "it is blank in all rows"
    if role in ("score", "rank", "votes", "seconds", "position"):
        share = without_abstentions(column).numeric_share
        if share <= 0.5:
            return f"{share:.0%} of its cells are numbers ({roles.spoken(column)})"
    if role in ("item", "segment") and column.n_distinct == 1 and n_rows > 1:
        return "it is the same in all rows"
    if role == "label" and column.is_unique and n_rows > 5:
        return f"every row has another one ({roles.spoken(column)})"
    if role == "submitted_at" and optional_fields.read_times(column) is None:
        return f"its cells are no times that can be read ({roles.spoken(column)})"
    return ""


class _Reader:
    """One view, with the columns that are left to map."""

    def __init__(self, view: View, format_: str, by_role: ColumnsByRole) -> None:
        self.view, self.sheet, self.format = view, view.sheet, format_
        self.by_role = by_role
        ignored = {*by_role.get("ignore", ())}
        taken = {name for role, names_ in by_role.items() for name in names_ if role != "each"}
        remaining = [
            n for position, n in enumerate(self.sheet.names)
            if n not in ignored | taken and n != OVER
            and (position < MOST_COLUMNS or names.roles(n))
        ]  # fmt: skip
        self.choice = Choice(self.sheet, remaining)
        self.is_mturk = format_ == "mturk"
        self.one = self.sheet.part(0) if len(self.sheet.parts) > 1 else self.sheet
        self.questions: list[Question] = []
        self.notes: list[str] = []
        self.judge: str | None = None
        self.things: list[str] = []
        judges = by_role.get("judge", ("",))
        self.is_one_judge = judges[0][:1] == "=" or judges == ("file",)

    # --- parts -------------------------------------------------------------------------------

    def named(self, role: str) -> list[str]:
        """Return the columns that an option gives a role."""
        return [name for name in self.by_role.get(role, ()) if name in self.sheet.names]

    @property
    def judges(self) -> list[str]:
        """Return the column of judges, if there is one."""
        return [self.judge] if self.judge else []

    def inputs(self) -> Choice:
        """Return the columns that may say what was judged."""
        if not self.is_mturk:
            return self.choice
        has_inputs = any(name.startswith(MTURK_INPUT) for name in self.choice.remaining)
        return self.choice.among(
            lambda n: n.startswith(MTURK_INPUT) or not (has_inputs or n.startswith(MTURK_ANSWER))
        )

    def read(self) -> list[Reading]:
        if self.by_role.get("votes"):
            return [self._votes()]
        pairing = self._pairing()
        judge_line = self._judge_line(pairing)
        if self.judge:
            self.choice.claim(self.sheet[self.judge])
        if tuples := self._best_worst():
            return [self._finished(tuples, judge_line)]
        if compared := self._compared():
            return [self._finished(one, judge_line) for one in compared]
        if self.judge and not self._answers_given():
            ranks = rankings.long_ranking(self.sheet, self.choice, self.sheet[self.judge])
            if ranks:
                return [self._finished(self._ranked(*ranks, pairing), judge_line)]
        return [self._finished(one, judge_line) for one in self._ordinary(pairing)]

    def _answers_given(self) -> bool:
        return any(self.by_role.get(role) for role in ("label", "score"))

    # --- who judged what ---------------------------------------------------------------------

    def _pairing(self) -> Pairing:
        """Return judge and thing; each None where no column is it for sure."""
        by_role = self.by_role.get("judge", ())
        things = self.named("item") or self.named("segment") or roles.thing_columns(self.inputs())
        if not things and self.is_mturk and "HITId" in self.sheet.names:
            things = ["HITId"]
        if self.view.shape != "rows" and OVER in by_role:
            by_role = ()
        judges = self.named("judge") or ([] if by_role else roles.judge_columns(self.choice))
        if len(self.sheet.names) == 1:
            judges = []  # the only column is the answer
        if not (judges or by_role or self.choice.with_role("text")):
            systems = self.choice.with_role("system") if self.choice.with_role("answer") else []
            systems = [c for c in systems if not names.WORDS["judged"] & {*names.words(c.name)}]
            judges = [c.name for c in systems if roles.are_models(c)][:1]
        is_named = bool(self.named("judge")) or any(
            names.likelihood(name, "judge") or roles.are_models(c) or roles.are_people(c)
            for name in judges for c in [self.sheet[name]]
        )  # fmt: skip
        judge = judges[0] if judges and is_named else None
        self.pairs = ranked = roles.pairings(self.choice, judges, things)
        self.is_one_judge |= bool(judge) and all(self.sheet[n].n_distinct == 1 for n in judges)
        if not ranked or (judge and self.is_one_judge):
            return Pairing(judge, self._thing_alone(things))
        if is_named:
            return self._clear_thing(ranked)
        columns = [self.sheet[name] for name in self.sheet.names]
        is_nameless = all(c.name == f"c{n}" for n, c in enumerate(columns, start=1))
        sure = [
            p for p in ranked
            if self._is_sure(p) and (is_nameless or roles.are_ids(self.sheet[p.judge or ""]))
        ]  # fmt: skip
        rivals = {p.judge for p in sure if p.score > sure[0].score - roles.CLEARLY}
        is_ratio = sure and self.sheet.combinations(sure[0].thing or "") >= (
            roles.FEWEST_RATIO * self.sheet.combinations(sure[0].judge or "")
        )
        if len(rivals) == 1 and is_ratio:
            self.notes.append(
                f"{sure[0].judge} is taken for the judge by what its cells hold: {sure[0]}"
            )
            return sure[0]
        self.rivals = list(dict.fromkeys(p.judge for p in ranked if p.judge))
        return Pairing(None, self._thing_alone(things))

    rivals: Sequence[str] = ()
    pairs: Sequence[Pairing] = ()
    candidates: Sequence[Candidate] = ()
    thing_note = ""

    def _is_sure(self, pairing: Pairing) -> bool:
        signs = pairing.signs
        return (
            signs.get("at most one answer", 0) >= roles.ONCE
            and signs.get("things meet several judges", 0) >= 0.5
            and not signs.get("a thing has one judge")
        )

    def _clear_thing(self, ranked: Sequence[Pairing]) -> Pairing:
        """Return the best pairing whose thing may be one."""
        best = ranked[0]
        thing = best.thing or ""
        if names.roles(thing) or self.named("item") or self.named("segment"):
            return best
        rivals = [
            p.thing for p in ranked[1:]
            if p.judge == best.judge and p.thing and p.score > best.score - roles.CLEARLY
            and not self.sheet.determines(thing, p.thing)
        ]  # fmt: skip
        rivals += [n for n, _ in self._alike_pairs() if not self.sheet.determines(thing, n)]
        met = best.signs.get("things meet several judges", 0) > 0
        met = met and best.signs.get("judge recurs", 0) > 0
        if not met or rivals:
            return Pairing(best.judge, None)
        self.thing_note = f"{thing} is taken for what was judged by what its cells hold: {best}"
        return best

    def _thing_alone(self, things: Sequence[str]) -> str | None:
        """Return what was judged where nobody is known to have judged it."""
        named = [
            t for t in things if names.roles(t).keys() & {"item", "segment", "text"}
            or (self.is_one_judge and roles.is_called_id(t) and self.sheet.is_unique(t))
        ]  # fmt: skip
        named.sort(key=lambda name: -(roles.thing_likelihood(name) or BARE_ID))
        if self.is_one_judge:  # who judged each thing once
            recurring = [t for t in named if self.sheet.is_unique(t)]
        else:
            recurring = [t for t in named if 1 < self.sheet[t].n_distinct < len(self.sheet)]
            recurring = [t for t in recurring if self._is_whole_thing(t)]
        varied = [t for t in named if self.sheet[t].n_distinct > 1 and self._is_whole_thing(t)]
        return next(iter(self.named("item") or recurring or varied), None)

    def _is_whole_thing(self, name: str) -> bool:
        """Return whether no long text differs within a thing's outputs, but for comments."""
        texts = [
            c.name for c in self.choice.offered()
            if _is_free_text(c, more_than=self.sheet[name].n_distinct)
            and c.name != name and "answer" not in names.roles(c.name)
            and (c.name.startswith(MTURK_INPUT) or not roles.NO_ANSWER & {*names.words(c.name)})
        ]  # fmt: skip
        key = (name, *(c.name for c in self.inputs().with_role("system")))
        n = self.sheet.combinations(*key)
        return all(self.sheet.combinations(*key, text) <= n for text in texts)

    def _judge_line(self, pairing: Pairing) -> Line:
        by_role = self.by_role.get("judge", ())
        if self.view.shape in ("columns", "grid") and by_role == ("each",):
            return ("judge", self.sheet[OVER].expression, "the name of the column")
        if by_role and not self.named("judge"):
            word = by_role[0]
            if word.startswith("="):
                return ("judge", {"value": word[1:]}, "as was answered: one judge for all rows")
            if word == "anonymous":
                return ("judge", "anonymous", "nobody is named: every row is another person's")
            return ("judge", {"value": word}, "")
        self.judge = pairing.judge
        if self.judge is None and pairing.thing and self._is_anonymous(pairing.thing):
            why = "nobody is named, and answers alone tell rows of one thing apart"
            return ("judge", "anonymous", why)
        if self.judge is None:
            self.questions.append(self._who(pairing.thing))
            return ("judge", "?", "")
        column = self.sheet[self.judge]
        each = rounded(len(column.filled) / max(column.n_distinct, 1))
        return column.line("judge", f", {each} rows each on average")

    def _is_anonymous(self, thing: str) -> bool:
        """Return whether things recur in rows that nothing but answers tells apart.

        Each of these is another person's: one judge would answer one thing again and again. Not
        where a column is called a judge, if only a blank one, nor where each file may be one.
        """
        every = roles.answer_columns(self.choice, [thing], None, None)
        named = [c for c in every if self._is_answer_name(c.column.name)]
        answers = {c.column.name for c in named or _largest_group(every, every) if not c.is_fixed}
        others = [c for c in self.choice.offered() if c.name not in answers and not c.is_unique]
        telling = [c.name for c in others if not BESIDE & {*names.words(c.name)}]
        telling = [thing, *(n for n in telling if n != thing and not self._is_answer_name(n))]
        n_different = Sheet([self.sheet.table.select(telling)]).n_different
        may_be_named = len(self.sheet.parts) > 1 or self.choice.among(_is_judge_name).offered()
        return bool(answers) and not may_be_named and 2 * n_different <= len(self.sheet)

    def _who(self, thing: str | None) -> Question:
        """Return the question who judged, with what may be it."""
        sheet = self.sheet
        things = [thing] if thing else []
        answers = roles.answer_columns(self.choice, things, None, None)
        systems = [c.name for c in self.inputs().with_role("system") if c.n_distinct > 1]
        recurs = thing and sheet.combinations(thing) < len(sheet)
        is_met_again = recurs and sheet.combinations(*things, *systems) < roles.ONCE * len(sheet)
        likely = [c.column.name for c in answers if not c.is_fixed or not recurs]
        likely = [n for n in likely if not self.is_mturk or n.startswith(MTURK_ANSWER)]
        offered = [c.name for c in self.choice.offered() if roles.may_be_judge(sheet, c)]
        offered = [
            n for n in [*self.rivals, *offered] if n not in likely or roles.are_ids(sheet[n])
        ]
        one = [c.name for c in self.choice.offered() if c.n_distinct == 1 and roles.are_models(c)]
        ranked = list(dict.fromkeys([*one, *offered]))[:4]
        forms: dict[str, list[str]] = {}
        for n in likely if self.view.shape == "rows" and not self.is_mturk else ():
            if sheet[n].is_whole:
                forms.setdefault(re.sub(r"\d+", "#", n), []).append(n)
        alike = [tuple(form) for form in forms.values() if len(form) > 1]
        grid = [n for form in alike for n in form] * (len(alike) > 1)
        alike = [tuple(grid)] * (grid_view(sheet, grid) is not None) + alike
        columns = [sheet[n] for n in likely * (self.view.shape == "rows")]
        classes = [c for c in columns if c.n_distinct > 2 and not c.numeric_share]
        if len(classes) > 1 and all(_agree(sheet, classes[0], c) for c in classes[1:]):
            alike.append(tuple(c.name for c in classes))
        options = [Option({"each": f, "judge": ("each",)}, "each column is a judge") for f in alike]
        options += [Option({"judge": (n,)}, roles.spoken(sheet[n])) for n in ranked]
        if is_met_again or not thing or pairs_among(sheet.names):
            options.append(Option({"judge": ("anonymous",)}, "every row is another person's"))
        options.append(Option({"judge": ("=NAME",)}, "one judge, so named, gave all answers"))
        words = [sheet[n] for n in ranked if n not in one and not sheet[n].is_whole]
        described = [c.name for c in words if not roles.may_name_people(c)]
        recurring = [t for t in roles.thing_columns(self.inputs()) if not sheet.is_unique(t)]
        described += [n for n in ranked if any(sheet.determines(t, n) for t in recurring if t != n)]
        options.sort(key=lambda o: o.by_role["judge"][0] in described)  # these come last
        text = "no column says who judged"
        named = [sheet[n] for n in sheet.names if _is_judge_name(n)]
        blank = [c.name for c in named if len(c.filled) <= c.n_blank]
        if blank:
            rows = f"{sheet[blank[0]].n_blank:,} rows" if sheet[blank[0]].counts else "all rows"
            text += f"; {', '.join(blank)}, which may be meant for it, is blank in {rows}"
        if likely:
            text += f"; answers look to be in {first_of(likely, 8)}"
        means = [
            n for n in sheet.names if MEANS & {*names.words(n)} and sheet[n].numeric_share > 0.9
        ]
        shares = [n for n in likely if roles.is_measured(sheet[n])]
        means = shares if 2 * len(shares) > len(likely) else means
        if len(means) > 1 and not recurs:
            text += (
                f"; with {', '.join(means[:4])} this looks like a table of means: single answers "
                "are needed, a row each"
            )
        elif thing and sheet.is_unique(thing) and len(likely) == 1:
            text += (
                f"; with one row for each {thing} these may be final labels: give the file beside "
                "the judgments, as a table of items with their truth"
            )
        return Question("judge", text, options, "Who did?")

    # --- comparisons and rankings -------------------------------------------------------------

    def _best_worst(self) -> Reading | None:
        """Return tuples of items of which a judge names the best and the worst."""
        remaining, sheet = self.choice.remaining, self.sheet
        ends = [
            next((n for n in remaining if word in names.words(n)), "") for word in ("best", "worst")
        ]
        if not all(ends):
            return None
        chosen = {value for name in ends for value in sheet[name].counts}
        items = [n for n in remaining if n in chosen] or [
            n for n in remaining
            if n not in ends and 2 * len(chosen & {*sheet[n].counts}) > sheet[n].n_distinct
        ]  # fmt: skip
        if len(items) <= len(ends):  # of two, the best says all
            return None
        for name in (*ends, *items):
            self.choice.claim(self.sheet[name])
        lines: list[Line] = [
            ("item", {"value": "{item}"}, "those of a tuple"),
            ("score", "{item.value}", "the mean is (times best - times worst) / times shown"),
            ("ranking", {"join": items, "sep": "|"}, "a tuple's items were judged together"),
        ]
        each = {"item": {"tuple": items, "best": ends[0], "worst": ends[1]}}
        return Reading("", lines, "scalar", (-1.0, 1.0), each=each, repeats="keep")

    def _compared(self) -> list[Reading]:
        """Return rows that say which of two is better, one reading a question unless all share."""
        if self._answers_given() or self.by_role.get("rank"):
            return []
        answers = comparison(self.sheet, self.choice, self.by_role, is_mturk=self.is_mturk)
        if not answers:
            return []
        for name in (name for answer in answers for name in answer.columns):
            self.choice.claim(self.sheet[name])
        lines: list[Line] = []
        sides = [e for field, e, _ in answers[0].lines if field in SIDES]
        pair = [n for n in answers[0].columns if self.sheet[n].expression in sides]
        if segment := self._segment(pair):
            lines.append(self.choice.claim(segment).line("segment"))
        else:  # nothing that the two worked on: they are what was judged
            answers = [
                replace(a, lines=[(f.replace("system_", "item_"), *rest) for f, *rest in a.lines])
                for a in answers
            ]
        task, tasks = self._task(lines) if len(answers) == 1 else ([], [])
        if ranking := self.choice.take("ranking"):
            lines.append(ranking.line("ranking"))
        self.things = [segment.name] if segment else []
        by_column = [(self.sheet[a.columns[-1]], a) for a in answers]
        readings = self._by_question(by_column, [*task, *lines], tasks)
        readings = [self._whole_segment(r, segment) if segment else r for r in readings]
        if not pair or len(compared_rows(self.sheet, pair)) >= MOSTLY_PAIRS * len(self.sheet):
            return readings
        side = self.sheet[pair[0]]  # blank in rows of another question
        of_pairs = side.mapping | {"not": ["", *abstentions(side.counts)]}
        return [replace(r, where=[*r.where, of_pairs]) for r in readings]

    def _segment(self, pair: Sequence[str]) -> Column | None:
        """Return what the two worked on: named so, or what tells the rows of a pair apart."""
        named = next((self.sheet[n] for n in self.named("segment") or self.named("item")), None)
        filled = [c for c in self.choice.with_role("segment") if len(c.filled) > 9 * c.n_blank]
        items = [c for c in self.inputs().with_role("item") if c.n_distinct > 1]
        items = [c for c in items if not {*names.words(c.name)} & (OUTCOME_WORDS | CHOSEN)]
        likely = [*filled, *items, *self.choice.with_role("segment")]
        key = [*pair, *self.judges]
        n_once = self.sheet.combinations(*key) if key else 1
        if named or not (likely or self.judge):
            return named
        if n_once < roles.ONCE * len(self.sheet):
            sides = {n for p in pairs_among(self.sheet.names) for n in p[2:]}
            n_with = {
                n: self.sheet.combinations(*key, n)
                for n in roles.thing_columns(self.inputs()) if n not in sides
            }  # fmt: skip
            whole = [self.sheet[n] for n in n_with if n_with[n] >= roles.ONCE * len(self.sheet)]
            telling = [c for c in likely if n_with.get(c.name, len(self.sheet)) > n_once]
            near = [c for c in telling if 2 * n_with.get(c.name, 0) >= len(self.sheet)]
            likely = [*near, *whole, *telling, *likely]
        return next(iter(likely), None)

    def _whole_segment(self, reading: Reading, segment: Column) -> Reading:
        """Return comparisons whose segment is whole: of a conversation, question and turn."""
        sides = [reading.column(self.sheet, name) for name in SIDES]
        key = [c.name for c in sides if c is not None]
        if len(key) < 2 or not (self.judge or OVER in self.sheet.names):
            return reading
        rows = compared_rows(self.sheet, key)
        key += [self.judge or OVER, segment.name]
        n_once = rows.combinations(*key)
        for column in self.choice.offered():
            is_part = roles.PARTS & {*names.words(column.name)} and column.name not in key
            if is_part and rows.combinations(*key, column.name) > 1.1 * n_once:
                self.choice.claim(column)
                joined = {"join": [segment.expression, column.expression], "sep": ":"}
                why = f"a judge compares one {segment.name} at each {column.name}"
                return reading.with_lines(("segment", joined, why))
        return reading

    def _ranked(self, answer: Reading, ranking: Column | None, pairing: Pairing) -> Reading:
        """Return rows of one ranked output each."""
        for name in answer.columns:
            self.choice.claim(self.sheet[name])
        if ranking:
            self.choice.claim(ranking)
        lines = self._what(pairing)
        if not lines:
            raise NoJudgmentsError("no column says what was ranked")
        task, tasks = self._task(lines)
        if ranking:
            lines.append(ranking.line("ranking"))
        else:
            self.notes.append(
                "no ranking: what a judge says of one segment, or in one HIT, is one ranking"
            )
        return self._reading(answer, [*task, *lines], tasks)

    # --- one thing a row ----------------------------------------------------------------------

    def _what(self, pairing: Pairing) -> list[Line]:
        """Return lines for item, system and segment; a question where nothing says them."""
        sheet, inputs = self.sheet, self.inputs()
        items, self.things = self.by_role.get("item", ()), self.named("item")
        systems = [sheet[n] for n in self.named("system")] or inputs.with_role("system")
        systems = [
            c for c in systems if c.n_distinct > 1 and not roles.are_criteria(c)
            and not (self.judge and roles.same_thing(sheet, c.name, self.judge))
        ]  # fmt: skip
        last_words = {names.words(c.name)[-1] for c in systems}  # one for each of several outputs
        system = systems[0] if systems and len(last_words) == len(systems) else None
        if items and not (system and self._has_outputs(system, self.things)):
            return self._joined_item(items)
        segments = [sheet[n] for n in self.named("segment") or self.things]
        segments = segments or inputs.with_role("segment")
        segment = next((c for c in segments if c.name != self.judge), None)
        thing = sheet[pairing.thing] if pairing.thing else None
        if system and segment and system.name != segment.name:
            return self._system_and_segment(system, segment)
        if system and thing and (other := self._made_of(system, thing)):
            return self._system_and_segment(system, other)
        if system and thing and not sheet.determines(thing.name, system.name):
            return self._system_and_segment(system, thing, ", each with several systems")
        judge = self.judge or (OVER if OVER in sheet.names else "")
        if thing is None and system and judge:  # of which a judge meets each output once
            key = [judge, system.name]
            whole = [
                n for n in roles.thing_columns(inputs)
                if n not in key and not sheet.determines(n, system.name)
                and sheet.combinations(*key, n) >= roles.ONCE * len(sheet)
                and sheet.combinations(n, judge) < roles.ONCE * len(sheet)
            ]  # fmt: skip
            if whole and all(roles.same_thing(sheet, whole[0], n) for n in whole):
                return self._system_and_segment(system, sheet[whole[0]])
        is_whole = thing is not None and sheet.is_unique(thing.name)
        joined = [] if is_whole else self._joined_things(thing, segment)
        if joined or thing is None:
            return joined
        self.choice.claim(thing)
        self.things = [thing.name]
        self.notes += [self.thing_note] * bool(self.thing_note)
        judges = sheet.combinations(thing.name, self.judge) if self.judge else len(sheet)
        each = rounded(judges / max(thing.n_distinct, 1))
        lines: list[Line] = [thing.line("item", f", {each} judges each")]
        for field, column in (("system", system), ("segment", segment)):
            if column and column.name != thing.name and sheet.determines(thing.name, column.name):
                lines.append(self.choice.claim(column).line(field))
        return lines

    def _has_outputs(self, system: Column, items: Sequence[str]) -> bool:
        """Return whether the one column said to be the item has several systems."""
        key = [*items, *self.judges]
        n_apart = self.sheet.combinations(*key, system.name)
        is_one = len(items) == 1 and system.name not in items
        return is_one and n_apart > 1.1 * self.sheet.combinations(*key)

    def _joined_things(self, thing: Column | None, segment: Column | None) -> list[Line]:
        """Return the two columns that together name a row's item, where nobody is named.

        Where one judge gave all rows, other columns than ``thing`` and ``segment`` may be they.
        """
        candidates = [c.name for c in (segment, thing) if c is not None]
        if self.is_one_judge:
            listed = [self.sheet[n] for n in roles.thing_columns(self.inputs())]
            candidates = [c.name for c in listed if names.roles(c.name) or not _is_free_text(c)]
        paired = combinations(candidates[:MOST_JOINED], 2)
        is_rated = not candidates and self.judge  # such as how alike two are
        pairs = [
            pair for pair in (self._alike_pairs() if is_rated else paired)
            if self.sheet.combinations(*self.judges, *pair) >= roles.ONCE * len(self.sheet)
        ]  # fmt: skip
        is_unique = any(self.sheet[n].is_unique for n in candidates)
        is_other = is_unique or (self.judge and not is_rated) or OVER in self.sheet.names
        if is_other or not pairs or (len(pairs) > 1 and not is_rated):
            return []
        for name in pairs[0]:
            self.choice.claim(self.sheet[name])
        self.things = [*pairs[0]]
        joined = {"join": [self.sheet[n].expression for n in pairs[0]], "sep": ":"}
        return [("item", joined, f"{' and '.join(pairs[0])} together are others in every row")]

    def _alike_pairs(self) -> list[tuple[str, str]]:
        """Return the columns of two things of one kind that stand in a row."""
        pairs = [pair[2:] for pair in pairs_among(self.inputs().remaining)]
        return [p for p in pairs if _share_values([self.sheet[n] for n in p])]

    def _made_of(self, system: Column, thing: Column) -> Column | None:
        """Return the segment of outputs: with the system, it says which thing was judged.

        That is a text, or a number of the pair, as of a trial; not what is called an item.
        """
        sheet = self.sheet
        is_item = thing.mean_length <= FREE_TEXT and roles.thing_likelihood(thing.name) > 0
        is_item = is_item and not thing.n_blank
        if is_item or system.name == thing.name:
            return None
        others = (c for c in self.inputs().offered() if roles.may_be_thing(c))
        for column in (c for c in others if c.name not in (system.name, thing.name, self.judge)):
            both = sheet.combinations(system.name, column.name)
            whole = sheet.combinations(system.name, column.name, thing.name)
            whole = both if thing.n_blank and whole < both else whole
            is_less = column.n_distinct < 0.9 * thing.n_distinct
            if whole == both >= roles.ONCE * thing.n_distinct and is_less:
                return column
        return None

    def _joined_item(self, items: Sequence[str]) -> list[Line]:
        expressions = [
            {"row": True} if name == "row" else self.sheet[name].expression for name in items
        ]
        if len(items) == 1:
            n = self.sheet[items[0]].n_distinct if items[0] in self.sheet.names else len(self.sheet)
            return [("item", expressions[0], f"{n:,} different")]
        return [("item", {"join": expressions, "sep": ":"}, "as was answered")]

    def _system_and_segment(self, system: Column, segment: Column, more: str = "") -> list[Line]:
        self.things = [system.name, segment.name]
        claim = self.choice.claim
        return [claim(system).line("system"), claim(segment).line("segment", more)]

    def _task(self, lines: Sequence[Line]) -> tuple[list[Line], list[str]]:
        if by_role := self.named("task"):
            column = self.sheet[by_role[0]]
            return [column.line("task")], sorted(column.counts)
        return find_task(self.inputs(), lines, self.judge)

    def _ordinary(self, pairing: Pairing) -> list[Reading]:
        """Return rows that hold one judgment, or one of each question."""
        if any(self.by_role.get(role) for role in (*SIDES, *OUTCOME_ROLES)):
            text = "no column says which of two is better: its cells name neither side, nor a tie"
            raise NoJudgmentsError(text)
        if self.view.shape == "numbered":
            ends = {"1", "2"}
            chosen = [c.name for c in self.choice.with_role("preference") if {*c.counts} == ends]
            if chosen and {*self.sheet[OVER].counts} == ends:
                raise NoJudgmentsError(f"{chosen[0]} says which of two is better")
        lines = self._what(pairing)
        if not lines and self.is_mturk:
            inputs = [c for c in self.inputs().offered() if c.n_distinct > 1]
            hits = [self.sheet[n] for n in ("HITId",) if n in self.sheet.names]
            for item in inputs if len(inputs) == 1 else hits:
                self.things = [item.name]
                lines = [self.choice.claim(item).line("item")]
        answers = self._answers()
        task, tasks = self._task(lines)
        if answers and not self._answers_given():
            self.questions += self._compared_question(answers[0][0])
        if not lines:
            lines = [("item", "?", "")]
            self.questions.append(self._what_question())
        elif (self.judge or self.is_one_judge) and self.things:
            lines = self._told_apart(lines, task, answers)
        elif crossed := self._crossed(answers):
            self.questions.append(
                self._apart_question(crossed, 1 / len(self.sheet[crossed[0]].counts))
            )
        if not answers:
            self.questions.append(self._answer_question())
            answer = Reading(lines=[("label", "?", "")])
            return [self._reading(answer, [*task, *lines], tasks)]
        return self._by_question(answers, [*task, *lines], tasks)

    def _compared_question(self, answer: Column) -> list[Question]:
        """Return the question whether two columns were compared, where answers say 1 or 2."""
        rest = [n for n in self.sheet.names if n not in (answer.name, *self.judges, *self.things)]
        for pair in pairs_among(rest):
            sides = [self.sheet[pair.first], self.sheet[pair.second]]
            outcomes, unknown = outcomes_of(without_abstentions(answer), pair)
            says_both = {"a", "b"} <= {*outcomes.values()} and not unknown
            if says_both and sides[0].n_distinct > 2 and _share_values(sides):
                compared = {"system_a": (pair.first,), "system_b": (pair.second,)}
                options = [
                    Option(compared | {"preference": (answer.name,)}, "these two were compared"),
                    Option({"label": (answer.name,)}, "it is a label of one thing"),
                ]
                text = f"{pair.first} and {pair.second} hold the same values"
                ask = f"Does {answer.name} say which of them is better?"
                return [Question("label", text, options, ask)]
        return []

    def _what_question(self) -> Question:
        ranked = roles.thing_columns(self.inputs())[:4]
        values = [part.to_pydict() for part in self.sheet.parts]
        shared = [
            c.name for c in self.choice.offered()
            if len(values) > 1 and c.name not in ranked and 2 < c.n_distinct < len(self.sheet)
            and all({*part[c.name]} == {*values[0][c.name]} for part in values)
        ]  # fmt: skip
        ranked += shared[:4]  # each file has all of them
        options = [Option({"item": (n,)}, roles.spoken(self.sheet[n])) for n in ranked]
        is_one = self.is_one_judge or self.judge is None or self.sheet[self.judge].is_unique
        if is_one or not options:
            n_whole = sum(map(self._is_whole_thing, ranked[:1]))  # else other texts differ in it
            options.insert(n_whole * len(ranked), Option({"item": ("row",)}, EACH_ROW))
        return Question("item", "no column says what was judged", options, "Which one does?")

    def _answer_question(self) -> Question:
        named = [c for c in self.choice.offered() if self._is_answer_name(c.name)]
        shown = {c.name: f"{c.n_distinct:,} different, {c.mean_length:,.0f}" for c in named[:5]}
        sizes = ", ".join(f"{name} ({size} characters on average)" for name, size in shown.items())
        how = "free text or several answers in a cell (which each, json and match can split)"
        text = "no column says what was answered" + f"; {how}: {sizes}" * bool(named)
        rest = [c.column for c in self.candidates if not c.is_fixed]
        options = _answer_options(rest) if rest else []
        return Question("label", text, options, "Which column does?")

    def _is_answer_name(self, name: str) -> bool:
        if self.is_mturk:
            return name.startswith(MTURK_ANSWER)
        return "answer" in names.roles(name)

    # --- several answers of a judge to one thing ------------------------------------------------

    def _told_apart(
        self, lines: list[Line], task: list[Line], answers: Sequence[tuple[Column, Reading]]
    ) -> list[Line]:
        """Return lines under which a judge answers a thing once, as far as columns can say."""
        sheet = self.one
        joined = [e["join"] if isinstance(e, dict) and "join" in e else [e] for _, e, _ in task]
        tasks = [n for n in sheet.names if sheet[n].expression in [*chain(*joined)]]
        key = [*self.judges, *self.things, *tasks]
        n_rows = int((sheet.codes(*key) >= 0).sum())
        share = sheet.combinations(*key) / max(n_rows, 1)
        n_things = sheet.combinations(*self.things)
        n_judges = sheet.combinations(*self.judges) if self.judge else 1
        is_one = n_things == 1 and len(sheet) > n_judges
        has_control = len(self.things) > 1 and find_control(Choice(sheet, [*self.choice.remaining]))
        if (share >= roles.ONCE or has_control) and not is_one:
            return lines
        used = {c.name for c, _ in answers} | {*key}
        offered = [c for c in self.choice.offered() if c.name not in used]
        telling = roles.telling_columns(sheet, key, offered)
        nearest = telling or self._nearest(key, offered)
        numbered = [n for n in nearest if self.view.shape == "numbered" and n in self.view.parts]
        if numbered and len(self.things) == 1:
            return self._with_part(lines, sheet[numbered[0]])
        if self.named("item") or self.named("segment"):
            ids = [n for n in nearest if roles.is_called_id(n) or _is_part(n)]
            if whole := [n for n in ids if sheet.combinations(*key, n) >= roles.ONCE * n_rows]:
                self.questions.append(self._apart_question(whole, share))
            return lines
        parts = [n for n in telling if _is_part(n) and not roles.REPEATS & {*names.words(n)}]
        finer = [n for n in telling if all(sheet.determines(n, t) for t in self.things[1:])]
        if finer and lines[0][0] == "system":  # such as the trial of a source
            return self._system_and_segment(sheet[self.things[0]], sheet[finer[0]])
        single = len(self.things) == 1 and lines[0][0] == "item"
        if single and telling and "system" in names.roles(self.things[0]):
            likely = [sheet[n] for n in telling]  # each with the outputs of all systems
            segment = min(likely, key=lambda c: (c.numeric_share > MOSTLY_NUMBERS, c.n_distinct))
            rest = [line for line in lines if line[0] != "item"]
            return [*self._system_and_segment(sheet[self.things[0]], segment), *rest]
        for part in parts[:1] if single else ():
            is_shared = sheet.combinations(*self.things, part) < roles.ONCE * len(sheet)
            n_parts = sheet.combinations(*self.judges, part)
            if is_shared or (is_one and n_parts >= roles.ONCE * len(sheet)):
                return self._with_part(lines, sheet[part])
        is_repeated = any(roles.REPEATS & {*names.words(c.name)} for c in offered)
        if is_repeated and not is_one:
            return lines
        if share >= roles.RARELY and not telling:
            return lines
        differ = [c.name for c, _ in answers if sheet.differing(key, c.name) > 0]
        if share >= roles.RARELY and not differ and not is_one:
            return lines
        self.questions.append(self._apart_question(nearest, share))
        return lines

    def _crossed(self, answers: Sequence[tuple[Column, Reading]]) -> list[str]:
        """Return what each thing comes in once, where every row is another person's: no person."""
        things, sheet = self.things, self.sheet
        n_things, n_rows = sheet.combinations(*things) if things else 0, len(sheet)
        columns = [c for c in self.choice.offered() if c not in [a for a, _ in answers]]
        return [
            c.name for c in columns if n_things and 1 < c.n_distinct < n_rows
            and sheet.combinations(*things, c.name) >= roles.ONCE * n_rows
            and n_rows >= roles.ONCE * n_things * c.n_distinct
        ]  # fmt: skip

    def _nearest(self, key: Sequence[str], offered: Iterable[Column]) -> list[str]:
        """Return columns that tell rows apart best, though not all."""
        varied = [c for c in offered if 1 < c.n_distinct < len(self.sheet)]
        whole = [c.name for c in varied if not roles.is_measured(c)]
        counts = {n: self.sheet.combinations(*key, n) for n in whole}
        likely = [n for n in whole if not names.MEASURED_TIME & {*names.words(n)}]
        likely = [n for n in likely if counts[n] > self.sheet.combinations(*key)]
        return sorted(likely, key=lambda n: -counts[n])[:3]

    def _apart_question(self, telling: Sequence[str], share: float) -> Question:
        thing = ",".join(self.things)
        text = f"judges answer one {thing or 'thing'} {1 / max(share, 1e-9):.1f} times on average"
        whole = self._whole_item()
        options = [Option({"item": whole}, "together they are others in each row of a judge")]
        options *= bool(whole)
        for name in telling[:2]:
            own = (self.things[0],) if len(self.things) == 1 else tuple(self.things)
            options += [
                Option({"item": (*own, name)}, f"{name} is a part of what was judged"),
                Option({"task": (name,)}, f"each {name} is another question"),
                Option({"system": (name,), "segment": own[:1]}, f"{name} made what was judged"),
                Option(
                    {"item": own, "ignore": (name,)}, f"judges answer again, whatever {name} is"
                ),
            ]
            options = [o for o in options if o.by_role != {"item": (*own, name)} or o is options[0]]
        if telling:
            text += f", and {' or '.join(telling[:2])} tells these answers apart"
            ask = "What is it?"
        else:
            ask = "Which column is the id of what was judged?"
            rest = [c for c in self.choice.offered() if not roles.is_measured(c)]
            options = [Option({"item": (c.name,)}, roles.spoken(c)) for c in rest[:4]]
            options.append(Option({"item": ("row",)}, EACH_ROW))
        if self.one.combinations(*self.judges, *self.things) == self.one.n_different:
            options.insert(0, Option({"item": tuple(self.things)}, "rows are copies: one counts"))
        return Question("item", text, options, ask)

    def _whole_item(self) -> tuple[str, ...]:
        """Return the fewest ids and parts that together differ in each row of a judge."""
        ids = [
            c.name for c in self.choice.offered() if roles.is_called_id(c.name) or _is_part(c.name)
        ]
        likely = [*self.things, *(n for n in ids if n not in self.things)][:MOST_JOINED]
        joined = (some for size in (2, 3) for some in combinations(likely, size))
        least = roles.ONCE * len(self.one)
        return next((j for j in joined if self.one.combinations(*self.judges, *j) >= least), ())

    def _with_part(self, lines: list[Line], other: Column) -> list[Line]:
        """Return lines with a column for the item, or joined to it."""
        sheet, item = self.sheet, self.sheet[self.things[0]]
        self.choice.claim(other)
        is_whole = sheet.combinations(*self.judges, other.name) >= roles.ONCE * len(sheet)
        if is_whole and (item.n_distinct == 1 or sheet.determines(other.name, item.name)):
            self.things = [other.name]
            line = other.line("item")
        else:
            self.things = [item.name, other.name]
            joined = {"join": [item.expression, other.expression], "sep": ":"}
            why = f"{item.name} alone would repeat: a judge meets each {other.name} of it"
            line = ("item", joined, why)
        return [line, *(one for one in lines if one[0] != "item")]

    # --- answers --------------------------------------------------------------------------------

    def _answers(self) -> list[tuple[Column, Reading]]:
        """Return the columns of answers, and how each answers."""
        by_kind = {"categorical": self.named("label"), "scalar": self.named("score")}
        by_option = [(self.sheet[n], kind) for kind, named in by_kind.items() for n in named]
        if by_option:
            return [
                (column, answer_as(with_numbers(self.sheet, column.name)[column.name], kind))
                if kind == "scalar" else (column, answer_as(column, kind))
                for column, kind in by_option
            ]  # fmt: skip
        truth = next(iter(self.choice.with_role("truth")), None)
        if self.is_mturk:
            return self._mturk_answers(truth)
        likely = self._answer_columns(truth, roles.NO_ANSWER)
        likely = likely or self._answer_columns(truth, roles.NO_ANSWER - names.NO_ANSWER)
        self.candidates = likely
        chosen = self._chosen(likely)
        candidates = {c.column.name for c in likely}
        chosen += [  # though they are called as properties of people are
            c for c in self._answer_columns(truth, roles.NO_ANSWER - roles.PERSONAL)
            if c.column.name not in candidates and c.is_sure and chosen
            and _are_alike([chosen[0], c])
            and c.column.counts.keys() & chosen[0].column.counts.keys()
        ]  # fmt: skip
        rare = [c for c in chosen if isinstance(c.column.expression, dict)]
        if any(2 * c.column.n_blank > len(self.sheet) for c in rare):  # whose blanks are rejected
            self.questions.append(_which_answers(chosen))
        pairs = self._claimed([c.column for c in chosen], truth)
        if pairs and not chosen[0].is_named:
            listed = first_of([column.name for column, _ in pairs])
            self.notes.append(f"taken for answers by what the cells hold: {listed}")
        return pairs

    def _claimed(
        self, columns: Sequence[Column], truth: Column | None
    ) -> list[tuple[Column, Reading]]:
        """Claim columns that hold answers, and return how each answers."""
        pairs = [(c, answer) for c in columns if (answer := self._answer(c, truth))]
        if len(pairs) > 1 and all(has_steps(without_abstentions(c)) for c, _ in pairs):
            pairs = [(c, answer_as(c, "scalar")) for c, _ in pairs]
        unclear = [
            column.name for column, answer in pairs
            if answer.kind == "categorical" and is_scale(self.sheet, self.things, column) is None
        ]  # fmt: skip
        if unclear:
            self.questions.append(_labels_or_scores(pairs, unclear))
        for column, _ in pairs:
            self.choice.claim(column)
        return pairs

    def _answer_columns(self, truth: Column | None, unlikely: frozenset[str]) -> list[Candidate]:
        """Return the columns that may be answers, of those that ``each`` makes if it does."""
        candidates = roles.answer_columns(
            self.choice, self.things, self.judge, truth, unlikely=unlikely
        )
        parts = self.view.parts
        filled = [self.sheet[n] for n in self.sheet.names[:MOST_COLUMNS] if self.sheet[n].n_blank]
        return [
            c for c in candidates if (c.column.name in parts if parts else not c.column.ascends)
            and not any(_marks_blanks(self.sheet, c.column, other) for other in filled)
        ]  # fmt: skip

    def _answer(self, column: Column, truth: Column | None) -> Reading | None:
        inner = [parsed(value) for value in column.counts] if self.view.each else []
        if any(isinstance(one, list) and len(one) > 1 for one in inner):
            return None  # several answers within one of several
        answer = answer_in(column, truth)
        sheet = with_numbers(self.sheet, column.name)
        numbers = sheet[column.name]
        if numbers.expression != column.expression and kind_of(numbers, truth) == "scalar":
            return answer_as(numbers, "scalar")
        if answer and answer.kind == "categorical" and is_scale(sheet, self.things, numbers):
            return answer_as(numbers, "scalar")
        return answer

    def _chosen(self, found: list[Candidate]) -> list[Candidate]:
        """Return the candidates that are answers; others are noted."""
        varied = [c for c in found if not c.is_fixed]
        sure = [c for c in varied if c.is_sure]
        named = [c for c in varied if c.is_named]
        named = named or [c for c in found if c.is_named and not (sure or varied)][:1]
        n_things = self.sheet.combinations(*self.things) if self.things else 0
        is_met_once = n_things > 0.8 * len(self.sheet)
        if "all_answers" in self.by_role:
            return [c for c in varied if c.in_things > 0 or c.is_named] or found[:1]
        if not named:
            everything = sure
            # a person's own data hardly differ, nor do descriptions of things
            for sign in ("differs within judges", "differs within things"):
                most = max((c.signs[sign] for c in sure), default=0.0)
                sure = [c for c in sure if c.signs[sign] >= HARDLY * most]
            sure = _without_copies(self.sheet, sure)
            numbers = [c for c in sure if c.column.numeric_share > MOSTLY_NUMBERS]
            is_numbered = self.view.shape == "numbered"
            group = numbers[:1] * is_numbered or _largest_group(found, sure)
            if not sure and self.is_one_judge:  # whose answers nothing but their names tells apart
                group = next(
                    (k for c in varied if _are_answers(k := _kin_of(c, varied), varied)), []
                )
            if group:
                unlike = [c for c in self.choice.offered() if c not in [f.column for f in found]]
                if sure != everything and any(_share_values([group[0].column, c]) for c in unlike):
                    self.questions.append(_which_answers(group))  # names alone leave some out
                if rest := [c for c in sure or varied if c not in group]:
                    self.notes.append(f"{ANOTHER}: {first_of([c.column.name for c in rest])}")
                return group
            same = [c for c in found if sure and c not in sure and _are_alike([sure[0], c])]
            if (is_met_once and same) or (len(sure) > 1 and not _are_alike(sure)):
                self.questions.append(_which_answers([*sure, *(same if is_met_once else [])]))
            return sure or (varied if len(varied) == 1 else [])
        first = named[0]
        others = [c for c in varied if c is not first and c.is_sure]
        others = _without_copies(self.sheet, [first, *others])[1:]
        alike = [c for c in others if c.is_named or _are_alike([first, c])]
        kin = [c for c in _kin_of(first, varied) if c not in (first, *alike)]
        alike += kin * (len(kin) + len(alike) + 1 >= FEWEST_QUESTIONS)
        rivals = [
            c for c in found if c is not first and c not in alike and (c.is_named or c.is_sure)
        ]
        sure = [c for c in rivals if c.is_sure and "rank" not in names.roles(c.column.name)]
        sure = sure if len(sure) >= FEWEST_QUESTIONS and _are_alike(sure) else []
        if not sure and self.is_one_judge:  # whose answers nothing tells from a description
            likely = varied if roles.WEAK & {*names.words(first.column.name)} else named
            likely = [c for c in likely if c not in (first, *alike)]
            sure = _without_copies(self.sheet, [first, *likely])[1:]
        key = [*self.judges, *self.things] * (self.view.shape == "rows")
        is_once = bool(key) and self.sheet.combinations(*key) >= roles.ONCE * len(self.sheet)
        few = [c for c in rivals if is_once and c.is_sure and not c.column.numeric_share]
        few = [c for c in few if c.column.n_distinct <= MOST_LABELS]
        sure = sure or few or [c for c in rivals if is_met_once and "json" in c.column.mapping]
        if sure:
            self.questions.append(_which_answers([first, *alike, *sure]))
        elif rivals:
            self.notes.append(f"{ANOTHER}: {first_of([c.column.name for c in rivals])}")
        return [first, *alike]

    def _mturk_answers(self, truth: Column | None) -> list[tuple[Column, Reading]]:
        """Return the questions of a HIT: of one kind, since a HIT asks for one, or as labels."""
        named = [
            c for c in self.choice.among(lambda n: n.startswith(MTURK_ANSWER)).offered()
            if len(c.filled) > c.n_blank and not {*c.counts} <= roles.EMPTY
            and not names.MEASURED_TIME & {*names.words(c.name)}
            and (not self.view.parts or c.name in self.view.parts)
        ]  # fmt: skip
        texts = [
            c for c in named
            if _is_free_text(c) or (c.numeric_share < 1 and COMMENTS & {*names.words(c.name)})
        ]  # fmt: skip
        answers = [c for c in named if c not in texts]
        if self.things:
            varied = [c for c in answers if not roles.are_fixed(self.sheet, self.things, c.name)]
            asked = [c for c in answers if any(c.counts.keys() <= v.counts.keys() for v in varied)]
            answers = asked or answers  # to one of several, all may have said the same
        if texts and answers:
            self.notes.append(f"free text, no question: {', '.join(c.name for c in texts)}")
        return self._claimed(answers, truth)

    def _by_question(
        self, answers: Sequence[tuple[Column, Reading]], lines: list[Line], tasks: list[str]
    ) -> list[Reading]:
        """Return one reading for all answers of one kind; else one for each kind or question."""
        readings = []
        sets = [
            s
            for c, _ in answers
            if (s := set_answer(c, self.view.each, lines="all_answers" in self.by_role))
        ]
        taken = {name for answer in sets for name in answer.columns}
        groups: list[list[tuple[Column, Reading]]] = []
        for column, answer in [(c, a) for c, a in answers if c.name not in taken]:
            is_text = isinstance(column.expression, str) and self.view.shape in ("rows", "grid")
            alike = next((g for g in groups if is_text and _on_one_scale(g[0][1], answer)), [])
            alike.append((column, answer))
            groups += [alike] * (len(alike) == 1)
        several = len(groups) + len(sets) > 1
        for members in groups:
            if len(members) > 1 and not tasks:
                readings.append(self._each_question(members, lines))
                continue
            for column, answer in members:
                is_own = several or len(members) > 1
                own = [("task", self._question_name(column, lines), "a question")] * is_own
                rest = [line for line in lines if line[0] != "task"] if own else lines
                readings.append(self._reading(answer, [*own, *rest], [] if own else tasks))
        readings += [self._reading(answer, lines, tasks) for answer in sets]
        listed = ", ".join(c.name for c, _ in answers)
        note = [f"{len(readings)} questions, a source each: {listed}"] * (len(readings) > 1)
        return [replace(r, notes=[*r.notes, *note]) for r in readings]

    def _question_name(self, column: Column, lines: Sequence[Line]) -> Any:
        name = column.name.removeprefix(MTURK_ANSWER) if self.is_mturk else column.name
        task = next((e for n, e, _ in lines if n == "task"), None)
        return {"join": [task, {"value": f":{name}"}]} if task is not None else {"value": name}

    def _each_question(
        self, members: Sequence[tuple[Column, Reading]], lines: Sequence[Line]
    ) -> Reading:
        """Turn several questions of one kind into tasks, by ``each``; or into one ranking."""
        names_ = [column.name for column, _ in members]
        if rankings.are_ranks_of_rows(self.sheet, names_):
            return self._ranks_of_columns([column for column, _ in members], lines)
        start = MTURK_ANSWER if self.is_mturk else ""
        first = members[0][1]
        *sides, (name, _, _) = first.lines
        labels: Counter[str] = Counter()
        abstained, failed = Counter[str](), Counter[str]()
        for _, answer in members:
            labels.update(answer.labels)
            abstained.update(answer.abstained)
            failed.update(answer.failed)
        shown = "; ".join(f"{c.name}: {a.lines[-1][2]}" for c, a in members[:5])
        questions = [one.removeprefix(start) for one in names_]
        whole: Any = self.view.whole or start + "{question}"
        maps = [e for _, a in members if isinstance(e := a.lines[-1][1], dict)]
        if first.kind == "pairwise" and maps:
            whole = {"column": whole, "map": {v: s for e in maps for v, s in e["map"].items()}}
        columns = [*first.columns[: len(sides)], *names_]
        answer = replace(
            first, lines=[*sides, (name, whole, shown)], labels=labels, columns=columns,
            abstained=abstained, failed=failed,
        )  # fmt: skip
        task: Line = ("task", {"value": "{question}"}, EACH_QUESTION)
        rest = [line for line in lines if line[0] != "task"]
        reading = self._reading(answer, [task, *rest], questions)
        return replace(reading, each={**reading.each, "question": questions})

    def _ranks_of_columns(self, columns: Sequence[Column], lines: Sequence[Line]) -> Reading:
        """Return the ranking that a row holds, a column for each system."""
        names_ = [column.name for column in columns]
        start = re.sub(r"[^\W_]*$", "", commonprefix(names_))  # noqa: RUF071  # no paths
        systems = [name.removeprefix(start) for name in names_]
        answer = rankings.rank_answer(columns[0], names_, notes=())
        answer = replace(answer, lines=[("rank", start + "{system}", "1 is the best of a row")])
        what = [("segment", *line[1:]) if line[0] == "item" else line for line in lines]
        system: Line = ("system", {"value": "{system}"}, "a column each")
        reading = self._reading(answer, [*what, system], [])
        return replace(reading, each={**reading.each, "system": systems})

    # --- the end --------------------------------------------------------------------------------

    def _reading(self, answer: Reading, lines: Sequence[Line], tasks: Sequence[str]) -> Reading:
        """Return answers with who and what was judged; lines of the answers come first."""
        return replace(
            answer, lines=[*lines, *answer.lines], tasks=[*tasks],
            each={**self.view.each, **answer.each},
            abstained=without_nan(answer.abstained, self.format),
        )  # fmt: skip

    def _finished(self, reading: Reading, judge_line: Line) -> Reading:
        """Return a reading with what a judgment can do without, and what is to be asked."""
        sheet, choice = self.sheet, Choice(self.sheet, [*self.choice.remaining])
        labels = dict(reading.labels) if reading.kind == "categorical" else {}
        if reading.kind == "pairwise" and reading.columns:
            labels = dict(sheet[reading.columns[-1]].counts)
        item = sheet[self.things[0]] if len(self.things) == 1 and reading.has("item") else None
        judge = sheet[self.judge] if self.judge else None
        one_a_row = None if reading.each else judge
        reading = _reversed(reading.with_lines(judge_line))
        lines = [sheet[n].line(role) for role in PLAIN for n in self.named(role)[:1]]
        lines += [
            ("submitted_at", *read)
            for n in self.named("submitted_at")
            if (read := optional_fields.read_times(sheet[n]))
        ]
        took = ["hit_seconds"] if reading.each else ["seconds"]
        if self.is_mturk:  # its time is the assignment's, a judgment's only if it holds just one
            took = list(dict.fromkeys([*took, "hit_seconds"]))
        is_place = partial(self._is_place, reading)
        optional = optional_fields.optional_lines(
            choice, reading.kind, labels, item, one_a_row, is_place=is_place
        )
        for name, expression, why in optional:
            fields = took if name == "seconds" else [name]
            if not any(line[0] == name for line in lines):
                lines += [(field, expression, why) for field in fields]
        if self.view.shape == "numbered":
            lines += self._numbered_lines(choice)
        lines += optional_fields.reward_lines(choice) if self.is_mturk else []
        reading = reading.with_lines(*lines)
        reading = optional_fields.with_item_text(reading, choice, is_whole=self._is_whole_row())
        doubts = rankings.rank_doubts(sheet, reading)
        if not reading.each:
            reading = optional_fields.with_failure_flags(choice, reading)
        unmapped = unmapped_note(self._unmapped(choice))
        reading.notes = [*reading.notes, *self.notes, *doubts, *unmapped]
        reading.abstain = sorted(reading.abstained)
        reading.questions = [*self.questions, *reading.questions]
        reading.paths = [name for name in sheet.names if name != OVER]
        reading.weighed = weighed(self.pairs, self.candidates)
        return choose_repeats(sheet, reading)

    def _is_whole_row(self) -> bool:
        is_one = len(self.things) == 1 and self.things[0] in self.view.base.names
        return self.view.shape != "rows" and is_one and self.view.base.is_unique(self.things[0])

    def _unmapped(self, choice: Choice) -> list[Column]:
        base = self.view.base
        return [
            c for c in choice.offered()
            if not (self.view.parts and c.name in self.view.parts and c.name not in base.names)
        ]  # fmt: skip

    def _numbered_lines(self, choice: Choice) -> list[Line]:
        """Return where a judgment stands in its row, and which were made side by side."""
        lines: list[Line] = [("position", {"value": "{i}"}, "")]
        self.notes.append(
            "if scores mean no more than their order in a row: kind: ranking, under tasks"
        )
        base, everything = self.view.base, Choice(self.sheet).with_role("native_id")
        own = next((c for c in everything if base.is_unique(c.name)), None)
        if own:
            lines.append(("ranking", own.expression, "a row's judgments were made side by side"))
            if not base[own.name].is_row_number:
                choice.claim(own)
                lines.append(("native_id", own.expression, "another one in every row"))
        return lines

    def _is_place(self, reading: Reading, column: Column) -> bool:
        """Return whether a column can hold the position of each output.

        Records of one ranking that share a position are taken for one identical output, so what
        counts trials or HITs must not be taken for it.
        """
        if self.view.shape == "numbered":
            return False  # the number of the column says it
        if reading.kind != "ranking":
            return True
        ranking = reading.column(self.sheet, "ranking")
        judge, segment = (reading.column(self.sheet, name) for name in ("judge", "segment"))
        group = [ranking] if ranking else [judge, segment, *self.choice.with_role("hit")]
        shared = [c.name for c in group if c]
        if not {"trial", "hit"} & {*names.words(column.name)} and rankings.differs_within(
            self.sheet, shared, column.name
        ):
            return True
        reading.notes.append(
            f"{column.name} is no position: outputs of one ranking that share a position are taken "
            "for one identical output, and nothing says that these are"
        )
        return False

    def _votes(self) -> Reading:
        """Return counts of labels, as options say them."""
        votes, label = self.named("votes")[0], self.named("label")
        item = self.by_role.get("item", ())
        lines: list[Line] = [
            *(self._joined_item(item) if item else [("item", "?", "")]),
            ("label", self.sheet[label[0]].expression if label else "?", ""),
            ("votes", self.sheet[votes].expression, "how many gave the label"),
        ]
        asked = [] if item else [self._what_question()]
        return Reading("counts of votes", lines, is_preset=True, questions=asked)


def _marks_blanks(sheet: Sheet, flag: Column, answer: Column) -> bool:
    """Return whether a column says that an answer failed, just where another is blank."""
    values, is_there = sheet.codes(flag.name), sheet.codes(answer.name) >= 0
    is_flag = FLAGS & {*names.words(flag.name)} and flag.n_distinct == 2 and not flag.n_blank
    return bool(is_flag) and not {*values[is_there]} & {*values[~is_there]}


def _is_judge_name(name: str) -> bool:
    return "judge" in names.roles(name)


def _is_part(name: str) -> bool:
    return bool(
        {"item", "segment", "hit"} & names.roles(name).keys() or roles.PARTS & {*names.words(name)}
    )


def _is_free_text(column: Column, *, more_than: float = math.inf) -> bool:
    """Return whether hardly any answer repeats, and answers are longer than a few words.

    Or more than so many are different.
    """
    is_varied = 2 * column.n_distinct > len(column.filled) or column.n_distinct > more_than
    return is_varied and column.numeric_share < 1 and column.mean_length > FREE_TEXT


def _agree(sheet: Sheet, one: Column, other: Column) -> bool:
    """Return whether two columns hold the same in more rows than by chance."""
    is_same = pc.equal(sheet.table.column(one.name), sheet.table.column(other.name))
    by_chance = sum(n * other.counts.get(value, 0) for value, n in one.counts.items()) / len(sheet)
    return (pc.sum(is_same).as_py() or 0) > by_chance


def _are_alike(candidates: Sequence[Candidate]) -> bool:
    return _share_values([c.column for c in candidates])


def _share_values(columns: Sequence[Column]) -> bool:
    """Return whether columns share most of their values, as questions on one scale do."""
    first = columns[0]
    if all(c.numeric_share > 0.9 for c in columns):
        return len({scale_of(without_abstentions(c)) for c in columns}) == 1
    return all(
        2 * len(first.counts.keys() & c.counts.keys()) >= max(first.n_distinct, c.n_distinct)
        for c in columns
    )


def _without_copies(sheet: Sheet, candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return columns but for those that say the same as an earlier one, value for value."""
    chosen: list[Candidate] = []
    for c in candidates:
        if not any(roles.says_same(sheet, o.column.name, c.column.name) for o in chosen):
            chosen.append(c)
    return chosen


FEWEST_QUESTIONS = 3


def _largest_group(found: Sequence[Candidate], sure: Sequence[Candidate]) -> list[Candidate]:
    """Return the columns on one scale, or of one form, that are more than twice the others."""
    forms = [_kin_of(one, found, sure) for one in sure[:10]]
    groups = [*forms, *([c for c in sure if _are_alike([one, c])] for one in sure[:10])]
    return max((group for group in groups if _are_answers(group, sure)), key=len, default=[])


def _are_answers(group: Sequence[Candidate], sure: Sequence[Candidate]) -> bool:
    """Return whether a group has several of the likely ones, more than twice the others."""
    n_sure = sum(c in sure for c in group)
    return n_sure >= FEWEST_QUESTIONS and n_sure > 2 * (len(sure) - n_sure)


def _kin_of(
    first: Candidate, candidates: Sequence[Candidate], sure: Sequence[Candidate] = ()
) -> list[Candidate]:
    """Return the columns that start with the word of one, and share its scale or are sure.

    Of a form whose columns start alike, some may hardly ever differ.
    """
    start = names.words(first.column.name)[:1]
    return [
        c for c in candidates if names.words(c.column.name)[:1] == start
        and (_are_alike([first, c]) or (c in sure and c.column.n_distinct <= MOST_LABELS))
    ]  # fmt: skip


def _which_answers(sure: Sequence[Candidate]) -> Question:
    listed = ", ".join(c.column.name for c in sure[:5])
    text = f"{listed} all differ within things and judges"
    return Question("label", text, _answer_options([c.column for c in sure]), "Which are answers?")


def _answer_options(columns: Sequence[Column]) -> list[Option]:
    """Return the largest group on one scale, all columns together, and each of the first."""
    alike = ([o for o in columns if _share_values([c, o])] for c in columns[:10])
    groups = sorted((group for group in alike if len(group) > 1), key=len, reverse=True)
    options: list[Option] = []
    for some in [*groups[:1], columns, *([c] for c in columns[:5])]:
        are_scores = [c.numeric_share == 1 and c.n_distinct > 2 for c in some]
        by_role = _labels_and_scores([c.name for c in some], are_scores)
        why = f"these {len(some)}, each a question" if len(some) > 1 else roles.spoken(some[0])
        if all(option.by_role != by_role for option in options):
            options.append(Option(by_role, why))
    return options


def _labels_and_scores(names_: Sequence[str], are_scores: Sequence[bool]) -> ColumnsByRole:
    """Return the columns of labels, and those of scores, as options say them."""
    by_role: dict[str, tuple[str, ...]] = {}
    for name, is_score in zip(names_, are_scores, strict=True):
        role = "score" if is_score else "label"
        by_role[role] = (*by_role.get(role, ()), name)
    return by_role


def _labels_or_scores(pairs: Sequence[tuple[Column, Reading]], unclear: Sequence[str]) -> Question:
    """Return the question whether whole numbers of some columns are classes or a scale."""
    options = []
    for is_score, why in ((True, "numbers on a scale, with means"), (False, "classes")):
        are_scores = [is_score if c.name in unclear else a.kind == "scalar" for c, a in pairs]
        options.append(Option(_labels_and_scores([c.name for c, _ in pairs], are_scores), why))
    text = f"{first_of(unclear)}: whole numbers may be classes, or a scale"
    return Question("label", text, options, "Are they labels or scores?")


def _reversed(reading: Reading) -> Reading:
    """Return counts of errors as a criterion that tasks reverse; with a note where none can be."""
    costs = [n for n in reading.columns if names.counts_costs(n)] * (reading.kind == "scalar")
    if not costs:
        return reading
    if len(reading.columns) > 1 or reading.scale is None or reading.scale[0] < 0:
        note = f"higher counts as better: if {costs[0]} is bad, set reverse of a criterion of it"
        return replace(reading, notes=[*reading.notes, note])
    line = ("criterion", {"value": costs[0]}, "lower is better: reversed under tasks")
    low, high = reading.scale
    return replace(reading.with_lines(line), scale=(0.0, 100.0) if high > 1 else (low, high))


def _on_one_scale(first: Reading, other: Reading) -> bool:
    """Return whether two answers are of one kind, and share a scale or most classes."""
    if first.kind != other.kind or first.scale != other.scale:
        return False
    both = first.labels.keys() & other.labels.keys()
    return 2 * len(both) >= max(len(first.labels), len(other.labels))


RATINGS = names.WORDS["ratings"] | names.WORDS["criteria"]
CLASSES = names.WORDS["classes"]
"""Words of columns whose numbers mostly stand for classes."""
FEWEST_STEPS, FEWEST_PAIRS = 5, 30
NEARER, SURELY = 0.75, 3.0
"""Distance of two judges' different answers, as a share of that of answers taken at random; and
standard errors by which it is below that, where it is."""


def has_steps(column: Column) -> bool:
    """Return whether a column holds few whole numbers from 0, 1 or -n to n, as scales do."""
    is_usual = column.is_whole and column.low in (0, 1, -column.high)
    is_usual = is_usual and column.n_distinct >= FEWEST_STEPS
    return is_usual and column.high - column.low + 1 <= 1.5 * column.n_distinct


def is_scale(sheet: Sheet, things: Sequence[str], column: Column) -> bool | None:
    """Return whether few whole numbers are a scale, on which judges are near each other.

    None if only people can say: numbers called ratings on which judges are not near, or others on
    which they are, though not much.
    """
    column = without_abstentions(column)
    words = {*names.words(column.name)}
    is_named = bool(RATINGS & words)
    is_class = bool(CLASSES & words) and not is_named
    if not things or (is_class and len(things) == 1) or not has_steps(column):
        return False
    codes = sheet.codes(*things)
    cells = sheet.table.column(column.name).to_pylist()
    known = np.array([bool(c) and c in column.counts for c in cells])
    order = np.argsort(codes[known], kind="stable")
    groups = codes[known][order]
    numbers = np.array([float(c) for c, k in zip(cells, known, strict=True) if k])[order]
    beside = (groups[1:] == groups[:-1]) & (groups[1:] >= 0) & (numbers[1:] != numbers[:-1])
    if beside.sum() < (FEWEST_STEPS if is_named else FEWEST_PAIRS):
        return is_named
    apart = np.abs(numbers[1:] - numbers[:-1])[beside].mean()
    values, counts = np.unique(numbers, return_counts=True)
    gaps = np.abs(values[:, None] - values[None, :])
    weights = np.outer(counts, counts) * (gaps > 0)
    usual = np.average(gaps, weights=weights)
    error = np.sqrt(np.average((gaps - usual) ** 2, weights=weights) / beside.sum())
    is_near = bool(usual - apart >= SURELY * error)
    if is_near and (is_named or (not is_class and apart <= NEARER * usual)):
        return True
    return None if is_near or is_named else False


def choose_repeats(sheet: Sheet, reading: Reading) -> Reading:
    """Return the reading with ``repeats: last`` where judges answer again and times are known.

    Of rows that are copies, an id that they share makes one count.
    """
    is_single = len(sheet.parts) == 1 and reading.kind in ("categorical", "scalar")
    if not is_single or reading.has("control") or reading.each:
        return reading
    fields = [reading.column(sheet, n) for n in ("task", "judge", "item", "system", "segment")]
    columns = [column.name for column in fields if column is not None]
    item = reading.column(sheet, "item") or reading.column(sheet, "segment")
    numbered = [name for name in sheet.names if roles.REPEATS & {*names.words(name)}]
    if item is None or numbered or not columns:
        return reading
    n_once = sheet.combinations(*columns)
    if n_once == int((sheet.codes(*columns) >= 0).sum()):
        return reading
    if n_once == sheet.n_different and not reading.has("native_id"):
        joined = {"join": [column.expression for column in fields if column], "sep": ":"}
        return reading.with_lines(("native_id", joined, "rows are copies: one of each counts"))
    return replace(reading, repeats="last") if reading.has("submitted_at") else reading


UNMAPPED = "not mapped: "


def unmapped_note(columns: Iterable[Column]) -> list[str]:
    """Return the note on columns that nothing is mapped to; [] if there are none."""
    unmapped = [
        f"{c.name} ({c.n_distinct:,} different)" if c.counts else f"{c.name} (blank)"
        for c in columns
    ]
    return [f"{UNMAPPED}{first_of(unmapped, SHOWN_COLUMNS)}"] if unmapped else []


def is_unmapped_note(note: str) -> bool:
    """Return whether a note is that of `unmapped_note`."""
    return note.startswith(UNMAPPED)
