"""What gates measure of a build against the newest release."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import Any

from annot_pipeline.contracts import share_text
from annot_pipeline.errors import counted, first_of
from annot_pipeline.gates.gate import Finding
from annot_pipeline.gates.measures import named
from annot_pipeline.stages.gold.metrics import Change, ReleaseChangeMetrics

NO_RELEASE = "no release to compare with"
OTHER_NAMES = "judges have other names than in the newest release: not compared"
Row = Mapping[str, Any]
Measure = Callable[[ReleaseChangeMetrics, int], Finding]


def since_release(measure: Measure, *, by_judge: bool = False) -> Measure:
    """Return a measure of changes since the newest release; without one, of nothing.

    ``by_judge``: judges, and judgments by their names, are of other names where the key is.
    """

    def measured(metrics: ReleaseChangeMetrics, minimum: int) -> Finding:
        if by_judge and metrics.judges_have_other_names:
            return Finding(0.0, OTHER_NAMES)
        finding = measure(metrics, minimum)
        return Finding(0.0, NO_RELEASE) if metrics.released_version is None else finding

    return measured


def largest_change(changes: Sequence[Row | Change], minimum: int) -> Finding:
    """Return the largest change of enough items, and each with its interval."""
    changes = [change for change in changes if change["items"] >= minimum]
    texts = [
        f"{c['name']} {c['change']:+.3f} ({c['low']:+.3f} to {c['high']:+.3f})" for c in changes
    ]
    return Finding(abs(changes[0]["change"]) if changes else 0.0, first_of(texts, between="; "))


def shifted(metrics: ReleaseChangeMetrics, minimum: int, *, kind: str) -> Finding:
    """Return what moved most in an export: a system, or the scores or labels of the same judges."""
    moved = [row for row in metrics.shifted_exports if row["kind"] == kind]
    return largest_change(moved, minimum)


def copied_answers(metrics: ReleaseChangeMetrics, minimum: int) -> Finding:
    """Return the largest share of an export's scores or preferences by judges who copy."""
    return _in_worst_task(
        metrics.copied_answers, "copied", "judgments", minimum,
        lambda row, part: f"{part} by {counted(row['judges'], 'judge')}: {row['first']}",
    )  # fmt: skip


def new_classes(metrics: ReleaseChangeMetrics) -> Finding:
    """Return the labels that are no classes of their task in the newest release."""
    names = [f"{row['task']}: {row['label']!r}" for row in metrics.new_classes]
    return since_release(lambda *_: named(names))(metrics, 0)


def label_flips(metrics: ReleaseChangeMetrics, minimum: int) -> Finding:
    """Return the share of the items of both releases that changed their label."""
    return _in_worst_task(
        metrics.label_changes, "changed", "items", minimum,
        lambda row, part: f"{part}: {', '.join(row['first_changed'])}",
    )  # fmt: skip


def corrected_judgments(metrics: ReleaseChangeMetrics, minimum: int) -> Finding:
    """Return the largest share of the judgments of an export that have another answer now."""
    return _in_worst_task(
        metrics.corrected_judgments, "corrected", "judgments", minimum,
        lambda row, part: f"{part} in {row['source_file']}",
    )  # fmt: skip


def certain_share(metrics: ReleaseChangeMetrics, minimum: int) -> Finding:
    """Return the largest change of a task's share of certain labels, of items in both releases."""
    changes = sorted(
        (abs(row["certain"] - row["certain_before"]) / row["items"], row["task"], row)
        for row in metrics.label_changes
        if row["items"] >= minimum and row["certain"] != row["certain_before"]
    )[::-1]
    texts = [
        f"{task} {share_text(row['certain_before'] / row['items'])} to "
        f"{share_text(row['certain'] / row['items'])} of {row['items']:,} items of both releases"
        for _, task, row in changes
    ]
    return Finding(changes[0][0] if changes else 0.0, first_of(texts, between="; "))


def unseen_judges(metrics: ReleaseChangeMetrics, minimum: int) -> Finding:
    """Return the share of the judgments by judges who are new."""
    return _in_worst_task(
        metrics.judge_changes, "unseen_judgments", "judgments", minimum,
        lambda row, part: f"{counted(row['unseen_judges'], 'judge')}, {part} judgments",
    )  # fmt: skip


def doubtful_items(metrics: ReleaseChangeMetrics, minimum: int) -> Finding:
    """Return the share of items that doubtful people decided, of new ones and of those they met."""
    return _in_worst_task(
        metrics.doubtful_items, "decided", "items", minimum,
        lambda row, part: f"{part}: {row['unlike'] or 'by suspected judges'}",
    )  # fmt: skip


def vanished_judgments(metrics: ReleaseChangeMetrics, minimum: int) -> Finding:
    """Return the share of the newest release's judgments that no export holds any more.

    Of a task, or of an export: one that was cut is a small part of a large task.
    """
    findings = (
        _in_worst_task(
            rows, "vanished", "judgments", minimum,
            lambda row, part: f"{part}{row.get('of_export', '')}",
        )
        for rows in (metrics.vanished_judgments, metrics.vanished_by_export)
    )  # fmt: skip
    return max(findings, key=attrgetter("value"))


def vanished_items(metrics: ReleaseChangeMetrics, minimum: int) -> Finding:
    """Return the share of the newest release's items that no export judges any more."""
    return _in_worst_task(
        metrics.vanished_judgments, "vanished_items", "items", minimum,
        lambda row, part: f"{part}: {', '.join(row['first_vanished'])}",
    )  # fmt: skip


def model_drift(metrics: ReleaseChangeMetrics, minimum: int) -> Finding:
    """Return the models that agree less with people on new items, by more than chance."""
    falls = [change for change in metrics.model_falls if change["items"] >= minimum]
    return Finding(len(falls), largest_change(falls, minimum).detail)


def model_versions(metrics: ReleaseChangeMetrics) -> Finding:
    """Return the models with another version, prompt or temperature than in the release."""
    rows = metrics.model_versions
    return named([f"{r['task']}: {r['released_judges']} is now {r['judges']}" for r in rows])


def _in_worst_task(
    rows: Sequence[Row], part: str, whole: str, minimum: int, tell: Callable[[Row, str], str]
) -> Finding:
    """Return the largest share of any task, and tasks by share; small tasks count as one.

    ``tell`` returns what is said of a row, and of its share in numbers: ``3 of 40``.
    """
    large = [row for row in rows if row[whole] >= minimum]
    small = [row for row in rows if row[whole] < minimum]
    sums = [
        (sum(row[part] for row in task), sum(row[whole] for row in task))
        for task in (*([row] for row in large), small)
    ]
    share = max((n / total for n, total in sums if total >= minimum), default=0.0)
    texts = [
        f"{row['task']} {tell(row, f'{row[part]:,} of {row[whole]:,}')}"
        for tasks in (large, small)
        for row in sorted(tasks, key=lambda row: (-row[part] / max(row[whole], 1), row["task"]))
        if row[part]
    ]
    return Finding(share, first_of(texts, between="; "))
