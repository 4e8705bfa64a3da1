"""The page of one item, from its trace: who said what, what it weighs, where it stands."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from annot_pipeline.errors import row_and_line
from annot_pipeline.report.contents import Document
from annot_pipeline.report.figures.names import short
from annot_pipeline.report.render import in_words
from annot_pipeline.report.sections.judges import why

MOST_ROWS, MOST_CLASSES = 100, 20
HASH = 12
"""Characters of a hash in an anchor."""

TEXTS = {"text": "What was judged", "source": "Source", "reference": "Reference"}
SCORES = (
    "n_judgments", "raw_mean", "z_mean", "easl_score", "ra_score", "trueskill_mean",
    "n_unfiltered", "unfiltered_mean",
)  # fmt: skip


def item_anchor(trace: Document) -> str:
    """Return the id of an item's page: the same in every release that has one for it."""
    name = json.dumps([trace["task"], trace["item"]], ensure_ascii=False)
    return f"item-{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:HASH]}"


def item_facts(trace: Document) -> dict[str, Any]:
    """Return the trace with rows of its tables, closed until asked for by `item_anchor`."""
    label = trace.get("label") or {}
    probability, certain = label.get("probability"), bool(label.get("certain"))
    score, judgments = trace.get("score") or {}, _rows(trace, "judgments")
    likely = [row for row in judgments if row.get("likelihoods")]
    without = _rows(trace, "without_judge")
    is_labelled = bool(without) and "label" in without[0]
    by_kind = ("label probability flips", "raw_mean z_mean easl_score change")
    names = by_kind[not is_labelled].split()
    return {
        "trace": trace,
        "anchor": item_anchor(trace),
        "probability": probability,
        "certain": certain,
        "texts": [(name, trace[key]) for key, name in TEXTS.items() if trace.get(key) is not None],
        "distribution": _distribution(trace),
        "judgments": [_judgment(row) for row in judgments],
        "n_judgments": len(trace.get("judgments") or ()),
        "evidence": _evidence(trace),
        "votes": [_record(row) for row in _rows(trace, "votes")],
        "other_records": [_record(row) for row in _rows(trace, "other_records")],
        "is_labelled": is_labelled,
        "without": [
            (row["judge"], row["n_judgments"], *(row.get(name) for name in names))
            for row in without
        ],
        "classes": [e["label"] for e in likely[0]["likelihoods"][:MOST_CLASSES]] if likely else [],
        "likelihoods": [
            [row["judge"], row.get("answer") or "",
             *(entry["probability"] for entry in row["likelihoods"][:MOST_CLASSES])]
            for row in likely
        ],
        "scores": [(in_words(n), score[n]) for n in SCORES if score.get(n) is not None],
        "segment_ranks": [
            (r["segment"], r["system"] or r["item"], r["rank"], r["harmonized_rank"],
             r["dominance"], r["in_contradiction"])
            for r in trace.get("segment_ranks") or ()
        ],
        "system_ranks": [
            (r["system"], r["method"], r["rank"], r["score"], r["cluster"])
            for r in trace.get("system_rankings") or ()
        ],
        "judges": [
            (r["judge"], r["verdict"], r.get("dropped"), r.get("test"), r.get("p_value"),
             r.get("effect"), r.get("n_pairs"), r.get("accuracy"), why(r) or "")
            for r in sorted(
                trace.get("judges") or (), key=lambda r: (not r.get("dropped"), r["judge"])
            )[:MOST_ROWS]
        ],
        "excluded": [
            (r["judge"], in_words(r["left_out_of"]), r["reason"]) for r in _rows(trace, "set_aside")
        ],
        "chain": [
            (in_words(run["stage"]), run["code_version"], run["run"], run.get("data_versions", {}))
            for run in trace.get("chain") or ()
        ],
    }  # fmt: skip


def _rows(trace: Document, name: str) -> list[Document]:
    return list(trace.get(name) or ())[:MOST_ROWS]


def _distribution(trace: Document) -> list[tuple[Any, ...]]:
    rows = sorted(
        trace.get("distribution") or (), key=lambda row: (-(row["probability"] or 0), row["label"])
    )
    return [
        (row["label"], row["probability"], row["probability"] or 0.0,
         row["dawid_skene_probability"], row["votes"])
        for row in rows
    ]  # fmt: skip


def _judgment(row: Document) -> list[Any]:
    """Return judge, answer, fate, what it weighs, when, and file and row."""
    when = row.get("submitted_at")
    return [
        row["judge"], row.get("answer") or "", row, row.get("criterion"), row.get("rank"),
        row.get("z"), row.get("evidence"), row.get("weight"), row.get("seconds"),
        when and str(when).replace("T", " ").removesuffix("+00:00"),
        [_location(location) for location in row.get("places") or ()],
    ]  # fmt: skip


def _record(row: Document) -> list[Any]:
    return [row.get("judge"), row["fate"], row.get("reason") or "", [_location(row)]]


def _location(location: Document) -> dict[str, Any]:
    return {**location, "row": row_and_line(location["source_row"], location.get("line"))}


def _evidence(trace: Document) -> str:
    """Return which classes the evidence tells apart."""
    label = (trace.get("label") or {}).get("model_label")
    against = trace.get("runner_up")
    has_evidence = any(row.get("evidence") is not None for row in trace.get("judgments") or ())
    if label is None or against is None or not has_evidence:
        return ""
    return f"; evidence is for {short(label)}, the model's label, against {short(against)}"
