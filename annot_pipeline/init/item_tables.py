"""Tables of what was judged: an id that the judgments name, and what is known of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from annot_pipeline.init import names
from annot_pipeline.init.groups import Group
from annot_pipeline.init.questions import Line, Reading
from annot_pipeline.init.sources import SourceGuess
from annot_pipeline.init.table import Choice, Column
from annot_pipeline.init.views import rows_view

MATCHED = 0.5
"""Share of the items that a source judges that must be in the table."""

MATCHED_IF_NAMED = 0.9
"""Share of a table's ids that must be judged, where its column is named as items are."""

FIELDS = ("text", "source", "reference", "system", "segment")


@dataclass(frozen=True)
class ItemTable:
    """An entry of ``items``: its files, and its fields with what to know about them."""

    group: Group
    reading: Reading


def guess_item_table(group: Group, sources: Sequence[SourceGuess]) -> ItemTable | str:
    """Return the entry for files without judgments, or the reason why they cannot be one."""
    judged = [source.items for source in sources if source.items]
    sheet = rows_view(group.sheet).sheet
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
    every = frozenset().union(*judged)
    n_judged = len(item.counts.keys() & every)
    judged_items = f"{n_judged:,} of {len(every):,} judged items are here"
    lines: list[Line] = [("item", item.expression, judged_items)]
    truth = choice.take("truth") or (None if choice.with_role("system") else choice.take("answer"))
    if truth and _is_possible_truth(truth, sources):
        lines.append(truth.line("truth"))
    lines += [column.line(field) for field in FIELDS if (column := choice.take(field))]
    if len(lines) == 1:
        return "it says nothing of the items that is known by name"
    unmapped = ", ".join(column.name for column in choice.offered())
    notes = [f"not mapped: {unmapped}"] if unmapped else []
    if len(every) < sum(map(len, judged)):
        notes.append("sources share item ids: all of them get what this table says")
    return ItemTable(group, Reading(lines=lines, notes=notes))


def _is_possible_truth(truth: Column, sources: Sequence[SourceGuess]) -> bool:
    """Return whether some task can be answered with values of a column."""
    tasks = [task for source in sources for task in source.tasks]
    if any(task.kind == "scalar" for task in tasks) and truth.numeric_share == 1:
        return True
    return any(truth.answers.keys() & task.labels.keys() for task in tasks)


def _matching(choice: Choice, judged: Sequence[frozenset[str]]) -> Column | None:
    """Return the column with the most ids of judged items; one named ``item`` is preferred."""
    columns = [c for c in choice.offered() if c.is_unique]
    named = {c.name: "item" in names.roles(c.name) for c in columns}

    def n_matched(column: Column) -> int:
        if_named = MATCHED_IF_NAMED * column.n_distinct if named[column.name] else math.inf
        matched = [(len(column.counts.keys() & items), MATCHED * len(items)) for items in judged]
        return max((n for n, enough in matched if n >= min(enough, if_named)), default=0)

    matching = filter(n_matched, columns)
    return min(matching, key=lambda c: (not named[c.name], -n_matched(c)), default=None)
