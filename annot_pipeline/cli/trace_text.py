"""A trace for people: sections of columns, the answer first."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from annot_pipeline.cli.columns import columns, first_rows, number, share, short
from annot_pipeline.cli.trace_judgments import (
    excluded,
    flips,
    judgments,
    judgments_title,
    other_places,
    records,
    set_aside,
    without,
)
from annot_pipeline.contracts.certainty import certainty, probability_column
from annot_pipeline.contracts.item_names import is_earlier
from annot_pipeline.errors import counted, printable

Row = dict[str, Any]

"""What is said of probabilities; releases before schema 3 have the second alone."""

GOLD_TABLES = (
    "labels", "label_distributions", "prevalence", "judge_confusion", "scores", "segment_ranks",
    "system_rankings", "judges", "judgments", "lineage",
)  # fmt: skip
"""Tables whose data versions are told even if no other stage takes them."""

WHOLE = 3
"""Tasks that are shown in full; of an item in more of them each gets a line."""


def traces_text(campaign: str, traces: Sequence[Row]) -> str:
    """Return all documents about an item, as lines."""
    lines = [f"item {traces[0]['item']}: {traces[0]['campaign']}, release {traces[0]['release']}"]
    if len(traces) > WHOLE:
        lines += [f"  in {len(traces)} tasks; --task NAME shows one of them in full", ""]
        lines += columns(
            [
                (t["task"], _headline(t), f"{len(t['judgments'])} judgments", flips(t))
                for t in traces
            ]
        )
    else:
        for trace in traces:
            lines += ["", *_trace(trace)]
    item = shlex.quote(traces[0]["item"])
    lines.append(f"next: annot trace {campaign} {item} --json says all that is known")
    return "\n".join(map(printable, lines))


def _trace(trace: Row) -> Iterator[str]:
    yield f"task {trace['task'] or 'unknown'} ({trace['kind'] or 'no judgment of it counts'})"
    for name in ("segment", "system", "text", "source", "reference", "truth"):
        if trace[name] is not None:
            yield f"  {name:<10} {short(trace[name], 80)}"
    for row in trace["other_texts"]:
        which = "other text" if is_earlier(row["item"], row["item_version"]) else "current"
        yield f"  {which:<10} {short(row['item'])}: {short(row['text'] or '', 80)}"
    for title, rows in (
        ("", _answer(trace)),
        ("distribution", _distribution(trace)),
        (judgments_title(trace), judgments(trace)),
        ("anonymous votes", records(trace["votes"])),
        ("the same answers stand, or others stood, in", other_places(trace)),
        ("records that are no judgments", records(trace["other_records"])),
        ("left out", set_aside(trace)),
        ("judges who do not count", excluded(trace)),
        (": ".join(filter(None, ("without one judge", flips(trace)))), without(trace)),
        ("ranks within segments", _segment_ranks(trace)),
        ("rankings of the system", _system_rankings(trace)),
        ("made by", _chain(trace)),
    ):
        body = list(rows)
        if body:
            yield from [title] * bool(title)
            yield from body


def _headline(trace: Row) -> str:
    """Return the result in a few words."""
    label, score = trace["label"], trace["score"]
    if label:
        headline = f"label {short(label['label'])}"
        if label["adjudicated"]:
            return f"{headline}, decided by an expert"
        probability, _ = certainty(label)
        if trace["anonymous_votes"] is not None:
            return f"{headline}, by majority vote: votes are counts, and name no judge to model"
        if probability is None:
            return f"{headline}, by majority vote: the task has too many classes for the model"
        return f"{headline}, probability {share(probability)}"
    if score:
        return f"score {number(score['raw_mean'])}"
    own = [row["rank"] for row in trace["segment_ranks"] if row["item"] == trace["item"]]
    return f"rank {own[0]}" if own else _outcomes(trace) or "no answer"


def _outcomes(trace: Row) -> str:
    """Summarize the outcomes of comparisons without ranks; of one item, how often it won."""
    item = trace["item"]
    outcomes: Counter[str] = Counter()
    for row in trace["judgments"]:
        if row["fate"] == "used" and trace["kind"] in ("pairwise", "ranking"):
            is_side = item in (row["item_a"], row["item_b"])
            answer = "a tie" if row["answer"].startswith("a tie") else row["answer"]
            outcomes[answer.split(" ")[0] if is_side and answer != "a tie" else answer] += 1
    if not outcomes:
        return "no judgment counts" if trace["judgments"] else ""
    n, texts = outcomes.total(), (f"{short(answer)} ({n})" for answer, n in outcomes.most_common())
    return f"{n} comparison{'s' * (n != 1)}: {', '.join(texts)}"


def _answer(trace: Row) -> Iterator[str]:
    label, score = trace["label"], trace["score"]
    yield _headline(trace)
    if label and label["adjudicated"]:
        when = f" at {label['adjudicated_at']}" if label["adjudicated_at"] else ""
        why = " ".join((label["adjudication_reason"] or "").split())  # of many lines, maybe
        yield f"  by {label['adjudicator']}{when}{why and f': {why}'}"
        model, p = label["model_label"], share(label["model_probability"])
        no_model = "no model was fitted" if label["n_judgments"] else "no judge labelled it"
        yield f"  the model says {short(model)}, {p}" if model else f"  {no_model}"
    if label and trace["truth"] not in (None, label["label"]):
        yield f"  the truth is another: {short(trace['truth'])}"
    if label and label["n_judgments"]:
        what, judges = "judgment", f" of {counted(label['n_judges'], 'judge')}"
        if trace["anonymous_votes"] is not None:
            what, judges = "vote", f", {counted(label['n_judges'], 'judge')} named"
        yield (
            f"  {counted(label['n_judgments'], what)}{judges}; "
            f"{label['support']:.0%} gave the label, most ({label['majority_share']:.0%}) "
            f"{short(label['majority_label'])}"
            + (f"; entropy {number(label['entropy'])} nats" if label["entropy"] is not None else "")
        )
    if label and label.get("dawid_skene_label") not in (None, label.get("model_label")):
        own = share(label["dawid_skene_probability"])
        yield f"  Dawid-Skene alone would say {short(label['dawid_skene_label'])}, {own}"
    if score:
        yield (
            f"  mean {number(score['raw_mean'])} of "
            f"{counted(score['n_judgments'], 'judgment')} of judges "
            f"kept ({number(score['unfiltered_mean'])} of all {score['n_unfiltered']}); "
            f"z {number(score['z_mean'])}; EASL {number(score['easl_score'])}"
        )
        if score["reason"]:
            yield f"  {score['reason']}"


def _distribution(trace: Row) -> Iterable[str]:
    rows = trace["distribution"]
    column_names = [*rows[0]] if rows else []
    published = probability_column(column_names), probability_column(column_names, dawid_skene=True)
    names = dict(zip(dict.fromkeys(published), ("probability", "Dawid-Skene"), strict=False))
    kinds = [k for k in names if rows and rows[0].get(k) is not None]
    if rows and not kinds:
        yield from columns(
            [("label", "votes"), *((short(r["label"]), str(r["votes"])) for r in rows)]
        )
        return
    likely = [row for row in rows if row["votes"] or max(row[k] for k in kinds) >= 5e-5]
    yield from columns(
        [("label", *(names[kind] for kind in kinds), "votes")] * bool(likely)
        + [
            (
                short(row["label"]),
                f"{_share(row[kinds[0]]):<9}{_bar(row[kinds[0]])}",
                *(_share(row[kind]) for kind in kinds[1:]),
                str(row["votes"]),
            )
            for row in likely
        ]
    )
    if len(rows) > len(likely):
        n = len(rows) - len(likely)
        yield f"  and {n} class{'es' * (n != 1)} without votes, each below 0.00005"


def _bar(share: float) -> str:
    """Return a probability as marks, 20 for certainty."""
    return " " * (share >= 0.025) + "#" * round(20 * share)


def _share(value: float) -> str:
    """Return six decimals; never rounded to certainty."""
    digits = f"{value:.6f}"
    return ">0.999999" if digits == "1.000000" and value < 1 else digits


def _segment_ranks(trace: Row) -> Iterable[str]:
    return first_rows(
        [
            (
                row["item"],
                f"rank {row['rank']}",
                f"dominance {number(row['dominance'])}",
                f"over {row['n_dominates']}, under {row['n_dominated_by']}",
                "in a contradiction" if row["in_contradiction"] else "",
            )
            for row in trace["segment_ranks"]
        ]
    )


def _system_rankings(trace: Row) -> Iterable[str]:
    return first_rows(
        [
            (
                row["system"],
                row["method"],
                f"rank {row['rank']}",
                f"score {number(row['score'])}",
                f"cluster {row['cluster']}" if row["cluster"] is not None else "",
            )
            for row in trace["system_rankings"]
            if row.get("headline", True)
        ]
    )


def _chain(trace: Row) -> Iterable[str]:
    """Return stages with the tables that later ones, or the answer, take from them."""
    taken = {table for run in trace["chain"] for table in run["inputs"]} | set(GOLD_TABLES)
    return columns(
        [
            (
                run["stage"],
                f"code {run['code_version']}",
                f"run {run['run'][:8]}",
                ", ".join(
                    f"{table} {sha256[:8]}"
                    for table, sha256 in run["data_versions"].items()
                    if table in taken
                ),
            )
            for run in trace["chain"]
        ]
    )
