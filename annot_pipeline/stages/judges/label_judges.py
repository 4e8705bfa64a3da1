"""Judges of labels or preferences tested without known answers: chance, one answer, copies.

A preference is a label of a pair of outputs: which of the two, by name, is better.

Judges who fail are left out of those whom the others are compared with, and everybody is tested
again, at most `ROUNDS` times: where many answer at random, honest judges seem to agree less than
they do. A judge who does not pass fails only where one who agrees as the judges who pass do would
have passed with a chance of 1 - alpha, and chance explains the answers ten times better than such
care; where luck alone would let so many pass, nothing tells what
a careful judge shows.

Judges are suspected, and do not fail, where the data cannot tell who is right (`suspicions`).
Suspected camps and suspected judges of one answer are no reference for others. What does not belong
here: the arithmetic (methods.judges), what follows from verdicts (control_judges).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from annot_pipeline.arrays import Codes, Flags, Floats
from annot_pipeline.config import Quality
from annot_pipeline.errors import counted
from annot_pipeline.methods.judges.label_chance import LabelChance
from annot_pipeline.methods.judges.label_copies import LabelCopies, groups_of_copies
from annot_pipeline.methods.numerics.multiplicity import adjust, thresholds
from annot_pipeline.stages.judges.control_scores import Units
from annot_pipeline.stages.judges.judge_verdicts import (
    FAILED,
    PASSED,
    UNDETERMINED,
    UNTESTED,
)
from annot_pipeline.stages.judges.suspicions import (
    FEWEST_CONSTANT,
    LOG_CONSTANT_P,
    CampsByAnswers,
    ConstantJudges,
    LabelTask,
    Reasons,
    UncertainItems,
    constant_judges,
    joined_groups,
    label_tasks,
    suspected_camps,
    suspected_remains,
    suspected_together,
    uncertain_items,
    unlinked_judges,
)

ROUNDS = 5
FEWEST_LABELS = 20
"""Shared labels below which no judge fails by chance: the normal of fewer is too coarse."""
ODDS_OF_CHANCE = 10
"""How many times better chance must explain the answers of a judge who fails than care does:
at the least power, 1 in 20 careful judges does not pass, and many of them only just."""
LARGE_SKILL = 0.5
"""Share of the possible agreement; who lacks it is no reference for the others."""
LIKELY = 0.8
"""Power for such a skill, from which on a judge who does not pass is named."""
LUCK = 0.01
"""Chance that so many judges pass by luck, above which they tell no skill."""
FEWEST_JUDGES = 3
"""Of the reference."""
ONE_ANSWER = (
    "the same answer to all items, one that others rarely give, and too few of these items have "
    "answers of others"
)


@dataclass(frozen=True)
class LabelJudges:
    """Verdicts on judges of labels, or preferences; arrays are ``(n_units,)``, NaN where undefined.

    Parameters
    ----------
    verdict
        Place in ``VERDICTS``; untested whose items no other judge judged.
    test
        ``chance``, ``constant`` or ``copies``: what the verdict rests on; None without labels.
    reason
        Why a judge failed, or is undetermined.
    chance
        The test of chance, as sums over tasks.
    p_adjusted
        Its p-values after the correction for many judges.
    power, n_needed
        Chance that a judge with the skill of those who pass has p below alpha; shared labels from
        which on it is 1 - alpha.
    is_random
        Whether p is not below alpha though a judge with a skill of 0.5 would have passed with a
        chance of `LIKELY`; whoever the other judges are.
    is_model
        Whether the judge is a model: its verdict is reported, and its answers stay. Models err
        together.
    is_suspected
        Whether the judge is suspected (`suspicions`), and does not fail.
    is_unlinked
        Whether the judge shares no item with the linked judges that gave most of the labels.
    doubted
        Items that suspected or unlinked judges decide, without answers of those who fail.
    n_answers
        Answers of the judge.
    camps
        Suspected camps, by the answers that they were searched in.
    """

    verdict: Codes
    test: list[str | None]
    reason: list[str | None]
    chance: LabelChance
    p_adjusted: Floats
    power: Floats
    n_needed: Floats
    is_random: Flags
    is_model: Flags
    is_suspected: Flags
    is_unlinked: Flags
    doubted: UncertainItems
    n_answers: Codes
    camps: CampsByAnswers = field(default_factory=dict)

    def joined(self, other: LabelJudges) -> LabelJudges:
        """Return these verdicts, and the other's of whom these say nothing and of who fails there.

        The tests of labels and of preferences, each with its own skill of those who pass.
        """
        is_new = (self.verdict == UNTESTED) & (other.n_answers > 0)
        takes = is_new | ((self.verdict != FAILED) & (other.verdict == FAILED))

        names = ("verdict", "test", "reason", "p_adjusted", "power", "n_needed", "is_random")
        of_both: dict[str, Any] = {
            name: np.where(takes, getattr(other, name), getattr(self, name)) for name in names
        }
        of_both |= {name: of_both[name].tolist() for name in ("test", "reason")}
        pairs = zip(vars(other.chance).values(), vars(self.chance).values(), strict=True)
        return replace(
            self, **of_both,
            chance=LabelChance(*(np.where(takes, new, own) for new, own in pairs)),
            is_model=self.is_model | other.is_model, is_suspected=self.is_suspected & ~takes,
            n_answers=self.n_answers + other.n_answers,
        )  # fmt: skip

    @property
    def suspected_share(self) -> float:
        """Return the share of the items that suspected judges decide."""
        return self.doubted.share(self.is_suspected)

    @property
    def unlinked_share(self) -> float:
        """Return the share of the items that unlinked judges decide."""
        return self.doubted.share(self.is_unlinked)

    @property
    def failed_share(self) -> float:
        """Return the share of the answers that come from people who fail."""
        is_failed = (self.verdict == FAILED) & ~self.is_model
        return float(self.n_answers[is_failed].sum() / max(self.n_answers.sum(), 1))


def without_judges(labelled: LabelJudges, has_verdict: Flags) -> LabelJudges:
    """Return the tests without judges who pass or fail by controls, which take precedence."""
    return replace(
        labelled,
        verdict=np.where(has_verdict, UNTESTED, labelled.verdict),
        is_random=labelled.is_random & ~has_verdict,
        is_suspected=labelled.is_suspected & ~has_verdict,
        is_unlinked=labelled.is_unlinked & ~has_verdict,
    )


def label_judges(
    rows: pa.Table,
    families: dict[str, str],
    models: set[str],
    units: Units,
    quality: Quality,
    earlier_camps: CampsByAnswers | None = None,
    *,
    are_preferences: bool = False,
) -> LabelJudges:
    """Test the judges of labels, or of preferences.

    Parameters
    ----------
    rows
        ``task``, ``judge_id``, ``item``, ``label`` of answers to categorical tasks that count;
        ``adjudicated``: whether an expert has decided the item.
    families
        Declared family by judge_id, of judges who have one.
    models
        judge_id of judges that are models.
    units
        Whom verdicts are about.
    quality
        ``alpha`` and ``correction``.
    earlier_camps
        `LabelJudges.camps` of an earlier build.
    are_preferences
        Whether answers are preferences, an item being a pair of outputs. Tastes differ, and outputs
        may be equally good: nobody is suspected, and only who fails is careless.
    """
    tasks = [*label_tasks(rows, families, models, units)]
    copies = [task.copies() for task in tasks]
    groups = [
        groups_of_copies(pairs_found, task.pair.size)
        for task, pairs_found in zip(tasks, copies, strict=True)
    ]
    copied_by = _copied_by(tasks, copies, groups, units)
    is_copy = np.isin(np.arange(units.size), [*copied_by])
    related = [
        joined_groups(task.families, group) for task, group in zip(tasks, groups, strict=True)
    ]
    suspected, answer = ([], "preference") if are_preferences else (tasks, "label")
    camps, camps_by_answers = suspected_camps(suspected, units, is_copy, earlier_camps or {})
    constant = constant_judges(tasks, units)
    in_camp = np.isin(np.arange(units.size), [*camps])
    excluded = in_camp
    for _ in range(ROUNDS):
        reference = ~(excluded | is_copy)
        test = _Tested.by_units(tasks, related, reference, constant, units, quality, answer)
        if np.isnan(test.typical):  # to leave out who does not agree would choose who does
            break
        before, excluded = excluded, test.is_no_reference | in_camp
        has_few_left = (test.has_labels & ~excluded & ~is_copy).sum() < FEWEST_JUDGES
        if np.array_equal(before, excluded) or has_few_left:
            break
    fails = is_copy | test.is_constant | (test.fails & ~in_camp)
    if are_preferences:
        return replace(
            _verdicts(test, fails, copied_by, {}, tasks, units, quality),
            is_random=fails, is_unlinked=np.zeros(units.size, np.bool_),
            doubted=uncertain_items([], units, fails, fails),
        )  # fmt: skip
    suspicions = camps | dict.fromkeys(np.flatnonzero(test.is_one_answer).tolist(), ONE_ANSWER)
    suspicions = {
        **suspected_remains(tasks, units, fails),
        **suspected_together(tasks, test.of_tasks, units),
        **suspicions,
    }
    labelled = _verdicts(test, fails, copied_by, suspicions, tasks, units, quality)
    return replace(labelled, camps=camps_by_answers)


@dataclass(frozen=True)
class _Tested:
    """The tests of all units, given whom they are compared with."""

    of_tasks: list[LabelChance]
    chance: LabelChance
    p_adjusted: Floats
    alpha: Floats
    least_power: float
    typical: float
    has_labels: Flags
    is_constant: Flags
    is_one_answer: Flags
    answer: str

    @classmethod
    def by_units(
        cls,
        tasks: list[LabelTask],
        groups: list[Codes],
        reference: Flags,
        constant: ConstantJudges,
        units: Units,
        quality: Quality,
        answer: str,
    ) -> _Tested:
        of_tasks = [
            task.chance(group, reference[units.of_pair[task.pair]])
            for task, group in zip(tasks, groups, strict=True)
        ]
        unit = units.of_pair[np.concatenate([np.zeros(0, np.int64), *(t.pair for t in tasks)])]
        whole = _joined_tests(of_tasks).by_unit(unit, units.size)
        has_labels = np.bincount(unit, minlength=units.size) > 0
        by_others = (whole.n >= FEWEST_CONSTANT) & (whole.log_constant < LOG_CONSTANT_P)
        is_constant = constant.is_one & by_others
        p_value = whole.p_value
        test = cls(
            of_tasks, whole, adjust(p_value, quality.correction),
            thresholds(p_value, quality.correction, quality.alpha), 1 - quality.alpha, np.nan,
            has_labels, is_constant, constant.is_rare & ~is_constant, answer,
        )  # fmt: skip
        return replace(test, typical=test._skill_of_passing(quality.alpha))

    @property
    def is_tested(self) -> Flags:
        return np.asarray(self.chance.n >= FEWEST_LABELS)

    @property
    def passes(self) -> Flags:
        return np.asarray(self.chance.n > 1) & (self.chance.p_value < self.alpha)

    @property
    def power(self) -> Floats:
        return self.chance.power(self.typical, self.alpha)

    @property
    def fails(self) -> Flags:
        is_chance = self.chance.log_odds_of_chance(self.typical) >= math.log(ODDS_OF_CHANCE)
        has_power = self.power >= self.least_power
        return np.asarray(self.is_tested & ~self.passes & is_chance & has_power)

    @property
    def is_random(self) -> Flags:
        power = self.chance.power(LARGE_SKILL, self.alpha)
        return self.is_tested & ~self.passes & (power >= LIKELY)

    @property
    def is_no_reference(self) -> Flags:
        power = self.chance.power(LARGE_SKILL, self.alpha)
        by_chance = self.is_tested & ~self.passes & (power >= 1 / 2)
        return by_chance | self.fails | self.is_constant | self.is_one_answer

    def _skill_of_passing(self, alpha: float) -> float:
        """Return the skill of all who pass together; NaN if it cannot be estimated.

        This is so where luck would let so many pass, or where more than luck allows agree less than
        by chance: then most judges err together, and those who do not agree may be right.
        """
        from scipy.special import bdtrc

        some = self.is_tested & self.passes & ~self.is_constant & ~self.is_one_answer
        n, n_tested = int(some.sum()), int(self.is_tested.sum())
        if not n or bdtrc(n - 1, n_tested, alpha) >= LUCK:
            return np.nan
        n_below = int((self.is_tested & (1 - self.chance.p_value < alpha)).sum())
        if n_below and bdtrc(n_below - 1, n_tested, alpha) < LUCK:
            return np.nan
        excess = (self.chance.agreement - self.chance.expected)[some].sum()
        return float(min(1.0, excess / self.chance.room[some].sum()))


def _joined_tests(tests: list[LabelChance]) -> LabelChance:
    names = LabelChance.__dataclass_fields__
    return LabelChance(*(
        np.concatenate([np.zeros(0), *(getattr(test, name) for test in tests)]) for name in names
    ))  # fmt: skip


def _copied_by(
    tasks: list[LabelTask], copies: list[LabelCopies], groups: list[Codes], units: Units
) -> dict[int, str]:
    """Return judges who copy, by unit, with the reason; of a group the most active one stays."""
    reasons: dict[int, str] = {}
    for task, pairs_found, group in zip(tasks, copies, groups, strict=True):
        n = np.bincount(task.judges, minlength=task.pair.size)
        for code in np.unique(group[pairs_found.first]).tolist():
            members = np.flatnonzero(group == code)
            stays = members[np.argmax(n[members])]
            name = units.judge.names[units.pairs.second[task.pair[stays]]]
            for member in members[members != stays].tolist():
                at = np.flatnonzero((pairs_found.first == member) | (pairs_found.second == member))
                best = at[np.argmax(pairs_found.denials[at])]
                reasons[int(units.of_pair[task.pair[member]])] = (
                    f"copies: {pairs_found.agreed[best]:,} of "
                    f"{counted(int(pairs_found.shared[best]), 'answer')} equal those of {name} or "
                    f"of judges who copy; {pairs_found.denials[best]:,} differ from the majority"
                )
    return reasons


def _verdicts(
    test: _Tested,
    fails: Flags,
    copied_by: dict[int, str],
    suspicions: Reasons,
    tasks: list[LabelTask],
    units: Units,
    quality: Quality,
) -> LabelJudges:
    chance, n = test.chance, units.size
    is_suspected = np.isin(np.arange(n), [*suspicions]) & ~fails
    verdict = np.select(
        [fails, is_suspected, test.passes, test.has_labels & (chance.n > 0)],
        [FAILED, UNDETERMINED, PASSED, UNDETERMINED],
        UNTESTED,
    )
    power, needed = test.power, _labels_needed(chance, test.typical, quality.alpha)
    n_needed = np.where((verdict == UNDETERMINED) & ~is_suspected, needed, np.nan)
    tests: list[str | None] = [None] * n
    reasons: list[str | None] = [None] * n
    for unit in np.flatnonzero(test.has_labels).tolist():
        tests[unit] = "chance" if verdict[unit] != UNTESTED else None
        if unit in copied_by:
            tests[unit], reasons[unit] = "copies", copied_by[unit]
        elif test.is_constant[unit]:
            p = math.exp(max(chance.log_constant[unit], -700.0))
            tests[unit] = "constant"
            reasons[unit] = (
                f"constant: one answer to all {int(chance.n[unit]):,} items; p = {p:.1g} by the "
                "answers of the others"
            )
        elif fails[unit]:
            reasons[unit] = f"chance: {_agreement(test, unit)}"
        elif is_suspected[unit]:
            reasons[unit] = f"suspected: {suspicions[unit]}"
        elif verdict[unit] == UNTESTED:
            reasons[unit] = f"no {test.answer} of an item that others judged"
        elif verdict[unit] == UNDETERMINED:
            reasons[unit] = _undetermined(test, power, needed, unit)
    is_model = np.zeros(n, np.bool_)
    for task in tasks:
        is_model[units.of_pair[task.pair]] = task.is_model
    counts = ~fails | is_model if quality.labels == "drop" else np.ones(n, np.bool_)
    is_unlinked = unlinked_judges(tasks, units) & ~is_suspected & ~fails
    answers = np.concatenate([np.zeros(0, np.int64), *(t.pair[t.judges] for t in tasks)])
    return LabelJudges(
        verdict, tests, reasons, chance, test.p_adjusted, power, n_needed,
        test.is_random | test.is_constant, is_model, is_suspected, is_unlinked,
        uncertain_items(tasks, units, is_suspected | is_unlinked, counts),
        np.bincount(units.of_pair[answers], minlength=n),
    )  # fmt: skip


def _agreement(test: _Tested, unit: int) -> str:
    """Return what a judge's agreement is, what chance and care would make it, and the p-value."""
    chance, n = test.chance, test.chance.n[unit]
    careful = chance.expected[unit] + test.typical * chance.room[unit]
    return (
        f"agrees with {chance.agreement[unit] / n:.0%} of others' answers (by chance "
        f"{chance.expected[unit] / n:.0%}, as judges who pass {careful / n:.0%}; "
        f"{counted(int(n), test.answer)}, p = {chance.p_value[unit]:.2g})"
    )


def _undetermined(test: _Tested, power: Floats, needed: Floats, unit: int) -> str:
    n_shared = counted(int(test.chance.n[unit]), test.answer)
    if np.isnan(test.typical):
        return "no judge agrees enough with the others to decide who is right"
    text = f"{n_shared} of items that others judged"
    if np.isfinite(needed[unit]):
        text += f", {needed[unit]:,.0f} are needed"
    if test.chance.n[unit] < FEWEST_LABELS:
        return text
    if power[unit] >= test.least_power:
        return f"between chance and care: {_agreement(test, unit)}"
    return f"{text}: the power is {power[unit]:.2g}, {test.least_power:g} is needed"


def _labels_needed(chance: LabelChance, skill: float, alpha: float) -> Floats:
    """Return the shared labels from which on the power is 1 - alpha, in the judge's mixture."""
    from scipy.special import ndtri

    sd = np.sqrt(chance.variance)
    shift = np.divide(skill * chance.room, sd, out=np.full(sd.shape, np.nan), where=sd > 0)
    with np.errstate(divide="ignore"):
        n = np.ceil(chance.n * (2 * ndtri(1 - alpha) / shift) ** 2)
    return np.where(shift > 0, np.maximum(np.maximum(n, FEWEST_LABELS), chance.n + 1), np.nan)
