"""README.md of a release: a data card that Hugging Face `datasets` reads too.

Everything in it comes from the build. What does not belong here: how the release is read
(card_reading), what its YAML says (card_front_matter).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.config.sections import SCREENINGS, TESTS_WITH_CONTRAST
from annot_pipeline.contracts import (
    TEXT,
    VERDICTS,
    families_text,
    fates_text,
    is_measured,
    share_text,
    votes_text,
)
from annot_pipeline.errors import counted, first_of
from annot_pipeline.report.accuracy import accuracies
from annot_pipeline.report.card_front_matter import front_matter
from annot_pipeline.report.card_limits import known_limits
from annot_pipeline.report.card_models import model_judges
from annot_pipeline.report.card_rankings import rankings
from annot_pipeline.report.card_reading import how_to_read, tables
from annot_pipeline.report.citation import bibtex, citation, described, question, title
from annot_pipeline.report.markdown import Marked, escape, paragraphs, table
from annot_pipeline.storage.manifest_changes import source_digest

NOBODY = "No judge was dropped"
RULES = {
    "constant": "constant answers", "copies": "copies", "chance": "chance",
    "known_answer": "known answers", "undetermined": "an undetermined verdict",
    "suspected": "suspicions that the data cannot resolve",
}  # fmt: skip
"""What the rules of judge control are called; others by the name of their test."""
MINOR = re.compile(r"_unfiltered|_collapsed|difference|percent_agreement_(raw|z)|_(raw|z)_[42]$")
"""Statistics that the card leaves out: they say once more what others say."""

Manifest = Mapping[str, Any]
Gold = Mapping[str, pa.Table]


def data_card(manifest: Manifest, gold: Gold) -> str:
    """Return the data card of a release.

    Parameters
    ----------
    manifest
        Of the release, without ``files``.
    gold
        Those of ``TABLES``.
    """
    gold = {**gold, "judges": _used(gold["judges"], manifest)}
    sections = (
        ("How to read it", how_to_read(manifest)),
        ("What was asked", _questions(manifest)),
        ("Who judged", _judged(manifest, gold)),
        ("Who was filtered, and by which test", _filtered(manifest, gold["judges"])),
        ("Experts' decisions", _adjudicated(manifest, gold["label_counts"])),
        ("How judges agree", _agreement(gold["agreement"])),
        ("Model judges", model_judges(manifest, gold)),
        ("Classes", _classes(gold)),
        ("Rankings of systems", rankings(gold)),
        ("Labels compared with known answers", _accuracies(manifest, gold)),
        ("Known limits", known_limits(manifest, gold)),
        ("Tables", tables(manifest)),
        ("Where it comes from", _provenance(manifest)),
        ("How to check it", _check(manifest)),
        ("How to cite it", _cite(manifest)),
    )
    lines = [*front_matter(manifest), f"# {escape(title(manifest))} {manifest['version']}", ""]
    lines += [*paragraphs(described(manifest)), *_about(manifest)]
    for heading, body in sections:
        if body:
            lines += [f"## {heading}", "", *body]
    return "\n".join(lines)


def _used(judges: pa.Table, manifest: Manifest) -> pa.Table:
    """Return the judges with judgments whose kind their task uses."""
    used = manifest["facts"].get("used_judges", {})
    is_used = [row["n_judgments"] > 0 and not is_measured(row, used) for row in judges.to_pylist()]
    return judges.filter(pa.array(is_used, pa.bool_()))


def _about(manifest: Manifest) -> list[str]:
    about = manifest["settings"]["about"]
    facts = {
        "Published": f"{manifest['created_at']} by annot-pipeline "
        f"{manifest['code']['annot-pipeline']}, campaign `{manifest['campaign']}`",
        "By": escape(", ".join(about["creators"])),
        "License": escape(about["license"] or "not stated; ask before you share it"),
        "Home": f"<{about['url']}>" if about["url"] else "",
        "Contact": escape(about["contact"] or ""),
    }
    return [*(f"- {what}: {text}" for what, text in facts.items() if text), ""]


def _questions(manifest: Manifest) -> list[str]:
    """List tasks, their kinds, and the questions to judges in the campaign's words."""
    rows = [
        (task, kind, Marked(escape(question(manifest, task) or "not stated")))
        for task, kind in sorted(manifest["facts"]["kinds"].items())
    ]
    return table(("task", "kind", "question"), rows, "the settings in manifest.json")


def _judged(manifest: Manifest, gold: Gold) -> list[str]:
    judges = dict(_counts(gold["judges"]))
    items = {task: n for name in ("labels", "scores") for task, n in _counts(gold[name])}
    rows = [
        (
            task,
            len(counts),
            int(counts.sum()),
            Marked(_spread(counts)),
            len(items[task]) if task in items else None,
            Marked(_spread(items[task]) if task in items else ""),
        )
        for task, counts in judges.items()
    ]
    head = ("task", "judges", "judgments", "a judge", "items", "judgments used an item")
    n_exports = len(manifest["sources"])
    names = "Judges are pseudonyms: HMAC-SHA256 with a key that is not published."
    if not manifest["settings"]["privacy"]["pseudonymize"]:
        names = "Judges are named as in the exports."
    if votes := manifest["facts"].get("anonymous_votes", {}):
        names += f" Votes come as counts, without judges, in {escape(votes_text(votes))}."
    families = families_text(manifest["facts"]["families"])
    if families:
        names += f" Declared families of related judges: {escape(families)}."
    return [
        f"{counted(manifest['facts']['records'], 'record')} in {counted(n_exports, 'export')}: "
        f"{fates_text(manifest['facts']['fates'])}. {names}",
        "",
        *table(head, rows, "`judges.parquet`"),
    ]


def _counts(rows: pa.Table) -> Iterator[tuple[str, np.ndarray[Any, Any]]]:
    """Yield ``n_judgments`` by task, by which rows are sorted.

    ``n`` times where a row is of many.
    """
    tasks = rows["task"].cast(TEXT).combine_chunks()
    counts = rows["n_judgments"].to_numpy()
    times = rows["n"].to_numpy() if "n" in rows.column_names else np.ones_like(counts)
    ends = pc.run_end_encode(tasks)
    start = 0
    for task, end in zip(ends.values.to_pylist(), ends.run_ends.to_pylist(), strict=True):
        yield task, np.repeat(counts[start:end], times[start:end])
        start = end


def _spread(counts: np.ndarray[Any, Any]) -> str:
    low, middle, high = counts.min(), np.median(counts), counts.max()
    return f"{low:,}" if low == high else f"{low:,} to {high:,}, median {middle:,.10g}"


def _filtered(manifest: Manifest, judges: pa.Table) -> list[str]:
    quality = manifest["settings"]["quality"]
    rows = judges.select(["task", "judge", "verdict", "dropped"]).to_pylist()
    if not any(row["verdict"] != "untested" for row in rows):
        because = (
            "the exports contain no controls that the test can use"
            if quality["test"] != "none"
            else "judge control is turned off (`quality.test: none`)"
        )
        levels = {check["name"]: check["level"] for check in manifest["checks"]}
        doubtful = (
            " Some of them agree with the others no better than chance: see the gate "
            "`inconsistent_judges`."
            if levels.get("inconsistent_judges", "pass") != "pass"
            else ""
        )
        return [f"No judge was tested: {because}. All judges count.{doubtful}", ""]
    verdicts = Counter((row["task"], row["verdict"]) for row in rows)
    dropped = Counter(row["task"] for row in rows if row["dropped"])
    lost = manifest["facts"]["fates"]["judge_failed"]
    counts = [
        (task, *(verdicts[task, verdict] for verdict in VERDICTS), dropped[task])
        for task in dict.fromkeys(row["task"] for row in rows)
    ]
    n_measured = len({row["judge"] for row in rows if _is_measured_only(row)})
    measured = (
        "Judges who failed but whose answers count (`quality.labels: "
        f"{quality['labels']}`): {n_measured:,}."
    )
    return [
        _tested(manifest),
        "",
        *table(("task", *VERDICTS, "dropped"), counts, "`judges.parquet`"),
        *_removed(manifest["facts"]["removed_judges"]),
        *([measured, ""] if n_measured else []),
        f"{f'{lost:,} judgments of judges who were dropped do not count' if lost else NOBODY}. "
        "Why, by judge, is in "
        "`judges.verdict_reason`, `statistic` and `p_value`; figures of all judges: "
        "`scores.unfiltered_mean`, the method `raw_mean` of `system_rankings`, statistics of "
        "agreement that end in `_unfiltered`.",
        "",
        *_reasons(judges),
    ]


def _is_measured_only(row: Mapping[str, Any]) -> bool:
    return row["verdict"] == "failed" and not row["dropped"]


def _removed(rules: Mapping[str, Mapping[str, int]]) -> list[str]:
    """Return whose answers do not count, by rule."""
    texts = [
        f"{n['judges']:,} by {RULES.get(rule, f'`{rule}`')} ({counted(n['judgments'], 'judgment')})"
        for rule, n in sorted(rules.items(), key=lambda pair: (-pair[1]["judges"], pair[0]))
    ]
    return [f"Judges whose answers do not count: {', '.join(texts)}.", ""] if texts else []


def _tested(manifest: Manifest) -> str:
    """Return the tests of judges, and what follows from them."""
    quality, facts = manifest["settings"]["quality"], manifest["facts"]
    by_controls, by_labels = (
        any(n for verdict, n in facts[name].items() if verdict != "untested")
        for name in ("verdicts", "label_verdicts")
    )
    texts = [_tested_by_controls(quality)] if by_controls or not by_labels else []
    if by_labels:
        texts.append(
            "Judges of labels without a verdict by controls are tested by the answers of the other "
            "judges: by chance, constant answers and copies."
        )
    return " ".join(texts)


def _tested_by_controls(quality: Mapping[str, Any]) -> str:
    has_contrast = quality["test"] in TESTS_WITH_CONTRAST
    contrast = f", contrast `{quality['contrast']}`" if has_contrast else ""
    scope = "once over all tasks" if quality["scope"] == "campaign" else "in each task"
    level = f", alpha {quality['alpha']:g}, correction over judges: {quality['correction']}"
    if quality["test"] in SCREENINGS:
        level = ""
    return (
        f"Test `{quality['test']}`{contrast}{level}. "
        f"A judge is tested {scope}, with {quality['min_pairs']} {_counted_by(quality)} "
        "at least; with fewer the verdict is undetermined, and such judges "
        f"{'count' if quality['undetermined'] == 'keep' else 'are dropped'}."
    )


def _counted_by(quality: Mapping[str, Any]) -> str:
    """Return what the smallest number of a test counts."""
    return {
        "consistency": "shared items (3, if that is more)",
        "reference_threshold": "references",
        "bt500": "scores",
    }.get(quality["test"], "pairs or answers")


def _reasons(judges: pa.Table) -> list[str]:
    columns = (judges[name].to_pylist() for name in ("verdict", "verdict_reason"))
    reasons = Counter(zip(*columns, strict=True))
    rows = [
        (verdict, reason, n)
        for (verdict, reason), n in sorted(reasons.items(), key=lambda pair: -pair[1])
        if reason
    ]
    return table(("verdict", "because", "judges"), rows, "`judges.parquet`")


def _adjudicated(manifest: Manifest, label_counts: pa.Table) -> list[str]:
    counts = manifest["facts"]["adjudications"]
    n_unmodelled: Counter[str] = Counter()
    for row in label_counts.to_pylist():
        n_unmodelled[row["task"]] += row["n"] * (row["as_model"] is None)
    rows = [
        (task, decisions["decided"], decisions["overridden"], n_unmodelled[task])
        for task, decisions in sorted(counts.items())
        if decisions["decided"]
    ]
    if not rows:
        return []
    head = ("task", "items decided", "against the model", "no judgments")
    return [
        "An expert's decision is in `labels.label` where `adjudicated`; the model's own answer "
        "is in `model_label`, and in `label_distributions`.",
        "",
        *table(head, rows, "`labels.parquet`"),
    ]


def _agreement(agreement: pa.Table) -> list[str]:
    rows = [
        (
            row["task"],
            row["statistic"],
            Marked("undefined") if row["value"] is None else row["value"],
            None if row["ci_low"] is None else _interval(row),
            row["n_items"],
            row["n_judges"],
            row["reason"],
        )
        for row in agreement.to_pylist()
        if not MINOR.search(row["statistic"])
    ]
    head = ("task", "statistic", "value", "95% interval", "items", "judges", "note")
    lines = table(head, rows, "`agreement.parquet`")
    return [*lines, "More statistics are in `agreement.parquet`.", ""] if lines else []


def _interval(row: Mapping[str, Any]) -> Marked:
    return Marked(f"{row['ci_low']:.3f} to {row['ci_high']:.3f}")


def _classes(gold: Gold) -> list[str]:
    """Return the table of classes: those of the model, then those that only experts used."""
    model = {(row["task"], row["label"]): row for row in gold["prevalence"].to_pylist()}
    n: Counter[tuple[str, str]] = Counter()
    n_usable: Counter[tuple[str, str]] = Counter()
    totals: Counter[str] = Counter()
    for row in gold["label_counts"].to_pylist():
        key = row["task"], row["label"]
        n[key] += row["n"]
        n_usable[key] += row["n"] * (row["certain"] or row["adjudicated"])
        totals[row["task"]] += row["n"]
    order = {key: row["label_order"] for key, row in model.items()}
    cells = []
    for key in sorted(n.keys() | order, key=lambda k: (k[0], order.get(k, len(order)), k[1])):
        row, count = model.get(key), n[key]
        cells.append((
            *key, count, Marked(share_text(count / max(totals[key[0]], 1))),
            row["n_items"] if row else Marked("not a class of it"),
            Marked(share_text(row["prevalence"])) if row else None, n_usable[key],
        ))  # fmt: skip
    head = ("task", "class", "items", "share", "items (model)", "prevalence (model)",
            "certain or decided")  # fmt: skip
    return table(head, cells, "`labels.parquet` and `prevalence.parquet`")


def _accuracies(manifest: Manifest, gold: Gold) -> list[str]:
    rows = [
        (
            row.task, row.which, row.n, row.right, Marked(share_text(row.share)),
            Marked(" to ".join(map(share_text, row.interval))),
        )
        for row in accuracies(gold["label_counts"].to_pylist())
    ]  # fmt: skip
    head = ("task", "labels", "with a known answer", "right", "accuracy", "95% interval (Wilson)")
    lines = table(head, rows, "`labels.parquet` and `items.parquet`")
    certainty = manifest["facts"]["certainty"]
    corrected = [task for task, rests in certainty.items() if rests["is_recalibrated"]]
    words = "They correct no probability."
    if corrected:
        words = (
            f"They correct the probabilities of {escape(first_of(corrected))}, which can change "
            "labels; a known item is corrected by the other known items only."
        )
    return [f"Known answers are `items.truth`. {words}", "", *lines] if lines else []


def _provenance(manifest: Manifest) -> list[str]:
    rows = [
        (
            source["name"],
            Marked(f"`{source_digest(source)[:12]}`"),
            source.get("rows"),
            fates_text(source["records"]) if "records" in source else source["kind"],
        )
        for source in manifest["sources"]
    ]
    parent = manifest["parent"]
    before = f"It follows {parent['version']}." if parent else "It is the first release."
    packages = first_of([f"{name} {v}" for name, v in manifest["packages"].items()], 20)
    return [
        *table(("export", "digest", "rows", "records"), rows, "`manifest.json`"),
        f"{before} Method: `{manifest['signature']}`. Made with {packages}. Settings, every "
        "check with its result, and the chain of runs are in `manifest.json`.",
        "",
    ]


def _check(manifest: Manifest) -> list[str]:
    return [
        "`annot verify CAMPAIGN` recomputes every checksum; with `--rebuild` it builds again from "
        "the archived exports and compares byte for byte. By hand: `manifest.json` holds the "
        "SHA-256 of every file here, `../latest.json` that of `manifest.json`.",
        "",
        f"Content of the tables: `{manifest['content_sha256']}`",
        "",
    ]


def _cite(manifest: Manifest) -> list[str]:
    return [escape(citation(manifest)), "", *_code(bibtex(manifest)), ""]


def _code(text: str) -> Sequence[str]:
    return [f"    {line}" for line in text.splitlines()]
