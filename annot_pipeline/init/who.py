"""Who judged: the column of judges and that of things, by what cells hold; else the question."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import pyarrow.compute as pc

from annot_pipeline.config.judges import model_families
from annot_pipeline.errors import first_of
from annot_pipeline.init import names, roles
from annot_pipeline.init.alike import largest_group, share_values
from annot_pipeline.init.questions import Line, Option, Question, Roles
from annot_pipeline.init.roles import Candidate, Pairing
from annot_pipeline.init.table import Choice, Column, Sheet, rounded
from annot_pipeline.init.views import MOST_COLUMNS, OVER, View, grid_view, pairs_among

MTURK_ANSWER, MTURK_INPUT = "Answer.", "Input."
FREE_TEXT = 20
"""Mean number of characters of answers that may be labels although hardly any repeats."""
BESIDE = roles.PERSONAL | names.WORDS["remarks"] | names.MEASURED_TIME
"""Words of columns that differ from row to row without saying who judged, or what."""
MEANS = frozenset({"mean", "avg", "average", "std", "sd", "stdev", "median", "ci", "var", "sem"})
BARE_ID = 0.6
"""How much it says of a thing that it is an id of something: more than that it is a text."""


class Judges:
    """A view, its columns that are not mapped yet, and who judged."""

    rivals: Sequence[str] = ()
    pairs: Sequence[Pairing] = ()
    candidates: Sequence[Candidate] = ()
    thing_note = ""

    def __init__(self, view: View, format_: str, by_role: Roles) -> None:
        self.view, self.sheet, self.format = view, view.sheet, format_
        self.by_role = by_role
        ignored = {*by_role.get("ignore", ())}
        taken = {name for role, names_ in by_role.items() for name in names_ if role != "each"}
        remaining = self.sheet.names[:MOST_COLUMNS]
        remaining += [n for n in self.sheet.names[MOST_COLUMNS:] if names.roles(n)]
        remaining = [n for n in remaining if n not in ignored | taken | {OVER}]
        self.choice = Choice(self.sheet, remaining)
        self.is_mturk = format_ == "mturk"
        self.one = self.sheet.part(0) if len(self.sheet.parts) > 1 else self.sheet
        self.questions: list[Question] = []
        self.notes: list[str] = []
        self.judge: str | None = None
        self.things: list[str] = []
        judges = by_role.get("judge", ("",))
        self.is_one_judge = judges[0][:1] == "=" or judges == ("file",)

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

    def _answers_given(self) -> bool:
        return any(self.by_role.get(role) for role in ("label", "score"))

    def _is_answer_name(self, name: str) -> bool:
        if self.is_mturk:
            return name.startswith(MTURK_ANSWER)
        return "answer" in names.roles(name)

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
            systems = [c for c in systems if not names.WORDS["judged"] & c.words]
            judges = [c.name for c in systems if roles.are_models(c)][:1]
        likely = [n for n in judges if names.likelihood(n, "judge")]
        columns = [self.sheet[n] for n in judges]
        people = [c for c in columns if roles.are_models(c) or roles.are_people(c)]
        is_named = bool(self.named("judge") or likely or people)
        judge = judges[0] if judges and is_named else None
        self.pairs = ranked = roles.pairings(self.choice, judges, things)
        self.is_one_judge |= bool(judge) and all(self.sheet[n].n_distinct == 1 for n in judges)
        if not ranked or (judge and self.is_one_judge):
            return Pairing(judge, self._thing_alone(things))
        if is_named:
            return self._clear_thing(ranked)
        columns = [self.sheet[name] for name in self.sheet.names]
        is_nameless = all(c.name == f"c{n}" for n, c in enumerate(columns, start=1))
        sure = [p for p in ranked if self._is_sure(p)]
        sure = [p for p in sure if is_nameless or roles.are_ids(self.sheet[p.judge or ""])]
        rivals = {p.judge for p in sure if p.score > sure[0].score - roles.CLEARLY}
        is_ratio = sure and self.sheet.combinations(sure[0].thing or "") >= (
            roles.FEWEST_RATIO * self.sheet.combinations(sure[0].judge or "")
        )
        if len(rivals) == 1 and is_ratio:
            text = f"{sure[0].judge} is taken for the judge by what its cells hold: {sure[0]}"
            self.notes.append(text)
            return sure[0]
        self.rivals = list(dict.fromkeys(p.judge for p in ranked if p.judge))
        return Pairing(None, self._thing_alone(things))

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
        near = [p for p in ranked[1:] if p.score > best.score - roles.CLEARLY]
        rivals = [p.thing for p in near if p.judge == best.judge and p.thing]
        rivals += [n for n, _ in self._alike_pairs()]
        rivals = [n for n in rivals if not self.sheet.determines(thing, n)]
        met = best.signs.get("things meet several judges", 0) > 0
        met = met and best.signs.get("judge recurs", 0) > 0
        if not met or rivals:
            return Pairing(best.judge, None)
        self.thing_note = f"{thing} is taken for what was judged by what its cells hold: {best}"
        return best

    def _thing_alone(self, things: Sequence[str]) -> str | None:
        """Return what was judged where nobody is known to have judged it."""
        ids = [t for t in things if roles.is_called_id(t) and self.sheet.is_unique(t)]
        ids = ids * self.is_one_judge
        kinds = {"item", "segment", "text"}
        named = [t for t in things if t in ids or names.roles(t).keys() & kinds]
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
        n_things, offered = self.sheet[name].n_distinct, self.choice.offered()
        texts = [c.name for c in offered if c.name != name and is_free_text(c, more_than=n_things)]
        texts = [t for t in texts if "answer" not in names.roles(t)]
        words = {t: {*names.words(t)} for t in texts}
        texts = [t for t in texts if t.startswith(MTURK_INPUT) or not roles.NO_ANSWER & words[t]]
        key = (name, *(c.name for c in self.inputs().with_role("system")))
        n = self.sheet.combinations(*key)
        return all(self.sheet.combinations(*key, text) <= n for text in texts)

    def _alike_pairs(self) -> list[tuple[str, str]]:
        """Return the columns of two things of one kind that stand in a row."""
        pairs = [pair[2:] for pair in pairs_among(self.inputs().remaining)]
        return [p for p in pairs if share_values([self.sheet[n] for n in p])]

    def _judge_line(self, pairing: Pairing) -> Line:
        by_role = self.by_role.get("judge", ())
        if self.view.shape in ("columns", "grid") and by_role == ("each",):
            self.judge = OVER
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
        answers = {c.column.name for c in named or largest_group(every, every) if not c.is_fixed}
        others = [c for c in self.choice.offered() if c.name not in answers and not c.is_unique]
        telling = [c.name for c in others if not BESIDE & c.words]
        telling = [n for n in telling if n != thing and not self._is_answer_name(n)]
        telling += [thing, *(n for n in self.named("system") if n != thing)]
        n_different = Sheet([self.sheet.table.select(telling)]).n_different
        may_be_named = len(self.sheet.parts) > 1 or self.choice.among(is_judge_name).offered()
        return bool(answers) and not may_be_named and 2 * n_different <= len(self.sheet)

    def _who(self, thing: str | None) -> Question:
        """Return the question who judged, with what may be it."""
        sheet = self.sheet
        things = [thing] if thing else []
        answers = roles.answer_columns(self.choice, things, None, None)
        systems = [c.name for c in self.inputs().with_role("system") if c.n_distinct > 1]
        systems += self.named("system")
        recurs = thing and sheet.combinations(thing) < len(sheet)
        is_met_again = recurs and sheet.combinations(*things, *systems) < roles.ONCE * len(sheet)
        likely = [c.column.name for c in answers if not c.is_fixed or not recurs]
        likely = [n for n in likely if not self.is_mturk or n.startswith(MTURK_ANSWER)]
        offered = [c.name for c in self.choice.offered() if roles.may_be_judge(sheet, c)]
        said = [n for n in likely if self._is_answer_name(n) or sheet[n].is_whole] or likely
        offered = [n for n in [*self.rivals, *offered] if n not in said or roles.are_ids(sheet[n])]
        one = [c.name for c in self.choice.offered() if c.n_distinct == 1 and roles.are_models(c)]
        offered.sort(key=lambda n: not roles.may_name_people(sheet[n]))
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
        if len(classes) > 1 and all(agreement(sheet, classes[0], c) > 0 for c in classes[1:]):
            alike.append(tuple(c.name for c in classes))
        models = tuple(model_families(c.name for c in columns))
        alike += [models] * (len(models) > 1 and models not in alike)
        options = [Option({"each": f, "judge": ("each",)}, "each column is a judge") for f in alike]
        options += [Option({"judge": (n,)}, roles.spoken(sheet[n])) for n in ranked]
        if is_met_again or not thing or pairs_among(sheet.names):
            options.append(Option({"judge": ("anonymous",)}, "every row is another person's"))
        options.append(Option({"judge": ("=NAME",)}, "one judge, so named, gave all answers"))
        words = [sheet[n] for n in ranked if n not in one and not sheet[n].is_whole]
        described = [c.name for c in words if not roles.may_name_people(c)]
        recurring = [t for t in roles.thing_columns(self.inputs()) if not sheet.is_unique(t)]
        both = [(n, t) for n in ranked for t in recurring if n != t and sheet.determines(t, n)]
        described += [n for n in ranked if roles.has_properties(self.choice, n)]
        described += [  # unless both are ids of one person
            n for n, t in both if not (roles.are_ids(sheet[t]) and sheet.determines(n, t))
        ]  # fmt: skip
        options.sort(key=lambda o: o.by_role["judge"][0] in described)  # these come last
        text = "no column says who judged"
        named = [sheet[n] for n in sheet.names if is_judge_name(n)]
        blank = [c.name for c in named if len(c.filled) <= c.n_blank]
        if blank:
            rows = f"{sheet[blank[0]].n_blank:,} rows" if sheet[blank[0]].counts else "all rows"
            text += f"; {', '.join(blank)}, which may be meant for it, is blank in {rows}"
        if likely:
            text += f"; answers look to be in {first_of(likely, 8)}"
        means = [n for n in sheet.names if MEANS & sheet[n].words and sheet[n].numeric_share > 0.9]
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


def is_judge_name(name: str) -> bool:
    """Return whether a column is called as those of judges are."""
    return "judge" in names.roles(name)


def is_free_text(column: Column, *, more_than: float = math.inf) -> bool:
    """Return whether hardly any answer repeats, and answers are longer than a few words.

    Or more than so many are different.
    """
    is_varied = 2 * column.n_distinct > len(column.filled) or column.n_distinct > more_than
    return is_varied and column.numeric_share < 1 and column.mean_length > FREE_TEXT


def agreement(sheet: Sheet, one: Column, other: Column) -> float:
    """Return by how much two columns hold the same more often than by chance, at most 1."""
    is_same = pc.equal(sheet.table.column(one.name), sheet.table.column(other.name))
    by_chance = sum(n * other.counts.get(value, 0) for value, n in one.counts.items()) / len(sheet)
    return ((pc.sum(is_same).as_py() or 0) - by_chance) / max(len(sheet) - by_chance, 1)
