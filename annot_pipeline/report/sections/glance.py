"""The campaign at a glance: what was asked, what came of it, what to do next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from annot_pipeline.contracts import fates_text, model_note, share_text
from annot_pipeline.errors import counted, first_of
from annot_pipeline.report.citation import question, title
from annot_pipeline.report.contents import Contents, Labelled
from annot_pipeline.report.markup import (
    Column,
    Markup,
    chip,
    command,
    interval,
    join,
    label_text,
    left_out,
    number,
    paragraph,
    part,
    table,
    text,
    without_rounding,
)

FEW = 3
"""Tasks up to which each task's agreement is told."""
MOST_TASKS = 300


def header(contents: Contents) -> str:
    """Name, version, date, and whether the gates passed."""
    manifest, about = contents.manifest, contents.about
    name = text(title(manifest))
    lines = [
        f'<p class="kicker">Release report · {text(manifest["campaign"])}</p>',
        f'<h1>{name} <span class="version">{text(manifest["version"])}</span></h1>',
        f'<p class="date">Published <time datetime="{label_text(manifest["created_at"])}">'
        f"{text(_date(manifest['created_at']))}</time></p>",
    ]
    if about.get("description"):
        lines.append(f"<p>{text(about['description'], 2000)}</p>")
    return "\n".join([*lines, verdict(contents)])


def verdict(contents: Contents) -> str:
    """Return one line on all gates."""
    levels = [check["level"] for check in contents.manifest["checks"]]
    warned = [level for level in levels if level != "pass"]
    if not warned and (doubt := _by_chance(contents)):
        words = f"all {len(levels)} gates pass, but {doubt}"
        return (
            f'<p class="verdict warn">{chip("warn", words)} <a href="#agreement">agreement</a></p>'
        )
    if not warned:
        return f'<p class="verdict pass">{chip("pass", f"all {len(levels)} gates pass")}</p>'
    worst = "error" if "error" in warned else "warn"
    n = len(warned)
    words = f"{n} of {len(levels)} gates {'failed' if worst == 'error' else 'warned'}"
    link = '<a href="#gates">details and what to do</a>'
    return f'<p class="verdict {worst}">{chip(worst, words)} {link}</p>'


def _by_chance(contents: Contents) -> str:
    """Say which tasks, however small, have an agreement of 0 or less; empty where none has."""
    rows = [row for task in sorted(contents.facts["kinds"]) if (row := contents.headline(task))]
    low = [
        f"{row['task']} {number(without_rounding(row['value']))}"
        for row in rows if row["value"] <= 0
    ]  # fmt: skip
    return f"judges agree no more than by chance: {first_of(low)}" if low else ""


def glance(contents: Contents) -> str:
    """Return the section: numbers, tasks, and the next commands."""
    note = model_note(contents.facts.get("used_judges", {}))  # older releases do not tell
    parts = [paragraph(text(note, 500))] if note else []
    return join([
        _sentence(contents), *parts, _cards(contents), _task_table(contents),
        next_commands(contents),
    ])  # fmt: skip


def _sentence(contents: Contents) -> str:
    rows, fates = contents.rows, contents.facts["fates"]
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
    gold = f" became {_join_with_and(results)}" if results else " were read"
    measured = fates.get("measured", 0)
    n_rest = len({row["judge"] for row in contents.judges if row["n_judgments"]}) - len(
        {row["judge"] for row in contents.used_judges}
    )
    comparison = (
        f" {counted(measured, 'judgment')} by {counted(n_rest, 'other judge')} "
        f'{"is" if measured == 1 else "are"} <a href="#models">compared with them</a>.'
    ) * (measured > 0)
    return paragraph(f"<strong>{used}{gold}.</strong>{comparison}")


def _cards(contents: Contents) -> str:
    manifest = contents.manifest
    levels = [check["level"] for check in manifest["checks"]]
    passed = levels.count("pass")
    cards = [
        ("Tasks", number(len(contents.facts["kinds"]), "count"), _kinds(contents)),
        ("Items", number(contents.rows["items"], "count"), "judged"),
        _judges(contents),
        *_answers(contents),
        *_labels(contents),
        *_agreement(contents),
        ("Gates", f"{passed} of {len(levels)}", "pass"),
        _changes_since_parent(contents),
    ]  # fmt: skip
    html = "".join(
        f"<div><dt>{text(name)}</dt><dd><strong>{value}</strong> <span>{words}</span></dd></div>"
        for name, value, words in cards
    )
    return Markup(f'<dl class="cards">{html}</dl>\n')


def _kinds(contents: Contents) -> str:
    return str(text(", ".join(sorted(set(contents.facts["kinds"].values())))))


def _judges(contents: Contents) -> tuple[str, str, str]:
    names = {row["judge"] for row in contents.used_judges}
    dropped = {row["judge"] for row in contents.used_judges if row["dropped"]}
    words = f"{len(dropped):,} excluded by a test" if dropped else "none excluded"
    return "Judges", number(len(names), "count"), words


def _answers(contents: Contents) -> list[tuple[str, str, str]]:
    """Return the numbers of judgments and of anonymous votes that count."""
    n, of_records = contents.facts["fates"].get("used", 0), f"count, of {_records(contents)}"
    votes = contents.anonymous_votes
    if not votes:
        return [("Judgments", number(n, "count"), of_records)]
    return [
        ("Judgments", number(contents.n_judged, "count"), of_records),
        ("Anonymous votes", number(sum(votes.values()), "count"), "counts; no judge is named"),
    ]


def _records(contents: Contents) -> str:
    return f"{counted(contents.facts['records'], 'record')} in exports"


def _labels(contents: Contents) -> list[tuple[str, str, str]]:
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


def _agreement(contents: Contents) -> list[tuple[str, str, str]]:
    """Return each task's statistic if there are few tasks, else their median."""
    headlines = [
        row for task in sorted(contents.facts["kinds"]) if (row := contents.headline(task))
    ]
    if len(contents.facts["kinds"]) <= FEW:
        return [
            (
                f"Agreement, {row['task']}",
                number(without_rounding(row["value"])),
                f"{row['statistic'].replace('_', ' ')}, 95% interval {_interval(row) or 'unknown'}",
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


def _changes_since_parent(contents: Contents) -> tuple[str, str, str]:
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


def _task_table(contents: Contents) -> str:
    """Return the table of tasks, with the questions to judges."""
    kinds = contents.facts["kinds"]
    n_judges = Counter(row["task"] for row in contents.used_judges if not row["dropped"])
    questions = {task: question(contents.manifest, task) for task in kinds}
    decided, votes = contents.labelled_in_all.decided > 0, contents.anonymous_votes
    columns = [
        Column("task"), Column("kind", choose=True),
        *([Column("question")] * any(questions.values())),
        Column("judges kept", "count"), Column("judgments that count", "count"),
        *([Column("anonymous votes", "count")] * bool(votes)),
        Column("labels", "count"), *([Column("decided by experts", "count")] * decided),
        Column("certain or decided" if decided else "certain", "share"), Column("agreement"),
    ]  # fmt: skip
    rows = []
    for task in sorted(kinds)[:MOST_TASKS]:
        labels = contents.labelled.get(task, Labelled())
        question_cells = [text(questions[task] or "", 1000)] if any(questions.values()) else []
        rows.append([
            task, kinds[task], *question_cells, n_judges.get(task),
            contents.judgments_by_task.get((task, "used"), 0),
            *([votes.get(task)] * bool(votes)), labels.n or None,
            *([labels.decided or None] * decided), labels.usable, _agreement_text(contents, task),
        ])  # fmt: skip
    html = table("Tasks", columns, rows, sortable=len(rows) > FEW, search=len(rows) > 10)
    return part("What was asked", html + left_out(len(kinds), MOST_TASKS, "manifest.json"))


def _agreement_text(contents: Contents, task: str) -> str:
    row = contents.headline(task)
    if row is None:
        return ""
    ends = _interval(row)
    words = f"{row['statistic'].replace('_', ' ')} {number(without_rounding(row['value']))}"
    return words + (f" ({ends})" if ends else "")


def next_commands(contents: Contents) -> str:
    """Return the commands that go on from a release."""
    manifest = contents.manifest
    version, parent = manifest["version"], manifest["parent"]
    lines = ["annot trace CAMPAIGN ITEM    # why an item has its label or score"]
    if parent:
        lines.append(f"annot diff CAMPAIGN {parent['version']} {version}    # what changed, why")
    lines.append(f"annot verify CAMPAIGN {version}    # that nothing was altered")
    if "scalar" in contents.facts["kinds"].values():  # what the default design plans
        lines.append("annot hits CAMPAIGN    # the next batch to annotate")
    if contents.tables["estimates"].num_rows:
        lines.append("annot hits CAMPAIGN --design validate    # what people should judge next")
    words = "CAMPAIGN is the campaign.yaml, or its folder."
    return part("Next", command("\n".join(lines)) + paragraph(words))


def footer(contents: Contents) -> str:
    """Return where the report stands."""
    manifest = contents.manifest
    return (
        f"<p>{text(manifest['campaign'])} {text(manifest['version'])}: "
        f"{text(fates_text(contents.facts['fates']))}. Made by annot-pipeline "
        f"{text(manifest['code']['annot-pipeline'])}; one file, nothing is loaded from elsewhere. "
        '<a href="#main">Back to the top</a></p>'
    )


def _join_with_and(parts: Sequence[str]) -> str:
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def _date(stamp: str) -> str:
    return stamp.replace("T", " ").replace("+00:00", " UTC")
