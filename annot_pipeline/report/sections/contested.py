"""The contested items: a list, and a page for each with everything that is known of it."""

from __future__ import annotations

from annot_pipeline.contracts.certainty import certainty
from annot_pipeline.report.contents import Contents, Document
from annot_pipeline.report.markup import Column, Markup, join, number, paragraph, table, text
from annot_pipeline.report.sections.item import item_anchor, item_page

MOST_ITEMS = 30
"""Items that have a page in the report."""


def contested(contents: Contents) -> str:
    """Return items that one judge more or less would change, or on which judges differ most."""
    traces = contents.traces[:MOST_ITEMS]
    if not traces:
        return ""
    columns = [
        Column("item"), Column("task", choose=True), Column("answer"),
        Column("probability", "share"), Column("why it is here"),
    ]  # fmt: skip
    rows = [
        (
            Markup(f'<a href="#{item_anchor(trace)}">{text(trace["item"])}</a>'), trace["task"],
            _answer(trace), certainty(trace.get("label") or {})[0], _why(trace),
        )
        for trace in traces
    ]  # fmt: skip
    words = (
        "Look at these first: an expert overrode the model, one judge decides, or judges differ "
        "most; each has a page below, to open. Any other item is traced by "
        "<code>annot trace CAMPAIGN ITEM</code>."
    )
    return join([
        paragraph(words),
        table("Contested items", columns, rows, sortable=True, search=len(rows) > 10),
        *map(item_page, traces),
    ])  # fmt: skip


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
    if label and not certainty(label)[1]:
        return "not certain"
    return "judges differ most"
