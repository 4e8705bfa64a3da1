"""Preferences with known truth: translations compared in pairs, then called good enough or not.

It is collected as Pighin et al. (2012) collected theirs. Translations of a segment and a human
reference meet in a tournament (section 3.1) that one judge plays; some segments are played by
several, for agreement. Outputs that differ in casing only are one player. Of what dominance
leaves open judges then say whether it is good enough (section 3.2), most dominant first.

An output is worth its system's quality and something of its own. A judge sees that with noise,
part of it once for a segment, so that decisions of a HIT err together, and part anew for each
pair, so that some contradict each other. What differs too little is a tie, and what is shown
first looks a little better. A damaged row never reached whoever planned the questions.

All randomness comes from ``numpy.random.default_rng(seed)``; another numpy may draw otherwise.
What does not belong here: settings (preference_settings), texts (translations), what is asked
after all (adequacy_answers), bytes (preference_exports), and any estimate of the truth.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from annot_pipeline.arrays import Codes, Flags, Floats, Texts
from annot_pipeline.methods.comparisons.comparison_graphs import (
    ComparisonGraphs,
    comparison_graphs,
    majority_outcomes,
)
from annot_pipeline.methods.planning.tournament import tournament
from studies.simulators.adequacy_answers import AnswerRows, simulate_answers
from studies.simulators.preference_settings import PreferenceSimulation
from studies.simulators.scores import names
from studies.simulators.translations import translated
from studies.simulators.working_hours import times_of_work

DAMAGES = (
    "unknown outcome", "system as outcome", "blank outcome", "against itself", "blank system",
)  # fmt: skip
"""What can be wrong with a preference; each alone makes it no judgment."""

REFERENCE, REFERENCE_STEADINESS = "human", 0.4
"""Name of the reference, and how much its outputs differ in worth, as a share of other systems'."""

CASES = (str.lower, str.upper, str.title)
SECONDS = 12.0
"""Typical seconds a preference."""


@dataclass(frozen=True, eq=False)
class PreferenceRows:
    """Rows of all exports in the order in which they are written; arrays are ``(n_rows,)``.

    Parameters
    ----------
    night
        Export that holds the row, from 1.
    hit, judge, segment
        Codes. A HIT is one judge's work on one segment.
    first, second
        Codes of the systems in the order shown.
    outcome
        1: the first is better, -1: the second is, 0: a tie; before any damage.
    submitted_at, seconds
        When it was said (seconds since 1970, UTC), and how long that took.
    repeat
        Whether the export of the night before holds the row too.
    damage
        One of `DAMAGES`, or empty.
    """

    night: Codes
    hit: Codes
    judge: Codes
    segment: Codes
    first: Codes
    second: Codes
    outcome: Codes
    submitted_at: Codes
    seconds: Floats
    repeat: Flags
    damage: Texts

    def __len__(self) -> int:
        return len(self.night)

    def take(self, places: Codes | Flags) -> PreferenceRows:
        """Return the rows at some places, or where a mask is true."""
        return PreferenceRows(**{name: values[places] for name, values in vars(self).items()})


@dataclass(frozen=True, eq=False)
class SimulatedPreferences:
    """A campaign, and what nobody knows of a real one.

    Parameters
    ----------
    params
        What was asked.
    systems, segments, judges
        Names, by code; the first system is the reference.
    sources, texts
        ``(n_segments,)`` what was translated, ``(n_segments, n_systems)`` the translations.
    quality
        ``(n_systems,)`` mean worth of a system's outputs.
    worth
        ``(n_segments, n_systems)`` true worth of the outputs; 0 is average of all but reference.
    same_as
        ``(n_segments, n_systems)`` the system whose output this one is but for case; the output's
        own system if it is nobody else's.
    rows, answers
        What the exports hold.
    """

    params: PreferenceSimulation
    systems: tuple[str, ...]
    segments: tuple[str, ...]
    judges: tuple[str, ...]
    sources: Texts
    texts: Texts
    quality: Floats
    worth: Floats
    same_as: Codes
    rows: PreferenceRows
    answers: AnswerRows

    @property
    def adequate(self) -> Flags:
        """Return ``(n_segments, n_systems)`` whether the output is good enough in truth."""
        return np.asarray(self.worth > self.params.adequate_above)


def simulate_preferences(params: PreferenceSimulation | None = None) -> SimulatedPreferences:
    """Draw a campaign: outputs, HITs, preferences, questions and answers."""
    params = params or PreferenceSimulation()
    rng = np.random.default_rng(params.seed)
    worth, same_as = _outputs(params, rng)
    sources, texts = _written(rng, worth, same_as)
    noise = params.judge_sd * rng.lognormal(0, params.judge_spread, size=params.n_judges)
    preferences = _damaged(params, rng, _all_preferences(params, rng, worth, same_as, noise))
    return SimulatedPreferences(
        params=params,
        systems=(REFERENCE, *names("system", params.n_systems).tolist()),
        segments=tuple(names("segment", params.n_segments).tolist()),
        judges=tuple(names("judge", params.n_judges).tolist()),
        sources=sources,
        texts=texts,
        quality=worth.mean(axis=0),
        worth=worth,
        same_as=same_as,
        rows=_exported(params, preferences),
        answers=simulate_answers(params, rng, worth, noise, _graphs(same_as, preferences)),
    )


# --- outputs: arrays are (n_segments, n_systems) -------------------------------------------


def _outputs(params: PreferenceSimulation, rng: np.random.Generator) -> tuple[Floats, Codes]:
    """Draw the worth of outputs, and the system whose output each one is."""
    n_segments, n = params.n_segments, 1 + params.n_systems
    half = params.quality_range / 2
    quality = rng.permutation(np.linspace(half, -half, params.n_systems))
    quality = np.append(half + params.reference_lead, quality)
    own = rng.normal(0, params.item_sd, size=(n_segments, n))
    own[:, 0] *= REFERENCE_STEADINESS
    worth = quality + own - own.mean(axis=0)  # the truth is of these segments, not of others
    copies = rng.random((n_segments, n)) < params.copied_share
    copies[:, 0] = False  # the reference was there before the systems
    distance = np.abs(worth[:, :, None] - worth[:, None, :])  # alike are those of like worth
    nearest = np.where(copies[:, None, :], np.inf, distance).argmin(axis=2)
    same_as = np.where(copies, nearest, np.arange(n))
    return np.take_along_axis(worth, same_as, axis=1), same_as


def _written(rng: np.random.Generator, worth: Floats, same_as: Codes) -> tuple[Texts, Texts]:
    """Return sources and texts; every second copy differs in case."""
    sources, texts = translated(rng, worth)
    texts = np.take_along_axis(texts, same_as, axis=1)
    copies = np.argwhere(same_as != np.arange(worth.shape[1]))
    for number, (segment, system) in enumerate(copies[::2].tolist()):
        texts[segment, system] = CASES[number % len(CASES)](str(texts[segment, system]))
    return sources, texts


# --- preferences ---------------------------------------------------------------------------


def _all_preferences(
    params: PreferenceSimulation,
    rng: np.random.Generator,
    worth: Floats,
    same_as: Codes,
    noise: Floats,
) -> PreferenceRows:
    """Return all preferences, by HIT in the order of nights."""
    segment, judge = _hits(params, rng)
    pairs = [tournament([{s} for s in set(row)], rng).pairs for row in same_as.tolist()]
    hit = np.repeat(np.arange(segment.size), [len(pairs[s]) for s in segment.tolist()])
    items = rng.permuted(np.concatenate([pairs[s] for s in segment.tolist()]), axis=1)
    n = hit.size
    impressions = worth[segment] + noise[judge, None] * rng.normal(
        size=(segment.size, worth.shape[1])
    )
    better = impressions[hit, items[:, 0]] - impressions[hit, items[:, 1]] + params.first_shown
    better += rng.normal(0, params.noise_sd, size=n)
    seconds = np.round(SECONDS * rng.lognormal(0, 0.5, size=n), 1)
    night = 1 + np.arange(segment.size) * params.nights // segment.size
    return PreferenceRows(
        night=night[hit],
        hit=hit,
        judge=judge[hit],
        segment=segment[hit],
        first=items[:, 0],
        second=items[:, 1],
        outcome=np.where(np.abs(better) < params.tie_below, 0, np.sign(better)).astype(np.int64),
        submitted_at=times_of_work(rng, night, hit, seconds),
        seconds=seconds,
        repeat=np.zeros(n, np.bool_),
        damage=np.full(n, "", dtype="<U17"),
    )


def _hits(params: PreferenceSimulation, rng: np.random.Generator) -> tuple[Codes, Codes]:
    """Return segment and judge of each HIT, in random order.

    Some judges work far more than others.
    """
    shared = rng.permutation(params.n_segments) < params.shared_segments
    eagerness = rng.normal(0, 0.7, size=params.n_judges)
    # the largest of (log weight + Gumbel noise) are a weighted draw without replacement
    lots = eagerness + rng.gumbel(size=(params.n_segments, params.n_judges))
    judges = np.argsort(-lots, axis=1, kind="stable")
    several = np.arange(params.n_judges) < np.where(shared, params.judges_of_shared, 1)[:, None]
    segment, positions = np.nonzero(several)
    order = rng.permutation(segment.size)
    return segment[order], judges[segment, positions][order]


def _damaged(
    params: PreferenceSimulation, rng: np.random.Generator, preferences: PreferenceRows
) -> PreferenceRows:
    """Damage as many rows as were asked for; what they say is lost, in repeats too."""
    damage = preferences.damage.copy()
    places = rng.permutation(len(preferences))[: params.dirty * len(DAMAGES)]
    damage[places] = np.resize(DAMAGES, places.size)
    return PreferenceRows(**{**vars(preferences), "damage": damage})


def _exported(params: PreferenceSimulation, preferences: PreferenceRows) -> PreferenceRows:
    """Return the rows of each night in order of time, after the last ones of the night before."""
    places, nights, repeats = [], [], []
    before = np.arange(0)
    for night in range(1, params.nights + 1):
        today = np.flatnonzero(preferences.night == night)
        today = today[np.argsort(preferences.submitted_at[today], kind="stable")]
        count = min(round(params.repeat_share * today.size), before.size)
        written = np.append(before[before.size - count :], today)
        places.append(written)
        nights.append(np.full(written.size, night))
        repeats.append(np.arange(written.size) < count)
        before = today
    columns = {"night": np.concatenate(nights), "repeat": np.concatenate(repeats)}
    return PreferenceRows(**{**vars(preferences.take(np.concatenate(places))), **columns})


# --- what is known once all was said -------------------------------------------------------


def _graphs(same_as: Codes, preferences: PreferenceRows) -> ComparisonGraphs:
    """Return graphs of what most said of each pair, and of outputs that are equal but for case."""
    n_segments, n = same_as.shape
    intact = preferences.take(preferences.damage == "")
    item = np.arange(same_as.size)
    original = same_as.reshape(-1) + item // n * n
    copies = item[original != item]
    segment = np.repeat(np.arange(n_segments), n)
    decided = majority_outcomes(
        segment,
        np.append(intact.segment * n + intact.first, copies),
        np.append(intact.segment * n + intact.second, original[copies]),
        np.append(intact.outcome, np.zeros(copies.size, np.int64)),
    )
    return comparison_graphs(segment, *decided)
