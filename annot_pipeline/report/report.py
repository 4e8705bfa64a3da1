"""report.html: the release at a glance, in one file that needs no network."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.contracts import FATES, fates_text
from annot_pipeline.report.comparison_figures import (
    effort_figures,
    segment_figures,
    time_figures,
    win_figures,
)
from annot_pipeline.report.release_figures import (
    Drawn,
    comparison_figures,
    confusion_figures,
    difference_figures,
    judge_figures,
    prevalence_figures,
    ranking_figures,
    score_figures,
)

MOST_ROWS = 200
"""Rows shown of a table; the whole table is in the release."""

STYLE = """
:root { color-scheme: light dark; --line: #8884; --ok: #2a7d46; --warn: #b26a00; --error: #b3261e }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 64rem; margin: 0 auto; padding: 1rem }
table { border-collapse: collapse; width: 100% } .wide { overflow-x: auto }
th, td { text-align: left; padding: .25rem .6rem; border-bottom: 1px solid var(--line) }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums }
.flow { display: flex; height: 1.6rem; border-radius: .3rem; overflow: hidden; margin: .5rem 0 }
.flow span { min-width: 2px } .used { background: #2a7d46 } .control { background: #3b6ea8 }
.duplicate { background: #888 } .superseded { background: #b26a00 }
.rejected { background: #b3261e }
.pass { color: var(--ok) } .warn { color: var(--warn) } .error { color: var(--error) }
code { overflow-wrap: anywhere } figure { margin: 1.5rem 0; overflow-x: auto }
figcaption { font-weight: 600 } svg { max-width: 100%; height: auto }
.judge_failed { background: #7a4fa3 }
"""


TABLES: dict[str, tuple[str, ...] | None] = {
    "agreement": None,
    "judge_confusion": None,
    "judges": None,
    "prevalence": None,
    "scores": ("task", "easl_score", "ra_score"),
    "segment_ranks": (
        "task",
        "segment",
        "item",
        "system",
        "in_contradiction",
        "component",
        "n_comparisons",
    ),
    "set_aside": None,
    "system_comparisons": None,
    "system_rankings": None,
}
"""Gold tables that the report shows, with the columns that it needs (None: all)."""


INTERNAL = ("control_pairs", "comparisons", "comparison_times", "segment_contradictions")
"""Tables of the store from which the report draws."""


def report_html(
    manifest: Mapping[str, Any], tables: Mapping[str, pa.Table], internal: Mapping[str, pa.Table]
) -> str:
    """The report of a release.

    Parameters
    ----------
    manifest
        Of the release, without ``files``.
    tables
        Those of ``TABLES``.
    internal
        Those of ``INTERNAL``.
    """
    quality, ranking = manifest["settings"]["quality"], manifest["settings"]["ranking"]
    title = f"{manifest['campaign']} {manifest['version']}"
    body = [
        f"<h1>{escape(title)}</h1>",
        f"<p>Published {escape(manifest['created_at'])}. "
        f"{len(manifest['sources'])} exports, {manifest['facts']['records']:,} records.</p>",
        *_fates(manifest["facts"]["fates"]),
        *_section("Rejected", _rejections(manifest["facts"]["rejections"])),
        *_section("In the exports, but not records", _ignored(manifest["sources"])),
        *_section("Gates", _gates(manifest["checks"])),
        *_section("System rankings", _figures(ranking_figures(tables["system_rankings"]))),
        *_section("Systems compared", _figures(
            comparison_figures(
                tables["system_comparisons"], ranking["alpha"], tables["system_rankings"]
            )
        )),
        *_section("Comparisons of systems", _figures(
            win_figures(internal["comparisons"], tables["system_rankings"])
        )),
        *_section("Comparisons of outputs", _figures([
            *segment_figures(tables["segment_ranks"], internal["comparisons"]),
            *effort_figures(manifest["facts"]["adequacy"]),
            *time_figures(internal["comparison_times"]),
        ])),
        *_section("Segments in which single judges contradict themselves", _rows(
            _contradicted(internal["segment_contradictions"]),
            ("task", "segment", "n_graphs", "n_graphs_with_contradictions", "consistency"),
        )),
        *_section("Seconds a ranking and a comparison", _rows(internal["comparison_times"], (
            "task", "unit", "lengths", "words", "n", "mean", "median", "n_breaks",
            "mean_without_breaks", "mean_per_word",
        ))),
        *_section("Scores of items", _figures(score_figures(tables["scores"]))),
        *_section("Judge control", _figures([
            *judge_figures(tables["judges"], quality["alpha"]),
            *difference_figures(tables["judges"], internal["control_pairs"]),
        ])),
        *_section("Verdicts of judge control", _verdicts(manifest["facts"]["verdicts"], quality)),
        *_section("Left out of a calculation", _set_aside(tables["set_aside"])),
        *_section("Agreement", _rows(tables["agreement"], (
            "task", "statistic", "value", "ci_low", "ci_high", "n_items", "n_judges",
        ))),
        *_section("Tasks", _tasks(manifest)),
        *_section("Confusion", _figures(
            confusion_figures(tables["judge_confusion"], tables["judges"], tables["prevalence"])
        )),
        *_section("Prevalence by the model and by votes", _figures(
            prevalence_figures(tables["prevalence"])
        )),
        *_section("Prevalence", _rows(tables["prevalence"], (
            "task", "label", "prevalence", "vote_share", "plurality_frequency", "support",
            "plurality_agreement", "n_items", "n_certain",
        ))),
        *_section("Judges", _rows(tables["judges"], (
            "task", "judge", "n_judgments", "verdict", "p_value", "effect", "n_pairs",
            "mean_ordinary", "mean_good_reference", "mean_bad_reference",
            "seconds_per_judgment", "longest_constant_run", "known_answer_accuracy", "accuracy",
            "mean_class_accuracy", "below_chance", "bias_label", "bias",
        ))),
        f"<h2>Method</h2><p><code>{escape(manifest['signature'])}</code></p>",
    ]  # fmt: skip
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}'
        '</title><meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{STYLE}</style></head><body><main>\n"
        + "\n".join(body)
        + "\n</main></body></html>\n"
    )


def _contradicted(segments: pa.Table) -> pa.Table:
    """Segments with contradictions, the least consistent first."""
    found = segments.filter(pc.greater(segments["n_graphs_with_contradictions"], 0))
    return found.take(pa.array(np.argsort(found["consistency"].to_numpy(), kind="stable")))


def _fates(fates: Mapping[str, int]) -> list[str]:
    total = max(sum(fates.values()), 1)
    spans = "".join(
        f'<span class="{fate}" style="flex: {fates[fate] / total:.6f}" '
        f'title="{fates[fate]:,} {fate}"></span>'
        for fate in reversed(FATES)
        if fates.get(fate)
    )
    words = fates_text(fates)
    return [
        "<h2>What became of each record</h2>",
        f'<div class="flow" role="img" aria-label="{words}">{spans}</div><p>{words}.</p>',
    ]


def _rejections(rows: Sequence[Mapping[str, Any]]) -> str:
    return _table(
        ("records", "reason", "as in"),
        ((f"{row['records']:,}", row["reason"], row["example"]) for row in rows),
    )


def _ignored(sources: Sequence[Mapping[str, Any]]) -> str:
    return _table(
        ("export", "what", "count"),
        (
            (source["name"], what, f"{count:,}")
            for source in sources
            for what, count in source.get("ignored", {}).items()
        ),
    )


def _gates(checks: Sequence[Mapping[str, Any]]) -> str:
    """Gates that warn in full; those that pass in a list to open."""
    rows: dict[bool, list[str]] = {True: [], False: []}
    for check in checks:
        passed = check["level"] == "pass"
        more = "".join(f"<br>{escape(check[key])}" for key in ("detail", "do") if not passed)
        rows[passed].append(
            f'<tr><td class="{check["level"]}">{check["level"]}</td>'
            f"<td>{escape(check['name'])}</td>"
            f"<td>{escape(check['question'])}: {check['value']:.4g}{more}</td></tr>"
        )
    head = "<tr><th>level</th><th>gate</th><th>what was found</th></tr>"

    def table(lines: Sequence[str]) -> str:
        return f'<div class="wide"><table>{head}{"".join(lines)}</table></div>' if lines else ""

    passing = f"<summary>{len(rows[True])} gates pass</summary>{table(rows[True])}"
    return f"{table(rows[False])}<details>{passing}</details>"


def _figures(drawn: Sequence[Drawn]) -> str:
    """Figures with their titles; of many tasks the first."""
    return "".join(
        f"<figure><figcaption>{escape(figure.title)}</figcaption>{figure.svg}</figure>"
        for figure in drawn
    )


def _verdicts(verdicts: Mapping[str, int], quality: Mapping[str, Any]) -> str:
    """How many judges passed, by which test; nothing where none was tested."""
    found = [f"{n:,} {verdict}" for verdict, n in verdicts.items() if n]
    if not any(n for verdict, n in verdicts.items() if verdict != "untested"):
        return ""
    contrast = "" if quality["test"] == "known_answer" else f", contrast {quality['contrast']}"
    return (
        f"<p>{', '.join(found)} (test {quality['test']}{contrast}, alpha {quality['alpha']:g}). "
        "Judgments of judges who were dropped do not count; why is in <code>lineage.reason</code> "
        "and <code>judges.verdict_reason</code>.</p>"
    )


def _set_aside(table: pa.Table) -> str:
    """How many judgments were left out of what, and why."""
    counts: Counter[tuple[str, str, str]] = Counter()
    columns = (table[name].to_pylist() for name in ("task", "left_out_of", "reason"))
    counts.update(zip(*columns, strict=True))
    rows = [(*key, f"{n:,}") for key, n in sorted(counts.items())][:MOST_ROWS]
    return _table(("task", "left out of", "because", "judgments"), rows)


def _tasks(manifest: Mapping[str, Any]) -> str:
    certain = manifest["facts"]["certain_share"]
    return _table(
        ("task", "items", "judges", "judgments", "certain", "converged", "iterations"),
        (
            (
                fit["task"], f"{fit['n_items']:,}", f"{fit['n_judges']:,}",
                f"{fit['n_judgments']:,}", f"{certain[fit['task']]:.1%}",
                "yes" if fit["converged"] else "no", fit["iterations"],
            )
            for fit in manifest["convergence"]
        ),
    )  # fmt: skip


def _rows(table: pa.Table, columns: Sequence[str]) -> str:
    shown = table.select(list(columns)).slice(0, MOST_ROWS).to_pylist()
    more = table.num_rows - len(shown)
    note = f"<p>{more:,} more rows are in the table.</p>" if more > 0 else ""
    return _table(columns, ([_cell(row[c]) for c in columns] for row in shown)) + note


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.4f}" if isinstance(value, float) else str(value)


def _table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    lines = ["<tr>" + "".join(f"<th>{escape(name)}</th>" for name in head) + "</tr>"]
    lines += [
        "<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in row) + "</tr>" for row in rows
    ]
    return f'<div class="wide"><table>{"".join(lines)}</table></div>' if len(lines) > 1 else ""


def _section(title: str, content: str) -> list[str]:
    return [f"<h2>{escape(title)}</h2>", content] if content else []
