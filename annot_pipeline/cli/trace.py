"""annot trace and items: what is known about items, the answer or the most doubtful first."""

from __future__ import annotations

import argparse
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from math import log
from typing import Any

from annot_pipeline.cli.common import Document, check_output, chosen, load, show, terminal, typed
from annot_pipeline.cli.render import fields, table, text
from annot_pipeline.contracts import GOLD
from annot_pipeline.errors import counted, row_and_line

Row = dict[str, Any]

MOST_JUDGMENTS = 200
"""Judgments that are shown; --json has all."""
WHOLE = 3
"""Tasks that are shown in full; of an item in more of them each gets a row."""
UNLIKELY = 5e-5
"""Probability below which a class without votes is not shown."""
SAID = ("task", "item", "label")
ITEM = "segment system text source reference truth"
JUDGED = "judge kind answer criterion evidence rules_out weight z fate control where reason beside"
RECORD = "fate judge where reason"
BELOW = ("reason",)
"""What stands below a row where there is no room."""
TEST = "judge verdict test effect p_value p_adjusted n_pairs=n statistic verdict_reason=reason"
REST = "dependence of judges, votes, known items"
"""What else the published probability rests on: the label models that are averaged."""
WITHOUT = "judge n_left label probability flips raw_mean=mean change z_mean=z easl_score=EASL"
RANK = "item rank dominance n_dominates=over n_dominated_by=under in_contradiction"
LISTED = "item label probability second=runner_up votes reasons text"
TEXTS, MOST_CHARACTERS = ("item", "label", "runner_up", "votes", "text"), 60
"""Columns of which long cells are cut, and where."""


def run_trace(arguments: argparse.Namespace) -> int:
    """Say why an item is what it is in gold."""
    from annot_pipeline.audit.trace.documents import trace
    from annot_pipeline.stages.ingest.archived_lines import released_lines
    from annot_pipeline.storage.forgotten import read_forgotten
    from annot_pipeline.storage.releases import Releases

    campaign = load(arguments)
    release = Releases.for_campaign(campaign).get_or_candidate(arguments.release)
    lines = released_lines(campaign, release.manifest)
    document = {
        "campaign": release.manifest["campaign"],
        "release": release.version,
        "item": arguments.item,
        "forgotten_people": len(read_forgotten(campaign.store)),
        "traces": trace(release, arguments.item, arguments.task, lines),
    }
    return show(arguments, document, lambda: trace_lines(document, typed(arguments)))


def trace_lines(document: Mapping[str, Any], campaign: str) -> Iterator[str]:
    """Yield all that is known about an item, or a row for each of its tasks."""
    traces: Sequence[Row] = document["traces"]
    item = document["item"]
    yield f"item {item}: {document['campaign']}, release {document['release']}"
    if len(traces) > WHOLE:
        title = f"  in {len(traces)} tasks; --task NAME shows one of them in full"
        rows = [
            trace | {"result": _result(trace)[0], "judgments": len(trace["judgments"])}
            for trace in traces
        ]
        yield from table(title, rows, "task result judgments flipped_by", most=len(rows))
    else:
        for trace in traces:
            yield ""
            yield from _trace(trace)
    if document["forgotten_people"]:
        yield "rows and lines are counted without those of forgotten people, as they are archived"
    yield f"next: annot trace {campaign} {shlex.quote(item)} --json says all that is known"


def _trace(trace: Row) -> Iterator[str]:
    yield f"task {trace['task'] or 'unknown'} ({trace['kind'] or 'no judgment of it counts'})"
    yield from fields(trace, ITEM, indent="  ")
    yield from table("other texts", trace["other_texts"], "item item_version=version text")
    yield from _result(trace)
    yield from _distribution(trace["distribution"])
    yield from _judgments(trace)
    records = {
        "anonymous votes": trace["votes"],
        "the same judgments in other records": [
            record | {"judge": row["judge"]}
            for row in trace["judgments"]
            for record in row["places"]
            if record["fate"] != row["fate"]
        ],
        "records that are no judgments": trace["other_records"],
    }
    for title, rows in records.items():
        named = [
            row | {"judge": row["judge"] or "nobody", "where": record_place(row)} for row in rows
        ]
        yield from table(title, named, RECORD, below=BELOW)
    yield from table("left out", trace["set_aside"], "judge left_out_of reason")
    dropped = [row for row in trace["judges"] if row["dropped"]]
    yield from table("judges who do not count", dropped, TEST, most=len(dropped), below=BELOW)
    without = sorted(
        trace["without_judge"],
        key=lambda row: (not row.get("flips"), -abs(row.get("change") or 0.0), row["judge"]),
    )
    if trace["kind"] == "categorical" and without:
        yield f"judges who flip the label alone: {len(trace['flipped_by'])} of {len(without)}"
    yield from table("without one judge", without, WITHOUT)
    yield from (f"  {words}" for words in [trace["held_fixed"]] if words)
    yield from table("ranks within segments", trace["segment_ranks"], RANK)
    headline = [row for row in trace["system_rankings"] if row.get("headline", True)]
    yield from table("rankings of the system", headline, "system method rank score cluster")
    taken = {name for run in trace["chain"] for name in run["inputs"]} | {*GOLD}
    chain = [
        run
        | {"run": run["run"][:8], "code": str(run["code_version"])}
        | {"tables": {n: sha[:8] for n, sha in run["data_versions"].items() if n in taken}}
        for run in trace["chain"]
    ]
    if terminal.verbose:
        yield from table("made by", chain, "stage code run tables", most=len(chain))
    else:
        yield f"made by {counted(len(chain), 'stage')}: -v shows versions of code and tables"


def _result(trace: Row) -> list[str]:
    """Return the label, score, rank or outcomes, each with all that its row says."""
    results = []
    for name in ("label", "score"):
        if row := trace[name]:
            first = row["label"] if name == "label" else row["raw_mean"]
            more = {k: "no" if v is False else v for k, v in row.items() if k not in SAID}
            results.append(f"{name} {text(first)}: {text(more)}")
    if trace["label"] and trace["label"].get("probability") is None:
        by = "votes are counts" if trace["anonymous_votes"] is not None else "too many classes"
        results.append(f"by majority vote, without a model: {by}")
    own = [row["rank"] for row in trace["segment_ranks"] if row["item"] == trace["item"]]
    results += [f"rank {rank}" for rank in own[:1]]
    answers = Counter(row["answer"] for row in trace["judgments"] if row["fate"] == "used")
    if trace["kind"] in ("pairwise", "ranking") and answers:
        results.append(f"{answers.total():,} comparisons: {text(dict(answers.most_common()))}")
    return results or ["no judgment counts" if trace["judgments"] else "no answer"]


def _distribution(rows: Sequence[Row]) -> Iterator[str]:
    names = [name for name in (rows[0] if rows else ()) if name.endswith("probability")]
    likely = [
        row for row in rows if row["votes"] or max(row[name] or 0 for name in names) >= UNLIKELY
    ]
    columns = f"label {' '.join(names)} votes"
    yield from table("distribution", likely, columns, most=len(likely), digits=6)
    if n := len(rows) - len(likely):
        yield f"  and {n} without votes, each below {UNLIKELY:.5f}"


def _judgments(trace: Row) -> Iterator[str]:
    """Yield a row a judgment, and the log odds that all answers and the prevalence add up to."""
    files = {p["source_file"] for row in trace["judgments"] for p in row["places"]}
    written = record_row if len(files) == 1 else record_place
    rows = [
        row
        | {"where": [written(p) for p in row["places"] if p["fate"] == row["fate"]]}
        | {"control": row["control"] if row["control"] not in ("none", row["fate"]) else ""}
        | {"beside": [f"{b['rank']} {b['system'] or b['item']}" for b in row["beside"]]}
        for row in trace["judgments"]
    ]
    title = f"judgments ({text(dict(Counter(row['fate'] for row in rows)))})"
    title += f", rows of {text(files.pop())}" if len(files) == 1 else ""
    if trace["runner_up"] is not None:
        model = trace["label"].get("model_label") or trace["label"]["label"]
        title += f"; evidence in nats, for {text(model, 40)} against {text(trace['runner_up'], 40)}"
    yield from table(title, rows, JUDGED, most=MOST_JUDGMENTS, below=BELOW)
    evidence = [row["evidence"] for row in rows if row["likelihoods"]]
    if (prior := trace["prior_evidence"]) is not None and None not in evidence:
        together = prior + sum(evidence)
        sums = {"evidence of the prevalence": prior, "evidence together": together}
        p = {row["label"]: row["probability"] for row in trace["distribution"]}
        if p.get(model) and p.get(trace["runner_up"]):
            published = log(p[model] / p[trace["runner_up"]])
            sums |= {REST: published - together, "log odds as published": published}
        yield from fields(sums, {name: name for name in sums}, indent="  ")


def record_place(row: Mapping[str, Any]) -> str:
    """Return where a record is: never ``file:333``, as editors name lines."""
    return f"{row['source_file']} {record_row(row)}"


def record_row(row: Mapping[str, Any]) -> str:
    """Return the row of a record in its file, as people read it."""
    cell = f", {row['cell']}" if row["cell"] else ""
    return row_and_line(row["source_row"], row.get("line")) + cell


def run_items(arguments: argparse.Namespace) -> int:
    """List items by what makes them doubtful."""
    from annot_pipeline.commands.items import list_items, write_items

    campaign, path = load(arguments), arguments.output
    if path is not None:
        check_output(campaign, "items", path, (".csv", ".parquet"), [path])
    items = list_items(campaign, **chosen(arguments, "release uncertain task label judge reason"))
    if path is not None:
        write_items(items, path)
    document: Document = {
        "campaign": campaign.settings.campaign,
        "n_items": items.num_rows,
        "items": items.slice(0, max(0, arguments.rows)).to_pylist(),
        "path": None if path is None else str(path),
    }

    def lines() -> Iterator[str]:
        rows = []
        for row in document["items"]:
            cells = {n: text(row[n], MOST_CHARACTERS) for n in TEXTS}
            second = f"{cells['runner_up']} ({text(row['runner_up_probability'], digits=2)})"
            rows.append(row | cells | {"second": second * bool(cells["runner_up"])})
        n_none = items["label"].null_count
        none = f" ({n_none:,} without a label)" * (0 < n_none < items.num_rows)
        title = f"{counted(document['n_items'], 'item')}{none}, the most doubtful first"
        shown = "task " * (len({row["task"] for row in rows}) > 1) + LISTED
        yield from table(title, rows, shown, most=len(rows))
        yield from fields(document, {"path": "all items"})
        if not document["n_items"]:
            yield "no item fits: judges agree, or each item has one"
        elif document["path"] is None and len(rows) < document["n_items"]:
            yield "next: -o FILE.csv writes all of them, --rows N shows more"
        else:
            yield f"next: annot trace {typed(arguments)} ITEM"

    return show(arguments, document, lines)
