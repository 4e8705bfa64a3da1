"""A direct assessment with known truth: seeded judges who score outputs from 0 to 100.

It is collected as Graham et al. (2013, section 6) collect it. A HIT is 100 slots in 10 groups of
10: 7 ordinary outputs and one control of each kind. A control belongs to an ordinary output
of the group five groups away, so the two are 41 to 59 slots apart (in the paper 40 to 60), the
control before or after its output; no output has two controls.

An output is worth its system's quality, its segment's easiness and something of its own. A
conscientious judge sees that with noise and writes it on a scale of the judge's own: shifted,
stretched, rounded, cut off at 0 and 100. A degraded copy is worth some points less. Careless
judges score without looking, and faster. A judge's HITs may overlap in time.

All randomness comes from ``numpy.random.default_rng(seed)``; another numpy may draw otherwise.
What does not belong here: the bytes of exports (score_exports), and any estimate of the truth.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from annot_pipeline.arrays import Codes, Floats, Texts
from annot_pipeline.errors import ConfigError, Problem
from annot_pipeline.methods.planning.hit_design import HitDesign
from studies.simulators.labels import DAY, FIRST_NIGHT, OPENS

KINDS = ("ordinary", "ask_again", "bad_reference", "good_reference")
ORDINARY, ASK_AGAIN, BAD_REFERENCE, GOOD_REFERENCE = range(4)
HABITS = ("conscientious", "random", "constant", "always_high")
"""How a judge scores; all but the first are careless."""

DESIGN = HitDesign()
SLOTS, GROUPS, GROUP = DESIGN.slots, DESIGN.groups, DESIGN.group_size
ORDINARY_PER_GROUP = DESIGN.ordinary
OUTPUTS = DESIGN.outputs
"""Ordinary outputs of a HIT, all different."""

_KIND_OF = DESIGN.kinds[:GROUP]
_OUTPUT_OF = DESIGN.slot_outputs.reshape(GROUPS, GROUP)
"""``(GROUPS, GROUP)`` which of a HIT's outputs each member of a group shows."""

CENTRE = 55.0
"""Where a system of average quality comes to stand on the scale."""

REFERENCE, REFERENCE_SD = 35.0, 8.0
"""What human references are worth more than an average output."""

ALWAYS_HIGH, ALWAYS_HIGH_SD = 93.0, 4.0
SECONDS, CARELESS_SECONDS = 12.0, 2.5
"""Typical seconds a judgment."""

LAST_START = 20 * 3_600
"""Nobody starts a HIT later in a day, so it is submitted on the day on which it was begun."""


@dataclass(frozen=True)
class ScoreSimulation:
    """What to simulate.

    Parameters
    ----------
    language_pairs
        Names of the tasks, as source-target; each has systems and segments of its own.
    n_systems, n_segments
        Systems and segments of each language pair; 70 outputs or more.
    n_judges, n_hits
        Judges, and HITs of 100 judgments; every judge does one or more, of any language pair.
    quality_range
        Points between the best and the worst system; the others stand in between.
    item_sd, segment_sd
        Standard deviation of the worth of a system's outputs, points, and the part of it that
        comes from the segments and is common to all systems.
    noise_sd
        Standard deviation of how a judge sees one output twice, points.
    location_sd, spread_sd
        How judges differ in use of the scale: standard deviation of the shift, points, and of
        the logarithm of the stretch.
    degradation
        Points that a degraded copy is worth less.
    careless_share
        Share of judges who are careless, each kind of `HABITS` equally often.
    rejected_share
        Share of careless HITs that the requester saw through and rejected.
    nights
        Number of exports; nobody has looked at the HITs of the last night yet.
    repeat_share
        Rows of an export, as a share of its new ones, that are the last of the one before.
    seed
        Of all randomness.

    Raises
    ------
    ConfigError
        All settings that do not fit, at once.
    """

    language_pairs: tuple[str, ...] = ("cs-en", "de-en")
    n_systems: int = 8
    n_segments: int = 200
    n_judges: int = 40
    n_hits: int = 100
    quality_range: float = 30.0
    item_sd: float = 22.0
    segment_sd: float = 12.0
    noise_sd: float = 12.0
    location_sd: float = 12.0
    spread_sd: float = 0.25
    degradation: float = 20.0
    careless_share: float = 0.25
    rejected_share: float = 0.1
    nights: int = 4
    repeat_share: float = 0.02
    seed: int = 17

    def __post_init__(self) -> None:
        problems = [Problem(*problem) for problem in self._problems()]
        if problems:
            raise ConfigError("a simulation that cannot be", problems)

    def _problems(self) -> Iterator[tuple[str, str, str]]:
        """Yield (setting, what is wrong, what is allowed)."""
        parts = [pair.split("-") for pair in self.language_pairs]
        named = all(len(p) == 2 and all(name.isalnum() for name in p) for p in parts)
        if not parts or not named or len(set(self.language_pairs)) < len(parts):
            yield "language_pairs", f"are {self.language_pairs}", "different ones, as cs-en"
        if self.n_systems < 2:
            yield "n_systems", f"is {self.n_systems}", "2 or more"
        if self.n_systems * self.n_segments < OUTPUTS:
            what = f"makes {max(self.n_systems * self.n_segments, 0)} outputs"
            yield "n_segments", what, f"{OUTPUTS} or more, as a HIT shows"
        if self.n_judges < 1:
            yield "n_judges", f"is {self.n_judges}", "1 or more"
        if self.n_hits < self.n_judges:
            yield "n_hits", "is less than there are judges", f"{self.n_judges} or more"
        for name in ("quality_range", "item_sd", "segment_sd", "noise_sd", "location_sd"):
            if not 0 <= getattr(self, name) < np.inf:
                yield name, f"is {getattr(self, name)}", "0 or more"
        if self.segment_sd > self.item_sd:
            yield "segment_sd", "is more than item_sd, of which it is a part", f"{self.item_sd}"
        if not 0 <= self.spread_sd <= 1:
            yield "spread_sd", f"is {self.spread_sd}", "0 to 1"
        if not np.isfinite(self.degradation):
            yield "degradation", f"is {self.degradation}", "points of the scale"
        for name in ("careless_share", "rejected_share", "repeat_share"):
            if not 0 <= getattr(self, name) <= 1:
                yield name, f"is {getattr(self, name)}", "0 to 1"
        if not 1 <= self.nights <= self.n_hits:
            yield "nights", f"is {self.nights}", "1 or more, no more than there are HITs"


@dataclass(frozen=True, eq=False)
class ScoreHits:
    """HITs, one assignment each; arrays are ``(n_hits,)``.

    Parameters
    ----------
    judge, task
        Codes; the task is the language pair.
    night
        Export that holds the HIT, from 1.
    submitted_at
        When it was finished (seconds since 1970, UTC); rising.
    status
        Approved, Rejected or Submitted, as the requester decided.
    """

    judge: Codes
    task: Codes
    night: Codes
    submitted_at: Codes
    status: Texts


@dataclass(frozen=True, eq=False)
class ScoreRows:
    """Judgments by HIT and position: row ``100 * hit + position``; arrays are ``(n_rows,)``.

    Parameters
    ----------
    hit, judge, position
        Codes; positions are 0 to 99.
    system, segment
        Codes of the output; for a control, of the output that it belongs to. Segments are
        counted through all language pairs.
    kind
        Code of `KINDS`.
    score
        0 to 100.
    seconds
        How long the judgment took.
    """

    hit: Codes
    judge: Codes
    position: Codes
    system: Codes
    segment: Codes
    kind: Codes
    score: Codes
    seconds: Floats

    def __len__(self) -> int:
        return len(self.hit)


@dataclass(frozen=True, eq=False)
class SimulatedScores:
    """A campaign, and what nobody knows of a real one.

    Parameters
    ----------
    params
        What was asked.
    judges, systems, segments
        Names, by code.
    hits, rows
        Who did what, and the judgments.
    quality
        ``(n_language_pairs, n_systems)`` true quality of the systems: the mean worth of their
        outputs, points above an average system.
    worth
        ``(n_language_pairs, n_segments, n_systems)`` true worth of the outputs, points.
    habit
        ``(n_judges,)`` one of `HABITS`.
    location, spread
        ``(n_judges,)`` shift in points and stretch of each judge's scale.
    """

    params: ScoreSimulation
    judges: tuple[str, ...]
    systems: tuple[str, ...]
    segments: tuple[str, ...]
    hits: ScoreHits
    rows: ScoreRows
    quality: Floats
    worth: Floats
    habit: Texts
    location: Floats
    spread: Floats

    @property
    def careless(self) -> npt.NDArray[np.bool_]:
        """Return ``(n_judges,)`` whether the judge scores without looking."""
        careless: npt.NDArray[np.bool_] = self.habit != HABITS[0]
        return careless


def simulate_scores(params: ScoreSimulation | None = None) -> SimulatedScores:
    """Draw a campaign: systems, outputs, judges, HITs, scores and times."""
    params = params or ScoreSimulation()
    rng = np.random.default_rng(params.seed)
    quality, worth = _systems(params, rng)
    habit = _habits(params, rng)
    location = rng.normal(0, params.location_sd, size=params.n_judges)
    spread = rng.lognormal(0, params.spread_sd, size=params.n_judges)
    judge, task = _assign_hits(params, rng)
    output, kind = _slots(params, rng, task)
    impressions = _seen(params, rng, worth, task, output, kind)
    score = CENTRE + location[judge][:, None] + spread[judge][:, None] * impressions
    del impressions
    _overwrite_careless_scores(rng, score, judge, habit)
    whole = np.clip(np.rint(score, out=score), 0, 100, out=score).astype(np.int64)
    del score
    seconds = _seconds(rng, judge, habit)
    hits = _submitted(params, rng, judge, task, habit, seconds)
    order = np.argsort(hits.submitted_at, kind="stable")
    segment, system = np.divmod(output, params.n_systems)
    segment += task[:, None] * params.n_segments
    return SimulatedScores(
        params=params,
        judges=tuple(names("judge", params.n_judges).tolist()),
        systems=tuple(names("system", params.n_systems).tolist()),
        segments=tuple(names("segment", worth[..., 0].size).tolist()),
        hits=ScoreHits(**{name: values[order] for name, values in vars(hits).items()}),
        rows=ScoreRows(
            hit=np.repeat(np.arange(params.n_hits), SLOTS),
            judge=np.repeat(judge[order], SLOTS),
            position=np.tile(np.arange(SLOTS), params.n_hits),
            system=system[order].reshape(-1),
            segment=segment[order].reshape(-1),
            kind=kind[order].reshape(-1),
            score=whole[order].reshape(-1),
            seconds=seconds[order].reshape(-1),
        ),
        quality=quality,
        worth=worth,
        habit=habit,
        location=location,
        spread=spread,
    )


# --- systems and judges --------------------------------------------------------------------


def _systems(params: ScoreSimulation, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Return quality by pair of languages and system, and worth by pair, segment and system."""
    n_tasks, n = len(params.language_pairs), params.n_systems
    half = params.quality_range / 2
    even = np.tile(np.linspace(half, -half, n), (n_tasks, 1))
    even[:, 1:-1] += rng.uniform(-0.25, 0.25, size=(n_tasks, n - 2)) * 2 * half / (n - 1)
    quality = rng.permuted(even, axis=1)
    segment = rng.normal(0, params.segment_sd, size=(n_tasks, params.n_segments, 1))
    own_sd = np.sqrt(params.item_sd**2 - params.segment_sd**2)
    own = rng.normal(0, own_sd, size=(n_tasks, params.n_segments, n))
    segment -= segment.mean(axis=1, keepdims=True)
    own -= own.mean(axis=1, keepdims=True)  # the truth is of these segments, not of others
    return quality, quality[:, None, :] + segment + own


def _habits(params: ScoreSimulation, rng: np.random.Generator) -> Texts:
    """Return how each judge scores, in random order."""
    n_careless = round(params.careless_share * params.n_judges)
    careful = np.repeat(HABITS[:1], params.n_judges - n_careless)
    habit: Texts = rng.permutation(np.concatenate([careful, np.resize(HABITS[1:], n_careless)]))
    return habit


def _assign_hits(params: ScoreSimulation, rng: np.random.Generator) -> tuple[Codes, Codes]:
    """Return judge and task of each HIT: some judges work far more, but all do one."""
    eagerness = np.exp(rng.normal(0, 0.7, size=params.n_judges))
    more = rng.choice(
        params.n_judges, size=params.n_hits - params.n_judges, p=eagerness / eagerness.sum()
    )
    judge = rng.permutation(np.concatenate([np.arange(params.n_judges), more]))
    return judge, np.arange(params.n_hits) % len(params.language_pairs)


# --- HITs and scores; arrays are (n_hits, SLOTS) -------------------------------------------


def _slots(params: ScoreSimulation, rng: np.random.Generator, task: Codes) -> tuple[Codes, Codes]:
    """Return output (segment * n_systems + system) and kind of each slot.

    A language pair's outputs are shuffled and dealt out, 70 to a HIT; when they do not suffice
    for another, all are shuffled again. So outputs are judged about equally often.
    """
    n_outputs, n_tasks = params.n_systems * params.n_segments, len(params.language_pairs)
    per_deal = n_outputs // OUTPUTS
    turn = np.arange(params.n_hits) // n_tasks  # HITs of the same task before this one
    deals = (int(turn[-1]) // per_deal + 1) * n_tasks
    shuffled = rng.permuted(np.tile(np.arange(n_outputs), (deals, 1)), axis=1)
    shuffled = shuffled[:, : per_deal * OUTPUTS].reshape(deals, per_deal, OUTPUTS)
    outputs = shuffled[turn // per_deal * n_tasks + task, turn % per_deal]
    # members of a group in random order; the outputs are shuffled, so it is no matter which
    # of them have controls
    lots = rng.random((params.n_hits, GROUPS, GROUP), dtype=np.float32)
    order = np.argsort(lots, axis=2, kind="stable")
    places = _OUTPUT_OF[np.arange(GROUPS)[:, None], order].reshape(params.n_hits, SLOTS)
    kind = _KIND_OF[order].reshape(params.n_hits, SLOTS)
    return np.take_along_axis(outputs, places, axis=1), kind


def _seen(
    params: ScoreSimulation,
    rng: np.random.Generator,
    worth: Floats,
    task: Codes,
    output: Codes,
    kind: Codes,
) -> Floats:
    """Return what a conscientious judge sees: worth with noise, points above an average output."""
    references = rng.normal(REFERENCE, REFERENCE_SD, size=worth.shape[:2]).reshape(-1)
    impressions: Floats = worth.reshape(len(worth), -1)[task[:, None], output]
    impressions[kind == BAD_REFERENCE] -= params.degradation
    good = kind == GOOD_REFERENCE
    segment = output // params.n_systems + task[:, None] * params.n_segments
    impressions[good] = references[segment[good]]
    impressions += rng.normal(0, params.noise_sd, size=impressions.shape)
    return impressions


def _overwrite_careless_scores(
    rng: np.random.Generator, score: Floats, judge: Codes, habit: Texts
) -> None:
    """Overwrite in place the scores of HITs whose judges do not look."""
    favourite = rng.integers(20, 101, size=habit.size)
    for name in HABITS[1:]:
        hits = np.flatnonzero(habit[judge] == name)
        size = (hits.size, SLOTS)
        if name == "random":
            score[hits] = rng.integers(0, 101, size=size)
        elif name == "constant":
            score[hits] = favourite[judge[hits]][:, None]
        else:
            score[hits] = rng.normal(ALWAYS_HIGH, ALWAYS_HIGH_SD, size=size)


def _seconds(rng: np.random.Generator, judge: Codes, habit: Texts) -> Floats:
    pace = np.where(habit == HABITS[0], SECONDS, CARELESS_SECONDS)
    pace = pace * rng.lognormal(0, 0.3, size=habit.size)
    seconds = rng.lognormal(0, 0.5, size=(judge.size, SLOTS))
    seconds *= pace[judge][:, None]
    return np.maximum(np.round(seconds, 1, out=seconds), 0.1, out=seconds)


def _submitted(
    params: ScoreSimulation,
    rng: np.random.Generator,
    judge: Codes,
    task: Codes,
    habit: Texts,
    seconds: Floats,
) -> ScoreHits:
    """Return when HITs were finished, and what the requester thought of them."""
    n = params.n_hits
    night = 1 + np.arange(n) * params.nights // n
    begun = FIRST_NIGHT + (night - 1) * DAY + rng.integers(OPENS, LAST_START, size=n)
    seen_through = (habit[judge] != HABITS[0]) & (rng.random(n) < params.rejected_share)
    status = np.where(seen_through, "Rejected", "Approved")
    status = np.where(night == params.nights, "Submitted", status)
    submitted_at = begun + np.ceil(seconds.sum(axis=1)).astype(np.int64)
    return ScoreHits(judge, task, night, submitted_at, status)


def names(what: str, count: int) -> Texts:
    """Return names of one width, so that their order is that of their codes."""
    numbers = np.arange(1, count + 1).astype(np.str_)
    padded: Texts = np.strings.add(f"{what}-", np.strings.zfill(numbers, len(str(count))))
    return padded
