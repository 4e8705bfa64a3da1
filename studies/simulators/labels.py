"""A label campaign with known truth: seeded judges, and the exports they would leave behind.

The judges follow the model of Dawid & Skene (1979): an item has a class, and a judge answers
by a row of the judge's own confusion matrix. Good judges have a heavy diagonal, careless
ones answer at random, biased ones mostly answer one class. The exports are
what a platform writes night by night: new judgments, answers that judges corrected later, rows
repeated from the night before, and damaged rows. No judge answers an item twice in one night.

All randomness comes from ``numpy.random.default_rng(seed)``; another numpy may draw otherwise.
What does not belong here: the bytes of exports (label_exports), and any estimate of the truth.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
import numpy.typing as npt

from annot_pipeline.arrays import Codes, Floats, Texts
from annot_pipeline.errors import ConfigError, Problem

SKILLS = ("good", "careless", "biased")
ORIGINS = ("new", "correction", "repeat")
DAMAGES = (
    "blank judge", "blank label", "unknown class", "full stop", "other case", "not UTF-8",
    "torn row",
)  # fmt: skip
"""What can be wrong with a row; each alone makes it no judgment."""

UNKNOWN_CLASS = "not sure"
FIRST_NIGHT = int(datetime(2025, 3, 3, tzinfo=UTC).timestamp())
DAY, OPENS, CLOSES = 86_400, 8 * 3_600, 22 * 3_600
LATE_SHARE = 0.25
"""Judgments that come a night after the night in which their item was given out."""

OFF_DIAGONAL = 2.0
"""Dirichlet parameter of where a good judge's errors go: uneven, as real confusions are."""

BIAS = 0.75
"""Share of a biased judge's answers that are the favourite class whatever the item is."""

BLOCK = 10_000
"""Items that are given out to judges at once; bounds memory."""

OPENERS = ("Hello,", "Hi there,", "Good morning,", "To whom it may concern:", "Once again:")
PHRASES = {
    "billing": ("I was charged twice this month", "the invoice shows the wrong amount"),
    "delivery": ("my parcel has not arrived yet", "the courier left it at the wrong door"),
    "returns": ("I want to send the shoes back", "when will I get my refund"),
    "praise": ("your support was wonderful", "thank you for the quick help"),
}


@dataclass(frozen=True)
class LabelSimulation:
    """What to simulate.

    Parameters
    ----------
    n_items, n_judges
        How many items and judges there are.
    classes, prevalence
        Names of the classes, and the share of items of each (sums to 1).
    judgments_per_item
        Distinct judges who answer each item.
    careless_share, biased_share
        Shares of judges who answer evenly, and who favour one class; the others are good.
    good_accuracy
        Range of a good judge's confusion diagonal, drawn for each class.
    nights, json_night
        Number of exports, and which of them (from 1) is JSON Lines; the others are csv.
    correction_share
        Share of answers that are a slip at first and corrected in the next export.
    repeat_share
        Rows of an export, as a share of its new answers, that are the last of the one before.
    dirty_share
        Share of all rows that are damaged; the judgment that such a row held is lost.
    seed
        Of all randomness.

    Raises
    ------
    ConfigError
        All settings that do not fit, at once.
    """

    n_items: int = 2000
    n_judges: int = 60
    classes: tuple[str, ...] = ("billing", "delivery", "returns", "praise")
    prevalence: tuple[float, ...] = (0.4, 0.3, 0.2, 0.1)
    judgments_per_item: int = 5
    careless_share: float = 0.35
    biased_share: float = 0.1
    good_accuracy: tuple[float, float] = (0.75, 0.95)
    nights: int = 4
    json_night: int = 3
    correction_share: float = 0.02
    repeat_share: float = 0.02
    dirty_share: float = 0.02
    seed: int = 17

    def __post_init__(self) -> None:
        problems = [Problem(*problem) for problem in self._problems()]
        if problems:
            raise ConfigError("a simulation that cannot be", problems)

    def _problems(self) -> Iterator[tuple[str, str, str]]:
        """Yield (setting, what is wrong, what is allowed)."""
        for name in ("n_items", "n_judges", "judgments_per_item"):
            if getattr(self, name) < 1:
                yield name, f"is {getattr(self, name)}", "1 or more"
        if self.judgments_per_item > self.n_judges:
            yield "judgments_per_item", "is more than there are judges", f"up to {self.n_judges}"
        if self.nights < 2:
            yield "nights", f"is {self.nights}", "2 or more: a correction comes a night later"
        if not 1 <= self.json_night <= self.nights:
            yield "json_night", f"is {self.json_night}", f"1 to {self.nights}"
        shares = ("careless_share", "biased_share", "correction_share", "repeat_share")
        for name in (*shares, "dirty_share"):
            if not 0 <= getattr(self, name) <= 1:
                yield name, f"is {getattr(self, name)}", "0 to 1"
        if self.careless_share + self.biased_share > 1:
            yield "biased_share", "is more than careless_share leaves", "a sum of 1 at most"
        low, high = self.good_accuracy
        if not 0 < low <= high < 1:
            yield "good_accuracy", f"is {low} to {high}", "rising, between 0 and 1"
        names = [name.strip() for name in self.classes]
        clean = all(name.isprintable() and name not in ("", UNKNOWN_CLASS) for name in names)
        if len(set(names)) < max(2, len(self.classes)) or names != [*self.classes] or not clean:
            yield (
                "classes",
                f"are {', '.join(self.classes)}",
                f"2 or more different names without outer blanks, not {UNKNOWN_CLASS!r}",
            )
        fits = len(self.prevalence) == len(self.classes) and min(self.prevalence) >= 0
        if not fits or not np.isclose(sum(self.prevalence), 1):
            yield "prevalence", f"is {self.prevalence}", "a share for each class, in sum 1"


@dataclass(frozen=True, eq=False)
class ExportRows:
    """Rows of all exports in the order in which they are written; arrays are ``(n_rows,)``.

    Parameters
    ----------
    night
        Export that holds the row, from 1.
    item, judge, label
        Codes; the label as it was answered, before any damage.
    submitted_at, seconds
        When it was answered (seconds since 1970, UTC), and how long that took.
    origin
        One of `ORIGINS`.
    damage
        One of `DAMAGES`, or empty.
    """

    night: Codes
    item: Codes
    judge: Codes
    label: Codes
    submitted_at: Codes
    seconds: Floats
    origin: Texts
    damage: Texts

    def __len__(self) -> int:
        return len(self.night)

    def take(self, places: npt.NDArray[np.int64] | npt.NDArray[np.bool_]) -> ExportRows:
        """Return the rows at some places, or where a mask is true."""
        return ExportRows(**{name: values[places] for name, values in vars(self).items()})


@dataclass(frozen=True, eq=False)
class SimulatedLabels:
    """A campaign, and what nobody knows of a real one.

    Parameters
    ----------
    params
        What was asked.
    items, texts, judges
        Names of the items, what the judges saw, names of the judges; by code.
    truth
        ``(n_items,)`` class of each item.
    skill
        ``(n_judges,)`` one of `SKILLS`.
    confusion
        ``(n_judges, n_classes, n_classes)`` as [judge, true, observed].
    rows
        What the exports hold.
    """

    params: LabelSimulation
    items: tuple[str, ...]
    texts: tuple[str, ...]
    judges: tuple[str, ...]
    truth: Codes
    skill: Texts
    confusion: Floats
    rows: ExportRows


def simulate_labels(params: LabelSimulation | None = None) -> SimulatedLabels:
    """Draw a campaign: items, judges, answers, and the rows of the exports."""
    params = params or LabelSimulation()
    rng = np.random.default_rng(params.seed)
    truth = _draw(rng, np.broadcast_to(params.prevalence, (params.n_items, len(params.classes))))
    skill, confusion = _judges(params, rng)
    answers = _answers(params, rng, truth, skill, confusion)
    rows = _damaged(params, rng, _exported(params, rng, answers))
    return SimulatedLabels(
        params=params,
        items=tuple(_names("message", params.n_items)),
        texts=tuple(_texts(params, rng, truth)),
        judges=tuple(_names("judge", params.n_judges)),
        truth=truth,
        skill=skill,
        confusion=confusion,
        rows=rows,
    )


# --- judges and answers --------------------------------------------------------------------


def _draw(rng: np.random.Generator, shares: Floats) -> Codes:
    """Draw one class for each row of ``(n, n_classes)`` shares."""
    bounds = shares.cumsum(axis=1)[:, :-1]  # the last class takes what is left, rounding too
    classes: Codes = (rng.random(len(shares))[:, None] >= bounds).sum(axis=1)
    return classes


def _judges(params: LabelSimulation, rng: np.random.Generator) -> tuple[Texts, Floats]:
    """Return skills in random order, and a confusion matrix for each judge."""
    n, k = params.n_judges, len(params.classes)
    counts = [round(params.careless_share * n), round(params.biased_share * n)]
    skill = np.repeat(SKILLS, [max(n - sum(counts), 0), *counts])[:n]
    skill = rng.permutation(skill)
    diagonal = rng.uniform(*params.good_accuracy, size=(n, k))
    errors = rng.dirichlet(np.full(k - 1, OFF_DIAGONAL), size=(n, k)) * (1 - diagonal)[..., None]
    good = np.zeros((n, k, k))
    for true in range(k):
        good[:, true, true] = diagonal[:, true]
        good[:, true, np.arange(k) != true] = errors[:, true]
    favourite = np.eye(k)[rng.integers(k, size=n)][:, None, :]
    confusion = good.copy()
    confusion[skill == "careless"] = 1 / k
    biased = skill == "biased"
    confusion[biased] = (BIAS * favourite + (1 - BIAS) * good)[biased]
    return skill, confusion


def _answers(
    params: LabelSimulation,
    rng: np.random.Generator,
    truth: Codes,
    skill: Texts,
    confusion: Floats,
) -> ExportRows:
    """Draw each judge's answer to each assigned item, before slips."""
    item, judge = _assign_items(params, rng)
    n = item.size
    label = _draw(rng, confusion[judge, truth[item]])
    night = 1 + item * params.nights // params.n_items + (rng.random(n) < LATE_SHARE)
    night = np.minimum(night, params.nights)
    typical = np.where(skill == "careless", 3.5, 11.0)[judge]
    return ExportRows(
        night=night,
        item=item,
        judge=judge,
        label=label,
        submitted_at=_in_opening_hours(rng, night),
        seconds=np.round(typical * rng.lognormal(0, 0.5, size=n), 1),
        origin=np.full(n, "new", dtype="<U10"),
        damage=np.full(n, "", dtype="<U14"),
    )


def _assign_items(params: LabelSimulation, rng: np.random.Generator) -> tuple[Codes, Codes]:
    """Return the items and judges of all answers: some judges work far more than others."""
    eagerness = rng.normal(0, 0.7, size=params.n_judges)
    chosen = []
    for start in range(0, params.n_items, BLOCK):
        size = (min(BLOCK, params.n_items - start), params.n_judges)
        # the largest of (log weight + Gumbel noise) are a weighted draw without replacement
        order = np.argsort(-(eagerness + rng.gumbel(size=size)), axis=1, kind="stable")
        chosen.append(order[:, : params.judgments_per_item])
    item = np.repeat(np.arange(params.n_items), params.judgments_per_item)
    return item, np.concatenate(chosen).reshape(-1)


def _in_opening_hours(rng: np.random.Generator, night: Codes) -> Codes:
    return FIRST_NIGHT + (night - 1) * DAY + rng.integers(OPENS, CLOSES, size=night.size)


# --- exports -------------------------------------------------------------------------------


def _exported(params: LabelSimulation, rng: np.random.Generator, answers: ExportRows) -> ExportRows:
    """Return the rows of each night: repeats of the night before, then the day's answers."""
    rows = _with_corrections(params, rng, answers)
    nights: list[ExportRows] = []
    for night in range(1, params.nights + 1):
        today = rows.take(rows.night == night)
        today = today.take(np.argsort(today.submitted_at, kind="stable"))
        written = [today]
        if nights:
            n_repeats = round(params.repeat_share * int((today.origin == "new").sum()))
            before = nights[-1].take(nights[-1].origin != "repeat")
            written = [_repeats(before, today, n_repeats, night), today]
        nights.append(_stacked(written))
    return _stacked(nights)


def _with_corrections(
    params: LabelSimulation, rng: np.random.Generator, answers: ExportRows
) -> ExportRows:
    """Return some first answers become slips; what was meant comes a night later."""
    n, k = len(answers), len(params.classes)
    slips = (rng.random(n) < params.correction_share) & (answers.night < params.nights)
    label = np.where(slips, (answers.label + rng.integers(1, k, size=n)) % k, answers.label)
    first = ExportRows(**{**vars(answers), "label": label})
    meant = answers.take(slips)
    night = meant.night + 1
    later = {
        "night": night,
        "submitted_at": _in_opening_hours(rng, night),
        "origin": np.full(night.size, "correction", dtype="<U10"),
    }
    return _stacked([first, ExportRows(**{**vars(meant), **later})])


def _repeats(before: ExportRows, today: ExportRows, count: int, night: int) -> ExportRows:
    """Return the last rows of the night before; none that today corrects, lest a file hold both."""
    keys = set(zip(today.item.tolist(), today.judge.tolist(), strict=True))
    pairs = zip(before.item.tolist(), before.judge.tolist(), strict=True)
    free = np.flatnonzero([pair not in keys for pair in pairs])
    last = before.take(free[max(free.size - count, 0) :])
    n = len(last)
    repeated = {"night": np.full(n, night), "origin": np.full(n, "repeat", dtype="<U10")}
    return ExportRows(**{**vars(last), **repeated})


def _damaged(params: LabelSimulation, rng: np.random.Generator, rows: ExportRows) -> ExportRows:
    """Damage the share of rows that was asked for, each kind of damage equally often."""
    places = rng.permutation(len(rows))[: round(params.dirty_share * len(rows))]
    damage = rows.damage.copy()
    damage[places] = np.resize(DAMAGES, places.size)
    return ExportRows(**{**vars(rows), "damage": damage})


def _stacked(parts: Sequence[ExportRows]) -> ExportRows:
    names = vars(parts[0])
    return ExportRows(
        **{name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
    )


# --- names and texts -----------------------------------------------------------------------


def _names(what: str, count: int) -> list[str]:
    """Return names of one width, so that their order is that of their codes."""
    width = len(str(count))
    return [f"{what}-{number:0{width}}" for number in range(1, count + 1)]


def _texts(params: LabelSimulation, rng: np.random.Generator, truth: Codes) -> Iterator[str]:
    """Yield what the judges saw."""
    picks = rng.integers(1 << 30, size=(truth.size, 2))
    for true, (opener, phrase) in zip(truth.tolist(), picks.tolist(), strict=True):
        name = params.classes[true]
        phrases = PHRASES.get(name, (f"this is about {name}",))
        yield f"{OPENERS[opener % len(OPENERS)]} {phrases[phrase % len(phrases)]}"
