"""Why an item has its label, score or rank: every judgment behind it, from the release alone.

One document a task and item, JSON values throughout; docs/reference/cli.md has its keys. A release
answers for itself: its tables and manifest are all that is read, so any old release can be asked.
What does not belong here: how it looks (cli, report).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from annot_pipeline.audit.trace.weights import Weighed, weigh_labels, weigh_scores
from annot_pipeline.bounded_json import parse_bounded_json
from annot_pipeline.config import Resources
from annot_pipeline.contracts import CONTROLS, FATES, GOLD
from annot_pipeline.contracts.name_key import is_earlier
from annot_pipeline.errors import Problem, StoreError, first_of, shorten
from annot_pipeline.stages.ingest.archived_lines import FindLines, Place
from annot_pipeline.storage.queries import Queries
from annot_pipeline.storage.releases import Release
from annot_pipeline.storage.spill import temporary_spill

Row = dict[str, Any]

UNWEIGHED: Row = {
    "evidence": None, "likelihoods": None, "rules_out": None, "weight": None, "z_weight": None,
}  # fmt: skip
KEPT = (
    "judgment_id", "kind", "judge", "fate", "control", "criterion", "label", "score", "z",
    "preference", "item", "item_a", "item_b", "system_a", "system_b", "rank", "rank_a", "rank_b",
    "hit", "position", "seconds",
)  # fmt: skip
PLACE = ("source_file", "source_row", "cell", "fate", "reason", "source_digest")


def judgments_about(
    item: str,
    judgments: Sequence[Row],
    lineage: Sequence[Row],
    other_ranks: Sequence[Row],
    weighed: Mapping[str, Row],
) -> list[Row]:
    """Return judgments, those that count first, each with every file and row that holds it.

    Parameters
    ----------
    item
        The item asked for: of a pair, or the pair.
    judgments, lineage
        Rows of these tables about the item, of one task.
    other_ranks
        Ranks given in the same ranking: ``judgment_id``, ``item``, ``system``, ``rank``.
    weighed
        Evidence or weight, by judgment id.
    """
    places, peers = defaultdict(list), defaultdict(list)
    for row in lineage:
        places[row["judgment_id"]].append(row)
    for row in other_ranks:
        peers[row["judgment_id"]].append({k: row[k] for k in ("item", "system", "rank")})
    documents = []
    for row in sorted(judgments, key=_by_judge):
        own = [p for p in places[row["judgment_id"]] if p["fate"] == row["fate"]]
        documents.append(
            {name: row[name] for name in KEPT}
            | UNWEIGHED
            | weighed.get(row["judgment_id"], {})
            | {
                "answer": answer(item, row),
                "submitted_at": iso_time(row["submitted_at"]),
                "reason": own[0]["reason"] if own else None,
                "beside": sorted(peers[row["judgment_id"]], key=lambda r: (r["rank"], r["item"])),
                "places": [
                    {name: p[name] for name in PLACE}
                    for p in sorted(places[row["judgment_id"]], key=_by_fate)
                ],
            }
        )
    return documents


def other_records(judgments: Sequence[Row], lineage: Sequence[Row]) -> list[Row]:
    """Return records about the item that are no judgment, nor stand for one: rejected, mostly."""
    ids = {row["judgment_id"] for row in judgments}
    records = (row for row in lineage if row["judgment_id"] not in ids and not _is_vote(row))
    return sorted(records, key=_by_fate)


def vote_records(lineage: Sequence[Row]) -> list[Row]:
    """Return the records about the item that count votes; ``reason`` says how many they are."""
    return sorted(filter(_is_vote, lineage), key=_by_fate)


def _is_vote(row: Row) -> bool:
    """Return whether a record has an id, as judgments have, and no judge."""
    return row["judgment_id"] is not None and row["judge"] is None


def answer(item: str, row: Row) -> str:
    """Return what was answered, in words; of a pair from the side of the item asked for."""
    if row["item_a"] is not None:
        return _compared(item, row)
    if row["rank"] is not None:
        return f"rank {row['rank']}"
    if row["label"] is not None:
        return str(row["label"])
    return f"{row['score']:.15g}" if row["score"] is not None else ""


def _compared(item: str, row: Row) -> str:
    """Return the outcome of a comparison: with ranks, the lower rank is better."""
    better = row["preference"]
    if better is None and None not in (row["rank_a"], row["rank_b"]):
        better = "tie" if row["rank_a"] == row["rank_b"] else "ab"[row["rank_a"] > row["rank_b"]]
    names = {"a": row["item_a"], "b": row["item_b"]}
    if better == "tie" or better is None:
        other = row["item_b"] if item == row["item_a"] else row["item_a"]
        whole = item not in names.values()
        return "a tie" if whole else f"a tie with {other}"
    winner, loser = names[better], names["b" if better == "a" else "a"]
    if item == winner:
        return f"better than {loser}"
    if item == loser:
        return f"worse than {winner}"
    return f"{winner} is better"


def iso_time(value: str | None) -> str | None:
    """Return a time as JSON says it, ISO 8601 in UTC."""
    return value and datetime.fromisoformat(value).isoformat()


def _by_judge(row: Row) -> tuple[Any, ...]:
    control = CONTROLS.index(row["control"])
    return -FATES.index(row["fate"]), row["judge"], control, row["judgment_id"]


def _by_fate(row: Row) -> tuple[Any, ...]:
    at = row["source_file"], row["source_row"], row["cell"] or ""
    return -FATES.index(row["fate"]), *at


Rows = dict[str, list[Row]]
"""Rows by table."""

ByTask = dict[str | None, Rows]
"""Rows by task, then by table; under None what belongs to no task."""

READ = (
    "labels", "label_distributions", "prevalence", "judge_confusion", "label_calibration", "judges",
    "scores",
    "segment_ranks", "system_rankings", "items", "judgments", "set_aside", "lineage",
)  # fmt: skip
"""Tables that a trace may need."""

PAIRED = ("pairwise", "ranking")
"""Kinds of tasks whose judgments may be about two items."""
NOT_WORKED_OUT = (
    "Not worked out without a judge: ranks come from the comparisons of all outputs of a segment, "
    "or of all systems, together."
)
NEAREST = 5
"""Ids that are named where an item is unknown."""
DESCRIBED = ("segment", "system", "text", "item_version", "source", "reference", "truth")


def no_lines(places: Iterable[Place]) -> dict[Place, int]:  # noqa: ARG001 - a `FindLines`
    """Return no line: the exports are not at hand."""
    return {}


def trace(
    release: Release, item: str, task: str | None = None, lines: FindLines = no_lines
) -> list[Row]:
    """Return documents about an item in all of its tasks, or in one.

    Parameters
    ----------
    release
        The release.
    item
        An item; of a pair either item, or both as ``a | b``.
    task
        Only this task.
    lines
        Finds the line numbers of rows of exports.

    Raises
    ------
    StoreError
        No such item, with those whose ids are near; no such task; a damaged release.
    """
    tasks = release.manifest["facts"]["kinds"]
    if task is not None and tasks and task not in tasks:
        problem = Problem("", "task not found", allowed=first_of(list(tasks), 20))
        raise StoreError(f"{release.location}: no task {task}", [problem])
    by_task = _rows_about(release, item, task)
    nowhere = by_task.get(None, {})
    task_names: list[str | None] = [*sorted(name for name in by_task if name is not None)]
    if not task_names and "lineage" in nowhere:
        task_names = [None]  # records that do not tell their task
    if not task_names:
        raise _unknown_item(release, item, task, listed="items" in nowhere)
    return _with_lines(
        [_document(release.manifest, name, item, by_task) for name in task_names], lines
    )


def _document(manifest: Mapping[str, Any], task: str | None, item: str, by_task: ByTask) -> Row:
    """Return the document of an item in one task, from its rows."""
    own, nowhere = by_task.get(task, {}), by_task.get(None, {})
    lineage = own.get("lineage", []) + (nowhere.get("lineage", []) if task is not None else [])
    judgments = own.get("judgments", [])
    kind = manifest["facts"]["kinds"].get(task or "")
    label = _row_of_item(own.get("labels"), item)
    weighed = Weighed()
    if kind == "categorical":
        names = ("prevalence", "judge_confusion", "label_distributions", "label_calibration")
        classes, confusion, shares, figures = (own.get(name, []) for name in names)
        weighed = weigh_labels(label, classes, confusion, judgments, shares, figures)
    elif kind == "scalar":
        weighed = weigh_scores(manifest["settings"], task or "", judgments)
    elif kind in PAIRED:
        weighed = Weighed(held_fixed=NOT_WORKED_OUT)
    items = nowhere.get("items", [])
    return {
        "campaign": manifest["campaign"],
        "release": manifest["version"],
        "task": task,
        "item": item,
        "kind": kind,
        **{name: _item_field(items, judgments, item, name) for name in DESCRIBED},
        "other_texts": _other_texts(items, item),
        "label": label and _with_times(label),
        "distribution": _in_class_order(own),
        "score": _row_of_item(own.get("scores"), item),
        "segment_ranks": own.get("segment_ranks", []),
        "system_rankings": own.get("system_rankings", []),
        "judgments": judgments_about(
            item, judgments, lineage, own.get("beside", []), weighed.of_judgment
        ),
        "anonymous_votes": manifest["facts"]["anonymous_votes"].get(task),
        "votes": vote_records(lineage),
        "other_records": other_records(judgments, lineage),
        "set_aside": own.get("set_aside", []),
        "judges": own.get("judges", []),
        "runner_up": weighed.runner_up,
        "prior_evidence": weighed.prior_evidence,
        "without_judge": list(weighed.without_judge),
        "flipped_by": [row["judge"] for row in weighed.without_judge if row.get("flips")],
        "held_fixed": weighed.held_fixed,
        "chain": _chain(manifest["runs"], [*own, *nowhere]),
    }


def _item_field(items: Sequence[Row], judgments: Sequence[Row], item: str, name: str) -> str | None:
    """Return a field of the item table; else segment or system if all judgments agree on it."""
    row = next((row for row in items if row["item"] == item), {})
    if row.get(name) is not None or name not in ("segment", "system"):
        return row.get(name)
    values = {row[name] for row in judgments}
    value: str | None = values.pop() if len(values) == 1 else None
    return value


def _other_texts(items: Sequence[Row], item: str) -> list[Row]:
    """Return the other texts of an item whose text changed: the current one, and earlier ones."""
    versions = {row["item"]: row.get("item_version") for row in items}
    is_old = is_earlier(item, versions.get(item))
    plain_name = item.rpartition("#")[0] if is_old else item
    return [
        {name: row[name] for name in ("item", "item_version", "text")}
        for row in sorted(items, key=lambda row: str(row["item"]))
        if row["item"] != item
        and (
            row["item"] == plain_name
            or (
                row["item"].rpartition("#")[0] == plain_name
                and is_earlier(row["item"], versions[row["item"]])
            )
        )
    ]


def _row_of_item(rows: Sequence[Row] | None, item: str) -> Row | None:
    return next((row for row in rows or () if row["item"] == item), None)


def _with_times(label: Row) -> Row:
    return label | {k: iso_time(label[k]) for k in ("adjudicated_at",) if k in label}


def _in_class_order(own: Rows) -> list[Row]:
    order = {row["label"]: row["label_order"] for row in own.get("prevalence", [])}
    last = len(order)  # where no model was fitted, classes have no rows of prevalence

    def position(row: Row) -> tuple[int, str]:
        return order.get(row["label"], last), row["label"]

    return sorted(own.get("label_distributions", []), key=position)


def _chain(runs: Sequence[Mapping[str, Any]], tables: Iterable[str]) -> list[Row]:
    """Return stages upstream of tables, in the order in which they ran.

    Runs are as the manifest lists them: ``stage``, ``code_version``, ``run``, ``outputs`` and
    ``inputs`` (table to SHA-256).
    """
    maker = {table: run for run in runs for table in run["outputs"]}
    upstream: set[str] = set()
    ahead = list(tables)
    while ahead:
        run = maker.get(ahead.pop())
        if run is not None and run["stage"] not in upstream:
            upstream.add(run["stage"])
            ahead += run["inputs"]
    return [
        {name: run[name] for name in ("stage", "code_version", "run")}
        | {"data_versions": dict(run["outputs"]), "inputs": dict(run["inputs"])}
        for run in runs
        if run["stage"] in upstream
    ]


def _with_lines(traces: Sequence[Row], find: FindLines) -> list[Row]:
    """Return traces whose records have a ``line``: where their row starts; null if unknown."""
    lines = find({_place(record) for trace in traces for record in _records(trace)})
    for trace in traces:
        for record in _records(trace):
            record["line"] = lines.get(_place(record))
    return list(traces)


def _records(trace: Row) -> Iterator[Row]:
    """Yield what has a row number: the places of judgments, and other records."""
    for judgment in trace["judgments"]:
        yield from judgment["places"]
    yield from (*trace["votes"], *trace["other_records"])


def _place(record: Row) -> Place:
    return record["source_file"], record["source_digest"] or "", record["source_row"]


def _unknown_item(release: Release, item: str, task: str | None, *, listed: bool) -> StoreError:
    """Return the error that names the nearest ids.

    ``listed``: the item stands in an item table alone.
    """
    within = f" in task {task}" if task is not None else ""
    title = f"{release.location}: no judgment about item {shorten(item)}{within}"
    if listed:
        what = "the item is known, but not judged there" if within else "listed, but never judged"
        do = "leave out --task" if within else f"annot hits {release.campaign} asks judges"
        return StoreError(title, [Problem("", what, do=do)])
    tables, parameters = ("lineage", "items", "judgments"), {"item": item, "most": NEAREST}
    near = [row["item"] for row in _ask(release, "trace/nearest", tables, parameters)]
    do = f"the nearest are {', '.join(map(shorten, near))}"
    items = release.table("items").to_pylist()
    if own := [row["item"] for row in items if row["system"] == item]:
        do = f"it is a system: its {len(own):,} outputs are items, as {shorten(own[0])}"
    elif not near:
        do = "no id is near to it: name one that lineage.parquet or the item tables hold"
    return StoreError(title, [Problem("", "no such item", do=do)])


def _rows_about(release: Release, item: str, task: str | None = None) -> ByTask:
    """Return rows of the gold tables about an item, by task.

    Parameters
    ----------
    release
        The release.
    item, task
        Item and task; without a task: in every task.

    Raises
    ------
    StoreError
        A table is not as it was published.
    """
    parameters = {
        "tasks": [task],
        "items": [item],
        "every_task": task is None,
        "paired": [
            task for task, kind in release.manifest["facts"]["kinds"].items() if kind in PAIRED
        ],
    }
    by_task: ByTask = {}
    for row in _ask(release, "trace/rows", READ, parameters):
        fields = parse_bounded_json(row["row"])
        fields.pop("asked", None)
        of_task = by_task.setdefault(fields.get("task"), {})
        of_task.setdefault(row["of_table"], []).append(fields)
    return by_task


def _ask(
    release: Release, query: str, tables: Sequence[str], parameters: Mapping[str, Any]
) -> list[Row]:
    """Return the rows of a query over tables of a release.

    A table that it does not hold is empty.
    """
    inputs = {
        name: release.stored(name) if name in release.tables else GOLD[name].empty()
        for name in tables
    }
    queries = Queries(Resources(), temporary_spill())
    rows: list[Row] = queries.table(query, inputs, parameters).to_pylist()
    return rows
