"""Which columns hold answers, and how each answers."""

from __future__ import annotations

from collections.abc import Sequence, Set

from annot_pipeline.errors import first_of
from annot_pipeline.init import alike, names, optional_fields, roles
from annot_pipeline.init.answers import MOST_LABELS, MOSTLY_NUMBERS, answer_as, answer_in, kind_of
from annot_pipeline.init.questions import Question, Reading
from annot_pipeline.init.roles import Candidate
from annot_pipeline.init.table import Column, Sheet
from annot_pipeline.init.views import MOST_COLUMNS, parsed
from annot_pipeline.init.what import Things
from annot_pipeline.init.who import MTURK_ANSWER, is_free_text
from annot_pipeline.init.written_numbers import with_numbers

HARDLY = 0.1
"""How often a column differs at least, as a share of how often the most varied answers do."""
COMMENTS, FLAGS = (
    names.WORDS["remarks"],
    optional_fields.SUCCESS | optional_fields.FAILURE | optional_fields.UNSCORED,
)
WORK_TIME = "WorkTimeInSeconds"
ANOTHER = "another answer? give it as --label or --score, too"


class Answers(Things):
    """A view with who judged what, and the answers."""

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
        first = chosen[0].column if chosen else None
        like = first.counts.keys() if first and alike.has_steps(first) else {*()}
        rest = roles.NO_ANSWER - roles.PERSONAL
        personal = self._answer_columns(truth, rest, like) if chosen else []
        personal = [c for c in personal if c.is_sure or self.is_one_judge]  # called so, but answers
        personal = [c for c in personal if chosen[0].column.counts.keys() & c.column.counts.keys()]
        personal = [c for c in personal if alike.are_alike([chosen[0], c])]
        chosen += [c for c in personal if c.column.name not in candidates]
        if self.view.shape == "grid":  # whose judges may have said the same to all
            same = [c for c in likely if chosen and alike.are_alike([chosen[0], c])]
            chosen = [c for c in likely if c in chosen or c in same]
        rare = [c for c in chosen if isinstance(c.column.expression, dict)]
        if any(2 * c.column.n_blank > len(self.sheet) for c in rare):  # whose blanks are rejected
            self.questions.append(alike.which_answers(chosen))
        pairs = self._map([c.column for c in chosen], truth)
        if pairs and not chosen[0].is_named:
            listed = first_of([column.name for column, _ in pairs])
            self.notes.append(f"taken for answers by what the cells hold: {listed}")
        return pairs

    def _map(self, columns: Sequence[Column], truth: Column | None) -> list[tuple[Column, Reading]]:
        """Claim columns that hold answers, and return how each answers."""
        pairs = [(c, answer) for c in columns if (answer := self._answer(c, truth))]
        if len(pairs) > 1 and alike.have_steps(self.sheet, [c for c, _ in pairs]):
            pairs = [(c, answer_as(c, "scalar")) for c, _ in pairs]
        classes = [c for c, answer in pairs if answer.kind == "categorical"]
        unclear = [c.name for c in classes if alike.is_scale(self.sheet, self.things, c) is None]
        if unclear:
            self.questions.append(alike.labels_or_scores(pairs, unclear))
        for column, _ in pairs:
            self.choice.claim(column)
        return pairs

    def _answer_columns(self, truth: Column | None, *words: Set[str]) -> list[Candidate]:
        """Return the columns that may be answers, of those that ``each`` makes if it does."""
        sheet, parts, things = self.sheet, self.view.parts, self.things
        likely = roles.answer_columns(self.choice, things, self.judge, truth, *words)
        filled = [sheet[n] for n in sheet.names[:MOST_COLUMNS] if sheet[n].n_blank]
        likely = [c for c in likely if not any(_marks_blanks(sheet, c.column, o) for o in filled)]
        varied = [c.column for c in likely if not c.is_fixed]
        keys = [sheet[n] for n in sheet.names if sheet[n] not in varied]
        checks = [f for f in varied for o in varied if alike.is_check_of(sheet, f, o, keys)]
        likely = [c for c in likely if c.column.name and c.column not in checks]
        inner = [c for c in likely if c.column.name in parts]
        return inner if parts else [c for c in likely if not c.column.ascends]

    def _answer(self, column: Column, truth: Column | None) -> Reading | None:
        inner = [parsed(value) for value in column.counts] if self.view.each else []
        if any(isinstance(one, list) and len(one) > 1 for one in inner):
            return None  # several answers within one of several
        answer = answer_in(column, truth)
        sheet = with_numbers(self.sheet, column.name)
        numbers = sheet[column.name]
        if numbers.expression != column.expression and kind_of(numbers, truth) == "scalar":
            return answer_as(numbers, "scalar")
        if answer and answer.kind == "categorical" and alike.is_scale(sheet, self.things, numbers):
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
            sure = alike.without_copies(self.sheet, sure)
            numbers = [c for c in sure if c.column.numeric_share > MOSTLY_NUMBERS]
            is_numbered = self.view.shape == "numbered"
            group = numbers[:1] * is_numbered or alike.largest_group(found, sure)
            if not sure and self.is_one_judge:  # whose answers nothing but their names tells apart
                group = alike.largest_group(varied, varied)
            values = group[0].column.counts.keys() if group else {*()}
            if len(values) > 2:  # of whose scale some hardly ever differ
                same = [c for c in everything if c.column.counts.keys() == values]
                group = [c for c in found if c in group or c in same]
            if group:
                unlike = [c for c in self.choice.offered() if c not in [f.column for f in found]]
                has_alike = any(alike.share_values([group[0].column, c]) for c in unlike)
                if sure != everything and has_alike:
                    self.questions.append(alike.which_answers(group))  # names alone leave some out
                if rest := [c for c in sure or varied if c not in group]:
                    self.notes.append(f"{ANOTHER}: {first_of([c.column.name for c in rest])}")
                return group
            same = [c for c in found if sure and c not in sure and alike.are_alike([sure[0], c])]
            if (is_met_once and same) or (len(sure) > 1 and not alike.are_alike(sure)):
                self.questions.append(alike.which_answers([*sure, *(same if is_met_once else [])]))
            return sure or (varied if len(varied) == 1 else [])
        first = named[0]
        others = [c for c in varied if c is not first and c.is_sure]
        others = alike.without_copies(self.sheet, [first, *others])[1:]
        is_few = first.column.n_distinct <= MOST_LABELS  # beside which a measured time is no score
        coarse = [c for c in others if c.is_named and not (is_few and alike.is_finer(c.column))]
        likewise = [c for c in others if c in coarse or alike.are_alike([first, c])]
        likewise = [c for c in likewise if c.is_named or not alike.is_narrow(first, c)]
        kin = [c for c in alike.kin_of(first, varied) if c not in (first, *likewise)]
        likewise += kin * (len(kin) + len(likewise) + 1 >= alike.FEWEST_QUESTIONS)
        rivals = [c for c in found if c not in (first, *likewise) and (c.is_named or c.is_sure)]
        sure = [c for c in rivals if c.is_sure and "rank" not in names.roles(c.column.name)]
        sure = sure if len(sure) >= alike.FEWEST_QUESTIONS and alike.are_alike(sure) else []
        if not sure and self.is_one_judge:  # whose answers nothing tells from a description
            likely = varied if roles.WEAK & first.column.words else named
            likely = [c for c in likely if c not in (first, *likewise)]
            sure = alike.without_copies(self.sheet, [first, *likely])[1:]
        key = [*self.judges, *self.things] * (self.view.shape == "rows")
        is_once = bool(key) and self.sheet.combinations(*key) >= roles.ONCE * len(self.sheet)
        few = [c for c in rivals if is_once and c.is_sure and not c.column.numeric_share]
        few = [c for c in few if c.column.n_distinct <= MOST_LABELS]
        sure = sure or few or [c for c in rivals if c.is_named and alike.is_finer(c.column)]
        sure = sure or [c for c in rivals if is_met_once and "json" in c.column.mapping]
        if sure:
            self.questions.append(alike.which_answers([first, *likewise, *sure]))
        elif rivals:
            self.notes.append(f"{ANOTHER}: {first_of([c.column.name for c in rivals])}")
        return [first, *likewise]

    def _mturk_answers(self, truth: Column | None) -> list[tuple[Column, Reading]]:
        """Return the questions of a HIT: of one kind, since a HIT asks for one, or as labels."""
        sheet = self.sheet
        named = self.choice.among(lambda n: n.startswith(MTURK_ANSWER)).offered()
        named = [c for c in named if not self.view.parts or c.name in self.view.parts]
        filled = {roles.form(c.name) for c in named if len(c.filled) > c.n_blank}
        named = [c for c in named if roles.form(c.name) in filled and c.counts]
        named = [c for c in named if not {*c.counts} <= roles.EMPTY]
        named = [c for c in named if not names.MEASURED_TIME & c.words and not _is_time(sheet, c)]
        own = [c for c in named if roles.PERSONAL & c.words and self.judge]
        own = [c for c in own if sheet.determines(self.judge or "", c.name)]  # the worker's
        named = [c for c in named if c not in own] or named
        remarks = [c for c in named if c.numeric_share < 1 and COMMENTS & c.words]
        texts = [c for c in named if is_free_text(c) or c in remarks]
        answers = [c for c in named if c not in texts]
        if self.things:
            varied = [c for c in answers if not roles.are_fixed(self.sheet, self.things, c.name)]
            asked = [c for c in answers if any(c.counts.keys() <= v.counts.keys() for v in varied)]
            answers = asked or answers  # to one of several, all may have said the same
        if texts and answers:
            self.notes.append(f"free text, no question: {', '.join(c.name for c in texts)}")
        return self._map(answers, truth)

    def _answer_question(self) -> Question:
        named = [c for c in self.choice.offered() if self._is_answer_name(c.name)]
        shown = {c.name: f"{c.n_distinct:,} different, {c.mean_length:,.0f}" for c in named[:5]}
        sizes = ", ".join(f"{name} ({size} characters on average)" for name, size in shown.items())
        how = "free text or several answers in a cell (which each, json and match can split)"
        text = "no column says what was answered" + f"; {how}: {sizes}" * bool(named)
        rest = [c.column for c in self.candidates if not c.is_fixed]
        rest = rest or self.choice.with_role("truth")[:1]  # which says whether it is correct
        options = alike.answer_options(rest) if rest else []
        return Question("label", text, options, "Which column does?")


def _is_time(sheet: Sheet, column: Column) -> bool:
    """Return whether a field of a HIT holds seconds: hardly any recurs, within the assignment's."""
    if WORK_TIME not in sheet.names or column.numeric_share < 1 or column.is_whole:
        return False
    is_within = sheet.numbers(column.name) <= sheet.numbers(WORK_TIME) + 1
    return bool(is_within.mean() > MOSTLY_NUMBERS < column.n_distinct / len(column.filled))


def _marks_blanks(sheet: Sheet, flag: Column, answer: Column) -> bool:
    """Return whether a column says that an answer failed, just where another is blank."""
    values, is_there = sheet.codes(flag.name), sheet.codes(answer.name) >= 0
    is_flag = FLAGS & flag.words and flag.n_distinct == 2 and not flag.n_blank
    return bool(is_flag) and not {*values[is_there]} & {*values[~is_there]}
