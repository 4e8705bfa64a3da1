"""Agreement of judges by task: on labels, and on scores, their categories and their ranks.

Sources: Passonneau & Carpenter 2013, section 2; Graham et al. 2013, section 4 and Tables 1 to
3; Sakaguchi & Van Durme 2018, footnotes 17 and 20. Judgments of judges who do not count are left
out; where there are any, the same statistics of all judges stand beside, with ``_unfiltered``
behind their names. What does not belong here: the statistics themselves (agreement, krippendorff,
scale_agreement, judge_correlations).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.contracts import AGREEMENT, TEXT
from annot_pipeline.methods.agreement import nominal_agreement
from annot_pipeline.methods.bootstrap import Estimate
from annot_pipeline.methods.judge_correlations import mean_spearman
from annot_pipeline.methods.krippendorff import Metric, krippendorff_alpha
from annot_pipeline.methods.rating_counts import overlap
from annot_pipeline.methods.scale_agreement import (
    BinnedAgreement,
    ScoreDifferences,
    binned_agreement,
    equal_bins,
    inter_judge_binned_agreement,
    inter_judge_score_differences,
    percentile_bins,
    score_differences,
)
from annot_pipeline.methods.zscores import Arithmetic, standardized
from annot_pipeline.steps.bootstrap_rounds import BootstrapRounds
from annot_pipeline.steps.indexing import class_order, index, index_pairs

CODE_VERSION = "2"
CUTS = (5, 4, 2)
MOST_POINTS = 10
"""A scale of at most so many whole points is one of radio buttons: it is not cut."""
UNFILTERED = "_unfiltered"

Codes = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Row = dict[str, Any]


def measure_agreement(
    judgments: pa.Table,
    standardized: pa.Table,
    pairs: pa.Table,
    judge_tests: pa.Table,
    judge_scores: pa.Table,
    tasks: pa.Table,
    *,
    arithmetic: Arithmetic,
    rounds: int,
    seed: int,
    progress: Callable[[str], None] | None = None,
) -> tuple[pa.Table, dict[str, Any]]:
    """Measure the agreement of every categorical and scalar task.

    Parameters
    ----------
    judgments
        ``task``, ``item``, ``judge``, ``label``, ``control``, ``fate``.
    standardized, judge_scores
        As `standardize_scores` gives them.
    pairs
        ``control_pairs``, as `control_judges` gives them.
    judge_tests
        As `control_judges` gives it.
    tasks
        ``task``, ``kind``, ``labels``, ``ordinal``, ``scale_low``, ``scale_high``, ``criteria``.
    arithmetic
        Of z-scores, as `standardize_scores` took it.
    rounds, seed
        Of the bootstrap over items; each statistic has its own stream.
    progress
        Told what is going on.

    Returns
    -------
    agreement, facts
    """
    rows: list[Row] = []
    for number, task in enumerate(tasks.to_pylist()):
        if progress:
            progress(f"agreement: task {number + 1} of {tasks.num_rows}")
        bootstrap = BootstrapRounds(task["task"], rounds, seed)
        if task["kind"] == "categorical":
            for suffix, ratings in _labels(judgments, task):
                rows += _label_rows(ratings, task, suffix, bootstrap)
        elif task["kind"] == "scalar":
            of_task = _of(standardized, task["task"])
            repeats = _repeats(pairs, judge_tests, judge_scores, task["task"], arithmetic)
            points = _n_points(task, of_task)
            for suffix, scores, again in _scores(of_task, repeats):
                rows += _score_rows(scores, again, task, points, suffix, bootstrap)
    for row in rows:
        for name in ("value", "ci_low", "ci_high"):
            row[name] = None if np.isnan(row[name]) else float(row[name])
    table = AGREEMENT.of({name: [row[name] for row in rows] for name in AGREEMENT.schema.names})
    undefined = [f"{r['task']} {r['statistic']}" for r in rows if r["value"] is None]
    left_out = {
        f"{r['task']} {r['statistic']}": r["judge_pairs_left_out"]
        for r in rows
        if r.get("judge_pairs_left_out")
    }
    return table, {"undefined_statistics": undefined, "judge_pairs_left_out": left_out}


@dataclass(frozen=True)
class _Ratings:
    """Codes of items (of item and criterion) and judges, and what was given."""

    items: Codes
    judges: Codes
    values: npt.NDArray[Any]
    names: tuple[str, ...] = ()  # labels

    def only(self, rows: npt.NDArray[np.bool_], values: npt.NDArray[Any]) -> _Ratings:
        return _Ratings(self.items[rows], self.judges[rows], values[rows])

    @property
    def sizes(self) -> dict[str, int]:
        return {
            "n_items": int(self.items.max(initial=-1)) + 1,
            "n_judges": int(self.judges.max(initial=-1)) + 1,
        }


@dataclass(frozen=True)
class _Repeats:
    """Scores of outputs that a judge saw twice, with their z-scores."""

    items: Codes
    judges: Codes
    first: Floats
    second: Floats
    first_z: Floats
    second_z: Floats
    dropped: npt.NDArray[np.bool_]

    @property
    def n_items(self) -> int:
        return int(self.items.max(initial=-1)) + 1

    def only(self, rows: npt.NDArray[np.bool_]) -> _Repeats:
        return _Repeats(*(getattr(self, name)[rows] for name in self.__dataclass_fields__))


@dataclass(frozen=True)
class _Scores:
    """Scores of first showings, their items and criteria, and what all z-scores are cut by."""

    ratings: _Ratings
    items: Codes
    criteria: Codes
    z: Floats
    all_z: Floats


def _of(table: pa.Table, task: str) -> pa.Table:
    return table.filter(pc.equal(table["task"].cast(TEXT), task))


# --- labels --------------------------------------------------------------------------------


def _labels(judgments: pa.Table, task: Row) -> Iterator[tuple[str, _Ratings]]:
    """Labels of judges kept; and of all judges, if some are not."""
    rows = _of(judgments, task["task"])
    fates = rows["fate"].cast(TEXT)
    ordinary = pc.is_in(rows["control"].cast(TEXT), pa.array(["none", "ask_again"], TEXT))
    kept = rows.filter(pc.and_(pc.equal(fates, "used"), ordinary))
    yield "", _ratings_of_labels(kept, task)
    failed = pc.and_(pc.equal(fates, "judge_failed"), ordinary)
    if pc.any(failed).as_py():
        everyone = rows.filter(pc.or_(pc.and_(pc.equal(fates, "used"), ordinary), failed))
        yield UNFILTERED, _ratings_of_labels(everyone, task)


def _ratings_of_labels(rows: pa.Table, task: Row) -> _Ratings:
    given = index(rows["label"])
    names = list(task["labels"] or class_order(given.names))
    place = np.array([names.index(name) for name in given.names], np.int64)
    items, judges = index(rows["item"]).codes, index(rows["judge"]).codes
    return _Ratings(items, judges, place[given.codes], tuple(names))


def _label_rows(
    ratings: _Ratings, task: Row, suffix: str, bootstrap: BootstrapRounds
) -> Iterator[Row]:
    found = nominal_agreement(
        ratings.items,
        ratings.judges,
        ratings.values,
        n_labels=max(len(ratings.names), 1),
        **ratings.sizes,
        **bootstrap.of(f"labels{suffix}"),
    )
    names = ["percent_agreement", "pooled_percent_agreement", "cohen_kappa", "fleiss_kappa",
             "alpha_nominal"]  # fmt: skip
    if task["ordinal"]:
        names.append("alpha_ordinal")
    for name in names:
        statistic = getattr(found, name)
        yield _row(task, name + suffix, statistic, statistic.n_items, statistic.n_judges)


# --- scores --------------------------------------------------------------------------------


def _scores(rows: pa.Table, repeats: _Repeats) -> Iterator[tuple[str, _Scores, _Repeats]]:
    """Scores of judges kept; and of all judges, if some are not."""
    kept = rows["kept"].to_numpy()
    yield "", _ratings_of_scores(rows.filter(pa.array(kept))), repeats.only(~repeats.dropped)
    if not kept.all():
        yield UNFILTERED, _ratings_of_scores(rows), repeats


def _ratings_of_scores(rows: pa.Table) -> _Scores:
    all_z = rows["z"].drop_null().to_numpy()
    first = rows.filter(pc.equal(rows["control"].cast(TEXT), "none"))
    criteria = index(pc.fill_null(first["criterion"].cast(TEXT), "")).codes
    items = index(first["item"]).codes
    units = index_pairs(items, criteria).codes
    ratings = _Ratings(units, index(first["judge"]).codes, first["score"].to_numpy())
    return _Scores(ratings, items, criteria, first["z"].to_numpy(), all_z)


def _repeats(
    pairs: pa.Table,
    judge_tests: pa.Table,
    judge_scores: pa.Table,
    task: str,
    arithmetic: Arithmetic,
) -> _Repeats:
    again = pc.and_(pc.equal(pairs["control"].cast(TEXT), "ask_again"), pc.is_null(pairs["reason"]))
    rows = _of(pairs.filter(again), task)
    first, second = rows["ordinary_score"].to_numpy(), rows["score"].to_numpy()
    judge = index(rows["judge_id"])
    criterion = index(pc.fill_null(rows["criterion"].cast(TEXT), ""))
    mean, sd = (_by_judge(_of(judge_scores, task), judge.names, name) for name in ("mean", "sd"))
    dropped = _by_judge(_of(judge_tests, task), judge.names, "dropped")
    first_z, second_z = (
        standardized(judge.codes, score, mean, sd, arithmetic=arithmetic)
        for score in (first, second)
    )
    items = index_pairs(index(rows["item"]).codes, criterion.codes).codes
    return _Repeats(items, judge.codes, first, second, first_z, second_z,
                    dropped[judge.codes] > 0)  # fmt: skip


def _by_judge(rows: pa.Table, judges: list[str], column: str) -> Floats:
    place = pc.index_in(pa.array(judges, TEXT), rows["judge"].cast(TEXT).combine_chunks())
    values: Floats = rows[column].cast(pa.float64()).to_numpy()  # null is NaN
    return np.asarray(values[place.to_numpy()])


def _score_rows(
    scores: _Scores,
    repeats: _Repeats,
    task: Row,
    points: int | None,
    suffix: str,
    bootstrap: BootstrapRounds,
) -> Iterator[Row]:
    of = scores.ratings
    for metric in ("ordinal", "interval", "ratio"):
        name = f"alpha_{metric}{suffix}"
        yield _row(task, name, *_alpha(of, metric, bootstrap.of(name)))
    name = f"inter_spearman{suffix}"
    rho = mean_spearman(
        scores.items, of.judges, of.values, criteria=scores.criteria,
        n_items=int(scores.items.max(initial=-1)) + 1, n_judges=of.sizes["n_judges"],
        **bootstrap.of(name),
    )  # fmt: skip
    left_out = {"judge_pairs_left_out": rho.n_undefined_pairs}
    yield _row(task, name, rho, rho.n_items, rho.n_judges) | left_out
    for kind, (bins, again, k) in _cuts(scores, repeats, task, points):
        name = f"inter_kappa_{kind}_{k}{suffix}"
        rated = of.only(bins >= 0, bins)
        found = inter_judge_binned_agreement(
            rated.items, rated.judges, rated.values, n_categories=k, **rated.sizes,
            **bootstrap.of(name),
        )  # fmt: skip
        yield from _cut_rows(task, name, found, _n_judges(rated))
        known = (again[0] >= 0) & (again[1] >= 0)
        seen = repeats.only(known)
        name = f"intra_kappa_{kind}_{k}{suffix}"
        found = binned_agreement(
            again[0][known], again[1][known], seen.items, n_items=seen.n_items, n_categories=k,
            **bootstrap.of(name),
        )  # fmt: skip
        yield from _cut_rows(task, name, found, np.unique(seen.judges).size)
    name = f"inter_difference_mean{suffix}"
    inter = inter_judge_score_differences(
        of.items, of.judges, of.values, n_items=of.sizes["n_items"], **bootstrap.of(name)
    )
    yield from _difference_rows(task, name, inter, _n_judges(of))
    name = f"intra_difference_mean{suffix}"
    intra = score_differences(
        repeats.first, repeats.second, repeats.items, n_items=repeats.n_items, **bootstrap.of(name)
    )
    yield from _difference_rows(task, name, intra, np.unique(repeats.judges).size)


def _alpha(of: _Ratings, metric: Metric, rounds: dict[str, Any]) -> tuple[Any, int, int]:
    """Alpha, and the items and judges it rests on; undefined for a ratio of negative scores."""
    rated = np.bincount(of.items, minlength=1)[of.items] >= 2
    n_judges = np.unique(of.judges[rated]).size
    alpha = krippendorff_alpha(
        of.items, of.values, n_units=of.sizes["n_items"], metric=metric, **rounds
    )
    if metric == "ratio" and (of.values < 0).any():
        return Estimate(np.nan, np.nan, np.nan), alpha.n_units, n_judges
    return alpha, alpha.n_units, n_judges


def _n_judges(of: _Ratings) -> int:
    """Judges of the items that two or more judges rated."""
    return overlap(of.items, of.judges, **of.sizes).n_judges


Cut = tuple[str, tuple[Codes, tuple[Codes, Codes], int]]


def _cuts(scores: _Scores, repeats: _Repeats, task: Row, points: int | None) -> Iterator[Cut]:
    """Bins of first showings and of repeats; -1 for a judgment without z."""
    low, high = task["scale_low"], task["scale_high"]
    raw = scores.ratings.values
    if low is not None:
        for k in (points,) if points else CUTS:
            cut = [equal_bins(v, low, high, k) for v in (raw, repeats.first, repeats.second)]
            yield "raw", (cut[0], (cut[1], cut[2]), k)
    for k in CUTS:
        cut = [_z_bins(z, k, scores.all_z) for z in (scores.z, repeats.first_z, repeats.second_z)]
        yield "z", (cut[0], (cut[1], cut[2]), k)


def _n_points(task: Row, rows: pa.Table) -> int | None:
    """Points of a scale of radio buttons; None for one that is cut, or not declared."""
    low, high = task["scale_low"], task["scale_high"]
    if low is None or high - low >= MOST_POINTS or low != int(low) or high != int(high):
        return None
    scores = rows["score"].to_numpy()
    return int(high - low) + 1 if (scores == np.round(scores)).all() else None


def _z_bins(z: Floats, k: int, all_z: Floats) -> Codes:
    bins = np.full(z.size, -1, np.int64)
    known = ~np.isnan(z)
    if all_z.size:
        bins[known] = percentile_bins(z[known], k, all_z)
    return bins


def _cut_rows(task: Row, name: str, found: BinnedAgreement, n_judges: int) -> Iterator[Row]:
    yield _row(task, name, found.kappa, found.n_items, n_judges)
    share = name.replace("_kappa_", "_percent_agreement_")
    yield _row(task, share, found.percent_agreement, found.n_items, n_judges)


def _difference_rows(task: Row, name: str, found: ScoreDifferences, n_judges: int) -> Iterator[Row]:
    yield _row(task, name, found.mean, found.n_items, n_judges)
    sd = Estimate(found.sd, np.nan, np.nan)
    yield _row(task, name.replace("_mean", "_sd"), sd, found.n_items, n_judges)


def _row(task: Row, statistic: str, found: Any, n_items: int, n_judges: int) -> Row:
    """A row of the table; ``found`` has value, ci_low, ci_high."""
    return {
        "task": task["task"],
        "statistic": statistic,
        "value": found.value,
        "ci_low": found.ci_low,
        "ci_high": found.ci_high,
        "n_items": n_items,
        "n_judges": n_judges,
    }
