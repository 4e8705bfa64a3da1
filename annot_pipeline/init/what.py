"""What was judged: items, systems and segments, and what tells answers to one thing apart."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain, combinations

from annot_pipeline.init import names, roles
from annot_pipeline.init.answers import MOSTLY_NUMBERS
from annot_pipeline.init.optional_fields import find_control, find_task
from annot_pipeline.init.questions import Line, Option, Question, Reading
from annot_pipeline.init.roles import Pairing
from annot_pipeline.init.table import Choice, Column, rounded
from annot_pipeline.init.views import OVER
from annot_pipeline.init.who import FREE_TEXT, Judges, is_free_text

EACH_ROW = "every row is another item"
MOST_JOINED = 6
"""Columns of which two may name the item together."""


class Things(Judges):
    """A view with who judged, and what."""

    def _what(self, pairing: Pairing) -> list[Line]:
        """Return lines for item, system and segment; a question where nothing says them."""
        sheet, inputs = self.sheet, self.inputs()
        items, self.things = self.by_role.get("item", ()), self.named("item")
        systems = [sheet[n] for n in self.named("system")] or inputs.with_role("system")
        systems = [c for c in systems if c.n_distinct > 1 and not roles.are_criteria(c)]
        systems = [c for c in systems if not c.is_unique or self.named("system")]  # an output each
        for judge in self.judges:
            systems = [c for c in systems if not roles.same_thing(sheet, c.name, judge)]
        if any(roles.is_called_id(c.name) for c in systems):  # beside which others are outputs
            systems = [c for c in systems if roles.is_called_id(c.name)]
        last_words = {names.words(c.name)[-1] for c in systems}  # one for each of several outputs
        system = systems[0] if systems and len(last_words) == len(systems) else None
        is_group = system and system.words == {"condition"} and "system" not in self.by_role
        if system and is_group and any(sheet.determines(j, system.name) for j in self.judges):
            options = [Option({"ignore": (system.name,)}, "a group of people")]
            options.append(Option({"system": (system.name,)}, "it made what was judged"))
            text = f"each {self.judge} has one {system.name}"
            self.questions.append(Question("system", text, options, "What is it?"))
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
        is_shared = system and thing and not sheet.determines(thing.name, system.name)
        n_met = sheet.met_by_several([thing.name], system.name) if system and thing else 1.0
        is_rare = is_shared and 2 * n_met < 1
        judge = self.judge or (OVER if OVER in sheet.names else "")
        if (thing is None or is_rare) and system and judge:  # a judge meets each output once
            key, n_once = [judge, system.name], roles.ONCE * len(sheet)
            likely = [n for n in roles.thing_columns(inputs) if n not in key]
            whole = [n for n in likely if sheet.combinations(*key, n) >= n_once]
            whole = [n for n in whole if sheet.combinations(n, judge) < n_once]
            whole = [n for n in whole if not sheet.determines(n, system.name)]
            if whole and all(roles.same_thing(sheet, whole[0], n) for n in whole):
                return self._system_and_segment(system, sheet[whole[0]])
        if system and thing and is_shared:
            return self._system_and_segment(system, thing, ", each with several systems")
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
            candidates = [c.name for c in listed if names.roles(c.name) or not is_free_text(c)]
        paired = combinations(candidates[:MOST_JOINED], 2)
        is_rated = not candidates and self.judge  # such as how alike two are
        pairs, n_once = self._alike_pairs() if is_rated else [*paired], roles.ONCE * len(self.sheet)
        pairs = [p for p in pairs if self.sheet.combinations(*self.judges, *p) >= n_once]
        is_unique = any(self.sheet[n].is_unique for n in candidates)
        is_other = is_unique or (self.judge and not is_rated) or OVER in self.sheet.names
        if is_other or not pairs or (len(pairs) > 1 and not is_rated):
            return []
        for name in pairs[0]:
            self.choice.claim(self.sheet[name])
        self.things = [*pairs[0]]
        joined = {"join": [self.sheet[n].expression for n in pairs[0]], "sep": ":"}
        return [("item", joined, f"{' and '.join(pairs[0])} together are others in every row")]

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
        expressions = [{"row": True} if n == "row" else self.sheet[n].expression for n in items]
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

    def _what_question(self) -> Question:
        ranked = roles.thing_columns(self.inputs())[:4]
        values = [part.to_pydict() for part in self.sheet.parts]
        few = [c.name for c in self.choice.offered() if 2 < c.n_distinct < len(self.sheet)]
        few = [n for n in few if len(values) > 1 and n not in ranked]
        shared = [n for n in few if all({*part[n]} == {*values[0][n]} for part in values)]
        ranked += shared[:4]  # each file has all of them
        options = [Option({"item": (n,)}, roles.spoken(self.sheet[n])) for n in ranked]
        is_one = self.is_one_judge or self.judge is None or self.sheet[self.judge].is_unique
        are_rows = self.view.shape not in ("list", "keys", "parallel")  # of the file, one judgment
        if (is_one and are_rows) or not options:
            n_whole = sum(map(self._is_whole_thing, ranked[:1]))  # else other texts differ in it
            options.insert(n_whole * len(ranked), Option({"item": ("row",)}, EACH_ROW))
        return Question("item", "no column says what was judged", options, "Which one does?")

    def _told_apart(
        self, lines: list[Line], task: list[Line], answers: Sequence[tuple[Column, Reading]]
    ) -> list[Line]:
        """Return lines under which a judge answers a thing once, as far as columns can say."""
        sheet = self.one
        joined = [e["join"] if isinstance(e, dict) and "join" in e else [e] for _, e, _ in task]
        tasks = [n for n in sheet.names if sheet[n].expression in [*chain(*joined)]]
        key = [*self.judges, *self.things, *tasks]
        n_rows = sheet.n_filled(*key)
        share = sheet.combinations(*key) / max(n_rows, 1)
        n_things = sheet.combinations(*self.things)
        n_judges = sheet.combinations(*self.judges) if self.judge else 1
        is_one = n_things == 1 and len(sheet) > n_judges
        has_control = len(self.things) > 1 and find_control(Choice(sheet, [*self.choice.remaining]))
        if (share >= roles.ONCE or has_control) and not is_one:
            return lines
        used = {c.name for c, _ in answers} | {*key}
        offered = [c for c in self.choice.offered() if c.name and c.name not in used]
        telling = roles.telling_columns(sheet, key, offered)
        nearest = telling or self._nearest(key, offered)
        again = [c.name for c in offered if roles.REPEATS & c.words]
        n_again = sheet.combinations(*key, *again) if again else 0
        numbered = [n for n in nearest if self.view.shape == "numbered" and n in self.view.parts]
        if numbered and len(self.things) == 1:
            return self._with_part(lines, sheet[numbered[0]])
        differ = [c.name for c, _ in answers if sheet.differing(key, c.name) > 0]
        if self.named("item") or self.named("segment"):
            ids = [n for n in nearest if roles.is_called_id(n) or _is_part(n)]
            whole = [n for n in ids if sheet.combinations(*key, n) >= roles.ONCE * n_rows]
            is_again = n_again >= roles.ONCE * n_rows or "ignore" in self.by_role
            if whole or (share < roles.RARELY and differ and not is_again):  # most were left out
                self.questions.append(self._apart_question(whole or nearest, share))
            return lines
        parts = [n for n in telling if _is_part(n) and not roles.REPEATS & {*names.words(n)}]
        finer = [n for n in telling if all(sheet.determines(n, t) for t in self.things[1:])]
        if finer and lines[0][0] == "system":  # such as the trial of a source
            if sheet.determines(finer[0], self.things[0]):  # or the id of an output
                self.things = [finer[0]]
                return [self.choice.claim(self.sheet[finer[0]]).line("item"), *lines]
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
        if n_again > roles.RARELY * n_rows and not is_one:  # answered again, as a session says
            return lines
        if share >= roles.RARELY and not telling:
            return lines
        if share >= roles.RARELY and not differ and not is_one:
            return lines
        self.questions.append(self._apart_question(nearest, share))
        return lines

    def _condition_question(self, answers: Sequence[tuple[Column, Reading]]) -> list[Question]:
        """Return the question whether a condition by which answers differ is part of the item.

        Each judge meets every value of a condition equally often; answers are never that even.
        """
        sheet, taken = self.one, {c.name for c, _ in answers}
        if not self.judge or self.named("item") or self.named("segment") or not self.things:
            return []
        for column in self.choice.offered():
            n_cells = sheet.combinations(*self.things, column.name)
            is_met = column.n_distinct > 1 and roles.FEWEST_TOLD * n_cells <= len(sheet)
            is_met = is_met and not roles.is_measured(column) and column.name not in taken
            is_met = is_met and roles.is_even(sheet, self.judge, column.name)
            if is_met and any(roles.explains(sheet, self.things, column.name, n) for n in taken):
                text = f"answers to one {','.join(self.things)} differ by {column.name}"
                return [Question("item", text, self._apart_options([column.name]), "What is it?")]
        return []

    def _crossed(self, answers: Sequence[tuple[Column, Reading]]) -> list[str]:
        """Return what each thing comes in once, where every row is another person's: no person."""
        things, sheet = self.things, self.sheet
        n_things, n_rows = sheet.combinations(*things) if things else 0, len(sheet)
        columns = [c for c in self.choice.offered() if c not in [a for a, _ in answers]]
        columns = [c for c in columns if n_rows >= roles.ONCE * n_things * c.n_distinct > 0]
        n_once = {c.name: sheet.combinations(*things, c.name) for c in columns if c.n_distinct > 1}
        return [n for n in n_once if n_once[n] >= roles.ONCE * n_rows and not sheet.is_unique(n)]

    def _nearest(self, key: Sequence[str], offered: Iterable[Column]) -> list[str]:
        """Return columns that tell rows apart best, though not all."""
        varied = [c for c in offered if 1 < c.n_distinct < len(self.sheet)]
        whole = [c.name for c in varied if not roles.is_measured(c)]
        counts = {n: self.sheet.combinations(*key, n) for n in whole}
        times = names.MEASURED_TIME | {*names.ROLES["submitted_at"]}
        likely = [n for n in whole if not times & {*names.words(n)}]
        likely = [n for n in likely if counts[n] > self.sheet.combinations(*key)]
        return sorted(likely, key=lambda n: -counts[n])[:3]

    def _apart_question(self, telling: Sequence[str], share: float) -> Question:
        thing = ",".join(self.things)
        text = f"judges answer one {thing or 'thing'} {1 / max(share, 1e-9):.1f} times on average"
        whole = self._whole_item()
        options = [Option({"item": whole}, "together they are others in each row of a judge")]
        others = self._apart_options(telling[:2])
        others = [o for o in others if not whole or o.by_role != options[0].by_role]
        options = options * bool(whole) + others
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

    def _apart_options(self, telling: Sequence[str]) -> list[Option]:
        """Return what columns may be that tell the answers to one thing apart."""
        options: list[Option] = []
        own = tuple(self.things)
        for name in telling:
            again = f"judges answer again, whatever {name} is"
            options += [
                Option({"item": (*own, name)}, f"{name} is a part of what was judged"),
                Option({"task": (name,)}, f"each {name} is another question"),
                Option({"system": (name,), "segment": own[:1]}, f"{name} made what was judged"),
                Option({"item": own, "ignore": (name,)}, again),
            ]
            if roles.are_criteria(self.sheet[name], 0.5):
                options.sort(key=lambda o: o.by_role.keys() != {"task"})
        return options

    def _whole_item(self) -> tuple[str, ...]:
        """Return the fewest ids and parts that together differ in each row of a judge."""
        ids = [n for n in self.choice.remaining if roles.is_called_id(n) or _is_part(n)]
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


def _is_part(name: str) -> bool:
    is_named = bool({"item", "segment", "hit"} & names.roles(name).keys())
    return is_named or bool(roles.PARTS & {*names.words(name)})
