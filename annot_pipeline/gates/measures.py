"""What gates measure: figures from the metrics of stages, with their details."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any

from annot_pipeline.contracts import fates_text, share_text
from annot_pipeline.contracts.stage_metrics import AnsweredShares, TableMetrics
from annot_pipeline.errors import counted, first_of
from annot_pipeline.gates.gate import Finding
from annot_pipeline.stages.agreement.metrics import AgreementMetrics
from annot_pipeline.stages.gold.metrics import (
    Change,
    ItemMetrics,
    JudgeMetrics,
    ReleaseChangeMetrics,
    ReleaseMetrics,
)
from annot_pipeline.stages.ingest.metrics import JudgmentMetrics, RecordMetrics
from annot_pipeline.stages.judges.metrics import ControlMetrics
from annot_pipeline.stages.labels.metrics import LabelMetrics
from annot_pipeline.stages.rankings.metrics import SegmentRankMetrics, SystemRankMetrics
from annot_pipeline.stages.scores.metrics import ItemScoreMetrics


def named(names: Sequence[str], n: int | None = None) -> Finding:
    """Return how many names there are (``n``, if texts stand for several), and the first."""
    return Finding(len(names) if n is None else n, first_of(names))


def named_by_task(names: Mapping[str, Sequence[str]], between: str = " ") -> Finding:
    """Return how many names there are in all tasks, and the first of them."""
    return named([f"{task}{between}{name}" for task in sorted(names) for name in names[task]])


def total(counts: Mapping[str, int]) -> int:
    """Return the sum of counts by task."""
    return sum(counts.values())


def nothing_used(metrics: ControlMetrics) -> Finding:
    """Return 1 if no judgment is usable, else 0, with the number of usable judgments."""
    n_used = metrics.fates["used"]
    has_others = not n_used and any(metrics.fates.values())
    fates = f"; records: {fates_text(metrics.fates)}" if has_others else ""
    return Finding(float(n_used == 0), f"usable judgments: {n_used:,}{fates}")


def misnamed_classes(metrics: LabelMetrics) -> Finding:
    """Return the number of classes whose names cannot be trusted, and in how many tasks."""
    finding = named_by_task(metrics.misnamed_classes)
    n_tasks = sum(map(bool, metrics.misnamed_classes.values()))
    in_tasks = f"in {n_tasks:,} of {counted(len(metrics.converged), 'task')}: "
    return replace(finding, detail=in_tasks + finding.detail) if n_tasks else finding


def published_names(metrics: ReleaseMetrics) -> Finding:
    """Return how many judges a release names, where, and how many names were not looked for."""
    unchecked = f"{counted(metrics.unchecked, 'name')} not checked: short, numbers, or common words"
    details = [first_of(metrics.places), unchecked * bool(metrics.unchecked)]
    return Finding(metrics.names, "; ".join(filter(None, details)))


def undeclared_models(metrics: JudgmentMetrics) -> Finding:
    """Return the judges with names of models, the largest share of the records first."""
    judges = sorted(metrics.undeclared_models.items(), key=lambda judge: (-judge[1][1], judge[0]))
    return named([
        f"{judge} (family {family}, {share_text(n / metrics.records)} of all records)"
        for judge, (family, n) in judges
    ])  # fmt: skip


def many_classes(metrics: JudgmentMetrics) -> Finding:
    """Return the most classes of a task that declares none, and the tasks with most."""
    counts = metrics.undeclared_classes
    details = [f"{task}: {n:,}" for task, n in sorted(counts.items(), key=lambda c: (-c[1], c[0]))]
    return Finding(max(counts.values(), default=0), first_of(details, between="; "))


def unsupported_labels(metrics: LabelMetrics) -> Finding:
    """Return the number of items whose label nobody gave, by task."""
    details = [f"{task}: {n:,}" for task, n in sorted(metrics.unsupported_labels.items()) if n]
    return Finding(total(metrics.unsupported_labels), first_of(details, between="; "))


def labels_against_the_plurality(metrics: LabelMetrics, minimum: int) -> Finding:
    """Return the share of items whose label another outvotes, in the worst task."""
    shares = sorted(
        (n / items, task, f"{n:,} of {items:,}")
        for task, (n, items) in metrics.labels_against_the_plurality.items()
        if items >= minimum and n
    )[::-1]
    details = [f"{task} {counts}" for _, task, counts in shares]
    return Finding(shares[0][0] if shares else 0.0, first_of(details, between="; "))


def related_judges(metrics: LabelMetrics) -> Finding:
    """Return the number of groups of judges whose errors go together, with their names."""
    counts = {True: "count as one", False: "count separately"}
    details = [
        f"{task}: {first_of(group)} ({counts[bool(related['are_used'])]})"
        for task, related in sorted(metrics.related_judges.items())
        for group in related["groups"]
    ]
    return Finding(len(details), first_of(details, between="; "))


def tasks_without_model(metrics: LabelMetrics) -> Finding:
    """Return the number of tasks that the label model was not fitted to, and their sizes."""
    details = [
        f"{task}: {classes:,} classes, {judges:,} judges"
        for task, (judges, classes) in sorted(metrics.not_fitted.items())
    ]
    return Finding(len(details), first_of(details, between="; "))


REJECTED_ASSIGNMENT = "assignment was rejected"
"""Rows that whoever paid for them rejected are no defect of an export or a mapping."""


def rejected(metrics: JudgmentMetrics) -> Finding:
    """Return the share of rejected records, except refused work, with the reasons."""
    rows = [r for r in metrics.rejections if r["kind"] != REJECTED_ASSIGNMENT]
    share = sum(r["records"] for r in rows) / max(metrics.records, 1)
    reasons = "; ".join(f"{r['records']:,} x {r['kind']} (as {r['example']})" for r in rows)
    return Finding(share, reasons)


def repeated_answers(metrics: JudgmentMetrics) -> Finding:
    """Return the pairs of judge and item with several answers, with examples and columns."""
    texts = []
    for row in metrics.repeated_answers:
        columns = ", ".join(row["columns"])  # first: what follows may be cut
        advice = f"answers differ in columns that no field reads: {columns}; " if columns else ""
        texts.append(f"{row['task']}: {advice}{'; '.join(row['examples'])}")
    return Finding(sum(row["pairs"] for row in metrics.repeated_answers), first_of(texts))


def swallowed_rows(metrics: RecordMetrics) -> Finding:
    """Return the number of lines within quoted cells that look like rows, and where they start."""
    details = [f"{counted(n, 'line')} in {row}" for row, n in metrics.swallowed_rows.items()]
    return Finding(sum(metrics.swallowed_rows.values()), first_of(details, between="; "))


def rejected_in_worst(metrics: JudgmentMetrics) -> Finding:
    """Return the same share in the worst export, and the export's name."""
    shares = [
        ((f["rejected"] - f["rejected_assignments"]) / max(f["records"], 1), f["source_file"])
        for f in metrics.files
    ]
    worst, name = max(shares, default=(0.0, ""))
    return Finding(worst, name if worst else "")


def uncounted_items(metrics: ItemMetrics) -> Finding:
    """Return the number of items of which no judgment counts, with the first of each task."""
    rows = metrics.uncounted_items
    details = [f"{r['items']:,} of {r['task']}: {first_of(r['examples'])}" for r in rows]
    return Finding(sum(row["items"] for row in rows), first_of(details, between="; "))


def respelled_classes(metrics: JudgmentMetrics, minimum: int) -> Finding:
    """Return the largest share of an export's records rejected for a respelled class."""
    rows, records, rejected = metrics.respelled_classes, Counter[str](), Counter[str]()
    for file in metrics.files:
        records[file["source_file"]] += file["records"]
    for row in rows:
        rejected[row["file"]] += row["records"]
    details = [
        f"{r['records']:,} x {r['spelling']!r} for {r['declared']!r} in {r['file']}" for r in rows
    ]
    shares = {file: n / max(records[file], n) for file, n in rejected.items()}
    largest = max(shares.values(), default=0.0)
    serious = max((s for file, s in shares.items() if records[file] >= minimum), default=0.0)
    return Finding(largest, first_of(details, between="; "), serious=serious)


def superseded_by_order(metrics: JudgmentMetrics) -> Finding:
    """Return how many answers were superseded by the order of files alone, by file."""
    rows = metrics.superseded_by_order
    files = [f"{r['records']:,} x {r['file']} over {r['over']}" for r in rows]
    return Finding(sum(r["records"] for r in rows), first_of(files, between="; "))


def judges_below_chance(metrics: LabelMetrics, minimum: int) -> Finding:
    """Return the share and names of judges below chance; not serious if judges are few."""
    below_chance, judges = named_by_task(metrics.judges_below_chance), sum(metrics.judges.values())
    n_below = int(below_chance.value)
    detail = f"{n_below:,} of {judges:,}: {below_chance.detail}" if n_below else ""
    finding = Finding(n_below / max(judges, 1), detail)
    return finding if judges >= minimum else replace(finding, serious=0.0)


def careless_judges(metrics: ControlMetrics) -> Finding:
    """Return the number of careless judges, with their names by test."""
    judges = metrics.careless_judges
    details = [f"{test}: {first_of(names)}" for test, names in judges.items()]
    return Finding(sum(map(len, judges.values())), first_of(details, between="; "))


def hurried_judges(metrics: JudgeMetrics) -> Finding:
    """Return the number of judges in a hurry, with their share of fast answers and the level."""
    return named([
        f"{row['task']} {row['judge']} ({row['share']:.0%} below {row['below']:,.1f} s)"
        for row in metrics.hurried_judges
    ])  # fmt: skip


def narrow_judges(metrics: JudgeMetrics) -> Finding:
    """Return the number of judges on a much smaller scale, with their points per point."""
    return named([
        f"{row['task']} {row['judge']} ({row['spread']:.2g} points per point of the others)"
        for row in metrics.narrow_judges
    ])  # fmt: skip


def suspected_labels(metrics: ControlMetrics) -> Finding:
    """Return the share of items that suspected judges decide, with their names."""
    details = [_counted_judges(metrics.suspected_judges), *metrics.suspicions[:1]]
    return Finding(metrics.suspected_share, "; ".join(details))


def unlinked_labels(metrics: ControlMetrics) -> Finding:
    """Return the share of items that unlinked judges decide, with their names."""
    return Finding(metrics.unlinked_share, _counted_judges(metrics.unlinked_judges))


def _counted_judges(judges: Sequence[str]) -> str:
    """Return the number of some judges, and the first of them; nothing if there are none."""
    return f"{counted(len(judges), 'judge')}: {first_of(judges)}" if judges else ""


def failed_labels(metrics: ControlMetrics) -> Finding:
    """Return the share of the labels that come from judges who fail without known answers."""
    share, n_failed = metrics.failed_label_share, metrics.label_verdicts.get("failed", 0)
    return Finding(share, counted(n_failed, "judge") if share else "")


def judges_failed(metrics: ControlMetrics, minimum: int) -> Finding:
    """Return the share of controlled judges who failed; not serious if judges are few."""
    finding = of_judges_in_control(metrics, metrics.verdicts["failed"])
    return finding if metrics.judges_in_control >= minimum else replace(finding, serious=0.0)


def verdicts_without_power(metrics: ControlMetrics) -> Finding:
    """Count the judges whose test had too little power, with the controls that they would need."""
    rows = metrics.verdicts_without_power
    texts = []
    for row in rows:
        count_text = f"{row['needed']:,}" if row["needed"] else "too many to name"
        judges = counted(row["judges"], "judge")
        texts.append(f"{judges} with {counted(row['n'], 'control')}: {count_text} are needed")
    return Finding(sum(row["judges"] for row in rows), first_of(texts, between="; "))


def inconsistent_judges(metrics: ControlMetrics, minimum: int) -> Finding:
    """Return the judges who agree no better than chance, of enough shared items."""
    names = []
    for row in metrics.inconsistent_judges:
        if row["n"] >= minimum:
            correlation = row["correlation"]
            value = "equal scores" if correlation is None else f"correlation {correlation:.2f}"
            names.append(f"{row['judge']} ({value}, {counted(row['n'], 'item')})")
    return named(names)


def of_judges_in_control(metrics: ControlMetrics, n: int) -> Finding:
    """Return the share of ``n`` in the judges in judge control, and all verdicts."""
    verdicts = ", ".join(f"{n:,} {name}" for name, n in metrics.verdicts.items() if n)
    return Finding(n / max(metrics.judges_in_control, 1), verdicts)


def unpaired_controls(metrics: ControlMetrics) -> Finding:
    """Return the share of the controls without their ordinary judgment, with the reasons."""
    reasons = "; ".join(f"{n:,} x {reason}" for reason, n in metrics.unpaired_reasons.items())
    return Finding(metrics.unpaired_controls / max(metrics.paired_controls, 1), reasons)


def agreement_by_chance(metrics: AgreementMetrics, minimum: int) -> Finding:
    """Count the tasks of enough items whose agreement is not above chance."""
    names = []
    for task, row in sorted(metrics.agreement_by_chance.items()):
        if row["n_items"] >= minimum:
            names.append(f"{task} {row['value']:.2f}")
    return named(names)


def contract_of(table: str) -> Callable[[TableMetrics], Finding]:
    """Return a measure of how often a table breaks its contract or is doubtful."""

    def measure(metrics: TableMetrics) -> Finding:
        checked = metrics.contracts[table]
        broken, doubtful = checked["broken"], checked["doubtful"]
        detail = first_of([*broken, *(f"doubtful: {text}" for text in doubtful)], between="; ")
        return Finding(len(broken) + len(doubtful), detail, serious=len(broken))

    return measure


def worst_task(shares: Mapping[str, float]) -> Finding:
    """Return the largest share of any task, and the tasks by it."""
    order = sorted(shares, key=lambda task: (-shares[task], task))
    named = first_of([f"{task} {shares[task]:.1%}" for task in order if shares[task]])
    return Finding(shares[order[0]] if order else 0.0, named)


MISSING_P, MISSING_DIFFERENCE = 0.001, 0.05
"""Shares of answers differ beyond chance where p is below and the difference is not."""


def missing_answers(differences: Mapping[str, AnsweredShares], what: str) -> Finding:
    """Return the number of tasks whose shares of answers differ beyond chance, with both ends.

    Parameters
    ----------
    differences
        By task.
    what
        Of which answers the shares are, and which they count.
    """
    details = []
    for task, shares in sorted(differences.items()):
        if shares["p_value"] >= MISSING_P or shares["difference"] < MISSING_DIFFERENCE:
            continue
        ends = " and ".join(
            f"{name} {share_text(n / n_asked)} ({n:,} of {n_asked:,})"
            for name, n, n_asked in zip(
                shares["names"], shares["n_answered"], shares["n_asked"], strict=True
            )
        )
        p_value = "< 1e-9" if shares["p_value"] < 1e-9 else f"= {shares['p_value']:.1g}"
        detail = f"{task}: {ends} of {what}, p {p_value}"
        if shares["bounds"]:
            low, high = shares["bounds"]
            detail += f"; raw means differ by {low:.2f} to {high:.2f} for any missing scores"
        details.append(detail)
    return Finding(len(details), first_of(details, between="; "))


def segments_in_parts(metrics: SegmentRankMetrics) -> Finding:
    """Return the share of segments in several parts, in the worst task."""
    graphs = metrics.segment_graphs.items()
    return worst_task({t: g["segments_in_parts"] / max(g["segments"], 1) for t, g in graphs})


def thin_systems(metrics: SystemRankMetrics, minimum: int) -> Finding:
    """Return the systems that no method ranks by enough judgments."""
    systems = metrics.judgments_of_systems.items()
    return named(
        [f"{task} {s}" for task, by_system in systems for s, n in by_system.items() if n < minimum]
    )


def unconfirmed_rankings(metrics: SystemRankMetrics) -> Finding:
    """Return the tasks in which no pair of systems may cut clusters, by the headline."""
    limits: dict[str, Mapping[str, Any]] = {
        task: counts.get("bradley_terry", {}) for task, counts in metrics.systems_compared.items()
    }
    limits |= metrics.systems_scored
    return named([
        f"{task} ({counted(limit['judges'], 'judge')} in all)"
        for task, limit in sorted(limits.items())
        if not limit.get("confirmed", 1) and limit["tested"] + limit.get("too_few", 0)
    ])  # fmt: skip


def lopsided_orders(metrics: SystemRankMetrics) -> Finding:
    """Return the tasks, and the systems, that are nearly always or never shown first."""
    return named([
        f"{task}: {first_of(fit['lopsided'])}"
        for task, counts in metrics.systems_compared.items()
        if (fit := counts.get("bradley_terry", {})).get("lopsided")
    ])  # fmt: skip


def few_judgments(metrics: LabelMetrics | ItemScoreMetrics, minimum: int) -> Finding:
    """Return the share of the items judged that have too few judgments."""
    items = [counts for task in metrics.items_by_judgments.values() for counts in task]
    few = sum(n_items for n_judgments, n_items in items if n_judgments < minimum)
    return Finding(few / max(sum(n_items for _, n_items in items), 1))


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
