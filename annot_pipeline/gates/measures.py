"""What gates measure: figures from the facts of stages, with what stands behind them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from annot_pipeline.errors import counted, first_of
from annot_pipeline.gates.gate import Facts, Finding


def named(names: Sequence[str]) -> Finding:
    """How many names there are, and the first of them."""
    return Finding(len(names), first_of(names))


REJECTED_ASSIGNMENT = "assignment was rejected"
"""Rows that whoever paid for them rejected are no defect of an export or a mapping."""


def rejected(facts: Facts) -> Finding:
    """Share of the records rejected, other than by who paid for them, with the reasons."""
    rows = [r for r in facts["rejections"] if r["kind"] != REJECTED_ASSIGNMENT]
    share = sum(r["records"] for r in rows) / max(facts["records"], 1)
    reasons = "; ".join(f"{r['records']:,} x {r['kind']} (as {r['example']})" for r in rows)
    return Finding(share, reasons)


def rejected_in_worst(facts: Facts) -> Finding:
    """The same share in the worst export, and its name."""
    shares = [
        ((f["rejected"] - f["rejected_assignments"]) / max(f["records"], 1), f["source_file"])
        for f in facts["files"]
    ]
    worst, name = max(shares, default=(0.0, ""))
    return Finding(worst, name if worst else "")


def superseded_by_order(facts: Facts) -> Finding:
    """Answers that gave way by the order of files alone, by file."""
    rows = facts["superseded_by_order"]
    files = [f"{r['records']:,} x {r['file']} over {r['over']}" for r in rows]
    return Finding(sum(r["records"] for r in rows), first_of(files, between="; "))


def judges_below_chance(facts: Facts) -> Finding:
    """Share of the judges who do worse than chance, and their names."""
    found = named(facts["judges_below_chance"])
    return Finding(found.value / max(facts["judges"], 1), found.detail)


def of_judges_in_control(facts: Facts, n: int) -> Finding:
    """Share that ``n`` judges are of those in judge control, and all verdicts."""
    verdicts = ", ".join(f"{n:,} {name}" for name, n in facts["verdicts"].items() if n)
    return Finding(n / max(facts["judges_in_control"], 1), verdicts)


def unpaired_controls(facts: Facts) -> Finding:
    """Share of the controls without their ordinary judgment, with the reasons."""
    reasons = "; ".join(f"{n:,} x {reason}" for reason, n in facts["unpaired_reasons"].items())
    return Finding(facts["unpaired_controls"] / max(facts["paired_controls"], 1), reasons)


NO_RELEASE = "no release to compare with"


def since_release(measure: Callable[[Facts], Finding]) -> Callable[[Facts], Finding]:
    """A figure of what changed since the newest release; without one there is nothing to find."""

    def measured(facts: Facts) -> Finding:
        finding = measure(facts)
        return Finding(0.0, NO_RELEASE) if facts["released_version"] is None else finding

    return measured


def largest_change(changes: Sequence[Mapping[str, Any]]) -> Finding:
    """The largest of some changes, and each with its interval."""
    told = [
        f"{c['name']} {c['change']:+.3f} ({c['low']:+.3f} to {c['high']:+.3f})" for c in changes
    ]
    return Finding(abs(changes[0]["change"]) if changes else 0.0, first_of(told, between="; "))


def label_flips(facts: Facts) -> Finding:
    """Share of the items of both releases that changed their label, by task."""
    rows = facts["label_changes"]
    items, changed = (sum(row[name] for row in rows) for name in ("items", "changed"))
    told = [
        f"{row['task']} {row['changed']:,} of {row['items']:,}: {', '.join(row['first_changed'])}"
        for row in sorted(rows, key=lambda row: (-row["changed"], row["task"]))
        if row["changed"]
    ]
    return Finding(changed / max(items, 1), first_of(told, between="; "))


def unseen_judges(facts: Facts) -> Finding:
    """Share of the judgments by judges who are new, by task."""
    if facts["judges_have_other_names"]:
        return Finding(0.0, "judges have other names than in the newest release: not compared")
    rows = facts["judge_changes"]
    judgments, unseen = (sum(row[n] for row in rows) for n in ("judgments", "unseen_judgments"))
    told = [
        f"{row['task']} {counted(row['unseen_judges'], 'judge')}, "
        f"{row['unseen_judgments']:,} of {row['judgments']:,} judgments"
        for row in sorted(rows, key=lambda row: (-row["unseen_judgments"], row["task"]))
        if row["unseen_judgments"]
    ]
    return Finding(unseen / max(judgments, 1), first_of(told, between="; "))


def contract_of(table: str) -> Callable[[Facts], Finding]:
    """Measures in how many ways a table breaks its contract or is doubtful."""

    def measure(facts: Facts) -> Finding:
        checked = facts["contracts"][table]
        broken, doubtful = checked["broken"], checked["doubtful"]
        detail = first_of([*broken, *(f"doubtful: {text}" for text in doubtful)], between="; ")
        unchecked = first_of(checked["unchecked"], between="; ")
        return Finding(len(broken) + len(doubtful), detail, unchecked, serious=len(broken))

    return measure


def worst_task(shares: Mapping[str, float]) -> Finding:
    """The largest share of any task, and the tasks by it."""
    order = sorted(shares, key=lambda task: (-shares[task], task))
    named = first_of([f"{task} {shares[task]:.1%}" for task in order if shares[task]])
    return Finding(shares[order[0]] if order else 0.0, named)


def segments_in_parts(facts: Facts) -> Finding:
    """Share of segments in several parts, in the worst task."""
    graphs = facts["segment_graphs"].items()
    return worst_task({t: g["segments_in_parts"] / max(g["segments"], 1) for t, g in graphs})
