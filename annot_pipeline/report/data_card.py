"""README.md of a release: a data card that Hugging Face `datasets` reads too.

Everything in it comes from the build, and is put into words by templates/card.md.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline import contracts
from annot_pipeline.config.sections import SCREENINGS, TESTS_WITH_CONTRAST
from annot_pipeline.contracts import GOLD, TEXT, VERDICTS, share_text
from annot_pipeline.errors import first_of, printable
from annot_pipeline.gates.gate import statement
from annot_pipeline.report import release_figures
from annot_pipeline.report.accuracy import accuracies
from annot_pipeline.report.citation import bibtex, citation, described, question, title
from annot_pipeline.report.markdown import Marked, escape, paragraphs
from annot_pipeline.report.render import render_markdown
from annot_pipeline.storage.manifest_changes import source_digest

MINOR = re.compile(r"_unfiltered|_collapsed|difference|percent_agreement_(raw|z)|_(raw|z)_[42]$")
"""Statistics that the card leaves out: they say once more what others say."""

MAIN = ("labels", "scores", "system_rankings", "segment_ranks", "lineage")
"""The table that is read where none is named: the first of these with rows."""

SIZES = ("n<1K", "1K<n<10K", "10K<n<100K", "100K<n<1M", "1M<n<10M", "10M<n<100M")
"""Size classes: fewer than 1,000 rows, then ten times as many each."""
LICENSE_ID = re.compile(r"[A-Za-z0-9]+([.+-][A-Za-z0-9.]++)*+\+?")

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
    facts, votes = manifest["facts"], manifest["facts"]["anonymous_votes"]
    certainty = facts["certainty"].items()
    return render_markdown("card.md", {
        "manifest": manifest,
        "front_matter": "\n".join(front_matter(manifest)),
        "title": title(manifest),
        "description": "\n".join(paragraphs(described(manifest))),
        "main": main_table(manifest),
        "questions": [
            (task, kind, _whole(question(manifest, task) or "not stated"))
            for task, kind in sorted(facts["kinds"].items())
        ],
        "fates": contracts.fates_text(facts["fates"]),
        "pseudonymize": manifest["settings"]["privacy"]["pseudonymize"],
        "votes": contracts.votes_text(votes) if votes else "",
        "families": contracts.families_text(facts["families"]),
        "judged": [*_judged(gold)],
        "verdicts": list(VERDICTS),
        "filtered": _filtered(manifest, gold["judges"]),
        "adjudicated": [*_adjudicated(manifest, gold["label_counts"])],
        "agreement": [*_agreement(gold["agreement"])],
        "models": [*_models(gold["judge_validation"])],
        "model_note": contracts.model_note(facts["used_judges"]),
        "classes": [*_classes(gold)],
        **rankings(gold),
        "accuracies": [
            (
                row.task, row.which, row.n, row.right, Marked(share_text(row.share)),
                Marked(" to ".join(map(share_text, row.interval))),
            )
            for row in accuracies(gold["label_counts"].to_pylist())
        ],
        "certificates": [
            (task, str(certified).lower(), _whole(what))
            for task, certified, what in contracts.certificates(facts)
        ],
        "recalibrated": first_of([t for t, rests in certainty if rests["is_recalibrated"]]),
        "limits": _limits(manifest, gold),
        "allowed": {
            name: {c.name: first_of(c.allowed, 20) for c in table.columns}
            for name, table in GOLD.items()
        },
        "provenance": [
            (
                source["name"], Marked(f"`{source_digest(source)[:12]}`"), source.get("rows"),
                contracts.fates_text(source["records"]) if "records" in source else source["kind"],
            )
            for source in manifest["sources"]
        ],
        "packages": first_of([f"{name} {v}" for name, v in manifest["packages"].items()], 20),
        "citation": citation(manifest),
        "bibtex": bibtex(manifest),
    })  # fmt: skip


def _used(judges: pa.Table, manifest: Manifest) -> pa.Table:
    """Return the judges with judgments whose kind their task uses."""
    used = manifest["facts"]["used_judges"]
    is_used = [
        row["n_judgments"] > 0 and not contracts.is_measured(row, used)
        for row in judges.to_pylist()
    ]
    return judges.filter(pa.array(is_used, pa.bool_()))


def _judged(gold: Gold) -> Iterator[tuple[Any, ...]]:
    """Yield judges and judgments of each task, and of its items."""
    items = {task: n for name in ("labels", "scores") for task, n in _counts(gold[name])}
    for task, counts in _counts(gold["judges"]):
        of_items = items.get(task)
        yield (
            task, len(counts), int(counts.sum()), Marked(_spread(counts)),
            None if of_items is None else len(of_items),
            Marked("" if of_items is None else _spread(of_items)),
        )  # fmt: skip


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


def _filtered(manifest: Manifest, judges: pa.Table) -> dict[str, Any]:
    """Return verdicts and dropped judges by task, and what decided on them."""
    quality, facts = manifest["settings"]["quality"], manifest["facts"]
    rows = judges.select(["task", "judge", "verdict", "dropped", "verdict_reason"]).to_pylist()
    verdicts = Counter((row["task"], row["verdict"]) for row in rows)
    dropped = Counter(row["task"] for row in rows if row["dropped"])
    reasons = Counter((row["verdict"], row["verdict_reason"]) for row in rows)
    levels = {check["name"]: check["level"] for check in manifest["checks"]}
    by_controls, by_labels = (
        any(n for verdict, n in facts[name].items() if verdict != "untested")
        for name in ("verdicts", "label_verdicts")
    )
    return {
        "is_tested": any(row["verdict"] != "untested" for row in rows),
        "is_doubtful": levels.get("inconsistent_judges", "pass") != "pass",
        "by_controls": by_controls, "by_labels": by_labels,
        "has_contrast": quality["test"] in TESTS_WITH_CONTRAST,
        "has_level": quality["test"] not in SCREENINGS,
        "counts": [
            (task, *(verdicts[task, verdict] for verdict in VERDICTS), dropped[task])
            for task in dict.fromkeys(row["task"] for row in rows)
        ],
        "rules": sorted(
            facts["removed_judges"].items(), key=lambda pair: (-pair[1]["judges"], pair[0])
        ),
        "n_measured": len(
            {row["judge"] for row in rows if row["verdict"] == "failed" and not row["dropped"]}
        ),
        "n_lost": facts["fates"]["judge_failed"],
        "reasons": [
            (verdict, reason, n)
            for (verdict, reason), n in sorted(reasons.items(), key=lambda pair: -pair[1])
            if reason
        ],
    }  # fmt: skip


def _adjudicated(manifest: Manifest, label_counts: pa.Table) -> Iterator[tuple[Any, ...]]:
    n_unmodelled: Counter[str] = Counter()
    for row in label_counts.to_pylist():
        n_unmodelled[row["task"]] += row["n"] * (row["as_model"] is None)
    for task, decisions in sorted(manifest["facts"]["adjudications"].items()):
        if decisions["decided"]:
            yield task, decisions["decided"], decisions["overridden"], n_unmodelled[task]


def _agreement(agreement: pa.Table) -> Iterator[tuple[Any, ...]]:
    for row in agreement.to_pylist():
        if not MINOR.search(row["statistic"]):
            yield (
                row["task"], row["statistic"],
                Marked("undefined") if row["value"] is None else row["value"],
                None if row["ci_low"] is None
                else Marked(f"{row['ci_low']:.3f} to {row['ci_high']:.3f}"),
                row["n_items"], row["n_judges"], row["reason"],
            )  # fmt: skip


def _models(validation: pa.Table) -> Iterator[tuple[Any, ...]]:
    """Yield how each model agrees with people, or by how much its scores correlate."""
    for row in validation.to_pylist():
        name = "correlation" if row["agreement"] is None else "agreement"
        value, ceiling, low = row[name], row[f"human_{name}"], row[f"{name}_low"]
        ends = "" if low is None else f" ({low:.3f} to {row[f'{name}_high']:.3f})"
        yield (
            row["task"], row["judge"], row["reference"], f"{row['n_items']:,}",
            "" if value is None else f"{value:.3f}{ends}",
            "" if value is None or ceiling is None else f"{ceiling:.3f}", row["reason"] or "",
        )  # fmt: skip


def _classes(gold: Gold) -> Iterator[tuple[Any, ...]]:
    """Yield the classes: those of the model, then those that only experts used."""
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
    for key in sorted(n.keys() | order, key=lambda k: (k[0], order.get(k, len(order)), k[1])):
        row = model.get(key)
        yield (
            *key, n[key], Marked(share_text(n[key] / max(totals[key[0]], 1))),
            row["n_items"] if row else Marked("not a class of it"),
            Marked(share_text(row["prevalence"])) if row else None, n_usable[key],
        )  # fmt: skip


def _limits(manifest: Manifest, gold: Gold) -> dict[str, Any]:
    """Return what the release cannot tell, and what the gates found."""
    counts, fits = gold["label_counts"].to_pylist(), manifest["convergence"]
    n = sum(row["n"] for row in counts)
    n_uncertain = sum(row["n"] for row in counts if not row["certain"])
    verdicts = gold["judges"]["verdict"].to_pylist()
    rows = zip(verdicts, gold["judges"]["dropped"].to_pylist(), strict=True)
    certainty = manifest["facts"]["certainty"].values()
    return {
        "n_labels": n, "n_uncertain": n_uncertain,
        "uncertain_share": share_text(n_uncertain / max(n, 1)),
        "n_other_labels": sum(rests["other_label"] for rests in certainty),
        "n_single": sum(row["n"] for row in gold["labels"].to_pylist() if row["n_judgments"] == 1),
        "of_one_class": first_of(sorted({fit["task"] for fit in fits if fit["n_labels"] == 1})),
        "not_converged": first_of(sorted({fit["task"] for fit in fits if not fit["converged"]})),
        "is_tested": bool({"passed", "failed"} & {*verdicts}),
        "n_without_verdict": sum(
            verdict in ("untested", "undetermined") and not dropped for verdict, dropped in rows
        ),
        "checks": [
            {**check, "statement": statement(check["value"], check["question"])}
            for check in manifest["checks"]
            if check["level"] != "pass"
        ],
    }  # fmt: skip


def _whole(text: str) -> Marked:
    """Return a text as a cell that shows all of it."""
    return Marked(escape(text))


def main_table(manifest: Mapping[str, Any]) -> str:
    """Return the name of the table that most readers want."""
    rows = {table["name"]: table["rows"] for table in manifest["tables"]}
    return next((name for name in MAIN if rows[name]), "lineage")


def front_matter(manifest: Mapping[str, Any]) -> list[str]:
    """Return its lines, with the fences; values are quoted as JSON, which is YAML too."""
    about = manifest["settings"]["about"]
    main = main_table(manifest)
    filled = [table for table in manifest["tables"] if table["rows"]]
    fields = {
        "pretty_name": f"{title(manifest)} {manifest['version']}",
        **_license(about["license"]),
        "language": about["languages"],
        "tags": ["human-annotation", "croissant", *about["keywords"]],
        "size_categories": [_size(t["rows"]) for t in filled if t["name"] == main],
    }
    lines = ["---", *(f"{key}: {_quoted(value)}" for key, value in fields.items() if value)]
    lines.append("configs:")
    for table in sorted(filled, key=lambda table: table["name"] != main):
        lines += [f"- config_name: {table['name']}", f"  data_files: {_data_files(table)}"]
        if table["name"] == main:
            lines.append("  default: true")
    return [*lines, "---", ""]


def _quoted(value: str | list[str]) -> str:
    if isinstance(value, str):
        return json.dumps(printable(value), ensure_ascii=False)
    return json.dumps([printable(v) for v in value], ensure_ascii=False)


def _license(license_: str | None) -> dict[str, str]:
    """Return ids as the hub writes them; any other licence is ``other`` with a name or a link."""
    if license_ is None:
        return {}
    if LICENSE_ID.fullmatch(license_):
        return {"license": license_.lower()}
    kind = "license_link" if re.match(r"https?://", license_) else "license_name"
    return {"license": "other", kind: license_}


def _size(rows: int) -> str:
    return next((name for power, name in enumerate(SIZES, 3) if rows < 10**power), SIZES[-1])


def _data_files(table: Mapping[str, Any]) -> str:
    """Return the files of a table, as Hugging Face takes them."""
    return f"{table['file']}/*.parquet" if "files" in table else str(table["file"])


def rankings(gold: Mapping[str, pa.Table]) -> dict[str, Any]:
    """Return what the headline of each task tells apart; no rows without ranked systems."""
    ordered = sorted(
        gold["system_rankings"].filter(gold["system_rankings"]["headline"]).to_pylist(),
        key=lambda row: (row["task"], row["component"] or 0, row["rank"] or 0, row["system"]),
    )
    has_components = any((row["component"] or 1) > 1 for row in ordered)
    return {
        "rankings": [*_ranking_rows(ordered, gold["variance"], has_components=has_components)],
        "has_components": has_components,
        "components": release_figures.COMPONENTS,
    }


def _ranking_rows(
    ordered: Sequence[Mapping[str, Any]], variance: pa.Table, *, has_components: bool
) -> Iterator[tuple[Any, ...]]:
    """Yield the cells of each task and component."""
    detectable = release_figures.detectable_differences(variance)
    for (task, component), group in groupby(ordered, lambda row: (row["task"], row["component"])):
        members = [dict(row) for row in group]
        ranked = [row for row in members if row["rank"] is not None]
        best = release_figures.best_systems(ranked)[0] if ranked else []
        first = [row["system"] for row in members if row["cluster"] == 1]
        gap, limit = detectable.get(task, (None, ""))
        difference = (
            None if gap is None else " ".join([f"{gap:.3g} points", *[limit] * bool(limit)])
        )
        yield (
            task, members[0]["method"], len(members), sum(row["wins"] or 0 for row in members),
            *(Marked(escape(first_of(names))) if names else None for names in (best, first)),
            difference, Marked(escape(release_figures.most_frequent_reason(members) or "")),
            *[component] * has_components,
        )  # fmt: skip
