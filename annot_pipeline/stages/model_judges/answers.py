"""The answers of a task, of people and models alike: one per judge and item.

A comparison is an answer about a pair of items, from the side of the item whose name comes first.
Of several labels of a judge on an item the first by id counts, of several scores their mean. A
judge whose answers differ in the two orders of a pair says that they are tied.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.arrays import Codes, Flags, Floats
from annot_pipeline.contracts import PREFERENCES, REAL, TEXT
from annot_pipeline.runtime.indexing import class_order, index, index_pairs, is_in
from annot_pipeline.runtime.listed_items import ListedItems
from annot_pipeline.stages.shared.comparisons import (
    comparisons_of_pairs,
    describe_pairs,
    with_systems,
)
from annot_pipeline.stages.shared.known_items import Truths

COUNTED = ("used", "measured")
"""Fates of judgments that are compared: of judges whom the task uses, and of the others."""
A, B, TIE = (PREFERENCES.index(name) for name in ("a", "b", "tie"))
NONE = -1


@dataclass(frozen=True, eq=False)
class JudgedItems:
    """Items, or pairs of items, or items by criterion; arrays are ``(n_items,)``.

    Parameters
    ----------
    names
        Of items; of a pair both.
    cluster
        Codes of what errs together: the document, else the segment, else the item.
    segment
        Codes; `NONE` where none is known.
    criterion
        Codes of ``criteria``.
    system, other_system
        Codes of ``systems``; `NONE` where none is known. The other one is that of a pair.
    truth
        The known answer, as answers are coded; NaN where none is known.
    probability
        With which people were asked, where item tables or exports say so; else NaN.
    """

    names: list[str]
    cluster: Codes
    segment: Codes
    criterion: Codes
    criteria: list[str]
    system: Codes
    other_system: Codes
    systems: list[str]
    truth: Floats
    probability: Floats


@dataclass(frozen=True, eq=False)
class TaskAnswers:
    """Answers of a task; ``item``, ``judge`` and ``value`` are ``(n_answers,)``.

    Parameters
    ----------
    task, kind
        Name and kind: categorical, scalar or pairwise.
    items
        What was judged, by code.
    judges, is_model
        Published names by code, and which are models.
    value
        Scores; codes of ``classes`` for labels and comparisons (a, b, tie).
    share
        Comparisons: share of the win that goes to the first item, 1, 1/2 or 0.
    """

    task: str
    kind: str
    items: JudgedItems
    judges: list[str]
    is_model: Flags
    item: Codes
    judge: Codes
    value: Floats
    share: Floats
    classes: list[str]

    @cached_property
    def by_people(self) -> Flags:
        """Return whether each answer is a person's."""
        return ~self.is_model[self.judge]

    @property
    def models(self) -> list[int]:
        """Return the codes of the models that answered."""
        return np.flatnonzero(self.is_model).tolist()

    def of_judge(self, judge: int, values: Floats) -> Floats:
        """Return a judge's values by item, ``(n_items,)``; NaN where there is none."""
        whole = np.full(len(self.items.names), np.nan)
        order, starts = self._by_judge
        rows = order[starts[judge] : starts[judge + 1]]
        whole[self.item[rows]] = values[rows]
        return whole

    @cached_property
    def _by_judge(self) -> tuple[Codes, Codes]:
        """Return rows in the order of judges, and where those of each start."""
        counts = np.bincount(self.judge, minlength=len(self.judges))
        return np.argsort(self.judge, kind="stable"), np.append(0, np.cumsum(counts))


def task_answers(
    rows: pa.Table,
    kind: str,
    listed: ListedItems,
    truths: Truths,
    probabilities: Mapping[str, float] | None = None,
) -> TaskAnswers | None:
    """Return the answers of a task; None if it has none.

    Parameters
    ----------
    rows
        Its judgments and experts' decisions.
    kind
        categorical, scalar or pairwise.
    listed, truths
        What item tables say of items.
    probabilities
        `listed_probabilities`, which go before those of judgments: they are of all samples joined.
    """
    judged = judgments_of_judges(rows, ("none",))
    if not judged.num_rows:
        return None
    if kind == "pairwise":
        answers = _of_pairs(judged, listed)
    else:
        answers = _of_items(judged, rows, kind, listed, truths)
    if not probabilities:
        return answers
    listed_ones = np.array([probabilities.get(name, np.nan) for name in answers.items.names])
    stated = answers.items.probability
    joined = np.where(np.isnan(listed_ones), stated, listed_ones)
    return replace(answers, items=replace(answers.items, probability=joined))


def listed_items_of(rows: pa.Table, items: pa.Table) -> ListedItems:
    """Return what rows of item tables say of the items of judgments."""
    named = [c.cast(TEXT) for n in ("item", "item_a", "item_b") for c in rows[n].chunks]
    return ListedItems.named([items], [pa.table({"item": pa.chunked_array(named, TEXT)})])


def listed_probabilities(listed: pa.Table, task: str) -> dict[str, float]:
    """Return the selection probabilities that item tables give to items of a task, by name.

    A pair is listed as one item, under `pair_name`. Of several rows of an item the largest counts:
    each further sample that is joined makes an item more probable.
    """
    is_own = pc.or_(listed["task"].is_null(), is_in(listed["task"], (task,)))
    largest = listed.filter(is_own).group_by(["item"]).aggregate([("selection_probability", "max")])
    names = largest["item"].cast(TEXT).to_pylist()
    return dict(zip(names, largest["selection_probability_max"].to_pylist(), strict=True))


def pair_name(first: str, second: str) -> str:
    """Return the name of a pair of items, of which the first comes first in code point order."""
    return f"{first} | {second}"


def judgments_of_judges(rows: pa.Table, controls: Sequence[str]) -> pa.Table:
    """Return the judgments that are compared, of some kinds of controls."""
    is_judged = pc.and_(is_in(rows["fate"], COUNTED), is_in(rows["control"], controls))
    is_judged = pc.and_(is_judged, rows["judge_id"].is_valid())
    return rows if pc.all(is_judged).as_py() else rows.filter(is_judged)  # a copy takes long


def _of_items(
    judged: pa.Table, rows: pa.Table, kind: str, listed: ListedItems, truths: Truths
) -> TaskAnswers:
    """Return labels or scores of items."""
    judged = listed.describe(judged)
    item = index(judged["item"])
    criterion = index(judged["criterion"], null="")
    cells = index_pairs(item.codes, criterion.codes)
    judge = index(judged["judge_id"])
    one = index_pairs(cells.codes, judge.codes)
    first = _first_rows(one.codes, one.first.size)
    if kind == "scalar":
        score = judged["score"].to_numpy(zero_copy_only=False).astype(np.float64)
        value = np.bincount(one.codes, score) / np.bincount(one.codes)
        classes: list[str] = []
        truth = np.full(len(item.names), np.nan)
    else:
        labels = _known_labels(rows, judged, truths)
        label = index(judged["label"])
        classes = class_order(sorted({*label.names, *labels.values()}))
        places = {name: code for code, name in enumerate(classes)}
        value = np.array([places[name] for name in label.names], np.float64)[label.codes][first]
        truth = np.array([places.get(labels.get(name, ""), np.nan) for name in item.names])
    first_of_cell = _first_rows(cells.codes, cells.first.size)
    items = _items(
        judged.take(pa.array(first_of_cell)),
        [item.names[code] for code in cells.first],
        (cells.second, criterion.names),
        truth[cells.first],
        _probabilities(judged, cells.codes, cells.first.size),
    )
    return TaskAnswers(
        judged["task"][0].as_py(), kind, items, judge.names, _is_model(judged, judge.codes),
        one.first, one.second, value, value, classes,
    )  # fmt: skip


def _known_labels(rows: pa.Table, judged: pa.Table, truths: Truths) -> dict[str, str]:
    """Return known labels by item: experts' decisions, then records' truths, then item tables'."""
    label_by_item = dict(truths.by_item)
    with_truth = judged.filter(judged["truth"].is_valid())
    decided = rows.filter(is_in(rows["fate"], ("adjudication",)))
    for table, column in ((with_truth, "truth"), (decided, "label")):
        pairs = table.select(["item", column]).group_by(["item", column]).aggregate([])
        label_by_item |= {row["item"]: row[column] for row in pairs.to_pylist()}
    return label_by_item


def _of_pairs(judged: pa.Table, listed: ListedItems) -> TaskAnswers:
    """Return comparisons as answers about pairs."""
    pairs = asked_comparisons(judged, listed)
    item_a, item_b = index(pairs["item_a"]), index(pairs["item_b"])
    pair = index_pairs(item_a.codes, item_b.codes)
    judge = index(pairs["judge_id"])
    one = index_pairs(pair.codes, judge.codes)
    n = np.bincount(one.codes)
    share = np.bincount(one.codes, pairs["share"].to_numpy()) / n
    value = np.select([share > 0.5, share < 0.5], [A, B], TIE).astype(np.float64)
    first = _first_rows(pair.codes, pair.first.size)
    names = [
        pair_name(item_a.names[a], item_b.names[b])
        for a, b in zip(pair.first.tolist(), pair.second.tolist(), strict=True)
    ]
    truth = np.full(pair.first.size, np.nan)
    has_truth = ~np.isnan(pairs["truth"].to_numpy())
    truth[pair.codes[has_truth]] = pairs["truth"].to_numpy()[has_truth]
    items = _items(
        pairs.take(pa.array(first)), names, (np.zeros(len(names), np.int64), [""]), truth,
        _probabilities(pairs, pair.codes, pair.first.size),
    )  # fmt: skip
    return TaskAnswers(
        judged["task"][0].as_py(), "pairwise", items, judge.names, _is_model(pairs, judge.codes),
        one.first, one.second, value, share, list(PREFERENCES),
    )  # fmt: skip


def asked_comparisons(judged: pa.Table, listed: ListedItems) -> pa.Table:
    """Return one comparison per judgment of a pair, the item whose name comes first as a.

    Returns
    -------
    pyarrow.Table
        As `comparisons_of_pairs`, with ``judge_id``, ``judge_kind``, ``share`` (of the win that
        goes to a), ``truth`` (code of `PREFERENCES`, NaN if unknown) and
        ``selection_probability``.
    """
    pairs = describe_pairs(judged.append_column("kept", pa.repeat(True, judged.num_rows)), listed)
    compared = comparisons_of_pairs(pairs)
    is_turned = pc.greater(pairs["item_a"].cast(TEXT), pairs["item_b"].cast(TEXT)).to_numpy()
    outcome = compared["outcome"].to_numpy()
    graded = compared["share_a"].to_numpy(zero_copy_only=False).astype(np.float64)
    share = np.where(np.isnan(graded), (outcome + 1) / 2, graded)
    columns = {
        "judge_id": pairs["judge_id"], "judge_kind": pairs["judge_kind"],
        "share": pa.array(share), "truth": pa.array(_pair_truths(pairs, is_turned)),
        "selection_probability": pairs["selection_probability"],
    }  # fmt: skip
    for name, column in columns.items():
        compared = compared.append_column(name, column)
    return with_systems(compared)


def _pair_truths(pairs: pa.Table, is_turned: Flags) -> Floats:
    """Return known answers: a side as it was shown, or the name of an item or system, or tie."""
    truth = pairs["truth"].cast(TEXT)

    def names(*columns: str) -> Flags:
        equal = [pc.fill_null(pc.equal(truth, pairs[c].cast(TEXT)), False) for c in columns]
        return np.asarray(equal[0].to_numpy() | equal[1].to_numpy())

    def is_truth(word: str) -> Flags:
        return np.asarray(pc.fill_null(pc.equal(truth, word), False).to_numpy())

    is_first, is_second = names("system_a", "item_a"), names("system_b", "item_b")
    is_named = is_first | is_second
    first, second = is_first | (is_truth("a") & ~is_named), is_second | (is_truth("b") & ~is_named)
    sides = (np.where(is_turned, B, A), np.where(is_turned, A, B))
    return np.select(
        [first, second, is_truth("tie")], [*map(np.float64, sides), np.float64(TIE)], np.nan
    )


def _items(
    rows: pa.Table,
    names: list[str],
    criteria: tuple[Codes, list[str]],
    truth: Floats,
    probability: Floats,
) -> JudgedItems:
    """Return the items of the first row of each."""
    segment = coded(rows["segment"])
    own = index(rows["item"]).codes if "item" in rows.schema.names else np.arange(rows.num_rows)
    columns = ["system"] if "system" in rows.schema.names else ["system_a", "system_b"]
    codes, systems = code_systems([rows[name] for name in columns])
    return JudgedItems(
        names, clusters(rows, own), segment, *criteria, codes[0],
        codes[1] if len(codes) > 1 else np.full(len(names), NONE), systems, truth,
        probability,
    )  # fmt: skip


def code_systems(columns: Sequence[pa.ChunkedArray]) -> tuple[list[Codes], list[str]]:
    """Return codes of several columns of systems, `NONE` for null, and the names of systems."""
    chunks = [chunk for column in columns for chunk in column.cast(TEXT).chunks]
    named = index(pa.chunked_array(chunks, TEXT), null="")
    has_null = named.names[:1] == [""]
    return np.split(named.codes - has_null, len(columns)), named.names[has_null:]


def clusters(rows: pa.Table, own: Codes) -> Codes:
    """Return what errs together: documents, else segments, else what ``own`` is the code of."""
    document, segment = (coded(rows[name]) for name in ("document", "segment"))
    kinds = np.select([document != NONE, segment != NONE], [2, 1], 0)
    return index_pairs(kinds, np.select([kinds == 2, kinds == 1], [document, segment], own)).codes


def coded(column: pa.ChunkedArray) -> Codes:
    """Return codes from 0; `NONE` for null."""
    codes = index(column, null="").codes
    is_null = column.is_null().to_numpy()
    return np.where(is_null, NONE, codes)


def _probabilities(rows: pa.Table, cell: Codes, n: int) -> Floats:
    """Return the probability with which each item was chosen for people, where records say so."""
    stated = rows["selection_probability"].cast(REAL).to_numpy(zero_copy_only=False)
    stated = stated.astype(np.float64)
    values = np.full(n, np.nan)
    rows_with = np.flatnonzero(~np.isnan(stated))[::-1]  # the first of an item counts
    values[cell[rows_with]] = stated[rows_with]
    return values


def _is_model(rows: pa.Table, judge: Codes) -> Flags:
    is_model = np.zeros(int(judge.max()) + 1, np.bool_)
    is_model[judge[is_in(rows["judge_kind"], ("model",)).fill_null(False).to_numpy()]] = True
    return is_model


def group_means(groups: Codes, values: Floats, n_groups: int) -> Floats:
    """Return the mean of the values of each group, ``(n_groups,)``; NaN without any."""
    with np.errstate(invalid="ignore"):
        sums = np.bincount(groups, values, n_groups)
        return np.asarray(sums / np.bincount(groups, minlength=n_groups))


def _first_rows(codes: Codes, n: int) -> Codes:
    """Return the first row of each code, ``(n,)``."""
    first = np.empty(n, np.int64)
    first[codes[::-1]] = np.arange(codes.size)[::-1]
    return first
