"""Whether the release can be used: a verdict, four figures, the warnings, the next commands."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from statistics import median
from textwrap import shorten
from typing import Any, NamedTuple
from urllib.parse import quote

from annot_pipeline.contracts import model_note, share_text
from annot_pipeline.errors import counted, first_of
from annot_pipeline.gates.gate import statement
from annot_pipeline.methods.numerics.shares import wilson_interval
from annot_pipeline.report.citation import title
from annot_pipeline.report.contents import Contents
from annot_pipeline.report.release_figures import (
    UNITS,
    best_systems,
    differences_to_first,
    headline_ranking,
)
from annot_pipeline.report.render import in_words, interval, number, without_rounding
from annot_pipeline.report.sections.changes import changed_rows
from annot_pipeline.report.sections.judges import judge_anchors
from annot_pipeline.storage.candidates import candidate_steps

FEW = 3
"""Systems and tasks that are named; of more, the number is told."""
MOST_WARNINGS, MOST_DETAIL = 5, 140
"""Warnings that are shown, and characters of what each names."""
FEW_CERTAIN = 0.5
"""Share of labels that are certain or decided below which the verdict says so first."""
LONGEST_NAME = 60

Row = dict[str, Any]


class Tile(NamedTuple):
    """A figure of the first screen: what it is, its value, words on it, and where more is."""

    name: str
    value: str
    words: str
    anchor: str


def header(contents: Contents) -> dict[str, Any]:
    """Return name, version, date, and description."""
    return {
        "manifest": contents.manifest,
        "name": title(contents.manifest),
        "description": contents.about.get("description"),
    }


def use(contents: Contents) -> dict[str, Any]:
    """Return the verdict, tiles, gates that did not pass, and the next commands."""
    open_gates = worst_first(contents.manifest["checks"])
    return {
        **verdict(contents),
        "became": became(contents),
        "tiles": [labels_tile(contents), judges_tile(contents), changes_tile(contents),
                  winner_tile(contents)],
        "doubts": doubts(contents),
        "note": model_note(contents.facts["used_judges"]),
        "warnings": [
            {"level": check["level"], "name": check["name"],
             "statement": f"could not be checked: {check['unchecked']}" if check["unchecked"]
                          else statement(check["value"], check["question"]),
             "detail": shorten(check["detail"], MOST_DETAIL, placeholder=" …")}
            for check in open_gates[:MOST_WARNINGS]
        ],
        "n_warnings": len(open_gates),
        "commands": next_commands(contents),
    }  # fmt: skip


def worst_first(checks: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the gates that did not pass: failures, then what is nearest to failing.

    The others from labels and rankings back to files, against the order of stages.
    """
    nearness = {c["name"]: min(c["value"] / c["error"], 1) if c["error"] else 0 for c in checks}
    open_gates = [check for check in checks[::-1] if check["level"] != "pass"]
    return sorted(open_gates, key=lambda c: (c["level"] != "error", -nearness[c["name"]]))


def verdict(contents: Contents) -> dict[str, str]:
    """Return a level, and in a sentence whether the release can be used, and what speaks for it."""
    checks = contents.manifest["checks"]
    levels = [check["level"] for check in checks]
    chance, concerns = by_chance(contents), judge_concerns(contents)
    level = "error" if "error" in levels else "pass"
    if level == "pass" and ("warn" in levels or chance or concerns):
        level = "warn"
    labels = contents.labelled_in_all
    by_votes = contents.labelled.keys() <= contents.anonymous_votes.keys() if labels.n else True
    start = {"error": "Not to be used", "warn": "Usable with care", "pass": "Usable"}[level]
    if level != "error" and not by_votes and (labels.usable or 0.0) < FEW_CERTAIN:
        level, start = "warn", "Few labels are certain"
    reasons = [
        f"{counted(levels.count(which), 'gate')} {words}"
        for which, words in (("error", "failed"), ("warn", "warned"))
        if which in levels
    ] or [f"all {len(levels)} gates pass"]
    if not by_votes:
        words = "certain or decided" if labels.decided else "certain"
        share = share_text(labels.usable or 0.0)
        reasons.insert(0, f"{share} of {counted(labels.n, 'label')} {words}")
    dropped, n_judges = judges_dropped(contents)
    reasons += [f"{dropped:,} of {counted(n_judges, 'judge')} dropped by a test"] if dropped else []
    reasons += [concerns] if concerns else []
    if changed := (contents.manifest["changes"] or {}).get("changed_labels", 0):
        reasons.append(f"{counted(changed, 'label')} changed")
    if chance:
        reasons.append(f"judges agree no more than by chance: {chance}")
    return {"level": level, "start": start, "reasons": "; ".join(reasons)}


def by_chance(contents: Contents) -> str:
    """Return the tasks whose judges agree no more than by chance, with the statistic."""
    rows = [row for task in sorted(contents.facts["kinds"]) if (row := contents.headline(task))]
    return first_of([
        f"{row['task']} {number(without_rounding(row['value']))}"
        for row in rows if row["value"] <= 0
    ])  # fmt: skip


def doubts(contents: Contents) -> dict[str, list[tuple[str, str]]]:
    """Return the first judges and items to doubt, each with where it stands in the page."""
    anchors = judge_anchors(contents)
    judges = dict.fromkeys(
        row["judge"] for row in contents.used_judges
        if row["judge"] in anchors and (row["dropped"] or _is_doubted(row))
    )  # fmt: skip
    items = contents.tables["doubtful_items"].slice(0, FEW).to_pylist()
    several = len(contents.facts["kinds"]) > 1
    return {
        "judges": [(judge, anchors[judge]) for judge in [*judges][:FEW]],
        "items": [(f"{row['task']}/{row['item']}" if several else row["item"],
                   quote(f"item={row['task']}/{row['item']}")) for row in items],
    }  # fmt: skip


def judges_dropped(contents: Contents) -> tuple[int, int]:
    """Return how many judges do not count for a test, of how many."""
    rows = contents.used_judges
    dropped = {row["judge"] for row in rows if row["dropped"]}
    return len(dropped), len({row["judge"] for row in rows})


def judge_concerns(contents: Contents) -> str:
    """Return how many judges look careless though they count; empty where none does."""
    rows = contents.used_judges
    doubted = {row["judge"] for row in rows if not row["dropped"] and _is_doubted(row)}
    n_judges = len({row["judge"] for row in rows})
    verb = "looks" if len(doubted) == 1 else "look"
    return f"{len(doubted):,} of {counted(n_judges, 'judge')} {verb} random" if doubted else ""


def _is_doubted(row: Row) -> bool:
    return bool(row["verdict"] == "failed" or row.get("suspected") or looks_random(row))


def looks_random(row: Row) -> bool:
    """Return whether a judge of labels is known to be near chance: nearer than to being right."""
    if row["below_chance"] or row["accuracy"] is None or row["chance_accuracy"] is None:
        return bool(row["below_chance"])
    n, chance = row["n_judgments"], float(row["chance_accuracy"])
    low, high = (float(end[0]) for end in wilson_interval([row["accuracy"] * n], [n]))
    return low <= chance and high < (1 + chance) / 2


def became(contents: Contents) -> str:
    """Return what counts, and what it became, in a sentence."""
    rows, fates = contents.rows, contents.facts["fates"]
    used_judges = {row["judge"] for row in contents.used_judges}
    n_judges = len({row["judge"] for row in contents.used_judges if not row["dropped"]})
    results = [
        counted(n, what)
        for n, what in ((rows["labels"], "label"), (contents.n_scores, "score")) if n
    ]  # fmt: skip
    ranked = len(set(contents.tables["system_rankings"]["system"].to_pylist()))
    results += [f"rankings of {counted(ranked, 'system')}"] if ranked else []
    used = f"{counted(fates.get('used', 0), 'judgment')} by {counted(n_judges, 'judge')}"
    if votes := contents.anonymous_votes:
        used = counted(sum(votes.values()), "anonymous vote")
        if contents.n_judged:
            judged = counted(contents.n_judged, "judgment")
            used = f"{judged} by {counted(n_judges, 'judge')} and {used}"
    sentence = f"{used} became {_join_with_and(results)}." if results else f"{used} were read."
    if measured := fates.get("measured", 0):
        n_rest = len({row["judge"] for row in contents.judges if row["n_judgments"]} - used_judges)
        verb = "is" if measured == 1 else "are"
        sentence += (f" {counted(measured, 'judgment')} by {counted(n_rest, 'other judge')} {verb} "
                     "compared with them.")  # fmt: skip
    return sentence


def labels_tile(contents: Contents) -> Tile:
    """Return how many labels can be used; without a label model, what there is."""
    labels, votes = contents.labelled_in_all, contents.anonymous_votes
    anchor = "doubt" if contents.tables["doubtful_items"].num_rows else "certainty"
    if labels.usable is not None and not contents.labelled.keys() <= votes.keys():
        words = f"of {counted(labels.n, 'label')}, {_certain_by(contents)}"
        name = "Labels that are certain"
        if labels.decided:
            name = "Labels certain or decided"
            words += (
                f"; {labels.decided:,} decided by experts, {labels.against:,} against the model"
            )
        return Tile(name, share_text(labels.usable), words, anchor)
    if labels.n:
        n_votes = counted(sum(votes.values()), "vote")
        return Tile(
            "Labels", number(labels.n, "count"), f"by the majority of {n_votes}", "certainty"
        )
    used = contents.facts["fates"].get("used", 0)
    if contents.n_scores:
        n_scores = contents.n_scores
        return Tile(
            "Scores", number(n_scores, "count"), f"of items, from {used:,} judgments", "records"
        )
    of_records = f"count, of {counted(contents.facts['records'], 'record')} in exports"
    return Tile("Judgments", number(used, "count"), of_records, "records")


def _certain_by(contents: Contents) -> str:
    """Return what makes labels certain: an audit, or their probability."""
    certificates = contents.facts.get("certificates", {})
    certified = [own for own in certificates.values() if own["certified"]]
    words = f"probability {contents.certain_at:g} or more"
    if len(certified) == 1 and len(contents.labelled) == 1:
        return (f"certified by an audit of {certified[0]['n']:,} of them: at least "
                f"{contents.certain_at:g} are right")  # fmt: skip
    if certified:
        return f"{words}; {counted(len(certified), 'task')} certified by an audit"
    return f"{words}; an audit certified none" if certificates else words


def judges_tile(contents: Contents) -> Tile:
    """Return how many judges count, and what is known of the others."""
    dropped, n_judges = judges_dropped(contents)
    tested = any(row["verdict"] != "untested" for row in contents.used_judges)
    words = f"of {counted(n_judges, 'judge')}; {dropped:,} dropped by a test"
    if not dropped:
        words = "none was dropped" if tested else "none was tested"
    known = [row for row in contents.used_judges if row["accuracy"] is not None]
    is_known = n_judges > 1 and any(row["verdict"] != "undetermined" for row in known)
    none = "none of the others looks random" if dropped else "none looks random"
    concerns = judge_concerns(contents) or none * is_known
    words += f"; {concerns}" if concerns else ""
    return Tile("Judges who count", number(n_judges - dropped, "count"), words, "judges")


def changes_tile(contents: Contents) -> Tile:
    """Return what changed since the release before."""
    parent, changes = contents.manifest["parent"], contents.manifest["changes"] or {}
    if not parent:
        return Tile("Changes", "first release", "nothing to compare with", "records")
    name = f"Changes since {parent['version']}"
    counts = [("changed_labels", "label", " changed"), ("new_judgments", "new judgment", "")]
    words = [
        counted(changes[key], what) + done for key, what, done in counts if changes.get(key)
    ] or ["other changes", "no new judgment, no label changed"]
    if contents.previous and contents.tables["system_rankings"].num_rows:
        n_ranks = changed_rows(contents.previous, contents.tables)["ranks"]["n"]
        words.append(f"{counted(n_ranks, 'rank')} changed" if n_ranks else "no rank changed")
    return Tile(name, words[0], ", ".join(words[1:]), "changes")


def winner_tile(contents: Contents) -> Tile:
    """Return the best system and by how much; without a ranking, how far judges agree."""
    leaders = [
        (task, rows)
        for task in sorted(contents.facts["kinds"])
        if len(components := headline_ranking(contents.tables["system_rankings"], task)) == 1
        and len(rows := _without_references(contents, task, components[0])) > 1
    ]
    if not leaders:
        return _agreement_tile(contents)
    if len(leaders) > 1:
        unbeaten = {task: best_systems(rows)[0] for task, rows in leaders}
        chance = {task for task in unbeaten if _is_by_chance(contents, task)}
        won = [task for task, names in unbeaten.items() if len(names) == 1 and task not in chance]
        ties = {
            task: "agreement by chance" if task in chance else f"tied with {len(names) - 1:,}"
            for task, names in unbeaten.items() if task not in won
        }  # fmt: skip
        first = [f"{unbeaten[task][0]} in {task}" for task in won]
        first += [f"{rows[0]['system']} in {task} ({ties[task]})" for task, rows in leaders
                  if task in ties]  # fmt: skip
        words = f"have a system better than all others. First: {first_of(first, FEW)}"
        return Tile("Winner", f"{len(won):,} of {len(leaders):,} tasks", words, "rankings")
    rows = leaders[0][1]
    best, which = best_systems(rows)
    name, rest = rows[0]["system"], [system for system in best if system != rows[0]["system"]]
    words_of = [_lead(contents, rows)]
    if rest:
        verb = "is" if len(rest) == 1 else "are"
        words_of.append(f"{first_of(rest, FEW)} {verb} not shown to be worse")
    elif which != "alone":
        words_of.append("better than all others" if "not shown" in which else which)
    return Tile("First", name, "; ".join(filter(None, words_of)), "rankings")


def _without_references(contents: Contents, task: str, rows: list[Row]) -> list[Row]:
    """Return systems that compete, with their ranks among themselves.

    Those that a task declares to be references do not compete.
    """
    names = contents.task_settings(task).get("references") or ()
    references = [row for row in rows if row["system"] in names]
    if not references:
        return rows
    wins = {
        (row["system_a"], row["system_b"])
        for row in contents.tables["system_comparisons"].to_pylist()
        if row["task"] == task and row["headline"] and row["a_beats_b"]
    }
    return [
        row | {
            "rank": row["rank"] - sum(ref["rank"] < row["rank"] for ref in references),
            "rank_low": row["rank_low"] and row["rank_low"] - sum(
                (ref["system"], row["system"]) in wins for ref in references
            ),
        }
        for row in rows if row["system"] not in names
    ]  # fmt: skip


def _is_by_chance(contents: Contents, task: str) -> bool:
    row = contents.headline(task)
    return row is not None and row["value"] <= 0


def _lead(contents: Contents, rows: Sequence[Row]) -> str:
    """Return how far the first is ahead of the second, with the interval."""
    behind = differences_to_first(rows, contents.tables["system_comparisons"])
    if not behind or behind[1]["score"] is None:
        return ""
    gap, unit = behind[1], UNITS.get(rows[0]["method"], "")
    ahead = f"{number(-gap['score'])} {unit}".rstrip()
    if gap["ci_low"] is not None:
        ahead += f" ({interval(-gap['ci_high'], -gap['ci_low'])})"
    may_be_chance = gap["ci_low"] is None or gap["ci_low"] <= 0 <= gap["ci_high"]
    return f"{ahead} ahead of {rows[1]['system']}" + ", perhaps by chance" * may_be_chance


def _agreement_tile(contents: Contents) -> Tile:
    """Return a task's statistic if there is one task, else the median of all."""
    rows = [row for task in sorted(contents.facts["kinds"]) if (row := contents.headline(task))]
    if not rows:
        return Tile("Agreement", "unknown", "no statistic is defined", "records")
    values = [without_rounding(row["value"]) or 0.0 for row in rows]
    if len(rows) == 1:
        ends = interval(*(without_rounding(rows[0][end]) for end in ("ci_low", "ci_high")))
        words = f"{in_words(rows[0]['statistic'])}, 95% interval {ends or 'unknown'}"
        return Tile("Agreement", number(values[0]), words, "agreement")
    words = f"median of {len(values):,} tasks, {interval(min(values), max(values))}"
    return Tile("Agreement", number(median(values)), words, "agreement")


def next_commands(contents: Contents) -> list[str]:
    """Return the three commands that go on from a release."""
    manifest, campaign = contents.manifest, contents.campaign
    if manifest.get("candidate"):
        return candidate_steps(manifest, campaign)[:FEW]
    version, parent = manifest["version"], manifest["parent"]
    kinds, labels = contents.facts["kinds"].values(), contents.labelled_in_all
    warned = {check["name"] for check in manifest.get("checks", ()) if check["level"] != "pass"}
    lines = []
    if labels.n > labels.certain + labels.decided:
        lines.append(f"annot items {campaign} --uncertain -o queue.csv    # labels to look at")
    if parent:
        lines.append(f"annot diff {campaign} {parent['version']} {version}    # what changed, why")
    if contents.tables["estimates"].num_rows:
        lines.append(f"annot hits {campaign} --design validate    # what people should judge next")
    elif "scalar" in kinds and "assumed_scales" not in warned:  # else it plans nothing
        lines.append(f"annot hits {campaign}    # the next batch to annotate")
    if name := _doubtful_name(contents):
        lines.append(f"annot trace {campaign} {name}    # why it has its label or score")
    lines += [f"annot verify {campaign} {version}    # that nothing was altered",
              f"annot serve {campaign}    # items, judges and raw rows"]  # fmt: skip
    return lines[:FEW]


def _doubtful_name(contents: Contents) -> str:
    """Return an item to doubt, with its task, as a shell takes them; of pairs none: empty."""
    for row in contents.tables["doubtful_items"].to_pylist():
        names = [row["item"], *([row["task"]] if len(contents.facts["kinds"]) > 1 else [])]
        is_short = all(n.isprintable() and n[:1] != "-" and len(n) <= LONGEST_NAME for n in names)
        if row.get("kind") != "preference" and is_short:
            return " --task ".join(map(shlex.quote, names))
    return ""


def _join_with_and(parts: Sequence[str]) -> str:
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
