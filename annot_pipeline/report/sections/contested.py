"""The contested items: a list, and a page for each with everything that is known of it."""

from __future__ import annotations

from typing import Any

from annot_pipeline.report.contents import Contents, Document
from annot_pipeline.report.render import number
from annot_pipeline.report.sections.item import item_anchor, item_facts

MOST_ITEMS = 30
"""Items that have a page in the report."""


def contested(contents: Contents) -> dict[str, Any]:
    """Return items that one judge more or less would change, or on which judges differ most."""
    traces = contents.traces[:MOST_ITEMS]
    if not traces:
        return {}
    rows = [
        (
            (item_anchor(trace), trace["item"]), trace["task"], _answer(trace),
            (trace.get("label") or {}).get("probability"), _why(trace),
        )
        for trace in traces
    ]  # fmt: skip
    return {"rows": rows, "items": [item_facts(trace) for trace in traces]}


def _answer(trace: Document) -> str:
    if trace.get("label"):
        return str(trace["label"]["label"])
    score = trace.get("score")
    if score and score.get("raw_mean") is not None:
        return f"mean {number(score['raw_mean'])}"
    return ""


def _why(trace: Document) -> str:
    label = trace.get("label") or {}
    if label.get("adjudicated") and label.get("model_label") not in (None, label.get("label")):
        return f"an expert decided against the model, which says {label['model_label']}"
    flipping = len(trace.get("flipped_by") or ())
    if flipping:
        return f"{flipping} {'judge' if flipping == 1 else 'judges'} could flip it alone"
    if label.get("adjudicated"):
        return "an expert decided"
    if label and not label["certain"]:
        return "not certain"
    return "judges differ most"
