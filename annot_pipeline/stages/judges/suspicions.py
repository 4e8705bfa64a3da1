"""Answers of judges of labels as codes, and the judges who are suspected.

Something is wrong with these, and the data cannot tell who is right.

These people are suspected:

- those who always give one answer that others rarely give, to items of which too few have
  answers of others;
- a camp who agree as copies do, and less with the others than one truth behind all answers allows;
- two camps of similar size who agree within, and hardly with each other;
- judges who agree far more than other judges do, on items that no other judge judged;
- linked judges who agree, taken together, no better than chance;
- judges most of whose linked judges fail.

What does not belong here: tests of single judges (label_judges), the arithmetic (methods.judges).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import numpy as np
import pyarrow as pa

from annot_pipeline.arrays import Codes, Flags
from annot_pipeline.errors import counted
from annot_pipeline.methods.judges.label_camps import (
    ONE_SIDED,
    CampAgreement,
    camp_agreement,
    find_camps,
)
from annot_pipeline.methods.judges.label_chance import LabelChance, label_chance
from annot_pipeline.methods.judges.label_copies import LabelCopies, label_copies
from annot_pipeline.methods.numerics.distinct import linked_groups
from annot_pipeline.runtime.hash_values import hash_values
from annot_pipeline.runtime.indexing import index
from annot_pipeline.stages.judges.control_scores import Units


@dataclass(frozen=True)
class LabelTask:
    """Answers of one task, as codes.

    Parameters
    ----------
    items, judges, labels
        ``(n,)`` codes.
    n_items, n_labels
        How many there are of each.
    pair
        ``(n_judges,)`` task and judge, as a place in the pairs of units.
    families
        ``(n_judges,)`` code of the declared family, or of the judge.
    is_model
        ``(n_judges,)`` whether the judge is a model.
    is_adjudicated
        ``(n_items,)`` whether an expert has decided the item.
    """

    items: Codes
    judges: Codes
    labels: Codes
    n_items: int
    n_labels: int
    pair: Codes
    families: Codes
    is_model: Flags
    is_adjudicated: Flags

    def of_judges(self, chosen: Flags) -> LabelTask:
        """Return the answers of some judges, and the items that they answered."""
        return self._of_rows(np.flatnonzero(chosen[self.judges]))

    def _of_rows(self, some: Codes) -> LabelTask:
        items, item_codes = np.unique(self.items[some], return_inverse=True)
        judges, judge_codes = np.unique(self.judges[some], return_inverse=True)
        return LabelTask(
            item_codes, judge_codes, self.labels[some], items.size, self.n_labels,
            self.pair[judges], self.families[judges], self.is_model[judges],
            self.is_adjudicated[items],
        )  # fmt: skip

    @cached_property
    def digest(self) -> str:
        """Return a digest of the codes of the answers."""
        codes = {"item": self.items, "judge": self.judges, "label": self.labels}
        return hash_values([pa.table({**codes, "n": np.full(self.items.size, self.n_labels)})])

    def by_judge_and_label(self) -> Codes:
        """Return ``(n_judges, n_labels)`` numbers of answers."""
        table = np.zeros((self.pair.size, self.n_labels), np.int64)
        np.add.at(table, (self.judges, self.labels), 1)
        return table

    @cached_property
    def component(self) -> Codes:
        """Return the component of each judge, ``(n_judges,)``: who is linked by shared items."""
        return linked_groups(self.judges, self.items, self.pair.size)

    def linked(self, fewest: int) -> Iterator[tuple[Codes, LabelTask]]:
        """Yield each group of linked judges of at least ``fewest``, with their answers."""
        judges = np.argsort(self.component, kind="stable")
        ends = np.cumsum(np.bincount(self.component))
        rows = np.argsort(self.component[self.judges], kind="stable")
        row_ends = np.cumsum(np.bincount(self.component[self.judges], minlength=ends.size))
        for n, judge_end in enumerate(ends.tolist()):
            start = ends[n - 1] if n else 0
            if judge_end - start >= fewest:
                some = np.sort(judges[start:judge_end])
                yield some, self._of_rows(np.sort(rows[row_ends[n - 1] if n else 0 : row_ends[n]]))

    def chance(self, groups: Codes, reference: Flags) -> LabelChance:
        """Return how far judges agree with those of the reference who are in other groups."""
        return label_chance(
            self.items, self.judges, self.labels, n_items=self.n_items, n_judges=self.pair.size,
            n_labels=self.n_labels, groups=groups, reference=reference,
        )  # fmt: skip

    def copies(self) -> LabelCopies:
        """Return the pairs who copy; judges who always give one answer agree without copying."""
        varies = ((self.by_judge_and_label() > 0).sum(axis=1) > 1)[self.judges]
        return label_copies(
            self.items[varies], self.judges[varies], self.labels[varies], n_items=self.n_items,
            n_judges=self.pair.size, n_labels=self.n_labels,
        )  # fmt: skip


def label_tasks(
    rows: pa.Table, families: dict[str, str], models: set[str], units: Units
) -> Iterator[LabelTask]:
    """Yield the tasks of answers; parameters as `label_judges` has them."""
    task, item, label = (index(rows[name]) for name in ("task", "item", "label"))
    pair = units.pair_of_rows(rows) if rows.num_rows else np.zeros(0, np.int64)
    adjudicated = rows["adjudicated"].to_numpy()
    order = np.argsort(task.codes, kind="stable")
    ends = np.searchsorted(task.codes[order], np.arange(len(task.names) + 1))
    for n in range(len(task.names)):
        some = order[ends[n] : ends[n + 1]]
        items, item_codes = np.unique(item.codes[some], return_inverse=True)
        labels, label_codes = np.unique(label.codes[some], return_inverse=True)
        pairs, judge_codes = np.unique(pair[some], return_inverse=True)
        names = [units.judge.names[code] for code in units.pairs.second[pairs].tolist()]
        is_adjudicated = np.zeros(items.size, np.bool_)
        is_adjudicated[item_codes] = adjudicated[some]
        first: dict[str, int] = {}
        related = [
            first.setdefault(families[name], k) if name in families else k
            for k, name in enumerate(names)
        ]
        yield LabelTask(
            item_codes, judge_codes, label_codes, items.size, labels.size, pairs,
            np.array(related, np.int64), np.array([name in models for name in names], np.bool_),
            is_adjudicated,
        )  # fmt: skip


def joined_groups(first: Codes, second: Codes) -> Codes:
    """Return groups of judges who are together in either grouping."""
    judges = np.arange(first.size)
    links = np.concatenate([first, first.size + second])
    return linked_groups(np.tile(judges, 2), links, first.size)


Reasons = dict[int, str]
"""Why, by unit."""
CampsByAnswers = dict[str, dict[str, str]]
"""Why people are suspected for how they agree, by `LabelTask.digest` and code of the judge."""

FEWEST_OF_A_CAMP = 3
FEWEST_PAIRS = 50
"""Pairs of answers to the same items, of each camp and of both."""
COPYING = 0.75
"""Kappa within a camp from which on its judges may be copies."""
USUAL = 0.6
"""Kappa up to which judges of a task disagree as people do."""
RARE = 0.1
"""Share of other judges' pairs of answers, below which such agreement is no matter of the items."""
OF_ONE_TRUTH = 0.85
"""`Camps.ratio_high` below which a camp of `COPYING` is suspected."""
UNRELATED = 0.4
"""The same for two camps who only agree among themselves, on each half of the items."""
LEAST_SHARE = 0.001
"""Of the answers of a task: no camps are searched among linked judges with fewer."""
RELIABLE = 0.15
"""Kappa below which a group agrees too little to be a camp."""
LARGE_CAMP = 1 / 3
"""Share of the answers; tests of chance find out a smaller camp."""
FEWEST_CONSTANT = 15
LOG_CONSTANT_P = math.log(1e-4)
FEWEST_POOLED = 100
"""Labels of linked judges, from which on they are tested together."""
SMALL_SKILL = 0.25
"""Share of the possible agreement that linked judges together have at least, if they look."""
POOLED_ALPHA = 0.05


def suspected_camps(
    tasks: list[LabelTask], units: Units, is_copy: Flags, earlier: CampsByAnswers
) -> tuple[Reasons, CampsByAnswers]:
    """Return the people who are suspected for how they agree; copies that fail are left out.

    Parameters
    ----------
    tasks, units
        Answers, and whom verdicts are about.
    is_copy
        ``(n_units,)`` who copies.
    earlier
        What an earlier build found: camps of the same answers are not searched again.
    """
    reasons: Reasons = {}
    camps_by_answers: CampsByAnswers = {}
    for task in tasks:
        varies = (task.by_judge_and_label() > 0).sum(axis=1) > 1
        people = task.of_judges(varies & ~task.is_model & ~is_copy[units.of_pair[task.pair]])
        camps = earlier.get(people.digest)
        if camps is None:
            camps = {
                str(judge): reason
                for judges, reason in chain(_linked_camps(people), _unlinked_copies(people))
                for judge in judges.tolist()
            }
        camps_by_answers[people.digest] = camps
        for judge, reason in camps.items():
            reasons[int(units.of_pair[people.pair[int(judge)]])] = reason
    return reasons, camps_by_answers


def _linked_camps(people: LabelTask) -> Iterator[tuple[Codes, str]]:
    for judges, task in people.linked(2 * FEWEST_OF_A_CAMP):
        if task.items.size < LEAST_SHARE * people.items.size:
            continue
        camps = find_camps(
            task.items, task.judges, task.labels, n_items=task.n_items,
            n_judges=task.pair.size, n_labels=task.n_labels,
        )  # fmt: skip
        agreement, sizes = camps.agreement, np.bincount(camps.second, minlength=2)
        if sizes.min() < FEWEST_OF_A_CAMP or min(agreement.pairs) < FEWEST_PAIRS:
            continue
        share = camps.second[task.judges].mean()
        ratio = float(np.max([half.ratio_high for half in camps.halves]))  # NaN if either is
        low, high = sorted((agreement.first, agreement.second))
        chosen: tuple[bool, ...] = ()
        if high >= COPYING and camps.ratio_high < OF_ONE_TRUTH:
            chosen = (agreement.second > agreement.first,)
        elif min(share, 1 - share) > LARGE_CAMP and low > RELIABLE and ratio < UNRELATED:
            chosen = (False, True)  # either may be right
        for is_second in chosen:
            camp = judges[camps.second == is_second]
            yield camp, _of_camp(agreement, is_second, camp.size)


def _of_camp(agreement: CampAgreement, is_second: bool, n_judges: int) -> str:
    own, other = (
        (agreement.second, agreement.first) if is_second else (agreement.first, agreement.second)
    )
    return (
        f"one of {n_judges:,} judges who agree with each other (kappa {own:.2f}) but too little "
        f"with the others (kappa {agreement.between:.2f}), who agree among themselves (kappa "
        f"{other:.2f}): with one truth behind all answers, they would agree more"
    )


def _unlinked_copies(people: LabelTask) -> Iterator[tuple[Codes, str]]:
    agreements: list[tuple[Codes, CampAgreement]] = []
    for judges, task in people.linked(FEWEST_OF_A_CAMP):
        agreement = camp_agreement(
            task.items, task.judges, task.labels, np.zeros(task.pair.size, np.bool_),
            n_items=task.n_items, n_labels=task.n_labels,
        )  # fmt: skip
        if agreement.pairs[0] >= FEWEST_PAIRS and not np.isnan(agreement.first):
            agreements.append((judges, agreement))
    n = np.array([agreement.pairs[0] for _, agreement in agreements])
    kappa = np.array([agreement.first for _, agreement in agreements])
    error = np.array([agreement.first_error for _, agreement in agreements])
    for at in np.flatnonzero(kappa - ONE_SIDED * error >= COPYING).tolist():
        weight = np.where(np.arange(n.size) == at, 0, n) / max(n.sum() - n[at], 1)
        usual = float((weight * kappa).sum())
        high = usual + ONE_SIDED * np.sqrt((weight**2 * error**2).sum())
        is_single = weight[kappa > USUAL].sum() < RARE  # else items may be easier for some
        if weight.any() and high < USUAL and is_single:
            judges = agreements[at][0]
            text = (
                f"one of {judges.size:,} judges who agree far more with each other (kappa "
                f"{kappa[at]:.2f}) than other judges do ({usual:.2f}), on items that no other "
                "judge judged"
            )
            yield judges, text


@dataclass(frozen=True)
class ConstantJudges:
    """Who gives one answer to each task.

    Parameters
    ----------
    is_one
        ``(n_units,)`` whether all answers to a task are the same, of enough answers.
    is_rare
        ``(n_units,)`` whether that is improbable under the shares of answers of judges who vary: of
        the judge, or of all linked judges if they all do it.
    """

    is_one: Flags
    is_rare: Flags


def constant_judges(tasks: list[LabelTask], units: Units) -> ConstantJudges:
    """Return who gives one answer to each task."""
    same, n = np.ones(units.size, np.bool_), np.zeros(units.size)
    tables = [task.by_judge_and_label() for task in tasks]
    for task, table in zip(tasks, tables, strict=True):
        unit = units.of_pair[task.pair]
        np.logical_and.at(same, unit, (table > 0).sum(axis=1) == 1)
        np.add.at(n, unit, table.sum(axis=1))
    is_rare = np.zeros(units.size, np.bool_)
    for task, table in zip(tasks, tables, strict=True):
        unit = units.of_pair[task.pair]
        varied = table[~same[unit]].sum(axis=0)
        if not varied.sum():  # everybody gives one answer
            continue
        log_share = np.log((varied + 1 / table.shape[1]) / (varied.sum() + 1))
        is_rare[unit] |= ((table * log_share).sum(axis=1) < LOG_CONSTANT_P) & ~task.is_model
        by_luck = np.logaddexp.reduce(table.sum(axis=1)[:, None] * log_share, axis=1)
        log_p = np.bincount(task.component, np.minimum(by_luck, 0))
        varies = np.bincount(task.component, ~same[unit]) > 0
        is_rare[unit] |= (~varies & (log_p < LOG_CONSTANT_P))[task.component] & ~task.is_model
    return ConstantJudges(same & (n >= FEWEST_CONSTANT), same & is_rare)


def suspected_together(tasks: list[LabelTask], tests: list[LabelChance], units: Units) -> Reasons:
    """Return linked judges who agree, taken together, no better than chance and with little skill.

    The upper limit of their skill is that of 95% for all linked judges of all tasks together
    (Bonferroni): of many small crowds some agree little by chance.

    Parameters
    ----------
    tasks, tests
        Answers, and the test of chance of each judge of each task.
    units
        Whom verdicts are about.
    """
    pooled, linked = [], []
    for task, test in zip(tasks, tests, strict=True):
        n_judges = np.bincount(task.component)
        sums = test.by_unit(task.component, n_judges.size)
        pooled.append(sums)
        linked.append((sums.n >= FEWEST_POOLED) & (n_judges >= FEWEST_OF_A_CAMP))
    from scipy.special import ndtri

    limit = ndtri(1 - POOLED_ALPHA / max(sum(int(some.sum()) for some in linked), 1))
    reasons: Reasons = {}
    for task, sums, some in zip(tasks, pooled, linked, strict=True):
        # two judges of an item each raise the agreement of the other: sums vary twice as much
        excess, error = sums.agreement - sums.expected, np.sqrt(2 * sums.variance)
        is_random = excess < ndtri(1 - POOLED_ALPHA) * error
        fails = some & is_random & (excess + limit * error < SMALL_SKILL * sums.room)
        n_judges = np.bincount(task.component)
        for judge in np.flatnonzero(fails[task.component] & ~task.is_model).tolist():
            code = task.component[judge]
            reasons[int(units.of_pair[task.pair[judge]])] = (
                f"one of {n_judges[code]:,} judges of the same items, who agree with "
                f"{sums.agreement[code] / sums.n[code]:.0%} of each other's answers, "
                f"{sums.expected[code] / sums.n[code]:.0%} by chance "
                f"({counted(int(sums.n[code]), 'label')})"
            )
    return reasons


def suspected_remains(tasks: list[LabelTask], units: Units, fails: Flags) -> Reasons:
    """Return judges most of whose linked judges fail: who passes among them may do so by luck.

    Of the linked judges who hold most of a task's judges who do not fail, none is suspected.
    """
    reasons: Reasons = {}
    for task in tasks:
        unit, component = units.of_pair[task.pair], task.component
        n = np.bincount(task.judges, minlength=task.pair.size)
        of_failed = np.bincount(component, n * fails[unit]) / np.bincount(component, n)
        remain = np.bincount(component, ~fails[unit])
        small = (of_failed > 1 / 2) & (2 * remain < remain.sum())
        remaining = small[component] & ~fails[unit] & ~task.is_model
        for judge in np.flatnonzero(remaining).tolist():
            reasons[int(unit[judge])] = (
                f"{of_failed[component[judge]]:.0%} of the answers to the same items come from "
                "judges who fail"
            )
    return reasons


def unlinked_judges(tasks: list[LabelTask], units: Units) -> Flags:
    """Return ``(n_units,)`` who shares no item with the linked judges that gave most of the labels.

    Nothing tells how such judges would compare with the others. Without linked judges who gave more
    than half of a task's labels, as where each batch has judges of its own, there is no such judge.
    """
    unlinked = np.zeros(units.size, np.bool_)
    for task in tasks:
        n = np.bincount(task.component[task.judges])
        if 2 * n.max(initial=0) > n.sum():
            unlinked[units.of_pair[task.pair]] |= task.component != np.argmax(n)
    return unlinked


@dataclass(frozen=True)
class UncertainItems:
    """Items of which doubted judges gave half of the answers or more, adjudicated ones left out.

    Parameters
    ----------
    items, units
        ``(n,)`` codes of these items, and units of their answers that count.
    n_items
        Number of all items with answers that count.
    """

    items: Codes
    units: Codes
    n_items: int

    def share(self, doubted: Flags) -> float:
        """Return the share of all items of which judges who are still doubted gave half or more."""
        n_doubted = int(self.items.max(initial=-1)) + 1
        n = np.bincount(self.items, minlength=n_doubted)
        of_doubted = np.bincount(self.items, doubted[self.units], n_doubted)
        return int(((2 * of_doubted >= n) & (n > 0)).sum()) / max(self.n_items, 1)


def uncertain_items(
    tasks: list[LabelTask], units: Units, doubted: Flags, counts: Flags
) -> UncertainItems:
    """Return the items of which doubted judges gave half of the answers or more.

    Parameters
    ----------
    tasks, units
        Answers.
    doubted, counts
        ``(n_units,)`` who is doubted, and whose answers count.
    """
    items, of_items, n_items, n_doubted = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], 0, 0
    for task in tasks:
        unit = units.of_pair[task.pair][task.judges]
        n = np.bincount(task.items, counts[unit], minlength=task.n_items)
        of_doubted = np.bincount(task.items, (counts & doubted)[unit], minlength=task.n_items)
        is_doubted = (2 * of_doubted >= n) & (n > 0) & ~task.is_adjudicated
        codes = n_doubted + np.cumsum(is_doubted) - 1
        some = is_doubted[task.items] & counts[unit]
        items.append(codes[task.items[some]])
        of_items.append(unit[some])
        n_items += int((n > 0).sum())
        n_doubted += int(is_doubted.sum())
    return UncertainItems(np.concatenate(items), np.concatenate(of_items), n_items)
