"""Items for people to judge, so that intervals of estimates from models halve at least cost.

The batch is a stratified random sample of all items that the model judged, those that people
judged already among them: these are not asked again. An item's selection probability is that of
being in the sample or among people's earlier items. What does not belong here: the allocation
(validation_sample), the population and present intervals (validation_population).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from annot_pipeline.arrays import Codes, Flags, Floats
from annot_pipeline.config import Campaign
from annot_pipeline.contracts import REAL, TEXT
from annot_pipeline.methods.planning.validation_sample import (
    SampledPopulation,
    ValidationSample,
    allocation_of_size,
    draw_strata,
    expected_variance,
    joined_probability,
    validation_sample,
)
from annot_pipeline.runtime.listed_items import ListedItems
from annot_pipeline.stages.model_judges.answers import listed_items_of, pair_name, task_answers
from annot_pipeline.stages.planning.hit_plan import (
    SAMPLED,
    CannotPlanError,
    PlannedTask,
    Question,
    Slots,
    TaskItems,
)
from annot_pipeline.stages.planning.plan_comparisons import NothingLeftError, even_parts
from annot_pipeline.stages.planning.validation_population import (
    NORMAL,
    JudgedPopulation,
    PresentEstimates,
    judged_population,
    present_estimates,
    sampled_population,
)
from annot_pipeline.stages.shared.known_items import Truths

SELECTION_PROBABILITIES = pa.schema(
    [("task", TEXT), ("item", TEXT), ("item_a", TEXT), ("item_b", TEXT),
     ("selection_probability", REAL)]
)  # fmt: skip
"""One row is an item of the population, or a pair: ``item`` is then `pair_name`."""

FIRST_ITEMS = 100
"""Items of a first sample, before any interval is known."""
REPEATED = "repeat"
"""The role of a slot that makes HITs of scores equally long: an item of the HIT once more."""

Row = dict[str, Any]


def plan_validation(
    question: Question,
    rows: pa.Table,
    described: pa.Table,
    listed: Mapping[str, Row],
    probabilities: Mapping[str, float],
    settings: Campaign,
    notes: list[str],
) -> PlannedTask:
    """Plan the HITs of a task.

    Parameters
    ----------
    question
        What is asked.
    rows
        Judgments of the task, as `task_answers` takes them.
    described
        Rows of the item tables.
    listed
        What item tables say of an item.
    probabilities
        Selection probabilities by item, as item tables list them.
    settings
        ``judges.people_items``, ``next_hits.hit_size``, ``next_hits.items``, ``seed``.
    notes
        Grows by what to know.

    Raises
    ------
    NothingLeftError, CannotPlanError
        Why there can be none.
    """
    task = question.task
    kind = {"label": "categorical", "score": "scalar", "compare": "pairwise"}[question.ask]
    descriptions = listed_items_of(rows, described)
    answers = task_answers(rows, kind, descriptions, Truths(), probabilities)
    if answers is None or not answers.models:
        raise CannotPlanError(
            "no judge that is declared as a model judged it; write judges: [{name: ..., kind: "
            "model}], and let the model judge all items first"
        )
    present = present_estimates(answers, people_items=settings.judges.people_items)
    population = judged_population(answers, present)
    if population.is_judged[population.strata.code >= 0].all():
        raise NothingLeftError("people judged all items that the model judged")
    if present.assumption is not None:
        notes.append(f"{task}: {present.assumption}")
    cells = sampled_population(population, present)
    sample = _sample(cells, present, settings.next_hits.items)
    outputs = _described_items(rows, descriptions, kind)
    pairs = dict(_pairs(rows)) if kind == "pairwise" else None
    items = _task_items(question, population, present, outputs, pairs, listed)
    rng = items.rng(settings.seed)
    sizes = cells.stratum_sizes
    is_drawn = draw_strata(population.strata.code, sample.allocation, rng)
    share = np.append(sample.allocation / sizes, 0.0)[population.strata.code]  # of code -1: none
    joined = joined_probability(population.earlier, share)
    asked_items = rng.permutation(np.flatnonzero(is_drawn & ~population.is_judged))
    if not asked_items.size:
        raise CannotPlanError(
            f"people judged all {int(is_drawn.sum()):,} items that were drawn; set another seed, "
            "or raise next_hits.items"
        )
    slots = _slots(items, population, asked_items, joined, pairs, settings.next_hits.hit_size, rng)
    if None in (slots.texts if slots.texts_b is None else [*slots.texts, *slots.texts_b]):
        notes.append(
            f"{task}: judges see the names of outputs without a text; map text under items"
        )
    summary = _summary(population, present, cells, sample, is_drawn, asked_items)
    notes += _notes(task, summary, settings)
    probability_rows = _probability_rows(task, population.names, joined, pairs)
    return PlannedTask(items, slots, summary=summary, probabilities=probability_rows)


def _sample(
    cells: SampledPopulation, present: PresentEstimates, most: int | None
) -> ValidationSample:
    """Return the sample that halves the widest interval; without one, a first sample."""
    if present.have_width:
        widest = max(one.width for one in present.estimands if not np.isnan(one.width))
        planned = np.array([not np.isnan(one.width) for one in present.estimands])
        of_planned = replace(cells, squares=cells.squares[planned], floor=cells.floor[planned])
        target = (widest / 2 / NORMAL) ** 2
        sample = validation_sample(of_planned, target, most=most)
        return replace(sample, variance=expected_variance(cells, sample.allocation))
    allocation = allocation_of_size(cells, FIRST_ITEMS if most is None else most)
    return ValidationSample(allocation, expected_variance(cells, allocation), float("nan"))


def _described_items(
    rows: pa.Table, descriptions: ListedItems, kind: str
) -> dict[str, tuple[str | None, str | None]]:
    """Return segment and system by item, of item tables, else of the first judgment."""
    sides = [("item_a", "system_a"), ("item_b", "system_b")]
    if kind != "pairwise":
        sides = [("item", "system")]
    outputs: dict[str, tuple[str | None, str | None]] = {}
    for item, system in sides:
        columns = {"item": item, "segment": "segment", "document": "document", "system": system}
        side = pa.table({name: rows[column] for name, column in columns.items()})
        side = descriptions.describe(side.filter(side["item"].is_valid()))
        values = (side[name].cast(TEXT).to_pylist() for name in ("item", "segment", "system"))
        for name, segment, system_name in zip(*values, strict=True):
            outputs.setdefault(name, (segment, system_name))
    return outputs


def _pairs(rows: pa.Table) -> list[tuple[str, tuple[str, str]]]:
    """Return the two items of each pair, by the pair's name."""
    pairs = rows.select(["item_a", "item_b"]).drop_null()
    distinct = pairs.group_by(pairs.column_names).aggregate([])
    columns = (distinct[name].cast(TEXT).to_pylist() for name in ("item_a", "item_b"))
    sides = [(min(a, b), max(a, b)) for a, b in zip(*columns, strict=True)]
    return [(pair_name(*side), side) for side in sorted(set(sides))]


def _task_items(
    question: Question,
    population: JudgedPopulation,
    present: PresentEstimates,
    outputs: Mapping[str, tuple[str | None, str | None]],
    pairs: Mapping[str, tuple[str, str]] | None,
    listed: Mapping[str, Row],
) -> TaskItems:
    """Return all outputs; every answer and probability changes the state."""
    names = population.names
    if pairs is not None:
        names = sorted({item for name in names for item in pairs[name]})
    n = len(names)
    state = [population.strata.code.astype(np.float64), population.earlier, population.is_judged]
    state += [value for one in present.estimands for value in (one.own, one.human)]
    parts = (np.ascontiguousarray(values, np.float64).tobytes() for values in state)
    unscored = np.full(n, np.nan)
    n_judgments = np.zeros(n, np.int64) if pairs is not None else population.is_judged * 1
    return TaskItems(
        question=question,
        names=names,
        segments=[outputs[name][0] for name in names],
        systems=[outputs[name][1] for name in names],
        alpha=unscored,
        beta=unscored,
        n_judgments=n_judgments.astype(np.int64),
        listed=listed,
        other_state="\0".join(population.names).encode("utf-8", "surrogatepass") + b"".join(parts),
    )


def _slots(
    items: TaskItems,
    population: JudgedPopulation,
    asked_items: Codes,
    joined: Floats,
    pairs: Mapping[str, tuple[str, str]] | None,
    hit_size: int,
    rng: np.random.Generator,
) -> Slots:
    """Return slots in the order in which items were drawn."""
    sizes = even_parts(asked_items.size, hit_size)
    names = [population.names[code] for code in asked_items.tolist()]
    probability = joined[asked_items]
    if pairs is None:
        first, second = asked_items, None
    else:
        code_by_name = {name: code for code, name in enumerate(items.names)}
        sides = np.array([[code_by_name[side] for side in pairs[name]] for name in names], np.int64)
        sides = rng.permuted(sides, axis=1)  # which is shown first
        first, second = sides[:, 0], sides[:, 1]
    roles, controls = [SAMPLED] * asked_items.size, ["none"] * asked_items.size
    if items.question.ask == "score":
        first, probability, roles, controls = _filled(first, probability, sizes)
        sizes = [max(sizes)] * len(sizes)
    return Slots(
        items=first,
        roles=roles,
        controls=controls,
        probability=probability,
        texts=_texts(items, first),
        sizes=np.array(sizes, np.int64),
        items_b=second,
        texts_b=None if second is None else _texts(items, second),
    )


def _filled(
    items: Codes, probability: Floats, sizes: Sequence[int]
) -> tuple[Codes, Floats, list[str], list[str]]:
    """Return slots of HITs of scores, which are equally long: shorter ones repeat their first."""
    parts, values, roles, controls = [], [], [], []
    start = 0
    for size in sizes:
        part = slice(start, start + size)
        start += size
        n_more = max(sizes) - size
        parts.append(np.append(items[part], items[part][:n_more]))
        values.append(np.append(probability[part], np.full(n_more, np.nan)))
        roles += [SAMPLED] * size + [REPEATED] * n_more
        controls += ["none"] * size + ["ask_again"] * n_more
    return np.concatenate(parts), np.concatenate(values), roles, controls


def _texts(items: TaskItems, codes: Codes) -> list[str | None]:
    return [items.shown_value("text", item) for item in codes.tolist()]


def _probability_rows(
    task: str, names: list[str], joined: Floats, pairs: Mapping[str, tuple[str, str]] | None
) -> pa.Table:
    """Return items that could be or are in the sample; others have no probability."""
    is_possible = joined > 0
    own = [name for name, is_in in zip(names, is_possible.tolist(), strict=True) if is_in]
    sides = [(None, None) if pairs is None else pairs[name] for name in own]
    return pa.table(
        {
            "task": [task] * len(own),
            "item": own,
            "item_a": [side[0] for side in sides],
            "item_b": [side[1] for side in sides],
            "selection_probability": joined[is_possible],
        },
        schema=SELECTION_PROBABILITIES,
    )


def _summary(
    population: JudgedPopulation,
    present: PresentEstimates,
    cells: SampledPopulation,
    sample: ValidationSample,
    is_drawn: Flags,
    asked_items: Codes,
) -> dict[str, Any]:
    code = population.strata.code
    n_strata = len(population.strata.names)

    def by_stratum(rows: Flags) -> list[int]:
        counts: list[int] = np.bincount(code[rows & (code >= 0)], minlength=n_strata).tolist()
        return counts

    is_asked = np.zeros(code.size, np.bool_)
    is_asked[asked_items] = True
    judged, n_drawn, new = (by_stratum(r) for r in (population.is_judged, is_drawn, is_asked))
    sizes = cells.stratum_sizes.tolist()
    has_width = present.have_width
    n_items = _sample(cells, present, None).n_items if has_width else None
    return {
        "model": present.model,
        "items": int((code >= 0).sum()),
        "judged": sum(judged),
        "drawn": sum(n_drawn),
        "asked": int(asked_items.size),
        "drawn_to_halve": n_items,
        "halves": bool(has_width and _reaches(present, sample)),
        "strata": [
            {"stratum": name, "items": sizes[k], "judged": judged[k], "drawn": n_drawn[k],
             "asked": new[k], "probability": n_drawn[k] / sizes[k]}
            for k, name in enumerate(population.strata.names)
        ],
        "estimands": [
            one.key
            | {"width": None if np.isnan(one.width) else one.width,
               "expected_width": NORMAL * variance**0.5 if 0 < variance < np.inf else None}
            for one, variance in zip(present.estimands, sample.variance.tolist(), strict=True)
        ],
    }  # fmt: skip


def _reaches(present: PresentEstimates, sample: ValidationSample) -> bool:
    has_width = np.array([not np.isnan(one.width) for one in present.estimands])
    return bool((sample.variance[has_width] <= sample.target * (1 + 1e-9)).all())


def _notes(task: str, summary: Mapping[str, Any], settings: Campaign) -> list[str]:
    n_asked, n_drawn = summary["asked"], summary["drawn"]
    repeats_text = f", {n_drawn - n_asked:,} of them judged before" if n_drawn > n_asked else ""
    notes = [
        f"{task}: {n_drawn:,} of {summary['items']:,} items that {summary['model']} judged are "
        f"drawn{repeats_text}; people judged {summary['judged']:,}"
    ]
    most, n_items = settings.next_hits.items, summary["drawn_to_halve"]
    if n_items is None:
        notes.append(
            f"{task}: a first sample, as no interval is known yet; build with its results, then "
            "plan the sample that halves it"
        )
    elif most is not None and n_drawn < n_items:
        notes.append(
            f"{task}: {n_items:,} items drawn halve the widest interval; "
            f"next_hits.items is {most:,}"
        )
    elif not summary["halves"]:
        notes.append(
            f"{task}: the widest interval cannot be halved, even if people judge all items"
        )
    return notes
