"""Rows of ``judge_bias``: what moves a judge's comparisons beside the quality of the outputs.

What does not belong here: the statistics themselves (methods.model_judges).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.arrays import Codes, Floats
from annot_pipeline.config import Campaign
from annot_pipeline.config.judges import JudgeSettings, entry_for
from annot_pipeline.contracts import TEXT
from annot_pipeline.methods.model_judges.clustered_estimate import (
    ClusteredEstimate,
    clustered_estimate,
    unknown,
)
from annot_pipeline.methods.model_judges.judge_coefficients import JudgeComparisons, fit_judges
from annot_pipeline.methods.model_judges.length_preference import prepare_length_preference
from annot_pipeline.methods.model_judges.order_effect import prepare_order_effect
from annot_pipeline.methods.numerics.shares import wilson_interval
from annot_pipeline.runtime.indexing import index, index_pairs, is_in
from annot_pipeline.runtime.listed_items import ListedItems
from annot_pipeline.stages.model_judges.answers import (
    NONE,
    TIE,
    A,
    B,
    TaskAnswers,
    asked_comparisons,
    clusters,
    code_systems,
    group_means,
    judgments_of_judges,
)
from annot_pipeline.stages.shared.columns import without_nan

Row = dict[str, Any]

ROW_FIELDS = (
    "judge", "pair", "cluster", "item_a", "item_b", "system_a", "system_b", "share", "b_first",
    "truth", "length_a", "length_b",
)  # fmt: skip
"""Fields of `Comparisons` with one value per comparison."""
UNANSWERED = ("rejected", "not_asked", "unscored")
"""Fates of records that may be comparisons without an answer."""
LEAST_COMPARISONS = 20
"""Of a judge whose effects of order and length are estimated."""
TOO_FEW = f"fewer than {LEAST_COMPARISONS} comparisons"
UNKNOWN_ORDER = "which output was shown first is unknown"
NO_FAMILIES = "no family is declared for the judge and for a system"
NO_PEOPLE = "people compared no such pair: no reference for the own family"


@dataclass(frozen=True, eq=False)
class Comparisons:
    """All comparisons of a task, ``(n,)``; the item whose name comes first is a.

    Parameters
    ----------
    judge, pair, cluster, item_a, item_b
        Codes; pairs of items, and what errs together: documents, else segments, else pairs.
    system_a, system_b
        Codes of ``systems``; `NONE` where none is known.
    share
        Of the win that goes to a.
    b_first
        1 where b was shown first, 0 where a was; NaN where nothing tells.
    truth
        Known answers; NaN where there is none.
    length_a, length_b
        Characters of their texts; NaN where a text is unknown or empty.
    """

    judges: list[str]
    systems: list[str]
    judge: Codes
    pair: Codes
    cluster: Codes
    item_a: Codes
    item_b: Codes
    system_a: Codes
    system_b: Codes
    share: Floats
    b_first: Floats
    truth: Floats
    length_a: Floats
    length_b: Floats

    def only(self, rows: Codes) -> Comparisons:
        """Return some comparisons."""
        arrays = {name: getattr(self, name)[rows] for name in ROW_FIELDS}
        return Comparisons(self.judges, self.systems, **arrays)


def bias_rows(
    rows: pa.Table, answers: TaskAnswers, items: pa.Table, listed: ListedItems, settings: Campaign
) -> list[Row]:
    """Return one row per judge of a task of comparisons; none of other tasks.

    Parameters
    ----------
    rows
        Judgments of the task.
    answers
        The same, one per judge and pair.
    items, listed
        Of item tables, which tell lengths of texts.
    settings
        ``judges`` and ``ranking.shown_order``.
    """
    if answers.kind != "pairwise":
        return []
    is_known = settings.ranking.shown_order == "as_listed"
    compared = _comparisons(rows, items, listed, is_order_known=is_known)
    kinds = {
        name: ("model" if is_model else "human")
        for name, is_model in zip(answers.judges, answers.is_model.tolist(), strict=True)
    }
    by_judge = np.argsort(compared.judge, kind="stable")
    counts = np.bincount(compared.judge, minlength=len(compared.judges))
    ends = np.cumsum(counts)
    own_family = _families(compared, settings.judges.declared)
    people = _shares_of_people(compared, kinds)
    unanswered = _unanswered(rows)
    result: list[Row] = []
    prepared: list[JudgeComparisons | ClusteredEstimate] = []
    for code, judge in enumerate(compared.judges):
        own = compared.only(by_judge[ends[code] - counts[code] : ends[code]])
        row: Row = {"task": answers.task, "judge": judge}
        row["kind"] = kinds.get(judge) if settings.judges.declared else None
        row["n_comparisons"] = int(counts[code])
        row |= _first_shown(own) | _both_orders(own)
        row["n_unanswered"] = unanswered.get(judge, 0)
        facts, effects = _effects(own)
        row |= facts | _own_family(own, own_family.of_judge.get(judge), own_family, people)
        result.append(row)
        prepared += effects
    fitted = fit_judges(prepared)
    for row, length, order in zip(result, fitted[::2], fitted[1::2], strict=True):
        row |= _ends("length", length) | _ends("order", order)
    return [without_nan(row) for row in result]


def _comparisons(
    rows: pa.Table, items: pa.Table, listed: ListedItems, *, is_order_known: bool
) -> Comparisons:
    pairs = asked_comparisons(judgments_of_judges(rows, ("none", "ask_again")), listed)
    judge = index(pairs["judge_id"])
    item_a, item_b = index(pairs["item_a"]), index(pairs["item_b"])
    pair = index_pairs(item_a.codes, item_b.codes).codes
    (first, second), systems = code_systems([pairs["system_a"], pairs["system_b"]])
    order = pairs["b_shown_first"].to_numpy(zero_copy_only=False)
    b_first = np.array(order, np.float64) if is_order_known else np.full(judge.codes.size, np.nan)
    return Comparisons(
        judge.names, systems, judge.codes, pair, clusters(pairs, pair), item_a.codes, item_b.codes,
        first, second, pairs["share"].to_numpy(), b_first, pairs["truth"].to_numpy(),
        *_lengths(pairs, items),
    )  # fmt: skip


def _lengths(pairs: pa.Table, items: pa.Table) -> tuple[Floats, Floats]:
    """Return characters of the texts of a and b; NaN where a text is unknown or empty."""
    texts = items.filter(items["text"].is_valid()).sort_by("place")
    lengths: dict[str, float] = {}
    characters = pc.utf8_length(texts["text"].cast(TEXT)).to_pylist()
    for name, n in zip(texts["item"].to_pylist(), characters, strict=True):
        lengths.setdefault(name, n or np.nan)
    characters_by_code, names = np.array([*lengths.values(), np.nan]), pa.array([*lengths], TEXT)
    length_a, length_b = (
        characters_by_code[
            pc.fill_null(pc.index_in(pairs[f"item_{n}"].cast(TEXT), names), -1).to_numpy()
        ]
        for n in "ab"
    )
    return length_a, length_b


def _first_shown(own: Comparisons) -> Row:
    """Return how often what was shown first wins, of decided comparisons."""
    decided = (own.share != 0.5) & ~np.isnan(own.b_first)
    wins = (own.share > 0.5) != (own.b_first == 1)
    n = int(decided.sum())
    share = float(wins[decided].mean()) if n else np.nan
    return {"n_decided": n, "first_shown_share": share}


def _both_orders(own: Comparisons) -> Row:
    """Return how a judge answers pairs in both orders, and how often rightly in each."""
    ordered = np.flatnonzero(~np.isnan(own.b_first))
    pair = np.unique(own.pair[ordered], return_inverse=True)[1].reshape(-1)
    n_pairs = int(pair.max(initial=-1)) + 1
    answers = []
    for side in (0, 1):
        rows = ordered[own.b_first[ordered] == side]
        of_side = pair[own.b_first[ordered] == side]
        mean = group_means(of_side, own.share[rows], n_pairs)
        answer = np.select([mean > 0.5, mean < 0.5], [A, B], TIE).astype(np.float64)
        answers.append(np.where(np.isnan(mean), np.nan, answer))
    forward, reverse = answers
    both = ~np.isnan(forward) & ~np.isnan(reverse)
    truth = np.full(n_pairs, np.nan)
    truth[pair] = own.truth[ordered]
    n, n_same = int(both.sum()), int((both & (forward == reverse)).sum())
    low, high = wilson_interval(np.array([n_same]), np.array([n]))
    return {
        "n_both_orders": n, "n_consistent": n_same,
        "consistency": n_same / n if n else np.nan,
        "consistency_low": float(low[0]), "consistency_high": float(high[0]),
        "n_truths": int((~np.isnan(truth)).sum()),
        "n_right_forward": int((forward == truth).sum()),
        "n_right_reverse": int((reverse == truth).sum()),
    }  # fmt: skip


def _unanswered(rows: pa.Table) -> dict[str, int]:
    """Return by judge the pairs that were asked in both orders and answered in neither."""
    is_blank = pc.and_(rows["preference"].is_null(), rows["rank_a"].is_null())
    named = pc.and_(rows["item_a"].is_valid(), rows["item_b"].is_valid())
    is_unanswered = pc.and_(is_in(rows["fate"], UNANSWERED), pc.and_(is_blank, named))
    blank = rows.filter(pc.and_(is_unanswered, rows["judge_id"].is_valid()))
    item_a, item_b = (blank[name].cast(TEXT) for name in ("item_a", "item_b"))
    is_turned = pc.greater(item_a, item_b)
    sides = [pc.if_else(is_turned, *both) for both in ((item_b, item_a), (item_a, item_b))]
    pairs = pa.table(
        [blank["judge_id"].cast(TEXT), *sides, is_turned], ["judge", "a", "b", "turned"]
    )
    orders = pairs.group_by(["judge", "a", "b"]).aggregate([("turned", "count_distinct")])
    both = orders.filter(pc.equal(orders["turned_count_distinct"], 2))
    counts = pc.value_counts(both["judge"]).to_pylist()
    return {row["values"]: row["counts"] for row in counts}


def _effects(own: Comparisons) -> tuple[Row, list[JudgeComparisons | ClusteredEstimate]]:
    """Return facts of lengths, and what the effects of length and of order are fitted to."""
    row: Row = {"n_lengths": int((~np.isnan(own.length_a) & ~np.isnan(own.length_b)).sum())}
    if own.judge.size < LEAST_COMPARISONS:
        return row, [unknown(TOO_FEW)] * 2
    outcome = (np.sign(own.share - 0.5) + 1) / 2
    has_systems = bool((np.minimum(own.system_a, own.system_b) != NONE).all())
    sides = (own.system_a, own.system_b) if has_systems else (own.item_a, own.item_b)
    row["longer_share"], length = prepare_length_preference(
        own.length_a, own.length_b, outcome, own.cluster, sides if has_systems else None
    )
    has_order = ~np.isnan(own.b_first)
    if not has_order.any():
        return row, [length, unknown(UNKNOWN_ORDER)]
    is_turned = own.b_first[has_order] == 1
    side_a, side_b = (side[has_order] for side in sides)
    order = prepare_order_effect(
        np.where(is_turned, side_b, side_a), np.where(is_turned, side_a, side_b),
        np.where(is_turned, 1 - outcome[has_order], outcome[has_order]),
        own.cluster[has_order], strengths="systems" if has_systems else "items",
    )  # fmt: skip
    return row, [length, order]


def _ends(name: str, estimate: ClusteredEstimate) -> Row:
    low, high = estimate.interval()
    return {
        f"{name}_effect": estimate.value, f"{name}_effect_low": low, f"{name}_effect_high": high,
        f"{name}_reason": estimate.reason,
    }  # fmt: skip


@dataclass(frozen=True)
class Families:
    """Declared families of models, of judges and of systems by code."""

    of_judge: Mapping[str, str]
    of_system: Sequence[str | None]


def _families(compared: Comparisons, declared: Sequence[JudgeSettings]) -> Families:
    """Return the families of judges and systems whose names match an entry of a model."""

    def family(name: str) -> str | None:
        entry = entry_for(name, declared)
        return entry.family if entry is not None and entry.kind == "model" else None

    of_judge = {name: own for name in compared.judges if (own := family(name)) is not None}
    return Families(of_judge, [family(name) for name in compared.systems])


def _own_family(own: Comparisons, family: str | None, families: Families, people: Floats) -> Row:
    """Return the share of wins of the judge's own family, beside that of people on these pairs."""
    is_own = np.array([one is not None and one == family for one in families.of_system] + [False])
    is_other = np.array([one != family for one in families.of_system] + [False])
    first = is_own[own.system_a] & is_other[own.system_b]
    second = is_own[own.system_b] & is_other[own.system_a]
    rows = np.flatnonzero(first | second)
    if not rows.size:
        return {"n_own_family": 0, "family_reason": NO_FAMILIES}
    share = np.where(second, 1 - own.share, own.share)[rows]
    row: Row = {"n_own_family": int(rows.size), "own_family_share": float(share.mean())}
    of_people = people[own.pair[rows]]
    of_people = np.where(second[rows], 1 - of_people, of_people)
    has_people = ~np.isnan(of_people)
    if not has_people.any():
        return row | {"family_reason": NO_PEOPLE}
    difference = (share - of_people)[has_people]
    value = float(difference.mean())
    estimate = clustered_estimate(value, difference - value, own.cluster[rows][has_people])
    low, high = estimate.interval()
    return row | {
        "own_family_preference": value, "own_family_preference_low": low,
        "own_family_preference_high": high, "family_reason": estimate.reason,
    }  # fmt: skip


def _shares_of_people(compared: Comparisons, kinds: Mapping[str, str]) -> Floats:
    """Return people's mean share of a by pair; NaN where no person compared it."""
    is_human = np.array([kinds.get(name) == "human" for name in compared.judges])
    people, n_pairs = is_human[compared.judge], int(compared.pair.max(initial=-1)) + 1
    return group_means(compared.pair[people], compared.share[people], n_pairs)
