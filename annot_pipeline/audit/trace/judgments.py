"""The judgments about one item: who answered what, what became of it, and where it stands."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from annot_pipeline.contracts import CONTROLS, FATES

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
