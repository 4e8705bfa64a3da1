"""What became of the records: from exports through fates to what they made, as bands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from annot_pipeline.report.figures.drawing import Drawing, band
from annot_pipeline.report.figures.names import BOLD, px_of, short
from annot_pipeline.report.figures.sheet import nothing_svg
from annot_pipeline.report.figures.theme import (
    BLUE,
    GREEN,
    GREY,
    PURPLE,
    SMALL,
    VERMILLION,
    VIOLET,
)

KIND = "record-flow"

COLORS = {
    "used": BLUE, "control": GREEN, "adjudication": VIOLET, "judge_failed": PURPLE,
    "measured": "#0072a0",
    "superseded": "#b26a00", "duplicate": GREY, "rejected": VERMILLION,
    "filtered": "#8a8a8a", "not_asked": "#b0b0b0", "unscored": "#9a6a8a",
}  # fmt: skip
"""Of the bands, by fate; each fate is named beside its node too."""

HEADS = ("exports", "fates of records", "what they made")

NODE, SLOT, GAP, TALL, LEAST = 10.0, 30.0, 10.0, 300.0, 1.5
"""Width of a node, least room of a node and its texts, between two nodes, height of all records
together, and of the least band, px."""
BETWEEN, TOP = 200.0, 36.0
"""Between the nodes of two columns beside their texts, and above the first node, px."""
COLUMNS = 28.0
"""Longest name."""

Flows = Mapping[tuple[str, str], int]
"""Records by where they come from and where they go, in the order from the top."""


@dataclass
class _Node:
    """A box with its texts; ``came`` and ``went`` are the heights of bands at either side."""

    name: str
    note: str
    color: str
    came: dict[str, float] = field(default_factory=dict)
    went: dict[str, float] = field(default_factory=dict)
    top: float = 0.0

    @property
    def height(self) -> float:
        return max(sum(self.came.values()), sum(self.went.values()))

    @property
    def slot(self) -> float:
        return max(self.height, SLOT)


def record_flow_svg(read: Flows, produced: Flows, notes: Mapping[str, str] | None = None) -> str:
    """Draw exports at the left, fates in the middle, what was made at the right.

    Bands are as thick as there are records; the thinnest are drawn thicker than they are.

    Parameters
    ----------
    read
        Records by (export, fate).
    produced
        Records by (fate, what they made).
    notes
        Written under an export's name after its number of records, by export.

    Raises
    ------
    ValueError
        If a number of records is negative.
    """
    if wrong := [key for flows in (read, produced) for key, n in flows.items() if n < 0]:
        raise ValueError(f"numbers of records are not negative: {wrong[:5]}")
    total = sum(read.values())
    if not total:
        return nothing_svg(KIND, "there are no records")
    columns = _columns(read, produced, notes or {})
    _join(columns[0], columns[1], read, TALL / total)
    _join(columns[1], columns[2], produced, TALL / total)
    height = max(sum(n.slot + GAP for n in nodes.values()) for nodes in columns)
    for nodes in columns:
        top = TOP + (height - sum(n.slot + GAP for n in nodes.values())) / 2
        for node in nodes.values():
            node.top = top + (node.slot - node.height) / 2
            top += node.slot + GAP
    lefts, width = _lefts(columns)
    description = "Records by fate: " + ", ".join(f"{n.note} {n.name}" for n in columns[1].values())
    drawing = Drawing(KIND, width, TOP + height, description)
    _bands(drawing, columns[0], columns[1], lefts[:2], read, by_source=False)
    _bands(drawing, columns[1], columns[2], lefts[1:], produced, by_source=True)
    for position, (nodes, x_left, head) in enumerate(zip(columns, lefts, HEADS, strict=True)):
        _text(drawing, x_left, 16, head, position, weight="700")
        for node in nodes.values():
            _draw(drawing, node, x_left, position)
    return drawing.svg()


def _columns(read: Flows, produced: Flows, notes: Mapping[str, str]) -> list[dict[str, _Node]]:
    exports, fates, things = (
        _sums((key[end], n) for key, n in flows.items())
        for flows, end in ((read, 0), (read, 1), (produced, 1))
    )
    plain = "currentColor"
    return [
        {e: _Node(e, f"{n:,} records {notes.get(e, '')}".rstrip(), plain)
         for e, n in exports.items()},
        {f: _Node(f.replace("_", " "), f"{n:,} records", COLORS.get(f, GREY))
         for f, n in fates.items()},
        {t: _Node(t, f"{n:,} records", plain) for t, n in things.items()},
    ]  # fmt: skip


def _sums(counts: Iterable[tuple[str, int]]) -> dict[str, int]:
    totals: dict[str, int] = {}
    for name, n in counts:
        totals[name] = totals.get(name, 0) + n
    return {name: n for name, n in totals.items() if n}


def _join(
    sources: Mapping[str, _Node], targets: Mapping[str, _Node], flows: Flows, scale: float
) -> None:
    for (source, target), n in flows.items():
        if n and source in sources:
            sources[source].went[target] = targets[target].came[source] = max(scale * n, LEAST)


def _lefts(columns: Sequence[Mapping[str, _Node]]) -> tuple[list[float], float]:
    """Return where each column's nodes begin, and the width of all.

    Exports have texts at the left.
    """
    texts = [
        max(
            px_of("", *(short(n.name, COLUMNS) for n in nodes.values())),
            px_of("", *(n.note for n in nodes.values()), size=SMALL),
            BOLD * px_of(head),
        )
        for nodes, head in zip(columns, HEADS, strict=True)
    ]
    first = 8 + texts[0] + 6
    second = first + NODE + BETWEEN
    third = second + NODE + 6 + max(texts[1], BETWEEN - 40) + 60
    return [first, second, third], third + NODE + 6 + texts[2] + 8


def _bands(
    drawing: Drawing, sources: Mapping[str, _Node], targets: Mapping[str, _Node],
    lefts: Sequence[float], flows: Flows, *, by_source: bool,
) -> None:  # fmt: skip
    """Draw all bands between two columns, at each node in the order of their other ends."""
    at = {name: node.top for name, node in targets.items()}
    for name, source in sources.items():
        y = source.top
        for other, target in targets.items():
            if other not in source.went:
                continue
            thick = source.went[other]
            words = f"{source.name} → {target.name}: {flows[name, other]:,} records"
            group = drawing.group("band", words)
            steps = band(lefts[0] + NODE, y, lefts[1], at[other], thick)
            color = source.color if by_source else target.color
            drawing.path(group, steps, fill=color, fill_opacity="0.35")
            y += thick
            at[other] += thick


def _draw(drawing: Drawing, node: _Node, x_left: float, column: int) -> None:
    group = drawing.group("node", f"{node.name}: {node.note}")
    height = max(node.height, LEAST)
    drawing.box(group, x_left, node.top, NODE, height, fill=node.color, rx="2")
    middle = node.top + height / 2
    _text(drawing, x_left, middle - 1, short(node.name, COLUMNS), column)
    _text(drawing, x_left, middle + 13, node.note, column, size=SMALL)


def _text(
    drawing: Drawing, x_left: float, base: float, words: str, column: int, *, size: float = 12,
    weight: str = "400",
) -> None:  # fmt: skip
    """Write next to a node: at its left for exports, else at its right, with a halo over bands."""
    x, anchor = (x_left - 6, "end") if column == 0 else (x_left + NODE + 6, "start")
    drawing.text(
        drawing.root, x, base, words, text_anchor=anchor, font_size=f"{size:g}",
        font_weight=weight, paint_order="stroke", stroke="var(--paper, none)", stroke_width="3",
        stroke_linejoin="round", stroke_opacity="0.8",
    )  # fmt: skip
