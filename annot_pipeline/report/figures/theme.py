"""Colours and sizes that all figures share, and the settings that matplotlib draws with."""

from __future__ import annotations

from typing import Any

INK = "#010203"
"""Stands for the text colour of the page, which `plot` puts in; no other colour is near."""

Color = str | tuple[str, float]
"""Hexadecimal, or with its opacity."""

BLUE, VERMILLION, GREEN, PURPLE = "#1f82c8", "#d55e00", "#009e73", "#cc79a7"
"""After Okabe & Ito, told apart by the colour-blind; each 3:1 or more against white and black."""

VIOLET = "#7a45ff"
"""Found by search: 4:1 on both grounds, and further from each of the others, to all kinds of
eyes, than some of them are from each other."""

SERIES = (BLUE, VERMILLION, GREEN, PURPLE, INK, VIOLET)
"""Colours of a few lines, in this order."""

GREY = "#8a8f98"
"""Of what a series is compared with."""

FONT_SIZE, SMALL = 12, 11
"""Of texts, and of ticks and notes, px."""

MOST_POINTS = 5_000
"""Points or cells that a figure draws one by one."""

SETTINGS: dict[Any, Any] = {
    "axes.axisbelow": True,
    "axes.edgecolor": f"{INK}8c",
    "axes.facecolor": "none",
    "axes.labelsize": FONT_SIZE,
    "axes.labelcolor": INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": FONT_SIZE,
    "axes.titleweight": "bold",
    "font.family": "DejaVu Sans",  # comes with matplotlib; the page has a font of its own
    "font.size": FONT_SIZE,
    "grid.color": f"{INK}1f",
    "legend.borderaxespad": 0.0,
    "legend.frameon": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "annot-pipeline",
    "text.color": INK,
    "text.parse_math": False,
    "xtick.color": f"{INK}8c",
    "xtick.labelcolor": INK,
    "xtick.labelsize": SMALL,
    "ytick.color": f"{INK}8c",
    "ytick.labelcolor": INK,
    "ytick.labelsize": SMALL,
}
