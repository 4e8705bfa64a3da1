"""report.html: whether a release can be used, and why, in one file that needs no network.

A section is a function in report/sections that gives facts, a template of the same name in
report/templates, and one entry of ``SECTIONS``; how the page is put together is in `page`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa

from annot_pipeline.contracts import CERTAINTY_BOUNDS
from annot_pipeline.report.comparison_figures import FEWEST, MOST, MOST_TRIED
from annot_pipeline.report.contents import Contents
from annot_pipeline.report.page import Section, page
from annot_pipeline.report.release_figures import MOST_TASKS
from annot_pipeline.report.render import render_html
from annot_pipeline.report.sections.adjudicated import MOST_ROWS as MOST_DECISIONS
from annot_pipeline.report.sections.adjudicated import adjudicated
from annot_pipeline.report.sections.agreement import agreement
from annot_pipeline.report.sections.certainty import certainty
from annot_pipeline.report.sections.changes import MOST_ROWS as MOST_CHANGES
from annot_pipeline.report.sections.changes import changes
from annot_pipeline.report.sections.cost import cost
from annot_pipeline.report.sections.doubt import MOST_LABELS, MOST_OTHERS, doubt
from annot_pipeline.report.sections.gates import gates
from annot_pipeline.report.sections.judges import judges
from annot_pipeline.report.sections.lineage import lineage
from annot_pipeline.report.sections.method import method
from annot_pipeline.report.sections.models import MOST_ASKED, models
from annot_pipeline.report.sections.rankings import rankings
from annot_pipeline.report.sections.records import records
from annot_pipeline.report.sections.use import header, use

__all__ = [
    "COMPARED", "COUNTED", "DETAILS", "INTERNAL", "MOST_CHANGES", "QUERIED", "SECTIONS", "TABLES",
    "report_html",
]  # fmt: skip

SECTIONS: tuple[tuple[str, str, Callable[[Contents], dict[str, Any]]], ...] = (
    ("use", "Can I use it?", use),
    ("changes", "What changed", changes),
    ("rankings", "Systems", rankings),
    ("judges", "Judges", judges),
    ("doubt", "Items to doubt", doubt),
    ("records", "Data", records),
)
"""Anchor, title and facts of the sections, in the order of the page.

A section's template is named after its anchor. One without facts is left out.
"""

DETAILS: tuple[tuple[str, str, Callable[[Contents], dict[str, Any]]], ...] = (
    ("certainty", "How certain the labels are", certainty),
    ("adjudicated", "Labels decided by experts", adjudicated),
    ("agreement", "How judges agree", agreement),
    ("models", "Model judges", models),
    ("gates", "Gates", gates),
    ("cost", "What it cost", cost),
    ("lineage", "How it was made", lineage),
    ("method", "Method, settings and citation", method),
)
"""The same of what is closed until it is asked for."""

TABLES: dict[str, tuple[str, ...] | None] = {
    "agreement": None,
    "estimates": None,
    "judge_bias": None,
    "judge_confusion": None,
    "judge_validation": None,
    "judges": None,
    "label_calibration": None,
    "prevalence": None,
    "set_aside": None,
    "system_comparisons": None,
    "system_rankings": None,
    "validation_confusion": None,
    "variance": None,
}  # fmt: skip
"""Gold tables that the pages show, with the columns that they need (None: all)."""

COUNTED: dict[str, tuple[str, ...]] = {
    "judgments": ("task", "fate"),
    "labels": ("task", "n_judgments"),
    "scores": ("task", "n_judgments"),
    "segment_ranks": ("task",),
}
"""Gold tables of which they show how many rows (``n``) have the same values of some columns."""

QUERIED: dict[str, dict[str, Any]] = {
    "label_counts": {"bounds": list(CERTAINTY_BOUNDS)},
    "decisions": {"most": MOST_DECISIONS},
    "known_labels": {"most_tasks": MOST_TASKS},
    "drawn_scores": {"most_tasks": MOST_TASKS},
    "doubtful_items": {"most_labels": MOST_LABELS, "most_others": MOST_OTHERS},
    "doubtful_answers": {},
    "model_disagreements": {"most": MOST_ASKED},
}
"""What they show of gold tables with a row an item: queries of ``sql/report``, each of which may
read what those before it gave, and parameters."""

INTERNAL: dict[str, tuple[str, ...] | None] = {
    "comparison_times": None,
    "model_drift": None,
    "segment_contradictions": None,
}
"""Tables of the store from which the report draws, with the columns that it needs (None: all)."""

DRAWN: dict[str, dict[str, Any]] = {
    "wins": {},
    "drawn_segments": {
        "most_tasks": MOST_TASKS, "fewest": FEWEST, "most": MOST, "most_tried": MOST_TRIED
    },
    "drawn_comparisons": {},
}  # fmt: skip
"""What it draws of the store's tables with a row a comparison or an output: queries of
``sql/report``, each of which may read what those before it gave, and parameters."""

COMPARED: dict[str, tuple[str, ...]] = {
    "judges": ("task", "judge", "verdict", "dropped", "p_value"),
    "system_rankings": ("task", "method", "system", "rank", "cluster", "score"),
}
"""Gold tables of the previous release that this one is held against, with their columns."""


def report_html(
    manifest: Mapping[str, Any],
    tables: Mapping[str, pa.Table],
    internal: Mapping[str, pa.Table],
    previous: Mapping[str, pa.Table] | None = None,
    previous_manifest: Mapping[str, Any] | None = None,
) -> str:
    """Return the report of a release.

    Parameters
    ----------
    manifest
        Of the release, without ``files``.
    tables
        Those of ``TABLES``, ``COUNTED`` and ``QUERIED``.
    internal
        Those of ``INTERNAL`` and ``DRAWN``, and ``control_differences`` of `drawn_judges`.
    previous, previous_manifest
        Tables of ``COMPARED``, ``label_changes``, and manifest of the parent, if there is one.
    """
    contents = Contents(manifest, tables, internal, previous, previous_manifest)
    sections, details = (
        [Section(anchor, title, section_html(anchor, facts(contents)))
         for anchor, title, facts in parts]
        for parts in (SECTIONS, DETAILS)
    )  # fmt: skip
    return page(manifest, render_html("header.html", header(contents)), sections, details)


def section_html(name: str, facts: Mapping[str, Any]) -> str:
    """Return a section as HTML from its facts; an empty text without them."""
    return render_html(f"{name}.html", facts) if facts else ""
