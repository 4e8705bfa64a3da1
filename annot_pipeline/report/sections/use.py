"""Whether the release can be used: a verdict, four figures, the warnings, the next commands."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from math import exp
from statistics import median
from textwrap import shorten
from typing import Any, NamedTuple
from urllib.parse import quote

from annot_pipeline.config.judges import model_families
from annot_pipeline.contracts import model_note, share_text
from annot_pipeline.errors import counted, first_of
from annot_pipeline.gates.gate import statement
from annot_pipeline.report.accuracy import accuracies
from annot_pipeline.report.citation import title
from annot_pipeline.report.contents import Contents, rows_where
from annot_pipeline.report.release_figures import (
    UNITS,
    best_systems,
    differences_to_first,
    headline_ranking,
    most_frequent_reason,
)
from annot_pipeline.report.render import interval, number, without_rounding
from annot_pipeline.report.sections.changes import changes as section_of_changes
from annot_pipeline.report.sections.judges import judge_anchors
from annot_pipeline.report.sections.warned_judges import fate, warned_judges
from annot_pipeline.storage.candidates import candidate_steps

FEW = 3
"""Systems and tasks that are named; of more, the number is told."""
MOST_WARNINGS, MOST_DETAIL = 3, 150
"""Warnings that are shown, and characters of what each names."""
FEW_CERTAIN = 0.5
"""Share of labels that are certain or decided below which the verdict says so first."""
LONGEST_NAME = 60
FOLDERS = re.compile(r"(?<![^\s,;:'])(?:\.\.?/)+(?:[^\s,;:']+/)*")
"""Folders of a file outside of the campaign's: its name says which it is."""
REFERENCE = re.compile(r"(?<![a-z])(refs?|references?|human)(?![a-z])", re.IGNORECASE)
"""Names of systems that are references, as evaluations write them."""

WIDE = 0.5
"""Width of an interval of agreement from which on a word says so."""
NO_WINNER, NOT_WORSE = "No clear winner", "not shown to be worse"
Row = dict[str, Any]


class Look(NamedTuple):
    """What to look at first: its name, where it stands, and in two or three words why."""

    name: str
    anchor: str
    why: str = ""


class Tile(NamedTuple):
    """A figure of the first screen: what it is, its value, words on it, and where more is.

    Then what it says for the verdict, what to look at first, under which words, and how many more
    there are.
    """

    name: str
    value: str
    words: str
    anchor: str
    sentence: str = ""
    first: Sequence[Look] = ()
    lead: str = "Look first at"
    n_more: int = 0


def header(contents: Contents) -> dict[str, Any]:
    """Return name, version, date, and description."""
    return {
        "manifest": contents.manifest,
        "name": title(contents.manifest),
        "description": contents.about.get("description"),
    }


LEVELS = {"error": "failed gate", "warn": "warning"}


def use(contents: Contents) -> dict[str, Any]:
    """Return the verdict, tiles, gates that did not pass, and the next commands."""
    makers = (labels_tile, judges_tile, changes_tile, winner_tile)
    tiles = [make(contents) for make in makers]
    return {
        **verdict(contents, tiles),
        **became(contents),
        "tiles": tiles,
        "note": model_note(contents.facts["used_judges"]),
        **open_gates(contents.manifest["checks"]),
        "fates": {gate: fate(contents, names) for gate, names in _warned(contents).items()},
        "commands": next_commands(contents),
    }


def open_gates(checks: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the worst gates that did not pass, and how many failed and warned."""
    in_order = worst_first(checks)
    levels = Counter(check["level"] for check in in_order)
    return {
        "warnings": [
            {"level": check["level"], "name": check["name"], "statement": _measured(check),
             "detail": shorten(FOLDERS.sub("", check["detail"]), MOST_DETAIL, placeholder=" …")}
            for check in in_order[:MOST_WARNINGS]
        ],
        "n_more": len(in_order) - MOST_WARNINGS,
        "counts": ", ".join(counted(n, LEVELS[level]) for level, n in levels.items()),
    }  # fmt: skip


def _warned(contents: Contents) -> dict[str, dict[str, str]]:
    return warned_judges(contents, worst_first(contents.manifest["checks"]))


def _measured(check: Mapping[str, Any]) -> str:
    unchecked = check["unchecked"]
    measured = statement(check["value"], check["question"])
    return f"could not be checked: {unchecked}" if unchecked else measured


CONSEQUENCES = (
    "judges judge_tests judge_scores judge_contradictions judge_changes judge_validation "
    "model_drift model_versions",
    "settled controlled lineage items vanished_judgments set_aside judgments",
    "exports record_files item_rows costs release",
)
"""Tables that gates look at, from those of judges to those of files; all others are results."""


def worst_first(checks: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the gates that did not pass: failures, then by what may be wrong.

    Labels and rankings come before judges, rows and files; with them models that count as people,
    for these make them. Of each kind comes first what is nearest to failing, then the others
    against the order of stages.
    """
    table_kinds = {table: n for n, tables in enumerate(CONSEQUENCES, 1) for table in tables.split()}
    kinds = {c["name"]: table_kinds.get(c["table"], 0) for c in checks} | {"undeclared_models": 0}
    nearness = {c["name"]: min(c["value"] / c["error"], 1) if c["error"] else 0 for c in checks}
    not_passed = [check for check in checks[::-1] if check["level"] != "pass"]
    return sorted(
        not_passed, key=lambda c: (c["level"] != "error", kinds[c["name"]], -nearness[c["name"]])
    )


def verdict(contents: Contents, tiles: Sequence[Tile]) -> dict[str, str]:
    """Return a level, and in a sentence whether the release can be used, and what speaks for it."""
    checks = contents.manifest["checks"]
    failed = [_measured(check) for check in checks if check["level"] == "error"]
    n_warned = sum(check["level"] == "warn" for check in checks)
    chance, labels = by_chance(contents), contents.labelled_in_all
    by_votes = contents.labelled.keys() <= contents.anonymous_votes.keys()
    level, start = "pass", "Usable"
    if failed:
        level, start = "error", "Not to be used"
    elif labels.n and not by_votes and (labels.usable or 0.0) < FEW_CERTAIN:
        level, start = "warn", "Few labels are certain"
    elif n_warned or chance or any(map(_is_doubted, contents.used_judges)):
        level, start = "warn", "Usable with care"
    reasons = [
        *failed[:FEW],
        *_self_judging(contents),
        *(
            _models_as_people(contents, _measured(check), check["detail"])
            for check in checks
            if check["level"] == "warn" and check["name"] == "undeclared_models"
        ),
        *(tile.sentence for tile in tiles if tile.sentence),
        f"judges agree no more than by chance: {chance}" if chance else "",
        counted(n_warned, "warning") if n_warned else "",
        f"all {len(checks)} gates pass" if not failed and not n_warned else "",
    ]
    return {"level": level, "start": start, "reasons": "; ".join(filter(None, reasons))}


def _self_judging(contents: Contents) -> list[str]:
    """Return which model judges outputs of its own family, the one that does so most often."""
    rows = [row for row in contents.tables["judge_bias"].to_pylist() if row["n_own_family"]]
    return [
        f"model {row['judge']} judges its own family: outputs of that win "
        f"{share_text(row['own_family_share'])} of {counted(row['n_own_family'], 'comparison')}"
        for row in sorted(rows, key=lambda row: (-row["n_own_family"], row["judge"]))[:1]
    ]


def _models_as_people(contents: Contents, says: str, detail: str) -> str:
    """Return who judges the first system like a model of its family, and what the gate says."""
    details = re.findall(r"\((family (\w+), [^()]*)\)", detail)
    rankings = contents.tables["system_rankings"].to_pylist()
    first = [row["system"] for row in rankings if row["headline"] and row["rank"] == 1]
    is_own = not {family for _, family in details}.isdisjoint(model_families(first).values())
    own = "a model may judge its own outputs: by their names, a judge who counts and "
    own += f"{first_of([*map(quoted, first)], 1)}, which is first, are of one family; "
    return own * is_own + f"{says} ({'; '.join(text for text, _ in details)})"


def by_chance(contents: Contents) -> str:
    """Return the tasks whose judges agree no more than by chance, with the statistic."""
    rows = [row for task in sorted(contents.facts["kinds"]) if (row := contents.headline(task))]
    by_task = {r["task"]: without_rounding(r["value"]) for r in rows if r["value"] <= 0}
    return first_of([f"{task} {number(value)}" for task, value in by_task.items()])


def _is_doubted(row: Row) -> bool:
    is_failed = row["verdict"] == "failed" or row.get("suspected") or row["random"]
    return bool(is_failed and not row["dropped"])


def became(contents: Contents) -> dict[str, int]:
    """Return the numbers of what counts, and of what it became."""
    fates, used = contents.facts["fates"], contents.used_judges
    names = {row["judge"] for row in used}
    return {
        "n_used": fates.get("used", 0), "n_measured": fates.get("measured", 0),
        "n_judges": len({row["judge"] for row in used if not row["dropped"]}),
        "n_others": len({row["judge"] for row in contents.judges if row["n_judgments"]} - names),
        "n_votes": sum(contents.anonymous_votes.values()), "n_judged": contents.n_judged,
        "n_labels": contents.rows["labels"], "n_scores": contents.n_scores,
        "n_systems": len(set(contents.tables["system_rankings"]["system"].to_pylist())),
        "n_open": contents.labelled_in_all.n_open,
    }  # fmt: skip


def labels_tile(contents: Contents) -> Tile:
    """Return how many labels can be used; without a label model, what there is."""
    labels, votes = contents.labelled_in_all, contents.anonymous_votes
    doubtful = contents.tables["doubtful_items"].slice(0, FEW).to_pylist()
    several = len(contents.facts["kinds"]) > 1
    first = [
        Look(f"{row['task']}/{row['item']}" if several else row["item"],
             quote(f"item={row['task']}/{row['item']}"),
             row["told"] or row["reasons"]) for row in doubtful
    ]  # fmt: skip
    anchor = "doubt" if first else "certainty" if labels.n else "records"
    n_labels = counted(labels.n, "label")
    if labels.usable is not None and not contents.labelled.keys() <= votes.keys():
        certain, share = "certain", share_text(labels.usable)
        words = f"of {n_labels}, {_certain_by(contents)}"
        if labels.decided:
            certain = "certain or decided"
            words += (
                f"; {labels.decided:,} decided by experts, {labels.against:,} against the model"
            )
        name = f"Labels {certain}" if labels.decided else "Labels that are certain"
        words += f"; {labels.n_open:,} not certain" * bool(labels.n_open)
        figures = [own for own in accuracies(contents.label_counts) if own.which == "all"]
        sentence = f"{share} of {n_labels} {certain}"
        if n_known := sum(own.n for own in figures):
            right = f"{share_text(sum(own.right for own in figures) / n_known)} right of "
            right += counted(n_known, "known answer")
            words, sentence = f"{words}; {right}", f"{sentence}, {right}"
        return Tile(name, share, words, anchor, sentence, first)
    used, sentence = contents.facts["fates"].get("used", 0), ""
    if labels.n:
        words = f"by the majority of {counted(sum(votes.values()), 'vote')}"
        name, n, sentence = "Labels", labels.n, f"{n_labels} {words}"
    elif contents.n_scores:
        name, n, agreement = "Scores", contents.n_scores, _agreement_tile(contents)
        words = f"of items, from {used:,} judgments; agreement {agreement.value}: {agreement.words}"
    else:
        words = f"count, of {counted(contents.facts['records'], 'record')} in exports"
        name, n = "Judgments", used
    return Tile(name, number(n, "count"), words, anchor, sentence, first)


def _certain_by(contents: Contents) -> str:
    """Return what makes labels certain: an audit, or their probability."""
    certificates = contents.facts.get("certificates", {})
    certified = [own for own in certificates.values() if own["certified"]]
    words = f"probability {contents.certain_at:g} or more, by votes weighed by judges' accuracy"
    if len(certified) == 1 and len(contents.labelled) == 1:
        return (f"certified by an audit of {certified[0]['n']:,} of them: at least "
                f"{contents.certain_at:g} are right")  # fmt: skip
    if certified:
        return f"{words}; {counted(len(certified), 'task')} certified by an audit"
    return f"{words}; an audit certified none" if certificates else words


def judges_tile(contents: Contents) -> Tile:
    """Return how many judges count, what is known of the others, and whom to look at first."""
    rows, anchors = contents.used_judges, judge_anchors(contents)
    names = {row["judge"] for row in rows}
    dropped = {row["judge"] for row in rows if row["dropped"]}
    random = {row["judge"] for row in rows if _is_doubted(row)} - dropped
    failed = {row["judge"] for row in rows if row["verdict"] == "failed"} & random
    suspected = {row["judge"] for row in rows if row.get("suspected")} & random - failed
    n_random = len(random - failed - suspected)
    look = f"look{'s' * (n_random == 1)} random, still counted"
    groups = ((dropped, "left out by a test"), (failed, "failed a test, still counted"),
              (suspected, "suspected, still counted"),
              (random - failed - suspected, look))  # fmt: skip
    concerns = [f"{len(group):,} {words}" for group, words in groups if group]
    tested = any(row["verdict"] != "untested" for row in rows)
    verdicts = [row["verdict"] for row in rows if row["accuracy"] is not None]
    is_clear = not random and len(names) > 1 and any(v != "undetermined" for v in verdicts)
    clear = f"none {'of the others ' * bool(dropped)}looks random" * is_clear
    n_judges = counted(len(names), "judge")
    begin = f"of {n_judges}{', none left out' * (not dropped)}"
    begin = begin if concerns else f"none was {'left out' if tested else 'tested'}"
    models = _least_agreeing(contents)
    words = "; ".join(filter(None, (begin, *concerns, clear, models)))
    sentence = "; ".join(concerns).replace(" ", f" of {n_judges} ", 1)
    sentence = "; ".join(filter(None, (sentence, models)))
    whys: dict[str, str] = {}
    judge_of = {f"{row['task']} {row['judge']}": row["judge"] for row in rows}
    for names_of_gate in _warned(contents).values():
        for key, why in names_of_gate.items():
            whys.setdefault(judge_of.get(key, key), why)
    for row in sorted(rows, key=lambda row: [*anchors, row["judge"]].index(row["judge"])):
        why = "failed a test" if row["verdict"] == "failed" else "looks random"
        if _is_doubted(row) or row["dropped"]:
            whys.setdefault(row["judge"], "suspected" if row.get("suspected") else why)
    first = sorted((judge for judge in whys if judge in anchors), key=dropped.__contains__)[:FEW]
    fates = {judge: "left out" if judge in dropped else "counted" for judge in names}
    looks = [Look(j, anchors[j], ", ".join(filter(None, (whys[j], fates.get(j))))) for j in first]
    return Tile("Judges who count", f"{len(names - dropped):,}", words, "judges", sentence, looks)


def _least_agreeing(contents: Contents) -> str:
    """Return which model agrees least with people, or with known answers, beyond chance."""
    rows = contents.tables["judge_validation"].to_pylist()
    return min((
        (row["kappa"], f"model {row['judge']} agrees least with {row['reference']}: "
                       f"kappa {number(row['kappa'])}")
        for row in rows if row["kappa"] is not None
    ), default=(0, ""))[1]  # fmt: skip


def changes_tile(contents: Contents) -> Tile:
    """Return what changed since the release before."""
    parent, changes = contents.manifest["parent"], contents.manifest["changes"] or {}
    if not parent:
        return Tile("Changes", "first release", "nothing to compare with", "records")
    name = f"Changes since {parent['version']}"
    n, kinds = changes.get("changed_labels"), ("new", "corrected", "withdrawn")
    words = [f"{counted(n, 'label') if n else 'no label'} changed"] * bool(n or contents.labelled)
    words += [counted(m, f"{k} judgment") for k in kinds if (m := changes.get(f"{k}_judgments"))]
    is_known = contents.previous or contents.previous_manifest
    section = section_of_changes(contents) if is_known else {"settings": ()}
    settings = [f"{path} was {was}, is {is_}" for path, was, is_ in section["settings"]]
    other = "other settings" if changes.get("settings_changed") else "something else"
    words = words or [f"{counted(len(settings), 'setting') if settings else other} changed"]
    sentence = words[0] if n else ""
    compared = contents.previous and section["tables"]
    if compared and contents.tables["system_rankings"].num_rows:
        n_ranks = compared["ranks"]["n"]
        words.append(f"{counted(n_ranks, 'rank')} changed" if n_ranks else "no rank changed")
    named = first_of(settings, FEW, "; ")
    words += [shorten(f"settings: {named}", MOST_DETAIL, placeholder=" …")] * bool(settings)
    labels = compared["labels"]["rows"] if compared else []
    first = [
        Look(row["item"], "changed-labels",
             f"{_turned(row)}, {' or '.join(row['causes']) or 'cause: see annot diff'}")
        for row in labels[:FEW]
    ]  # fmt: skip
    return Tile(name, words[0], ", ".join(words[1:]), "changes", sentence, first, "Changed",
                compared["labels"]["n"] - len(first) if compared else 0)  # fmt: skip


def _turned(row: Row) -> str:
    """Return a label before and now; where it is the same, who decided it."""
    name = "label" if row["label_old"] != row["label"] else "source"
    return f"{shorten(str(row[f'{name}_old']), 30)} to {shorten(str(row[name]), 30)}"


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
    if len(leaders) == 1:
        return _first_of_one_task(contents, *leaders[0])
    clear: list[Look] = []
    others: list[Look] = []
    for task, rows in leaders:
        is_clear, why = _first_of_task(contents, task, rows)
        name = f"{quoted(rows[0]['system'])} in {quoted(task)}"
        (clear if is_clear else others).append(Look(name, "rankings", why))
    n_others = len(contents.facts["kinds"]) - len(leaders)
    in_tasks = f"in any of {len(leaders):,} {'ranked ' * bool(n_others)}tasks"
    sentence, value, words = f"no clear winner {in_tasks}", NO_WINNER, in_tasks
    if clear:
        value = clear[0].name if len(clear) == 1 else f"{len(clear):,} of {len(leaders):,} tasks"
        words = "have a system better than all others"
        if len(clear) == 1:
            rest = counted(len(leaders) - 1, "other task")
            words = f"better than all others; {rest} without a clear winner"
        sentence = f"a clear winner in {len(clear):,} of {counted(len(leaders), 'ranked task')}"
    words += f"; {counted(n_others, 'further task')} without a ranking of all" * bool(n_others)
    first = [*clear, *others][:FEW]
    return Tile("Winner", value, words, "rankings", sentence, first, "First:",
                len(leaders) - len(first))  # fmt: skip


def _first_of_task(contents: Contents, task: str, rows: list[Row]) -> tuple[bool, str]:
    """Return whether the first system of one of several tasks is shown to be the best, and why."""
    best, which = best_systems(rows)
    name, agreement = rows[0]["system"], contents.headline(task)
    others = [quoted(system) for system in best if system != name]
    lead = _lead(contents, rows)[0]
    is_clear, why = "not shown" in which, "by " * lead[:1].isdigit() + lead
    if agreement and agreement["value"] <= 0:
        is_clear, why = False, "judges agree only by chance"
    elif others:
        who = f"{len(others):,} others are" if len(others) > 1 else f"{others[0]} is"
        is_clear, why = False, f"{who} {NOT_WORSE}"
    return is_clear, "; ".join(filter(None, (why if "not shown" in which else which, _note(name))))


def _first_of_one_task(contents: Contents, task: str, rows: list[Row]) -> Tile:
    """Return who leads a task; no clear winner where another is not shown to be worse."""
    best, which = best_systems(rows)
    name, ahead = rows[0]["system"], " ".join(filter(None, _lead(contents, rows)))
    behind = differences_to_first(rows, contents.tables["system_comparisons"])
    untested = [row | own for own, row in zip(behind, rows, strict=False) if own["ci_low"] is None]
    no_test = {name, *(row["system"] for row in untested)}
    rest = [quoted(system) for system in best if system not in no_test]
    of_tested = " tested" * bool(untested)
    is_clear = len(best) == 1 and "not shown" in which
    words = [ahead, _note(name)]
    if not is_clear:
        words[0] = ", ".join(filter(None, (f"first: {quoted(name)}", words[0])))
    n_tested = len(rows) - 1 - len(untested)
    if len(rest) == n_tested > 1:
        words.append(f"no other system{of_tested} is shown to be worse")
    elif len(rest) > FEW:
        words.append(f"{len(rest):,} of {n_tested:,} others{of_tested} are {NOT_WORSE}")
    elif rest:
        words.append(f"{', '.join(rest)} {'is' if len(rest) == 1 else 'are'} {NOT_WORSE}")
    elif is_clear or "not shown" not in which:
        words.append(f"better than all others{of_tested}" if is_clear else "without tests")
    if "no clusters" in (rows[0]["reason"] or ""):
        words.append("the tests rest on few judges or segments, too few to group systems")
    tested = [row for row in behind[1:] if row["ci_low"] is not None]
    words += filter(None, [most_frequent_reason(tested)])
    if untested:
        why = most_frequent_reason(untested)
        words.append(f"{len(untested):,} not tested" + f" ({why})" * bool(why))
    if references := contents.references(task):
        words.append(f"references ({first_of(references, FEW)}) do not compete")
    words += (methods := _other_firsts(contents, task, [row["system"] for row in rows]))
    sentence = f"{quoted(name)} is better than all others{of_tested}"
    sentence = sentence if is_clear else f"no clear winner, {quoted(name)} is first"
    return Tile("Winner", name if is_clear else NO_WINNER, "; ".join(filter(None, words)),
                "rankings", ", ".join(filter(None, (sentence, _note(name), *methods))))  # fmt: skip


def _other_firsts(contents: Contents, task: str, systems: Sequence[str]) -> list[str]:
    """Return by how many methods the first system is first, where most have another first."""
    rankings = rows_where(contents.tables["system_rankings"], task=task)
    by_method: dict[str, list[Row]] = {}
    for row in rankings.filter(rankings["rank"].is_valid()).to_pylist():
        if row["system"] in systems:
            by_method.setdefault(row["method"], []).append(row)
    firsts = Counter(min(r, key=lambda row: (row["rank"], systems.index(row["system"])))["system"]
                     for r in by_method.values())  # fmt: skip
    if 2 * firsts[systems[0]] >= len(by_method):
        return []
    other, n = firsts.most_common(1)[0]
    return [f"{systems[0]} is first by {firsts[systems[0]]:,} of {len(by_method):,} methods, "
            f"{other} by {n:,}"]  # fmt: skip


def quoted(name: str) -> str:
    """Return a name in quotes where it is a plain word."""
    return f'"{name}"' if len(name) > FEW and name.isalpha() and name.islower() else name


def _note(system: str) -> str:
    """Return what the name of a system says, where that is a reference nobody has declared."""
    says = "by its name a reference: set references under tasks"
    return says * bool(REFERENCE.search(system))


def _without_references(contents: Contents, task: str, rows: list[Row]) -> list[Row]:
    """Return systems that compete, with their ranks among themselves.

    Those that a task declares to be references do not compete.
    """
    names = contents.references(task)
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


def _lead(contents: Contents, rows: Sequence[Row]) -> tuple[str, str]:
    """Return how far the first is ahead, with the interval; of whom, and if by chance."""
    behind = differences_to_first(rows, contents.tables["system_comparisons"])
    if not behind or behind[1]["score"] is None:
        return "", ""
    row, second, unit = behind[1], quoted(rows[1]["system"]), UNITS.get(rows[0]["method"], "")
    is_tested = row["ci_low"] is not None
    values = [row["score"], *[row["ci_high"], row["ci_low"]] * is_tested]
    if unit == "logits":
        texts = [share_text(1 / (1 + exp(value))) for value in values]
        ahead, of_whom = f"wins {texts[0]}", f"of comparisons with {second}, ties aside"
    else:
        texts = [number(-value) for value in values]
        ahead, of_whom = f"{texts[0]} {unit}".rstrip(), f"ahead of {second}"
    around = f" ({' to '.join(texts[1:])})" * is_tested
    untested = ", not tested" + f" ({row['reason']})" * bool(row["reason"])
    perhaps = ", perhaps by chance" * (is_tested and row["ci_low"] <= 0 <= row["ci_high"])
    return ahead + around, of_whom + (perhaps if is_tested else untested)


def _of_tasks(contents: Contents, n: int) -> str:
    """Return of how many tasks something is known: of all 7 tasks, or of 5 of 7 tasks."""
    n_tasks = len(contents.facts["kinds"])
    return f"all {n:,} tasks" if n == n_tasks else f"{n:,} of {n_tasks:,} tasks"


def _agreement_tile(contents: Contents) -> Tile:
    """Return a task's statistic if there is one task, else the median of all."""
    rows = [row for task in sorted(contents.facts["kinds"]) if (row := contents.headline(task))]
    if not rows:
        why = most_frequent_reason(contents.tables["agreement"].to_pylist())
        return Tile("Agreement", "unknown", why or "no statistic is defined", "records")
    values = [without_rounding(row["value"]) or 0.0 for row in rows]
    is_share = any(row["statistic"] in ("percent_agreement", "consistency") for row in rows)
    scale = "" if is_share else "1 is full, 0 is by chance; "
    if len(rows) == 1:
        [row] = rows
        low, high = (without_rounding(row[end]) for end in ("ci_low", "ci_high"))
        ends = f"95% interval {interval(low, high)}"
        if low is None or high is None:
            ends = row["reason"] or "no interval"
        elif high - low > WIDE:
            ends += ": wide, as it depends on which judges and items are drawn"
        words = f"{scale}{row['words']}, {ends}"
        return Tile("Agreement", number(values[0]), words, "agreement")
    words = f"{scale}median of {_of_tasks(contents, len(values))}, "
    words += interval(min(values), max(values))
    return Tile("Agreement", number(median(values)), words, "agreement")


def next_commands(contents: Contents) -> list[str]:
    """Return the three commands that go on from a release."""
    manifest, campaign = contents.manifest, contents.campaign
    if manifest.get("candidate"):
        to_look = f"annot items {campaign} --release candidate    # items to look at"
        return [*candidate_steps(manifest, campaign), to_look][:FEW]
    version, parent = manifest["version"], manifest["parent"]
    kinds, labels = contents.facts["kinds"], contents.labelled_in_all
    scales = [contents.task_settings(t).get("scale") for t in kinds if kinds[t] == "scalar"]
    warned = {check["name"] for check in manifest.get("checks", ()) if check["level"] != "pass"}
    to_look_at = f"annot items {campaign} --uncertain -o queue.csv    # labels to look at"
    lines = [
        f"annot items {campaign} --judge {shlex.quote(one.name)}    # items that this judge judged"
        for one in judges_tile(contents).first[:1]
        if "left out" not in one.why and _is_short(one.name)
    ]
    lines += [to_look_at] * bool(labels.n_open)
    to_verify = f"annot verify {campaign} {version}    # that nothing was altered"
    lines += [to_verify] * bool(parent)  # annot diff is the command of the changes
    if contents.tables["estimates"].num_rows:
        lines.append(f"annot hits {campaign} --design validate    # what people should judge next")
    elif any(scales) and "assumed_scales" not in warned:  # else it plans nothing
        lines.append(f"annot hits {campaign}    # the next batch to annotate")
    if name := _doubtful_name(contents):
        lines.append(f"annot trace {campaign} {name}    # why it has its label or score")
    lines += [to_verify, f"annot serve {campaign}    # items, judges and raw rows",
              f"annot items {campaign}    # items on which judges differ"]  # fmt: skip
    return [*dict.fromkeys(lines)][:FEW]


def _doubtful_name(contents: Contents) -> str:
    """Return an item to doubt, with its task, as a shell takes them; of pairs none: empty."""
    for row in contents.tables["doubtful_items"].to_pylist():
        names = [row["item"], *([row["task"]] if len(contents.facts["kinds"]) > 1 else [])]
        if row.get("kind") != "preference" and all(map(_is_short, names)):
            return " --task ".join(map(shlex.quote, names))
    return ""


def _is_short(name: str) -> bool:
    """Return whether a name may stand in a command."""
    return name.isprintable() and name[:1] != "-" and len(name) <= LONGEST_NAME
