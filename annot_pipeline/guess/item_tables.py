"""Tables of what was judged: an id that the judgments name, and what is known of it."""

from __future__ import annotations

from dataclasses import dataclass

from annot_pipeline.guess import names
from annot_pipeline.guess.columns import Choice, Column
from annot_pipeline.guess.groups import Group
from annot_pipeline.guess.nested import unfold
from annot_pipeline.guess.objects import Line
from annot_pipeline.guess.samples import sheet_of

MATCHED = 0.5
"""Share of ids, of the table or of the judgments, that both must have."""

MATCHED_AT_LEAST = 0.1
"""Share of the judged items that must be in the table: small numbers match by accident."""

FIELDS = ("text", "source", "reference", "system", "segment")


@dataclass(frozen=True)
class ItemTable:
    """An entry of ``items``: its files, its fields, what to know about it."""

    group: Group
    path: str
    lines: list[Line]
    notes: list[str]


def guess_item_table(group: Group, judged: frozenset[str]) -> ItemTable | str:
    """The entry for files without judgments, or why they cannot be one."""
    sheet = unfold(sheet_of(group.samples))
    if any(sample.unreadable for sample in group.samples):
        return "an item table must be whole, and some rows cannot be read"
    if not judged:
        return "no single column of the judgments says the item, so that nothing can match it"
    if group.pattern is None:
        return "no glob matches these files and no others"
    choice = Choice(sheet)
    item = _matching(choice, judged)
    if item is None:
        return "no column holds the ids of the judged items, each once"
    choice.claim(item)
    met = len(item.counts.keys() & judged)
    lines: list[Line] = [
        ("item", item.expression, f"{met:,} of {len(judged):,} judged items are here")
    ]
    truth = choice.take("truth") or choice.take("answer")
    if truth:
        lines.append(("truth", truth.expression, f"{truth.n_distinct:,} different"))
    for field in FIELDS:
        column = choice.take(field)
        if column:
            lines.append((field, column.expression, f"{column.n_distinct:,} different"))
    if len(lines) == 1:
        return "it says nothing of the items that is known by name"
    left = ", ".join(column.name for column in choice.offered())
    notes = [f"not mapped: {left}"] if left else []
    return ItemTable(group, group.pattern, lines, notes)


def _matching(choice: Choice, judged: frozenset[str]) -> Column | None:
    """The column with the most ids of judged items; one named so is preferred."""
    found: list[tuple[bool, int, int, Column]] = []
    for place, column in enumerate(choice.offered()):
        if not column.is_unique:
            continue
        met = len(column.counts.keys() & judged)
        smaller = min(len(judged), column.n_distinct)
        if met >= MATCHED * smaller and met >= MATCHED_AT_LEAST * len(judged):
            found.append(("item" not in names.roles(column.name), -met, place, column))
    return min(found, key=lambda f: f[:3])[3] if found else None
