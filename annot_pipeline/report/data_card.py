"""README.md of a release: a data card that Hugging Face `datasets` reads too."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from typing import Any

from annot_pipeline.contracts import fates_text
from annot_pipeline.errors import printable


def data_card(manifest: Mapping[str, Any]) -> str:
    """The data card of a release, from its manifest (without ``files``)."""
    fates = manifest["facts"]["fates"]
    records = manifest["facts"]["records"]
    tables = [table for table in manifest["tables"] if table["rows"]]
    lines = ["---", "configs:"]
    rows = {table["name"]: table["rows"] for table in manifest["tables"]}
    main = "scores" if rows["scores"] and not rows["labels"] else "labels"
    for place, table in enumerate(sorted(tables, key=lambda t: t["name"] != main)):
        lines += [f"- config_name: {table['name']}", f"  data_files: {table['file']}"]
        if place == 0:
            lines.append("  default: true")
    lines += [
        "---",
        "",
        f"# {manifest['campaign']} {manifest['version']}",
        "",
        f"Gold dataset of the campaign `{manifest['campaign']}`, published "
        f"{manifest['created_at']} by annot-pipeline {manifest['code']['annot-pipeline']}.",
        "",
        "```python",
        "import annot_pipeline",
        f'{main} = annot_pipeline.load_gold("..", "{main}", version="{manifest["version"]}")',
        "```",
        "",
        "## What was asked, and who judged",
        "",
        "| task | kind |",
        "|---|---|",
        *(
            f"| {escape(task)} | {kind} |"
            for task, kind in sorted(manifest["facts"]["kinds"].items())
        ),
        "",
        f"{records:,} records in {len(manifest['sources'])} exports: {fates_text(fates)}.",
        "Judges are pseudonyms." if manifest["settings"]["privacy"]["pseudonymize"] else "",
        "",
        "## Tables",
        "",
        "| table | one row is | rows |",
        "|---|---|---|",
        *(f"| `{t['file']}` | {t['row']} | {t['rows']:,} |" for t in manifest["tables"]),
        "",
        "## Known limits",
        "",
        *_limits(manifest),
        "",
        "## Method",
        "",
        f"`{manifest['signature']}`",
        "",
    ]
    return "\n".join(lines)


def _limits(manifest: Mapping[str, Any]) -> list[str]:
    limits = []
    if manifest["convergence"]:
        limits.append(
            "- `labels.probability` is the posterior of Dawid-Skene, which assumes that judges err "
            "independently; on hard items they do not, and it is then too sure of itself."
        )
    verdicts = manifest["facts"]["verdicts"]
    if any(n for verdict, n in verdicts.items() if verdict != "untested"):
        found = ", ".join(f"{n:,} {verdict}" for verdict, n in verdicts.items() if n)
        limits.append(
            f"- Judge control: {found}. Judgments of judges who were dropped do not count; figures "
            "of all judges stand beside: `scores.unfiltered_mean`, the method `raw_mean` of "
            "`system_rankings`, statistics that end in `_unfiltered`."
        )
    for check in manifest["checks"]:
        if check["level"] != "pass":
            limits.append(
                f"- {check['level']}: {check['question']}: {check['value']:g}. "
                + escape(check["detail"])
            )
    return limits


def escape(text: str) -> str:
    """Text from exports as it may stand in Markdown: no markup, no table, one line."""
    flat = re.sub(r"\s+", " ", html.escape(printable(text), quote=False))
    return re.sub(r"([\\`*_{}\[\]|#!])", r"\\\1", flat)
