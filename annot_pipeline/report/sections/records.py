"""Every record of every export accounted for: what became of it, and what it made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from annot_pipeline.contracts import FATES, fates_text
from annot_pipeline.errors import counted
from annot_pipeline.report.citation import question
from annot_pipeline.report.contents import Contents, Labelled
from annot_pipeline.report.figures.records_by_fate import records_by_fate_svg
from annot_pipeline.report.release_figures import Drawn
from annot_pipeline.report.render import in_words, interval, number, without_rounding

MOST_EXPORTS = 10
"""Exports drawn on their own; the rest together."""
MOST_ROWS = 200
MOST_TASKS = 300

RESULTS = {
    "categorical": "labels", "scalar": "scores and rankings", "pairwise": "rankings",
    "ranking": "rankings",
}  # fmt: skip


def records(contents: Contents) -> dict[str, Any]:
    """Return records by fate and by export, gold tables, and what is no record."""
    fates, manifest = contents.facts["fates"], contents.manifest
    sources = [s for s in manifest["sources"] if s["kind"] == "judgments"]
    n_records = sum(fates.values())
    present = [fate for fate in reversed(FATES) if fates.get(fate)]
    aside = contents.tables["set_aside"]
    columns = [aside[name].to_pylist() for name in ("task", "left_out_of", "reason")]
    excluded = Counter(zip(*columns, strict=True))
    return {
        "tasks": _tasks(contents),
        "n_tasks": len(contents.facts["kinds"]),
        "any_decided": contents.labelled_in_all.decided > 0,
        "n_rows": sum(source["rows"] for source in sources),
        "exports": counted(len(sources), "export"),
        "n_records": n_records,
        "results": _results(contents),
        "fates": fates_text(fates),
        "drawings": [Drawn("From exports to gold", _figure(sources), f"{n_records:,} records")],
        "by_fate": [
            (fate, fates[fate], fates[fate] / n_records, fate, fate) for fate in present
        ],
        "by_export": [
            (
                s["name"], s["rows"], sum(s["records"].values()),
                *(s["records"].get(fate, 0) for fate in present), s["bytes"],
            )
            for s in sources
        ],
        "tables": [(t["name"], t["row"], t["rows"]) for t in manifest["tables"] if t["rows"]],
        "rejections": contents.facts["rejections"],
        "n_left_out": excluded.total(),
        "excluded": [
            (why, task, in_words(what), n) for (task, what, why), n in sorted(excluded.items())
        ],
        "ignored": [
            (source["name"], what, count)
            for source in manifest["sources"]
            for what, count in source.get("ignored", {}).items()
        ],
        "most_rows": MOST_ROWS,
    }  # fmt: skip


def _figure(sources: Sequence[Mapping[str, Any]]) -> str:
    sources = sorted(sources, key=lambda source: -sum(source["records"].values()))
    label = counted(len(sources) - MOST_EXPORTS, "other export")
    names = without_shared_folder([source["name"] for source in sources])
    records: Counter[tuple[str, str]] = Counter()
    for position, (own, source) in enumerate(zip(names, sources, strict=True)):
        name = own if position < MOST_EXPORTS else label
        for fate in reversed(FATES):
            records[name, fate] += source["records"].get(fate, 0)
    return records_by_fate_svg(records)


def without_shared_folder(names: Sequence[str]) -> list[str]:
    """Return paths without the folders that all of them begin with."""
    folders = [name.split("/")[:-1] for name in names]
    shared = next((n for n, own in enumerate(zip(*folders, strict=False)) if len({*own}) > 1),
                  min(map(len, folders), default=0))  # fmt: skip
    return ["/".join(name.split("/")[shared:]) for name in names]


def _results(contents: Contents) -> str:
    """Return what judgments that count became, with their numbers where there are several."""
    used: Counter[str] = Counter()
    for (task, fate), n in contents.judgments_by_task.items():
        if fate == "used":
            used[RESULTS.get(contents.facts["kinds"].get(task, ""), "gold")] += n
    return ", ".join(f"{what} {n:,}" for what, n in used.most_common())


def _tasks(contents: Contents) -> list[list[Any]]:
    """Return the tasks, with the questions to judges."""
    kinds, votes = contents.facts["kinds"], contents.anonymous_votes
    n_judges = Counter(row["task"] for row in contents.used_judges if not row["dropped"])
    rows = []
    for task in sorted(kinds)[:MOST_TASKS]:
        labels = contents.labelled.get(task, Labelled())
        rows.append([
            task, kinds[task], question(contents.manifest, task), n_judges.get(task),
            contents.judgments_by_task.get((task, "used"), 0), votes.get(task), labels.n or None,
            labels.decided or None, labels.usable, _agreement_text(contents, task),
        ])  # fmt: skip
    return rows


def _agreement_text(contents: Contents, task: str) -> str:
    row = contents.headline(task)
    if row is None:
        return ""
    ends = interval(without_rounding(row["ci_low"]), without_rounding(row["ci_high"]))
    words = f"{row['words']} {number(without_rounding(row['value']))}"
    return words + f" ({ends})" * bool(ends)
