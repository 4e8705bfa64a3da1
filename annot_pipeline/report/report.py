"""report.html: whether a release can be used, and why, in one file that needs no network.

A section is a function in report/sections that gives facts, a template of the same name in
report/templates, and one entry of ``SECTIONS``. The page runs its own script and no other.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Mapping
from hashlib import sha256
from importlib.resources import files
from shlex import quote
from typing import Any

import pyarrow as pa

from annot_pipeline.contracts import CERTAINTY_BOUNDS, fates_text
from annot_pipeline.report.comparison_figures import FEWEST, MOST, MOST_TRIED
from annot_pipeline.report.contents import Contents
from annot_pipeline.report.release_figures import MOST_TASKS
from annot_pipeline.report.render import render_html
from annot_pipeline.report.sections.agreement import agreement
from annot_pipeline.report.sections.certainty import MOST_ROWS as MOST_DECISIONS
from annot_pipeline.report.sections.certainty import adjudicated, certainty
from annot_pipeline.report.sections.changes import MOST_CHANGES, changes
from annot_pipeline.report.sections.cost import cost
from annot_pipeline.report.sections.doubt import DOUBTFUL, doubt
from annot_pipeline.report.sections.gates import gates
from annot_pipeline.report.sections.judges import judges
from annot_pipeline.report.sections.method import lineage, method
from annot_pipeline.report.sections.models import MOST_ASKED, models
from annot_pipeline.report.sections.rankings import rankings
from annot_pipeline.report.sections.records import records
from annot_pipeline.report.sections.use import header, use

__all__ = [
    "COMPARED", "COUNTED", "DETAILS", "INTERNAL", "MOST_CHANGES", "QUERIED", "SECTIONS", "TABLES",
    "report_html",
]  # fmt: skip

STYLE, SCRIPT = (
    "\n".join(line for text in file.splitlines() if (line := text.strip()) and line[:2] != "//")
    for file in (
        files("annot_pipeline.report").joinpath(name).read_text(encoding="utf-8")
        for name in ("style.css", "script.js")
    )
)
"""Of the page, without what is for people who read it: blanks before lines, comments."""

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

TABLES = (
    "agreement", "estimates", "judge_bias", "judge_confusion", "judge_validation", "judges",
    "label_calibration", "prevalence", "set_aside", "system_comparisons", "system_rankings",
    "validation_confusion", "variance",
)  # fmt: skip
"""Gold tables that the pages show."""

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
    **DOUBTFUL,
    "preference_agreement": {},
    "model_disagreements": {"most": MOST_ASKED},
}
"""What they show of gold tables with a row an item: queries of ``sql/report``, each of which may
read what those before it gave, and parameters."""

INTERNAL = ("comparison_times", "model_drift", "segment_contradictions")
"""Tables of the store from which the report draws."""

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
    campaign_file: str = "campaign.yaml",
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
    campaign_file
        Its name without folders, for the commands.
    """
    campaign = quote(campaign_file)
    contents = Contents(manifest, tables, internal, previous, previous_manifest, campaign)
    sections, details = (
        [{"anchor": anchor, "title": title, "content": html} for anchor, title, facts in parts
         if (html := section_html(anchor, facts(contents)))]
        for parts in (SECTIONS, DETAILS)
    )  # fmt: skip
    return render_html("page.html", {
        "title": f"{manifest['campaign']} {manifest['version']}",
        "manifest": manifest,
        "fates": fates_text(manifest["facts"]["fates"]),
        "header": render_html("header.html", header(contents)),
        "sections": sections,
        "details": details,
        "style": STYLE,
        "script": SCRIPT,
        "script_hash": b64encode(sha256(SCRIPT.encode()).digest()).decode(),
    }) + "\n"  # fmt: skip


def section_html(name: str, facts: Mapping[str, Any]) -> str:
    """Return a section as HTML from its facts; an empty text without them."""
    return render_html(f"{name}.html", facts) if facts else ""
