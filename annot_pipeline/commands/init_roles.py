"""What `annot init`, and `dg scaffold` in a Dagster project, ask of the columns of exports."""

INIT_ROLES = {
    "judge": "who judged: a column, anonymous (every row another person), file, =NAME, or each",
    "item": "what was judged: a column, several that name it together, or row",
    "segment": "what systems worked on", "system": "which system made what was judged",
    "label": "columns of answers that are labels", "score": "columns of answers that are scores",
    "rank": "ranks, 1 the best", "preference": "which of two is better: a, b or a tie",
    "winner": "the name of what won", "strength": "how much better: COLUMN,B,A (numbers for b, a)",
    "item_a": "the first of two", "item_b": "the second", "system_a": "its system",
    "system_b": "the system of the second", "task": "which question was asked",
    "each": "columns, or a list, with several judgments a row", "votes": "how many gave the label",
    "truth": "the true answer", "control": "which are controls", "text": "the text of the item",
    "native_id": "the id of an answer", "status": "whether it was rejected", "hit": "its HIT",
    "submitted_at": "when", "seconds": "how long it took", "ignore": "columns of no role",
}  # fmt: skip
"""Roles that options of these commands give to columns, several joined by commas."""
