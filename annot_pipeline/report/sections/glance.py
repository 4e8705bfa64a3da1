"""The campaign at a glance: what was asked, what came of it, what to do next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from annot_pipeline.contracts import model_note, share_text
from annot_pipeline.errors import counted, first_of
from annot_pipeline.report.citation import question, title
from annot_pipeline.report.contents import Contents, Labelled
from annot_pipeline.report.render import in_words, interval, number, without_rounding
from annot_pipeline.report.sections.gates import open_text
from annot_pipeline.storage.candidates import candidate_steps

FEW = 3
"""Tasks up to which each task's agreement is told."""
MOST_TASKS = 300

Card = tuple[str, str, str]
"""What is counted, its value, and words on it."""


def header(contents: Contents) -> dict[str, Any]:
    """Return name, version, date, and whether the gates passed."""
    description = contents.about.get("description")
    return {
        "manifest": contents.manifest,
        "name": title(contents.manifest),
        "description": description,
        **verdict(contents),
    }


def verdict(contents: Contents) -> dict[str, Any]:
    """Return how many gates did not pass, and which tasks agree no more than by chance."""
    levels = [check["level"] for check in contents.manifest["checks"]]
    worst = next((level for level in ("error", "warn") if level in levels), "")
    rows = [row for task in sorted(contents.facts["kinds"]) if (row := contents.headline(task))]
    by_chance = [
        f"{row['task']} {number(without_rounding(row['value']))}"
        for row in rows if row["value"] <= 0
    ]  # fmt: skip
    return {
        "worst": worst,
        "open_text": open_text(contents.manifest["checks"], f" of {len(levels)} gates"),
        "n_gates": len(levels),
        "by_chance": first_of(by_chance),
    }


def glance(contents: Contents) -> dict[str, Any]:
    """Return numbers, tasks, and the next commands."""
    return {
        **_became(contents),
        "note": model_note(contents.facts["used_judges"]),
        "cards": _cards(contents),
        "tasks": _tasks(contents),
        "n_tasks": len(contents.facts["kinds"]),
        "any_decided": contents.labelled_in_all.decided > 0,
        "commands": next_commands(contents),
    }


def _became(contents: Contents) -> dict[str, str]:
    """Return what counts, what it became, and what is only compared with it."""
    rows, fates = contents.rows, contents.facts["fates"]
    used_judges = {row["judge"] for row in contents.used_judges}
    n_judges = len({row["judge"] for row in contents.used_judges if not row["dropped"]})
    results = [
        counted(rows[name], what)
        for name, what in (("labels", "label"), ("scores", "score"))
        if rows[name]
    ]
    ranked = len(set(contents.tables["system_rankings"]["system"].to_pylist()))
    results += [f"rankings of {counted(ranked, 'system')}"] if ranked else []
    used = f"{counted(fates.get('used', 0), 'judgment')} by {counted(n_judges, 'judge')}"
    if votes := contents.anonymous_votes:
        used = counted(sum(votes.values()), "anonymous vote")
        if contents.n_judged:
            judged = counted(contents.n_judged, "judgment")
            used = f"{judged} by {counted(n_judges, 'judge')} and {used}"
    measured = fates.get("measured", 0)
    n_rest = len({row["judge"] for row in contents.judges if row["n_judgments"]} - used_judges)
    comparison = f"{counted(measured, 'judgment')} by {counted(n_rest, 'other judge')}"
    return {
        "used": used,
        "results": _join_with_and(results) if results else "",
        "measured": comparison if measured else "",
    }


def _cards(contents: Contents) -> list[Card]:
    levels = [check["level"] for check in contents.manifest["checks"]]
    kinds = contents.facts["kinds"]
    return [
        ("Tasks", number(len(kinds), "count"), ", ".join(sorted(set(kinds.values())))),
        ("Items", number(contents.rows["items"], "count"), "judged"),
        _judges(contents),
        *_answers(contents),
        *_labels(contents),
        *_agreement(contents),
        ("Gates", f"{levels.count('pass')} of {len(levels)}", "pass"),
        _changes_since_parent(contents),
    ]


def _judges(contents: Contents) -> Card:
    names = {row["judge"] for row in contents.used_judges}
    dropped = {row["judge"] for row in contents.used_judges if row["dropped"]}
    words = f"{len(dropped):,} excluded by a test" if dropped else "none excluded"
    return "Judges", number(len(names), "count"), words


def _answers(contents: Contents) -> list[Card]:
    """Return the numbers of judgments and of anonymous votes that count."""
    n, of_records = (
        contents.facts["fates"].get("used", 0),
        f"count, of {counted(contents.facts['records'], 'record')} in exports",
    )
    votes = contents.anonymous_votes
    if not votes:
        return [("Judgments", number(n, "count"), of_records)]
    return [
        ("Judgments", number(contents.n_judged, "count"), of_records),
        ("Anonymous votes", number(sum(votes.values()), "count"), "counts; no judge is named"),
    ]


def _labels(contents: Contents) -> list[Card]:
    """Return the figures on labels: how many are usable, and how many experts decided."""
    labelled = contents.labelled_in_all
    if labelled.usable is None or contents.labelled.keys() <= contents.anonymous_votes.keys():
        return []
    share, certain = share_text(labelled.usable), f"probability {contents.certain_at:g} or more"
    if not labelled.decided:
        return [("Labels that are certain", share, certain)]
    return [
        ("Labels certain or decided", share, f"{certain}, or an expert's"),
        ("Decided by experts", f"{labelled.decided:,}", f"{labelled.against:,} against the model"),
    ]


def _agreement(contents: Contents) -> list[Card]:
    """Return each task's statistic if there are few tasks, else their median."""
    headlines = [
        row for task in sorted(contents.facts["kinds"]) if (row := contents.headline(task))
    ]
    if len(contents.facts["kinds"]) <= FEW:
        return [
            (
                f"Agreement, {row['task']}",
                number(without_rounding(row["value"])),
                f"{in_words(row['statistic'])}, 95% interval {_interval(row) or 'unknown'}",
            )
            for row in headlines
        ]
    values = [without_rounding(row["value"]) or 0.0 for row in headlines]
    if not values:
        return []
    words = f"median of {len(values)} tasks, {interval(min(values), max(values))}"
    return [("Agreement", number(median(values)), words)]


def _interval(row: Mapping[str, Any]) -> str:
    """Return the interval of a statistic, as the section on agreement has it."""
    return interval(without_rounding(row["ci_low"]), without_rounding(row["ci_high"]))


def _changes_since_parent(contents: Contents) -> Card:
    parent, changes = contents.manifest["parent"], contents.manifest["changes"]
    if not parent:
        return "Since the last release", "first", "no earlier release"
    counts = [("new_judgments", "new judgment", ""), ("changed_labels", "label", " changed")]
    words = [
        counted(changes[key], what) + done
        for key, what, done in counts
        if changes and changes.get(key)
    ]
    if not words:  # a release differs from the last one, if only by its settings
        words = ["other changes", "no new judgment, no label changed"]
    return f"Since {parent['version']}", words[0], ", ".join(words[1:])


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
    ends = _interval(row)
    words = f"{in_words(row['statistic'])} {number(without_rounding(row['value']))}"
    return words + (f" ({ends})" if ends else "")


def next_commands(contents: Contents) -> list[str]:
    """Return the commands that go on from a release."""
    manifest = contents.manifest
    version, parent = manifest["version"], manifest["parent"]
    if manifest.get("candidate"):
        steps = candidate_steps(manifest, "CAMPAIGN")
        return [
            "annot trace CAMPAIGN ITEM --release candidate    # why an item has its label",
            *steps,
        ]
    lines = ["annot trace CAMPAIGN ITEM    # why an item has its label or score"]
    if parent:
        lines.append(f"annot diff CAMPAIGN {parent['version']} {version}    # what changed, why")
    lines.append(f"annot verify CAMPAIGN {version}    # that nothing was altered")
    if "scalar" in contents.facts["kinds"].values():  # what the default design plans
        lines.append("annot hits CAMPAIGN    # the next batch to annotate")
    if contents.tables["estimates"].num_rows:
        lines.append("annot hits CAMPAIGN --design validate    # what people should judge next")
    return lines


def _join_with_and(parts: Sequence[str]) -> str:
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
