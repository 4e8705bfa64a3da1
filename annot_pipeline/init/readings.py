"""Reads a view of an export: who judged what, how it was answered, and what is left to ask."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from os.path import commonprefix
from typing import Any

from annot_pipeline.errors import ConfigError, Problem, first_of
from annot_pipeline.init import comparisons, names, optional_fields, rankings, roles
from annot_pipeline.init.abstentions import abstentions, without_abstentions, without_nan
from annot_pipeline.init.alike import on_one_scale, share_values
from annot_pipeline.init.answer_columns import Answers
from annot_pipeline.init.answers import set_answer
from annot_pipeline.init.questions import (
    Line,
    NoJudgmentsError,
    Option,
    Question,
    Reading,
    Roles,
)
from annot_pipeline.init.roles import Pairing
from annot_pipeline.init.table import Choice, Column, Sheet
from annot_pipeline.init.views import OVER, View, pairs_among
from annot_pipeline.init.who import MTURK_ANSWER
from annot_pipeline.init.written_numbers import with_numbers

SHOWN_COLUMNS = 40
MOSTLY_PAIRS = 0.9
"""Share of rows with both sides below which rows without them are taken for another question's."""
EACH_QUESTION = "one task a question"
SIDES = ("item_a", "item_b", "system_a", "system_b")
PLAIN = ("segment", "system", "truth", "control", "hit", "status", "native_id", "text", "document")
"""Roles that options may give a column as it is."""
UNMAPPED = "not mapped: "


def read_view(view: View, format_: str, by_role: Roles) -> list[Reading]:
    """Return the readings of a view, one a question; with questions where the cells do not say.

    Raises
    ------
    NoJudgmentsError
        It holds no answers that can be read.
    """
    return _Reader(view, format_, by_role).read()


def read_columns(sheet: Sheet, by_role: Roles) -> None:
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


class _Reader(Answers):
    """One view, read to the end."""

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
            ranks = rankings.long_ranks(self.sheet, self.choice, self.sheet[self.judge])
            if ranks:
                return [self._finished(self._ranked(*ranks, pairing), judge_line)]
        return [self._finished(one, judge_line) for one in self._ordinary(pairing)]

    def _best_worst(self) -> Reading | None:
        """Return tuples of items of which a judge names the best and the worst."""
        remaining, sheet = self.choice.remaining, self.sheet
        words = {n: names.words(n) for n in remaining}
        ends = [next((n for n in remaining if w in words[n]), "") for w in ("best", "worst")]
        if not all(ends):
            return None
        chosen = {value for name in ends for value in sheet[name].counts}
        rest = [n for n in remaining if n not in ends]
        rest = [n for n in rest if 2 * len(chosen & {*sheet[n].counts}) > sheet[n].n_distinct]
        items = [n for n in remaining if n in chosen] or rest
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
        arguments = (self.sheet, self.choice, self.by_role)
        answers = comparisons.comparison(*arguments, is_mturk=self.is_mturk)
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
        n_rows = len(comparisons.compared_rows(self.sheet, pair)) if pair else len(self.sheet)
        if n_rows >= MOSTLY_PAIRS * len(self.sheet):
            return readings
        side = self.sheet[pair[0]]  # blank in rows of another question
        of_pairs = side.mapping | {"not": ["", *abstentions(side.counts)]}
        return [replace(r, where=[*r.where, of_pairs]) for r in readings]

    def _segment(self, pair: Sequence[str]) -> Column | None:
        """Return what the two worked on: named so, or what tells the rows of a pair apart."""
        named = next((self.sheet[n] for n in self.named("segment") or self.named("item")), None)
        filled = [c for c in self.choice.with_role("segment") if len(c.filled) > 9 * c.n_blank]
        items = [c for c in self.inputs().with_role("item") if c.n_distinct > 1]
        items = [c for c in items if not c.words & (comparisons.OUTCOME_WORDS | comparisons.CHOSEN)]
        likely = [*filled, *items, *self.choice.with_role("segment")]
        key = [*pair, *(self.judges or [OVER] * (OVER in self.sheet.names))]
        n_once = self.sheet.combinations(*key) if key else 1
        if named or not (likely or self.judge):
            return named
        if n_once < roles.ONCE * len(self.sheet):
            sides = {n for p in pairs_among(self.sheet.names) for n in p[2:]}
            things = [n for n in roles.thing_columns(self.inputs()) if n not in sides]
            n_with = {n: self.sheet.combinations(*key, n) for n in things}
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
        rows = comparisons.compared_rows(self.sheet, key)
        key += [self.judge or OVER, segment.name]
        n_once = rows.combinations(*key)
        for column in self.choice.offered():
            is_part = roles.PARTS & column.words and column.name not in key
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
        lines, base = self._what(pairing), self.view.base
        likely = [n for n in roles.thing_columns(self.inputs()) if n in base.names]
        whole = [n for n in likely if base.combinations(*self.judges, n) == len(base)]
        if self.view.shape == "keys" and whole:  # a judge ranks all keys of a row
            system: Line = ("system", self.sheet[OVER].expression, "a key each")
            lines = [system, self.choice.claim(self.sheet[whole[0]]).line("segment")]
            self.notes = [note for note in self.notes if note != self.thing_note]
        if not lines:
            raise NoJudgmentsError("no column says what was ranked")
        task, tasks = self._task(lines)
        if ranking:
            lines.append(ranking.line("ranking"))
        else:
            self.notes.append(names.TEXTS["no_ranking"])
        return self._reading(answer, [*task, *lines], tasks)

    def _ordinary(self, pairing: Pairing) -> list[Reading]:
        """Return rows that hold one judgment, or one of each question."""
        if any(self.by_role.get(role) for role in (*SIDES, *comparisons.OUTCOME_ROLES)):
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
            self.questions += [] if self.questions else self._condition_question(answers)
        elif crossed := self._crossed(answers):
            share = 1 / self.sheet[crossed[0]].n_distinct
            self.questions.append(self._apart_question(crossed, share))
        if not answers:
            self.questions.append(self._answer_question())
            answer = Reading(lines=[("label", "?", "")])
            return [self._reading(answer, [*task, *lines], tasks)]
        return self._by_question(answers, [*task, *lines], tasks)

    def _compared_question(self, answer: Column) -> list[Question]:
        """Return the question whether two columns were compared, where answers say 1 or 2."""
        rest = [n for n in self.sheet.names if n not in (answer.name, *self.judges)]
        for pair in pairs_among(rest):
            joined = {pair.first, pair.second} & {*self.things}  # which name the item together
            if len(joined) == 1:
                continue
            sides = [self.sheet[pair.first], self.sheet[pair.second]]
            outcomes, unknown = comparisons.outcomes_of(without_abstentions(answer), pair)
            says_both = {"a", "b"} <= {*outcomes.values()} and not unknown
            if says_both and sides[0].n_distinct > 2 and share_values(sides):
                kind = "system" if self.things and not joined else "item"
                compared = {f"{kind}_a": (pair.first,), f"{kind}_b": (pair.second,)}
                options = [
                    Option(compared | {"preference": (answer.name,)}, "these two were compared"),
                    Option({"label": (answer.name,)}, "it is a label of one thing"),
                ]
                text = f"{pair.first} and {pair.second} hold the same values"
                ask = f"Does {answer.name} say which of them is better?"
                return [Question("label", text, options, ask)]
        return []

    def _by_question(
        self, answers: Sequence[tuple[Column, Reading]], lines: list[Line], tasks: list[str]
    ) -> list[Reading]:
        """Return one reading for all answers of one kind; else one for each kind or question."""
        readings = []
        each, are_lines = self.view.each, "all_answers" in self.by_role
        sets = [s for c, _ in answers if (s := set_answer(c, each, lines=are_lines))]
        taken = {name for answer in sets for name in answer.columns}
        groups: list[list[tuple[Column, Reading]]] = []
        for column, answer in [(c, a) for c, a in answers if c.name not in taken]:
            is_text = isinstance(column.expression, str) and self.view.shape in ("rows", "grid")
            alike = next((g for g in groups if is_text and on_one_scale(g[0][1], answer)), [])
            alike.append((column, answer))
            groups += [alike] * (len(alike) == 1)
        several = len(groups) + len(sets) > 1
        for members in groups:
            if len(members) > 1 and not tasks:
                readings.append(self._each(members, lines))
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

    def _each(self, members: Sequence[tuple[Column, Reading]], lines: Sequence[Line]) -> Reading:
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
        more: dict[str, Any] = {"labels": labels, "abstained": abstained, "failed": failed}
        answer = replace(first, lines=[*sides, (name, whole, shown)], columns=columns, **more)
        task: Line = ("task", {"value": "{question}"}, EACH_QUESTION)
        rest = [line for line in lines if line[0] != "task"]
        reading = self._reading(answer, [task, *rest], questions)
        return replace(reading, each={**reading.each, "question": questions})

    def _ranks_of_columns(self, columns: Sequence[Column], lines: Sequence[Line]) -> Reading:
        """Return the ranking that a row holds, a column for each system."""
        names_ = [column.name for column in columns]
        start = re.sub(r"(?<![^\W_])[^\W_]+$", "", commonprefix(names_))  # noqa: RUF071  # no paths
        systems = [name.removeprefix(start) for name in names_]
        answer = rankings.rank_answer(columns[0], names_, notes=())
        answer = replace(answer, lines=[("rank", start + "{system}", "1 is the best of a row")])
        what = [("segment", *line[1:]) if line[0] == "item" else line for line in lines]
        system: Line = ("system", {"value": "{system}"}, "a column each")
        reading = self._reading(answer, [*what, system], [])
        return replace(reading, each={**reading.each, "system": systems})

    def _reading(self, answer: Reading, lines: Sequence[Line], tasks: Sequence[str]) -> Reading:
        """Return answers with who and what was judged; lines of the answers come first."""
        answer = replace(answer, abstained=without_nan(answer.abstained, self.format))
        each = {**self.view.each, **answer.each}
        return replace(answer, lines=[*lines, *answer.lines], tasks=[*tasks], each=each)

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
        arguments = (reading.kind, labels, item, one_a_row)
        optional = optional_fields.optional_lines(choice, *arguments, is_place=is_place)
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
        unmapped = unmapped_note(c for c in choice.offered() if c.name != OVER)
        reading.notes = [*reading.notes, *self.notes, *doubts, *unmapped]
        reading.abstain = sorted(reading.abstained)
        reading.questions = [*self.questions, *reading.questions]
        reading.paths = [name for name in sheet.names if name != OVER]
        reading.weighed = weighed(self.pairs, self.candidates)
        return choose_repeats(sheet, reading)

    def _is_whole_row(self) -> bool:
        is_one = len(self.things) == 1 and self.things[0] in self.view.base.names
        return self.view.shape != "rows" and is_one and self.view.base.is_unique(self.things[0])

    def _numbered_lines(self, choice: Choice) -> list[Line]:
        """Return where a judgment stands in its row, and which were made side by side."""
        lines: list[Line] = [("position", {"value": "{i}"}, "")]
        self.notes.append(names.TEXTS["order_in_a_row"])
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
        key = [*shared, column.name]
        is_apart = self.sheet.combinations(*key) == self.sheet.n_filled(*key)
        if is_apart and not {"trial", "hit"} & column.words:
            return True
        reading.notes.append(names.TEXTS["no_position"].format(column.name))
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
    if n_once == sheet.n_filled(*columns):
        return reading
    if n_once == sheet.n_different and not reading.has("native_id"):
        joined = {"join": [column.expression for column in fields if column], "sep": ":"}
        return reading.with_lines(("native_id", joined, "rows are copies: one of each counts"))
    return replace(reading, repeats="last") if reading.has("submitted_at") else reading


def unmapped_note(columns: Iterable[Column]) -> list[str]:
    """Return the note on columns that nothing is mapped to; [] if there are none."""
    counted = ((c, f"{c.n_distinct:,} different" if c.counts else "blank") for c in columns)
    unmapped = [f"{c.name} ({how_many})" for c, how_many in counted]
    return [f"{UNMAPPED}{first_of(unmapped, SHOWN_COLUMNS)}"] if unmapped else []


def is_unmapped_note(note: str) -> bool:
    """Return whether a note is that of `unmapped_note`."""
    return note.startswith(UNMAPPED)


def weighed(pairings: Sequence[Pairing], candidates: Sequence[roles.Candidate]) -> dict[str, Any]:
    """Return columns by role with score and signs, the best first: judge, item and label."""
    columns_by_role: list[tuple[str, str | None, Any]] = [("judge", p.judge, p) for p in pairings]
    columns_by_role += [("item", p.thing, p) for p in pairings]
    columns_by_role += [("label", c.column.name, c) for c in candidates]
    by_role: dict[str, dict[Any, Any]] = {}
    for role, name, one in columns_by_role:
        signs = {sign: round(value, 3) for sign, value in one.signs.items()}
        row = {"column": name, "score": round(one.score, 3), "evidence": signs}
        by_role.setdefault(role, {}).setdefault(name, row)
    return {role: [*rows.values()] for role, rows in by_role.items()}
