"""The fields of a source: what guessing a mapping ends with."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from annot_pipeline.init.answers import Answer
from annot_pipeline.init.columns import Column, Sheet
from annot_pipeline.init.objects import Line

ORDER = (
    "task", "judge", "item", "item_a", "item_b", "system", "system_a", "system_b", "segment",
    "document", "text", "criterion", "label", "votes", "score", "preference", "winner", "strength",
    "rank", "rank_a", "rank_b", "ranking", "truth", "control", "hit", "position", "native_id",
    "status", "submitted_at", "seconds", "hit_seconds", "reward",
)  # fmt: skip
"""In which lines are written."""


@dataclass
class Mapping:
    """The fields of a source, and what is known of its tasks.

    Parameters
    ----------
    lines
        Field, expression and evidence.
    answer
        What is answered.
    judge, item
        The columns of judges and, where one column says it, of items.
    each
        The source's ``each``.
    tasks
        Names of tasks; empty where no column says them.
    notes
        What people should know.
    without_judge
        Whether nothing in the file says who judged, so that it is taken for one judge's.
    where, abstain, options, strength
        As the source has them.
    abstained, failed
        The words of ``abstain`` and the texts of ``failed`` that values suggest, with their counts.
    failed_where
        As the source has it.
    repeats
        As its tasks have it.
    scored
        Tasks of scores beside others of labels, and their scales.
    """

    lines: list[Line]
    answer: Answer
    judge: Column
    item: Column | None = None
    each: dict[str, Any] = field(default_factory=dict)
    tasks: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    without_judge: bool = False
    where: list[dict[str, Any]] = field(default_factory=list)
    abstain: list[str] = field(default_factory=list)
    abstained: dict[str, int] = field(default_factory=dict)
    failed: dict[str, int] = field(default_factory=dict)
    failed_where: list[dict[str, Any]] = field(default_factory=list)
    options: dict[str, Any] = field(default_factory=dict)
    strength: tuple[float, float] | None = None
    repeats: str | None = None
    scored: dict[str, tuple[float, float] | None] = field(default_factory=dict)

    def has(self, name: str) -> bool:
        """Return whether a field is mapped."""
        return any(line[0] == name for line in self.lines)

    def column(self, sheet: Sheet, name: str) -> Column | None:
        """Return the column that a field is, if it is one."""
        expression = next((line[1] for line in self.lines if line[0] == name), None)
        return next((sheet[n] for n in sheet.names if sheet[n].expression == expression), None)

    def with_lines(self, *lines: Line) -> Mapping:
        """Return the same with some lines replaced or added, in the usual order."""
        fields = {line[0]: line for line in (*self.lines, *lines)}
        return replace(self, lines=sorted(fields.values(), key=lambda f: ORDER.index(f[0])))
