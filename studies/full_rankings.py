"""Full rankings of outputs by one judge each, put together from a campaign's comparisons.

Outputs that are identical stand for several systems and are one output. What does not belong
here: what is done with the rankings.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from annot_pipeline.arrays import Codes
from annot_pipeline.config import LoadedCampaign
from annot_pipeline.errors import ConfigError, Problem
from annot_pipeline.runtime.indexing import index
from annot_pipeline.stages.build import Progress
from studies.temporary_build import temporary_build
from studies.topology import dense

TITLE = "a campaign without full rankings"
COLUMNS = ("task", "kept", "item_a", "item_b", "outcome", "same_output", "ranking")

LEAST = 3
"""Outputs that a ranking has at least: of two there is one relation."""

REASONS = (
    f"of fewer than {LEAST} different outputs",
    "with pairs that were not compared",
    "whose comparisons are no order",
)
"""Why what was judged at once is no full ranking; the first that holds."""


@dataclass(frozen=True, eq=False)
class FullRankings:
    """Full rankings by the number of their outputs.

    Parameters
    ----------
    rank
        ``(n_rankings, n)`` dense ranks by n, 1 the best, in the order of ranking numbers.
    left_out
        How many were left out, by `REASONS`.
    """

    rank: Mapping[int, Codes]
    left_out: Mapping[str, int]


def full_rankings(
    ranking: npt.ArrayLike,
    item_a: npt.ArrayLike,
    item_b: npt.ArrayLike,
    outcome: npt.ArrayLike,
    same_output: npt.ArrayLike,
) -> FullRankings:
    """Put rankings together; the order of comparisons does not matter.

    Parameters
    ----------
    ranking
        ``(n_comparisons,)`` number of what was judged at once.
    item_a, item_b
        ``(n_comparisons,)`` codes of items.
    outcome
        ``(n_comparisons,)`` 1 a is better, 0 tie, -1 b is better.
    same_output
        ``(n_comparisons,)`` whether both are one output, which nobody was asked about.
    """
    number = np.unique(np.asarray(ranking, np.int64), return_inverse=True)[1].reshape(-1)
    a, b, decided = (np.asarray(v, np.int64) for v in (item_a, item_b, outcome))
    same = np.asarray(same_output, np.bool_)
    output_a, output_b, ranking_of_output = _outputs(number, a, b, same)
    n_rankings = int(number.max(initial=-1)) + 1
    n = np.bincount(ranking_of_output, minlength=n_rankings)
    low, high = np.minimum(output_a, output_b), np.maximum(output_a, output_b)
    turned = np.where(output_a < output_b, decided, -decided)[~same]
    pairs, first, pair = np.unique(
        low[~same] * max(ranking_of_output.size, 1) + high[~same],
        return_index=True,
        return_inverse=True,
    )
    low, high = np.divmod(pairs, max(ranking_of_output.size, 1))
    result = turned[first]
    losses = np.bincount(low[result < 0], minlength=ranking_of_output.size)
    losses += np.bincount(high[result > 0], minlength=ranking_of_output.size)
    order = np.ones(n_rankings, np.bool_)
    order[ranking_of_output[low[np.sign(losses[high] - losses[low]) != result]]] = False
    order[ranking_of_output[low[pair[turned != result[pair]]]]] = (
        False  # several systems, several outcomes
    )
    order[ranking_of_output[low[low == high]]] = False  # one output, and yet compared
    complete = np.bincount(ranking_of_output[low], minlength=n_rankings) == n * (n - 1) // 2
    failed = np.stack([n < LEAST, ~complete, ~order])
    why = np.where(failed.any(axis=0), failed.argmax(axis=0), -1)
    left_out = {reason: int((why == k).sum()) for k, reason in enumerate(REASONS)}
    return FullRankings(_by_size(losses, ranking_of_output, n, why < 0), left_out)


def _outputs(number: Codes, a: Codes, b: Codes, same: npt.NDArray[np.bool_]) -> tuple[Codes, ...]:
    """Return the outputs of comparisons, numbered by ranking and least item, and their ranking."""
    n_items = int(max(a.max(initial=-1), b.max(initial=-1))) + 1
    keys = np.concatenate([number * n_items + a, number * n_items + b])
    places, at = np.unique(keys, return_inverse=True)
    place_a, place_b = np.split(at.reshape(-1), 2)
    one = coo_array(
        (np.ones(int(same.sum())), (place_a[same], place_b[same])), (places.size, places.size)
    )
    labels = connected_components(one.tocsr(), directed=False)[1]
    _, least, group = np.unique(labels, return_index=True, return_inverse=True)
    numbered = np.empty(least.size, np.int64)
    numbered[np.argsort(least)] = np.arange(least.size)
    output = numbered[group]
    ranking_of_output = places[np.sort(least)] // max(n_items, 1)
    return output[place_a], output[place_b], ranking_of_output


def _by_size(
    losses: Codes, ranking_of_output: Codes, n: Codes, full: npt.NDArray[np.bool_]
) -> dict[int, Codes]:
    sizes = np.unique(n[full]).tolist()
    return {
        size: dense(
            losses[full[ranking_of_output] & (n[ranking_of_output] == size)].reshape(-1, size)
        )
        for size in sizes
    }


# --- of a campaign ---------------------------------------------------------------------------


def read_full_rankings(
    campaign: LoadedCampaign, progress: Progress
) -> tuple[dict[str, FullRankings], list[str]]:
    """Return full rankings of each task by judges who count, and gates that would stop a build.

    The stages up to comparisons are built in a temporary folder; the campaign's own store and
    releases are not touched.

    Raises
    ------
    AnnotError
        An export is missing or cannot be read; no task compares outputs.
    """
    tables, failed = temporary_build(campaign, {"comparisons": COLUMNS}, progress)
    table = tables["comparisons"]
    table = table.filter(table["kept"])
    if not table.num_rows:
        do = "annot validate says what there is"
        what = "no comparison of outputs counts, so there is no ranking"
        raise ConfigError(TITLE, [Problem("", what, do=do)])
    return rankings_by_task(table), failed


def rankings_by_task(comparisons: pa.Table) -> dict[str, FullRankings]:
    """Return full rankings by task, of a table of comparisons (`COLUMNS`)."""
    task, items = index(comparisons["task"]), pa.chunked_array(
        [*comparisons["item_a"].chunks, *comparisons["item_b"].chunks]
    )  # fmt: skip
    item = index(items).codes
    item_a, item_b = np.split(item, 2) if item.size else (item, item)
    columns = [
        comparisons["ranking"].to_numpy(), item_a, item_b,
        comparisons["outcome"].to_numpy(), comparisons["same_output"].to_numpy(),
    ]  # fmt: skip
    return {
        name: full_rankings(*(column[task.codes == code] for column in columns))
        for code, name in enumerate(task.names)
    }
