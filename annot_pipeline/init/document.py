"""The text of campaign.yaml: every line with what it rests on."""

from __future__ import annotations

import glob
import json
import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from annot_pipeline.config.judges import model_families
from annot_pipeline.errors import first_of
from annot_pipeline.exports.hit_bookkeeping import plain_number
from annot_pipeline.init.abstentions import abstained_note, failed_entries, failed_note
from annot_pipeline.init.groups import Group, captured_stem, escaped, stem_of
from annot_pipeline.init.questions import Reading, Task
from annot_pipeline.init.sources import ItemTable, SourceGuess
from annot_pipeline.init.views import parsed
from annot_pipeline.stages.shared.name_search import is_distinctive
from annot_pipeline.storage.archive import natural_key

MOST_ENTRIES = 30


def model_entries(sources: Sequence[SourceGuess]) -> list[dict[str, str]]:
    """Return entries of ``judges`` for the judges of some sources whose names are of models."""
    names = {name for source in sources for name in _judges(source)}
    entries = []
    for name, family in sorted(model_families(names).items()):
        entry = {"name": glob.escape(name), "kind": "model"}
        entries.append(entry | ({"family": family} if family != "other" else {}))
    return entries[:MOST_ENTRIES]


def _judges(source: SourceGuess) -> Iterator[str]:
    """Yield the judges that a source names by a column, by a constant, or by keys of objects."""
    reading, sheet = source.reading, source.group.sheet
    expression = next((e for name, e, _ in reading.lines if name == "judge"), None)
    if isinstance(expression, str) and expression in sheet.names:
        yield from sheet[expression].counts
    elif expression == captured_stem(source.group.paths):
        yield from map(stem_of, source.group.paths)
    elif isinstance(expression, dict) and isinstance(constant := expression.get("value"), str):
        each = reading.each.get(constant.strip("{}"), {}) if "{" in constant else None
        if each is None:
            yield constant
        elif isinstance(each, dict) and each.get("keys") in sheet.names:
            objects = map(parsed, sheet[each["keys"]].counts)
            yield from (key for one in objects if isinstance(one, dict) for key in one)


WIDTH, LONGEST_NOTE, LINE = 200, 2_000, 100
"""Longest comment beside a line and of its own (longer ones are cut), and its lines."""

SHOWN_LABELS = 20
_PLAIN = re.compile(r"(\.{1,2}/)*[A-Za-z_][A-Za-z0-9_./*-]*")
_READ_OTHERWISE = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})


def write_campaign(
    name: str, sources: Sequence[SourceGuess], tables: Sequence[ItemTable], left_out: Sequence[str]
) -> str:
    """Return the whole document.

    Parameters
    ----------
    name
        The campaign's name.
    sources, tables
        The entries.
    left_out
        Files that are in no entry, with the reason.
    """
    has_truth = any(table.reading.has("truth") for table in tables)
    blocks = [
        "# Written by annot init: a guess from the exports; comments give the evidence.\n"
        "# Check it, then run annot validate: it shows what would be rejected, and why.\n",
        _aligned(
            [
                (f"campaign: {name}", "names assets and, where nothing else does, the task"),
                ("store: store", "working state, relative to this file"),
                ("gold: gold", "releases"),
            ]
        ),
        "sources:\n" + "".join(_entry(one.group, one.reading) for one in sources),
        "items:\n" * bool(tables) + "".join(_entry(one.group, one.reading) for one in tables),
        "tasks:\n" + "".join(_tasks(sources, has_truth=has_truth)),
        _models(sources),
        _tests_of_judges(sources),
        _privacy(sources),
        "# Left out:\n" * bool(left_out) + "".join(map(_wrapped, left_out)),
    ]
    return "\n".join(block for block in blocks if block)


def flow(value: Any) -> str:
    """Return a value as YAML on one line."""
    if isinstance(value, str):
        return scalar(value)
    if isinstance(value, bool | int):
        return str(value).lower()
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{scalar(k)}: {flow(v)}" for k, v in value.items()) + "}"
    return "[" + ", ".join(map(flow, value)) + "]"


def scalar(text: str) -> str:
    """Return a string as YAML: plain where that is safe, else in double quotes."""
    if _PLAIN.fullmatch(text) and text.lower() not in _READ_OTHERWISE:
        return text
    quoted = json.dumps(text, ensure_ascii=False)
    return "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in quoted)


def comment(text: str, longest: int = WIDTH) -> str:
    """Return the text on one line that cannot end the comment."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line if len(line) <= longest else line[: longest - 4].rpartition(" ")[0] + " ..."


def _aligned(lines: Iterable[tuple[str, str]]) -> str:
    """Return lines with their comments in one column, unless a line is long."""
    pairs = [(text, comment(why)) for text, why in lines]
    width = max((len(text) for text, why in pairs if why and len(text) <= 40), default=0)
    return "".join(f"{text.ljust(width)}  # {why}\n" if why else f"{text}\n" for text, why in pairs)


def _wrapped(text: str, indent: str = "") -> str:
    """Return a comment of several lines."""
    starts = (f"{indent}# ", f"{indent}#   ")
    wrapper = textwrap.TextWrapper(LINE, *starts, break_on_hyphens=False)
    return wrapper.fill(comment(text, LONGEST_NOTE)) + "\n"


def _entry(group: Group, reading: Reading) -> str:
    """Return the entry of a source, or of a table of items."""
    none = abstained_note(reading.abstained) if reading.abstained else "answers that are none"
    failed = "rows whose answer failed; remove what says something else"
    entries: list[tuple[str, Any, str]] = [
        ("records", group.first.records, "where the records are"),
        ("options", group.first.options | reading.options, ""),
        ("each", reading.each, "a row holds several judgments"),
        ("where", reading.where, "rows that fail are filtered"),
        ("abstain", reading.abstain, none),
        ("failed", failed_entries(reading.failed), failed_note(reading.failed)),
        ("failed_where", reading.failed_where, failed),
    ]
    path = group.pattern or ""
    head = [(f"  - path: {scalar(path)}", _files(group)), (f"    format: {group.first.format}", "")]
    head += [(f"    {name}: {flow(value)}", why) for name, value, why in entries if value]
    if reading.strength:
        low, high = map(plain_number, reading.strength)
        head.append((f"    strength: [{low}, {high}]", "that b, and that a, is better for sure"))
    head += [("    fields:", "")] * bool(reading.lines)
    lines = [(f"      {name}: {flow(expression)}", why) for name, expression, why in reading.lines]
    is_alone = path == escaped(group.paths[0], group.folder)
    notes = [_only_this_file(group)] * is_alone + reading.notes
    return _aligned(head) + _aligned(lines) + "".join(_wrapped(n, "    ") for n in notes)


def _only_this_file(group: Group) -> str:
    """Return the comment that later exports would not be read."""
    later = group.later_pattern
    glob_ = f"path: {scalar(later)}" if later else "a glob as path, or another source,"
    return f"only this file is read: {glob_} takes later exports, too"


def _files(group: Group) -> str:
    """Return how much was looked at, and what of it cannot be read."""
    n_files, n_rows = len(group.samples), sum(s.table.num_rows for s in group.samples)
    partly = [sample for sample in group.samples if not sample.is_whole]
    text = f"{n_files:,} files, " if n_files > 1 else ""
    text += f"the first {n_rows:,} rows were looked at" if partly else f"{n_rows:,} rows"
    bad = sum((sample.unreadable for sample in group.samples[1:]), group.first.unreadable.copy())
    return text + "".join(f"; {count:,} not read: {why}" for why, count in bad.most_common(3))


def _models(sources: Sequence[SourceGuess]) -> str:
    """Return the entries of judges whose names are those of language models."""
    entries = model_entries(sources)
    if not entries:
        return ""
    head = ("judges:", "language models by their names; in tasks of people they are measured only")
    return _aligned([head, *((f"  - {flow(entry)}", "") for entry in entries)])


def _tests_of_judges(sources: Sequence[SourceGuess]) -> str:
    """Return, as comments, the test that the controls of the exports are made for."""
    expressions = [e for s in sources for name, e, _ in s.reading.lines if name == "control"]
    kinds = {kind for e in expressions if isinstance(e, dict) for kind in e.get("map", {}).values()}
    if "good_reference" in kinds and not kinds & {"ask_again", "known_answer"}:
        test, what = "reference_threshold", "score hidden references below 90 (ITU-R BS.1534-3)"
    elif kinds - {"none"} == {"known_answer"}:
        test, what = "known_answer", "do no better on known answers than by guessing"
    else:
        return ""
    return f"# uncomment to leave out judges who {what}:\n# quality: {{test: {test}}}\n"


def _privacy(sources: Sequence[SourceGuess]) -> str:
    """Return the setting without which judges named by files cannot be published."""
    lines = [line for source in sources for line in source.reading.lines]
    by_file = any(name == "judge" and "capture" in str(e) for name, e, _ in lines)
    stems = {stem_of(path) for source in sources for path in source.group.paths}
    named = stems & {name.lower() for source in sources for name in _judges(source)}
    named = {name for name in named if by_file or is_distinctive(name)}  # else by chance
    if not named - model_families(named).keys():
        return ""
    why = "releases name the files, and these the judges; to publish pseudonyms, rename the files"
    return _aligned([("privacy: {pseudonymize: false}", why)])


def _tasks(sources: Sequence[SourceGuess], *, has_truth: bool) -> list[str]:
    """Return one entry for all tasks if they are alike, else one a task."""
    tasks: dict[str | None, Task] = {}
    for task in (task for source in sources for task in source.tasks):
        other = tasks.get(task.name, task)
        if task.scale and other.scale:  # of files that hold other scores
            lows, highs = zip(task.scale, other.scale, strict=True)
            task = replace(task, scale=(min(lows), max(highs)))
        tasks[task.name] = task
    kinds = {(t.kind, t.scale, t.criteria, t.is_planned, t.repeats) for t in tasks.values()}
    if len(kinds) == 1:
        labels: Counter[str] = Counter()
        for source in sources:
            labels.update(source.reading.labels)
        [(kind, scale, criteria, is_planned, repeats)] = kinds
        task = Task("*", kind, scale, labels, criteria, is_planned, repeats)
        is_closed = len(tasks) == 1 and not has_truth and all(map(_has_all_labels, sources))
        return [_task("*", task, is_closed=is_closed and len(labels) <= SHOWN_LABELS)]
    return [_task(glob.escape(name or "*"), task) for name, task in tasks.items()]


def _has_all_labels(source: SourceGuess) -> bool:
    """Return whether all labels of the exports, and no other class, were seen as they are."""
    expressions = {name: expression for name, expression, _ in source.reading.lines}
    return (
        all(sample.is_whole for sample in source.group.samples)
        and source.group.first.format in ("csv", "json", "jsonl", "parquet")
        and isinstance(expressions.get("label"), str)
        and not expressions.keys() & {"truth", "task"}
    )


def _task(pattern: str, task: Task, *, is_closed: bool = False) -> str:
    lines = [(f"  - name: {scalar(pattern)}", "every task" if pattern == "*" else "")]
    note = ""
    if task.labels:
        ordered = sorted(task.labels.items(), key=lambda pair: (-pair[1], pair[0]))
        seen = [f"{label} ({n:,})" for label, n in ordered]
        note = f"labels seen: {first_of(seen, SHOWN_LABELS)}"
    lines.append((f"    kind: {task.kind}", "" if is_closed else note))
    if is_closed and task.labels:
        names = flow(sorted(task.labels, key=natural_key))
        lines.append((f"    labels: {names}", f"{note}; others are rejected"))
    if task.repeats:
        counts = "the latest counts" if task.repeats == "last" else "all count"
        why = f"of a judge's answers to one item, {counts}"
        lines.append((f"    repeats: {task.repeats}", why))
    if task.scale:
        low, high = map(plain_number, task.scale)
        why = "as the HITs say" if task.is_planned else "the usual one that holds all scores seen"
        lines.append((f"    scale: [{low}, {high}]", why))
    elif task.kind == "scalar":
        why = "no usual one holds all scores; one rejects the rest"
        lines.append(("    # scale: [low, high]", why))
    if task.criteria:
        reverse = {} if task.is_planned else {"reverse": True}
        lines.append((f"    criteria: {flow(dict.fromkeys(task.criteria, reverse))}", ""))
    return _aligned(lines)
