"""Agreement of judges on scores, their categories and their ranks.

Sources: Graham et al. 2013, section 4 and Tables 1 to 3; Sakaguchi & Van Durme 2018, footnotes 17
and 20.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.contracts import TEXT
from annot_pipeline.methods.agreement.krippendorff import Metric, krippendorff_alpha
from annot_pipeline.methods.agreement.rating_counts import overlap
from annot_pipeline.methods.agreement.scale_agreement import (
    BinnedAgreement,
    binned_agreement,
    inter_judge_binned_agreement,
)
from annot_pipeline.methods.agreement.score_differences import (
    ScoreDifferences,
    inter_judge_score_differences,
    score_differences,
)
from annot_pipeline.methods.judges.judge_correlations import mean_spearman
from annot_pipeline.methods.numerics.bootstrap import Estimate
from annot_pipeline.methods.scores.zscores import Arithmetic
from annot_pipeline.methods.scores.zscores import standardized as z_of
from annot_pipeline.runtime.indexing import index, index_pairs, is_in
from annot_pipeline.stages.agreement.ratings import (
    FEW_DRAWN,
    UNFILTERED,
    Codes,
    Floats,
    Ratings,
    Row,
    agreement_row,
    bootstrap_interval,
)
from annot_pipeline.stages.agreement.scale_cuts import ScaleCuts, n_points
from annot_pipeline.stages.comparisons.bootstrap_rounds import BootstrapRounds


@dataclass(frozen=True)
class Repeats:
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
        """Return the size of the code range of items."""
        return int(self.items.max(initial=-1)) + 1

    @property
    def showings(self) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
        """Return scores and z-scores of the first showing, and of the second."""
        return (self.first, self.first_z), (self.second, self.second_z)

    def only(self, rows: npt.NDArray[np.bool_]) -> Repeats:
        """Return some of the repeats."""
        return Repeats(*(getattr(self, name)[rows] for name in self.__dataclass_fields__))


@dataclass(frozen=True)
class _Scores:
    """Scores of first showings, their items and criteria, and what all z-scores are cut by."""

    ratings: Ratings
    items: Codes
    criteria: Codes
    z: Floats
    all_z: Floats


def score_rows(
    standardized: pa.Table,
    pairs: pa.Table,
    judge_tests: pa.Table,
    judge_scores: pa.Table,
    task: Row,
    bootstrap: BootstrapRounds,
    *,
    arithmetic: Arithmetic,
) -> Iterator[Row]:
    """Yield the rows of a scalar task; parameters are those of `measure_agreement`."""
    repeats = repeats_of(pairs, judge_tests, judge_scores, arithmetic)
    scores = standardized["score"].to_numpy()
    points = n_points(task, is_whole=bool((scores == np.round(scores)).all()))
    for suffix, scored, repeat_pairs in _scores(standardized, repeats):
        cuts = ScaleCuts.from_z_scores(task, points, np.sort(scored.all_z))
        yield from _score_rows(scored, cuts, task, suffix, bootstrap)
        yield from intra_rows(repeat_pairs, cuts, task, suffix, bootstrap)


def _scores(rows: pa.Table, repeats: Repeats) -> Iterator[tuple[str, _Scores, Repeats]]:
    """Yield scores of judges kept; and of all judges, if some are not."""
    is_kept = rows["kept"].to_numpy()
    yield "", _ratings_of_scores(rows.filter(pa.array(is_kept))), repeats.only(~repeats.dropped)
    if not is_kept.all():
        yield UNFILTERED, _ratings_of_scores(rows), repeats


def _ratings_of_scores(rows: pa.Table) -> _Scores:
    all_z = rows["z"].drop_null().to_numpy()
    first = rows.filter(is_in(rows["control"], ("none",)))
    criteria = index(first["criterion"], null="").codes
    items = index(first["item"]).codes
    units = index_pairs(items, criteria).codes
    ratings = Ratings(units, index(first["judge"]).codes, first["score"].to_numpy())
    return _Scores(ratings, items, criteria, first["z"].to_numpy(), all_z)


def repeats_of(
    pairs: pa.Table,
    judge_tests: pa.Table,
    judge_scores: pa.Table,
    arithmetic: Arithmetic,
) -> Repeats:
    """Return the outputs that judges saw twice; parameters are those of `measure_agreement`."""
    is_repeat = pc.and_(is_in(pairs["control"], ("ask_again",)), pc.is_null(pairs["reason"]))
    rows = pairs.filter(is_repeat)
    first, second = rows["ordinary_score"].to_numpy(), rows["score"].to_numpy()
    judge = index(rows["judge_id"])
    criterion = index(rows["criterion"], null="")
    mean, sd = (_by_judge(judge_scores, judge.names, name) for name in ("mean", "sd"))
    dropped = _by_judge(judge_tests, judge.names, "dropped")
    first_z, second_z = (
        z_of(judge.codes, score, mean, sd, arithmetic=arithmetic) for score in (first, second)
    )
    items = index_pairs(index(rows["item"]).codes, criterion.codes).codes
    return Repeats(items, judge.codes, first, second, first_z, second_z,
                    dropped[judge.codes] > 0)  # fmt: skip


def _by_judge(rows: pa.Table, judges: list[str], column: str) -> Floats:
    positions = pc.index_in(pa.array(judges, TEXT), rows["judge"].cast(TEXT).combine_chunks())
    values: Floats = rows[column].cast(pa.float64()).to_numpy()  # null is NaN
    return np.asarray(values[positions.to_numpy()])


def _score_rows(
    scores: _Scores,
    cuts: ScaleCuts,
    task: Row,
    suffix: str,
    bootstrap: BootstrapRounds,
) -> Iterator[Row]:
    ratings = scores.ratings
    for metric in ("ordinal", "interval", "ratio"):
        name = f"alpha_{metric}{suffix}"
        alpha, n_items, n_judges = _alpha(ratings, metric, bootstrap.arguments(name))
        yield alpha_row(task, name, alpha, n_items, n_judges, bootstrap.rounds)
    name = f"inter_spearman{suffix}"
    rho = mean_spearman(
        scores.items, ratings.judges, ratings.values, criteria=scores.criteria,
        n_items=int(scores.items.max(initial=-1)) + 1, n_judges=ratings.sizes["n_judges"],
        **bootstrap.arguments(name),
    )  # fmt: skip
    left_out = {"judge_pairs_left_out": rho.n_undefined_pairs}
    few = FEW_COMMON if rho.mean_common < FEW_DRAWN else None
    row = _row(task, name, rho, rho.n_items, rho.n_judges, bootstrap.rounds, NO_RANKS, few)
    yield row | left_out
    for kind, k in cuts.named:
        rated, _ = cuts.rated(kind, k, ratings, scores.z)
        name = f"inter_kappa_{kind}_{k}{suffix}"
        agreement = inter_judge_binned_agreement(
            rated.items, rated.judges, rated.values, n_categories=k, **rated.sizes,
            **bootstrap.arguments(name),
        )  # fmt: skip
        yield from cut_rows(task, name, agreement, _n_judges(rated), bootstrap.rounds)
    name = f"inter_difference_mean{suffix}"
    inter = inter_judge_score_differences(
        ratings.items,
        ratings.judges,
        ratings.values,
        n_items=ratings.sizes["n_items"],
        **bootstrap.arguments(name),
    )
    yield from difference_rows(task, name, inter, _n_judges(ratings), bootstrap.rounds)


def intra_rows(
    repeats: Repeats, cuts: ScaleCuts, task: Row, suffix: str, bootstrap: BootstrapRounds
) -> Iterator[Row]:
    """Yield the agreement of judges with themselves."""
    for kind, k in cuts.named:
        bins = [cuts.bins(kind, k, *showing) for showing in repeats.showings]
        has_bins = (bins[0] >= 0) & (bins[1] >= 0)
        subset = repeats.only(has_bins)
        name = f"intra_kappa_{kind}_{k}{suffix}"
        agreement = binned_agreement(
            bins[0][has_bins], bins[1][has_bins], subset.items, n_items=subset.n_items,
            n_categories=k, **bootstrap.arguments(name),
        )  # fmt: skip
        n_judges = np.unique(subset.judges).size
        yield from cut_rows(task, name, agreement, n_judges, bootstrap.rounds)
    name = f"intra_difference_mean{suffix}"
    intra = score_differences(
        repeats.first,
        repeats.second,
        repeats.items,
        n_items=repeats.n_items,
        **bootstrap.arguments(name),
    )
    n_judges = np.unique(repeats.judges).size
    yield from difference_rows(task, name, intra, n_judges, bootstrap.rounds)


def _alpha(ratings: Ratings, metric: Metric, rounds: dict[str, Any]) -> tuple[Any, int, int]:
    """Return alpha, its items and its judges; undefined for a ratio of negative scores."""
    rated = np.bincount(ratings.items, minlength=1)[ratings.items] >= 2
    n_judges = np.unique(ratings.judges[rated]).size
    alpha = krippendorff_alpha(
        ratings.items, ratings.values, n_units=ratings.sizes["n_items"], metric=metric, **rounds
    )
    if metric == "ratio" and (ratings.values < 0).any():
        return Estimate(np.nan, np.nan, np.nan), alpha.n_units, n_judges
    return alpha, alpha.n_units, n_judges


def _n_judges(ratings: Ratings) -> int:
    """Return the judges of the items that two or more judges rated."""
    return overlap(ratings.items, ratings.judges, **ratings.sizes).n_judges


FEW_COMMON = f"no interval: pairs of judges share fewer than {FEW_DRAWN} items on average"
NO_RANKS = "no two judges scored three common items, each with different scores"
NO_VALUES = "no item has two scores"
EQUAL_SCORES = "all scores are equal, or too many differ"
NO_RATIO = "all scores are equal, some are below 0, or too many differ"


def alpha_row(task: Row, name: str, estimate: Any, n_items: int, n_judges: int, rounds: int) -> Row:
    """Return the row of an alpha."""
    undefined = NO_RATIO if name.startswith("alpha_ratio") else EQUAL_SCORES
    undefined = undefined if n_items else NO_VALUES
    return _row(task, name, estimate, n_items, n_judges, rounds, undefined)


def _row(
    task: Row,
    name: str,
    estimate: Any,
    n_items: int,
    n_judges: int,
    rounds: int,
    undefined: str,
    unbounded: str | None = None,
) -> Row:
    """Return a row with a bootstrap interval over items; parameters as `bootstrap_interval`."""
    low, high, reason = bootstrap_interval(
        estimate, n_items, rounds, undefined, unbounded=unbounded
    )
    published = Estimate(estimate.value, low, high)
    return agreement_row(task, name, published, n_items, n_judges, reason)


def _pairs_of(name: str) -> str:
    return "two judges" if name.startswith("inter") else "one judge twice"


def cut_rows(
    task: Row, name: str, agreement: BinnedAgreement, n_judges: int, rounds: int
) -> Iterator[Row]:
    """Yield the rows of agreement on a scale that is cut."""
    undefined = f"no item has scores by {_pairs_of(name)}" if not agreement.n_items else "one bin"
    share = name.replace("_kappa_", "_percent_agreement_")
    for row_name, estimate in ((name, agreement.kappa), (share, agreement.percent_agreement)):
        yield _row(task, row_name, estimate, agreement.n_items, n_judges, rounds, undefined)


def difference_rows(
    task: Row, name: str, differences: ScoreDifferences, n_judges: int, rounds: int
) -> Iterator[Row]:
    """Yield the rows of differences: mean and sd."""
    sd = Estimate(differences.sd, np.nan, np.nan)
    undefined = f"{{}} of scores by {_pairs_of(name)}"
    sizes = (differences.n_items, n_judges, rounds)
    yield _row(task, name, differences.mean, *sizes, undefined.format("no pair"))
    name = name.replace("_mean", "_sd")
    yield _row(task, name, sd, *sizes, undefined.format("fewer than 2 pairs"), NO_SD_INTERVAL)


NO_SD_INTERVAL = "no interval: none is computed for a standard deviation"
