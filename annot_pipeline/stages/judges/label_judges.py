"""Judges of labels tested without known answers: chance, constant answers, copies.

Judges who fail are left out of those whom the others are compared with, and everybody is tested
again, at most `ROUNDS` times: where many answer at random, honest judges seem to agree less than
they do. A judge who does not pass fails only where one who agrees as the judges who pass do would
have passed with a chance of 1 - alpha; where luck alone would let so many pass, nothing tells what
a careful judge shows.

A judge of one answer is suspected, and does not fail, where nobody else judged the same items but
others of one answer: the data cannot tell who is right. What does not belong here: the arithmetic
(methods.judges), what follows from verdicts (control_judges).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from annot_pipeline.config import Quality
from annot_pipeline.errors import counted
from annot_pipeline.methods.judges.label_chance import LabelChance, label_chance
from annot_pipeline.methods.judges.label_copies import (
    LabelCopies,
    groups_of_copies,
    label_copies,
)
from annot_pipeline.runtime.indexing import index
from annot_pipeline.stages.judges.control_samples import Units
from annot_pipeline.stages.judges.verdict_reasons import (
    FAILED,
    PASSED,
    UNDETERMINED,
    UNTESTED,
)

Codes = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

ROUNDS = 5
FEWEST_LABELS = 20
"""Shared labels below which no judge fails by chance: the normal of fewer is too coarse."""
FEWEST_CONSTANT = 15
CONSTANT_P = 1e-4
LARGE_SKILL = 0.5
"""Share of the possible agreement; who lacks it is no reference for the others."""
LIKELY = 0.8
"""Power for such a skill, from which on a judge who does not pass is named."""
LUCK = 0.01
"""Chance that so many judges pass by luck, above which they tell no skill."""
FEWEST_JUDGES = 3
"""Of the reference."""


@dataclass(frozen=True)
class LabelJudges:
    """Verdicts on judges of labels; arrays are ``(n_units,)``, NaN where undefined.

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
    power, n_needed
        Chance that a judge with the skill of those who pass has p below alpha; shared labels from
        which on it is 1 - alpha.
    is_random
        Whether p is not below alpha though a judge with a skill of 0.5 would have passed with a
        chance of `LIKELY`; whoever the other judges are.
    is_suspected
        Whether the judge gives one answer that the others rarely give, with nobody to tell.
    suspected_share
        Share of the items of all tasks of which suspected judges gave half of the answers or more.
    """

    verdict: Codes
    test: list[str | None]
    reason: list[str | None]
    chance: LabelChance
    power: Floats
    n_needed: Floats
    is_random: Flags
    is_suspected: Flags
    suspected_share: float


def without_judges(labelled: LabelJudges, has_verdict: Flags) -> LabelJudges:
    """Return the same without suspicions of judges who have a verdict by controls."""
    is_suspected = labelled.is_suspected & ~has_verdict
    share = labelled.suspected_share if is_suspected.any() else 0.0
    return replace(
        labelled,
        is_random=labelled.is_random & ~has_verdict,
        is_suspected=is_suspected,
        suspected_share=share,
    )


@dataclass(frozen=True)
class _Task:
    """Answers of one task, as codes; ``pair`` is the task and judge of each local judge."""

    items: Codes
    judges: Codes
    labels: Codes
    n_items: int
    n_labels: int
    pair: Codes
    families: Codes

    def chance(self, groups: Codes, reference: Flags) -> LabelChance:
        return label_chance(
            self.items, self.judges, self.labels, n_items=self.n_items, n_judges=self.pair.size,
            n_labels=self.n_labels, groups=groups, reference=reference,
        )  # fmt: skip

    def copies(self) -> LabelCopies:
        """Return the pairs who copy; judges who always give one answer agree without copying."""
        table = np.zeros((self.pair.size, self.n_labels))
        np.add.at(table, (self.judges, self.labels), 1)
        varies = ((table > 0).sum(axis=1) > 1)[self.judges]
        return label_copies(
            self.items[varies], self.judges[varies], self.labels[varies], n_items=self.n_items,
            n_judges=self.pair.size, n_labels=self.n_labels,
        )  # fmt: skip


def label_judges(
    rows: pa.Table, families: dict[str, str], units: Units, quality: Quality
) -> LabelJudges:
    """Test the judges of labels.

    Parameters
    ----------
    rows
        ``task``, ``judge_id``, ``item``, ``label`` of answers to categorical tasks that count.
    families
        Declared family by judge_id, of judges who have one.
    units
        Whom verdicts are about.
    quality
        ``alpha``.
    """
    tasks = [*_tasks(rows, families, units)]
    copies = [task.copies() for task in tasks]
    groups = [
        groups_of_copies(pairs_found, task.pair.size)
        for task, pairs_found in zip(tasks, copies, strict=True)
    ]
    copied_by = _copied_by(tasks, copies, groups, units)
    is_copy = np.isin(np.arange(units.size), [*copied_by])
    related = [_joined(task.families, group) for task, group in zip(tasks, groups, strict=True)]
    excluded = np.zeros(units.size, np.bool_)
    for _ in range(ROUNDS):
        reference = ~(excluded | is_copy)
        test = _Tested.by_units(tasks, related, reference, units, quality.alpha)
        if np.isnan(test.typical):  # to leave out who does not agree would choose who does
            break
        before, excluded = excluded, test.is_no_reference
        has_few_left = (test.has_labels & ~excluded & ~is_copy).sum() < FEWEST_JUDGES
        if np.array_equal(before, excluded) or has_few_left:
            break
    return _verdicts(test, copied_by, tasks, units, quality)


@dataclass(frozen=True)
class _Tested:
    """The tests of all units, given whom they are compared with."""

    chance: LabelChance
    alpha: float
    typical: float
    has_labels: Flags
    is_constant: Flags
    is_suspected: Flags

    @classmethod
    def by_units(
        cls, tasks: list[_Task], groups: list[Codes], reference: Flags, units: Units, alpha: float
    ) -> _Tested:
        of_tasks = [
            task.chance(group, reference[units.of_pair[task.pair]])
            for task, group in zip(tasks, groups, strict=True)
        ]
        unit = units.of_pair[np.concatenate([np.zeros(0, np.int64), *(t.pair for t in tasks)])]
        whole = _joined_tests(of_tasks).by_unit(unit, units.size)
        has_labels = np.bincount(unit, minlength=units.size) > 0
        constant = _constants(tasks, units)
        by_others = (whole.n >= FEWEST_CONSTANT) & (whole.log_constant < math.log(CONSTANT_P))
        is_constant = constant.is_one & by_others
        suspected = constant.is_one & ~is_constant & constant.is_rare
        test = cls(whole, alpha, np.nan, has_labels, is_constant, suspected)
        return replace(test, typical=test._skill_of_passing())

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
        return self.is_tested & ~self.passes & (self.power >= 1 - self.alpha)

    @property
    def is_random(self) -> Flags:
        power = self.chance.power(LARGE_SKILL, self.alpha)
        return self.is_tested & ~self.passes & (power >= LIKELY)

    @property
    def is_no_reference(self) -> Flags:
        power = self.chance.power(LARGE_SKILL, self.alpha)
        by_chance = self.is_tested & ~self.passes & (power >= 1 / 2)
        return by_chance | self.fails | self.is_constant | self.is_suspected

    def _skill_of_passing(self) -> float:
        """Return the skill of all who pass together; NaN where luck would let so many pass."""
        from scipy.special import bdtrc

        some = self.is_tested & self.passes & ~self.is_constant & ~self.is_suspected
        n, n_tested = int(some.sum()), int(self.is_tested.sum())
        if not n or bdtrc(n - 1, n_tested, self.alpha) >= LUCK:
            return np.nan
        excess = (self.chance.agreement - self.chance.expected)[some].sum()
        return float(min(1.0, excess / self.chance.room[some].sum()))


def _joined_tests(tests: list[LabelChance]) -> LabelChance:
    names = LabelChance.__dataclass_fields__
    return LabelChance(*(
        np.concatenate([np.zeros(0), *(getattr(test, name) for test in tests)]) for name in names
    ))  # fmt: skip


def _tasks(rows: pa.Table, families: dict[str, str], units: Units) -> Iterator[_Task]:
    task, item, label = (index(rows[name]) for name in ("task", "item", "label"))
    pair = units.pair_of_rows(rows) if rows.num_rows else np.zeros(0, np.int64)
    order = np.argsort(task.codes, kind="stable")
    ends = np.searchsorted(task.codes[order], np.arange(len(task.names) + 1))
    for n in range(len(task.names)):
        some = order[ends[n] : ends[n + 1]]
        items, item_codes = np.unique(item.codes[some], return_inverse=True)
        labels, label_codes = np.unique(label.codes[some], return_inverse=True)
        pairs, judge_codes = np.unique(pair[some], return_inverse=True)
        names = [units.judge.names[code] for code in units.pairs.second[pairs].tolist()]
        first: dict[str, int] = {}
        related = [
            first.setdefault(families[name], k) if name in families else k
            for k, name in enumerate(names)
        ]
        yield _Task(
            item_codes, judge_codes, label_codes, items.size, labels.size, pairs,
            np.array(related, np.int64),
        )  # fmt: skip


def _joined(first: Codes, second: Codes) -> Codes:
    """Return groups of judges who are together in either grouping."""
    group = np.minimum(first, second)
    while True:
        before = group.copy()
        for members in (first, second):
            lowest = np.full(group.size, group.size)
            np.minimum.at(lowest, members, group)
            group = lowest[members]
        if np.array_equal(group, before):
            return group


@dataclass(frozen=True)
class _Constants:
    """``(n_units,)``: who gives one answer to each task, and whether others rarely give it."""

    is_one: Flags
    is_rare: Flags


def _constants(tasks: list[_Task], units: Units) -> _Constants:
    is_one, log_p, n = np.ones(units.size, np.bool_), np.zeros(units.size), np.zeros(units.size)
    answers = []
    for task in tasks:
        unit = units.of_pair[task.pair]
        table = np.zeros((task.pair.size, task.n_labels))
        np.add.at(table, (task.judges, task.labels), 1)
        answers.append((unit, table))
        np.logical_and.at(is_one, unit, (table > 0).sum(axis=1) == 1)
        np.add.at(n, unit, table.sum(axis=1))
    is_one &= n >= FEWEST_CONSTANT
    for unit, table in answers:
        other_answers = table[~is_one[unit]].sum(axis=0)
        if not other_answers.sum():  # everybody gives one answer
            continue
        share = (other_answers + 1 / table.shape[1]) / (other_answers.sum() + 1)
        np.add.at(log_p, unit, (table * np.log(share)).sum(axis=1))
    return _Constants(is_one, log_p < math.log(CONSTANT_P))


def _copied_by(
    tasks: list[_Task], copies: list[LabelCopies], groups: list[Codes], units: Units
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
    copied_by: dict[int, str],
    tasks: list[_Task],
    units: Units,
    quality: Quality,
) -> LabelJudges:
    chance, n = test.chance, units.size
    is_copy = np.isin(np.arange(n), [*copied_by])
    fails, power = test.fails, test.power
    is_compared = test.has_labels & (chance.n > 0)
    verdict = np.select(
        [is_copy | test.is_constant | fails, test.passes, is_compared],
        [FAILED, PASSED, UNDETERMINED],
        UNTESTED,
    )
    needed = _labels_needed(chance, test.typical, quality.alpha)
    n_needed = np.where(verdict == UNDETERMINED, needed, np.nan)
    tests: list[str | None] = [None] * n
    reasons: list[str | None] = [None] * n
    for unit in np.flatnonzero(test.has_labels).tolist():
        tests[unit] = "chance" if verdict[unit] != UNTESTED else None
        n_shared = counted(int(chance.n[unit]), "label")
        if is_copy[unit]:
            tests[unit], reasons[unit] = "copies", copied_by[unit]
        elif test.is_constant[unit]:
            p = math.exp(max(chance.log_constant[unit], -700.0))
            tests[unit] = "constant"
            reasons[unit] = (
                f"constant: one answer to all {int(chance.n[unit]):,} items; p = {p:.1g} by the "
                "answers of the others"
            )
        elif fails[unit]:
            reasons[unit] = (
                f"chance: agrees with {chance.agreement[unit] / chance.n[unit]:.0%} of the others'"
                f" answers, {chance.expected[unit] / chance.n[unit]:.0%} by chance ({n_shared})"
            )
        elif test.is_suspected[unit]:
            reasons[unit] = "the same answer to all items, and no other judge judged these items"
        elif verdict[unit] == UNTESTED:
            reasons[unit] = "no label of an item that others judged"
        elif verdict[unit] == UNDETERMINED:
            reasons[unit] = _undetermined(test, power, needed, unit)
    share = _suspected_share(tasks, units, test.is_suspected)
    return LabelJudges(
        verdict, tests, reasons, chance, power, n_needed, test.is_random | test.is_constant,
        test.is_suspected, share,
    )  # fmt: skip


def _undetermined(test: _Tested, power: Floats, needed: Floats, unit: int) -> str:
    n_shared = counted(int(test.chance.n[unit]), "label")
    if np.isnan(test.typical):
        return "no judge agrees enough with the others to decide who is right"
    text = f"{n_shared} of items that others judged"
    if np.isfinite(needed[unit]):
        text += f", {needed[unit]:,.0f} are needed"
    if test.chance.n[unit] < FEWEST_LABELS:
        return text
    return f"{text}: the power is {power[unit]:.2g}, {1 - test.alpha:g} is needed"


def _labels_needed(chance: LabelChance, skill: float, alpha: float) -> Floats:
    """Return the shared labels from which on the power is 1 - alpha, in the judge's mixture."""
    from scipy.special import ndtri

    sd = np.sqrt(chance.variance)
    shift = np.divide(skill * chance.room, sd, out=np.full(sd.shape, np.nan), where=sd > 0)
    with np.errstate(divide="ignore"):
        n = np.ceil(chance.n * (2 * ndtri(1 - alpha) / shift) ** 2)
    return np.where(shift > 0, np.maximum(np.maximum(n, FEWEST_LABELS), chance.n + 1), np.nan)


def _suspected_share(tasks: list[_Task], units: Units, is_suspected: Flags) -> float:
    n_items = n_suspected = 0
    for task in tasks:
        by_item = is_suspected[units.of_pair[task.pair]][task.judges]
        n = np.bincount(task.items, minlength=task.n_items)
        of_suspected = np.bincount(task.items, by_item, minlength=task.n_items)
        n_items += task.n_items
        n_suspected += int((2 * of_suspected >= n).sum())
    return n_suspected / max(n_items, 1)
