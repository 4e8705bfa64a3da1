"""The page of one item, from its trace: who said what, what it weighs, where it stands."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from annot_pipeline.contracts.certainty import certainty, probability_column
from annot_pipeline.errors import row_and_line
from annot_pipeline.report.contents import Document
from annot_pipeline.report.figures.names import short
from annot_pipeline.report.markup import (
    Column,
    Markup,
    chip,
    join,
    label_text,
    more,
    number,
    paragraph,
    table,
    text,
)
from annot_pipeline.report.sections.judges import why

MOST_TEXT = 4000
"""Characters of what the judges saw."""
MOST_ROWS, MOST_CLASSES, MOST_NAMES = 100, 20, 20
ROWS = "Rows are counted without the header, lines with it: the first row below it is 1"
HASH = 12
"""Characters of a data version that are shown."""


def item_anchor(trace: Document) -> str:
    """Return the id of an item's page: the same in every release that has one for it."""
    name = json.dumps([trace["task"], trace["item"]], ensure_ascii=False)
    return f"item-{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:HASH]}"


def item_page(trace: Document) -> Markup:
    """Return a page of its own, closed until it is asked for, found by `item_anchor`."""
    anchor = item_anchor(trace)
    title = f"{text(trace['item'])}"
    return Markup(
        f'<details class="item" id="{anchor}"><summary><h3>{title}</h3></summary>\n'
        f'<p class="kicker">Task {text(trace["task"])}, {text(trace.get("kind") or "")}'
        f"{_prefixed(', segment ', trace.get('segment'))}"
        f"{_prefixed(', system ', trace.get('system'))}"
        "</p>\n"
        + join([
            _decision(trace), _texts(trace), _distribution(trace), _judgments(trace),
            _flips(trace), _without_judges(trace), _likelihoods(trace), _scores(trace),
            _ranks(trace), _judges(trace), _excluded(trace), _chain(trace),
        ])
        + '<p class="back"><a href="#contested">Back to the contested items</a></p></details>\n'
    )  # fmt: skip


def _prefixed(before: str, value: object) -> str:
    return "" if value is None else f"{before}{text(value)}"


def _decision(trace: Document) -> str:
    """Return the label, whose it is, and the model's own beside it."""
    label = trace.get("label")
    if not label:
        return ""
    decided, (probability, certain) = label.get("adjudicated"), certainty(label)
    share = text(number(probability, "share"))
    chance_text = f"the model gives it {share}" if decided else f"probability {share}"
    lines = [paragraph(
        f"Label: <strong>{text(label['label'])}</strong>", f", {chance_text} " if share else " ",
        chip("other", "decided by an expert") if decided else
        chip("passed", "certain") if certain else chip("warn", "not certain"),
    )]  # fmt: skip
    if decided:
        lines.append(paragraph(_expert(label)))
    if label.get("dawid_skene_label") not in (None, label.get("model_label")):
        share = text(number(label["dawid_skene_probability"], "share"))
        own = text(label["dawid_skene_label"])
        lines.append(paragraph(f"Dawid-Skene alone would say {own}, probability {share}."))
    if trace.get("truth") is not None:
        lines.append(paragraph(f"Known answer: {text(trace['truth'])}"))
    return join(lines)


def _expert(label: Document) -> str:
    words = f"Decided by {text(label.get('adjudicator') or 'somebody')}"
    if label.get("adjudicated_at"):
        words += f", {text(label['adjudicated_at'])}"
    if label.get("adjudication_reason"):
        words += f": “{text(label['adjudication_reason'], MOST_TEXT)}”"
    model = label.get("model_label")
    if model is None:
        return words + ". No judge judged it."
    share = text(number(label.get("model_probability"), "share"))
    return words + f". The model's own answer: <strong>{text(model)}</strong>, probability {share}."


def _texts(trace: Document) -> str:
    named = (("What was judged", "text"), ("Source", "source"), ("Reference", "reference"))
    html = "".join(
        f'<dt>{name}</dt><dd class="text" dir="auto">{text(trace[key], MOST_TEXT)}</dd>'
        for name, key in named
        if trace.get(key) is not None
    )
    return f'<dl class="texts">{html}</dl>\n' if html else ""


def _distribution(trace: Document) -> str:
    rows = trace.get("distribution") or ()
    by_probability = [(row, row[probability_column(row)]) for row in rows]
    by_probability.sort(key=lambda pair: (-(pair[1] or 0), pair[0]["label"]))
    columns = [Column("class"), Column("probability", "share"), Column("as a bar"),
               Column("Dawid-Skene", "share"), Column("votes", "count")]  # fmt: skip
    cells = (
        (r["label"], p, _bar(p), r[probability_column(r, dawid_skene=True)], r["votes"])
        for r, p in by_probability
    )
    return table("Probability of each class", columns, cells)


def _bar(share: float | None) -> Markup:
    width = round(100 * min(max(share or 0.0, 0.0), 1.0), 1)
    return Markup(
        '<svg class="bar" width="100" height="10" viewBox="0 0 100 10" preserveAspectRatio="none" '
        f'aria-hidden="true"><rect width="{width:g}" height="10"/></svg>'
    )


def _judgments(trace: Document) -> str:
    """Return the table of judgments: judge, answer, fate, weight, and file and row."""
    rows = list(trace.get("judgments") or ())
    some = {
        key
        for key in ("evidence", "weight", "z", "criterion", "seconds", "submitted_at", "rank")
        if any(row.get(key) is not None for row in rows)
    }
    optional = [
        ("criterion", Column("criterion")),
        ("rank", Column("rank", "count")),
        ("z", Column("z", "real", tip="In standard deviations from the judge's mean")),
        ("evidence", Column("evidence, nats", "real", tip="Log likelihood ratio of this "
                            "answer")),
        ("weight", Column("weight", "share", tip="Share in the item's mean")),
        ("seconds", Column("seconds", "real")),
        ("submitted_at", Column("when, UTC")),
    ]  # fmt: skip
    filled = [(key, column) for key, column in optional if key in some]
    columns = [
        Column("judge"), Column("answer"), Column("fate"),
        *(column for _, column in filled), Column("file and row", tip=ROWS),
    ]  # fmt: skip
    cells = [
        [
            row["judge"], text(row.get("answer") or "", 400), _fate(row),
            *(_shown(row, key) for key, _ in filled), _places(row.get("places") or ()),
        ]
        for row in rows[:MOST_ROWS]
    ]  # fmt: skip
    caption = "Judgments" + (_evidence(trace) if "evidence" in some else "")
    html: str = table(caption, columns, cells, sortable=len(cells) > 3)
    if len(rows) > MOST_ROWS:
        html += paragraph(f"{len(rows) - MOST_ROWS:,} more judgments: annot trace.")
    html += _records(trace.get("votes") or (), "Anonymous votes")
    return html + _records(trace.get("other_records") or (), "Records that are no judgments")


def _evidence(trace: Document) -> str:
    """Return which classes the evidence tells apart."""
    label = (trace.get("label") or {}).get("model_label")
    against = trace.get("runner_up")
    if label is None or against is None:
        return ""
    return f"; evidence is for {short(label)}, the model's label, against {short(against)}"


def _shown(row: Document, key: str) -> Any:
    """Return a value; a time without its zone, which is UTC."""
    value = row.get(key)
    if key == "submitted_at" and value is not None:
        return str(value).replace("T", " ").removesuffix("+00:00")
    return value


def _likelihoods(trace: Document) -> str:
    """Return how likely each answer is, were each class the true one."""
    rows = [row for row in trace.get("judgments") or () if row.get("likelihoods")]
    if not rows:
        return ""
    classes = [entry["label"] for entry in rows[0]["likelihoods"]][:MOST_CLASSES]
    columns = [Column("judge"), Column("answer"), *(Column(f"if {c}", "share") for c in classes)]
    cells = (
        [row["judge"], text(row.get("answer") or ""),
         *(entry["probability"] for entry in row["likelihoods"][:MOST_CLASSES])]
        for row in rows[:MOST_ROWS]
    )  # fmt: skip
    html = table("Probability of the answer by the true class", columns, cells)
    return more("How likely each answer is under each class", html)


def _fate(row: Document) -> Markup:
    fate = text(str(row["fate"]).replace("_", " "))
    control = row.get("control")
    kind = "" if control in (None, "none", row["fate"]) else f" ({text(control)})"
    why = f": {text(row['reason'], 400)}" if row.get("reason") else ""
    return Markup(f"{fate}{kind}{why}")


def _places(places: Iterable[Document]) -> Markup:
    lines: list[str] = []
    for location in places:
        cell = f", {text(location['cell'])}" if location.get("cell") else ""
        row = row_and_line(location["source_row"], location.get("line"))
        fate = f" ({text(location['fate'])})" if len(lines) else ""
        title = f' title="digest {label_text(location["source_digest"])}"'
        where = f"{text(location['source_file'])} {row}{cell}{fate}"
        lines.append(f"<span{title}>{where}</span>")
    return Markup("<br>".join(lines))


def _records(rows: Sequence[Document], caption: str) -> str:
    columns = [Column("judge"), Column("fate"), Column("reason"), Column("file and row")]
    cells = (
        (row.get("judge"), row["fate"], text(row.get("reason") or "", 400), _places([row]))
        for row in rows[:MOST_ROWS]
    )
    return table(caption, columns, cells)


def _flips(trace: Document) -> str:
    flipping = trace.get("flipped_by") or ()
    if not flipping:
        return ""
    names = ", ".join(f"<strong>{text(judge)}</strong>" for judge in flipping[:MOST_NAMES])
    if len(flipping) > MOST_NAMES:
        names += f" ({MOST_NAMES} of {len(flipping):,} such judges shown)"
    condition = " (each taken alone)" if len(flipping) > 1 else ""
    return paragraph(f"Without the judgments of {names}{condition} the label changes.")


def _without_judges(trace: Document) -> str:
    rows = list(trace.get("without_judge") or ())
    note = paragraph(text(trace["held_fixed"], 600)) if trace.get("held_fixed") else ""
    if not rows:
        return note if trace.get("kind") == "categorical" else ""
    if "label" in rows[0]:
        columns = [Column("without"), Column("judgments", "count"), Column("label"),
                   Column("probability", "share"), Column("changes it")]  # fmt: skip
        cells = [
            [r["judge"], r["n_judgments"], r["label"], r["probability"],
             chip("warn", "yes") if r["flips"] else "no"]
            for r in rows[:MOST_ROWS]
        ]  # fmt: skip
    else:
        names = ("raw_mean", "z_mean", "easl_score", "change")
        columns = [Column("without"), Column("judgments", "count"),
                   *(Column(name.replace("_", " "), "real") for name in names)]  # fmt: skip
        cells = [
            [r["judge"], r["n_judgments"], *(r.get(name) for name in names)]
            for r in rows[:MOST_ROWS]
        ]
    return more("Result without each judge", table("Without one judge", columns, cells) + note)


def _scores(trace: Document) -> str:
    score = trace.get("score")
    if not score:
        return ""
    names = ("n_judgments", "raw_mean", "z_mean", "easl_score", "ra_score",
             "trueskill_mean", "n_unfiltered", "unfiltered_mean")  # fmt: skip
    cells = [(name.replace("_", " "), score[name]) for name in names if score.get(name) is not None]
    return table("Scores", [Column("what"), Column("value", "real")], cells)


def _ranks(trace: Document) -> str:
    segment = (
        (r["segment"], r["system"] or r["item"], r["rank"], r["harmonized_rank"], r["dominance"],
         "yes" if r["in_contradiction"] else "no")
        for r in trace.get("segment_ranks") or ()
    )  # fmt: skip
    columns = [Column("segment"), Column("output"), Column("rank", "count"),
               Column("harmonized rank", "count"), Column("dominance", "real"),
               Column("in a contradiction")]  # fmt: skip
    systems = (
        (r["system"], r["method"], r["rank"], r["score"], r["cluster"])
        for r in trace.get("system_rankings") or ()
    )
    heads = [Column("system"), Column("method"), Column("rank", "count"), Column("score", "real"),
             Column("cluster", "count")]  # fmt: skip
    html = table("Rank within the segment", columns, segment)
    return html + more("Ranks of the system", table("Ranks of the system", heads, systems))


def _judges(trace: Document) -> str:
    """Test statistics of the judges, those who were dropped first."""
    rows = sorted(trace.get("judges") or (), key=lambda r: (not r.get("dropped"), r["judge"]))
    columns = [
        Column("judge"), Column("verdict"), Column("dropped"), Column("test"),
        Column("p", "p"), Column("effect", "real"), Column("pairs", "count"),
        Column("accuracy", "share"), Column("why"),
    ]  # fmt: skip
    cells = (
        (
            r["judge"], chip(r["verdict"]), "yes" if r.get("dropped") else "no", r.get("test"),
            r.get("p_value"), r.get("effect"), r.get("n_pairs"), r.get("accuracy"),
            text(why(r) or "", 300),
        )
        for r in rows[:MOST_ROWS]
    )  # fmt: skip
    return more("The judges and their tests", table("Judges of this item", columns, cells))


def _excluded(trace: Document) -> str:
    columns = [Column("judge"), Column("left out of"), Column("because")]
    cells = (
        (r["judge"], str(r["left_out_of"]).replace("_", " "), text(r["reason"], 300))
        for r in trace.get("set_aside") or ()
    )
    return table("Left out of a calculation", columns, cells)


def _chain(trace: Document) -> str:
    columns = [Column("stage"), Column("code version"), Column("run"), Column("made")]
    cells = (
        (link["stage"].replace("_", " "), link["code_version"], link["run"], _versions(link))
        for link in trace.get("chain") or ()
    )
    return more("How it was made", table("Stages, upstream first", columns, cells))


def _versions(link: Mapping[str, Any]) -> Markup:
    versions = (link.get("data_versions") or {}).items()
    return Markup(
        ", ".join(f"{text(name)} <code>{text(str(sha)[:HASH])}</code>" for name, sha in versions)
    )
