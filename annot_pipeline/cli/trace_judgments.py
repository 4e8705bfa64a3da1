"""The judgments and judges of a trace, for people."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from annot_pipeline.cli.columns import columns, first_rows, number, share, short, signed
from annot_pipeline.errors import row_and_line

Row = dict[str, Any]

MOST = 200
"""Judgments that are shown; --json has all."""


def judgments_title(trace: Row) -> str:
    """Return how many judgments, and what their numbers mean."""
    fates = [row["fate"] for row in trace["judgments"]]
    decisions, measured = fates.count("adjudication"), fates.count("measured")
    counts = [f"{len(fates) - decisions - measured}"]
    counts += [f"{decisions} decision{'s' * (decisions != 1)}"] * (decisions > 0)
    counts += [f"{measured} measured only"] * (measured > 0)
    title = f"judgments ({' and '.join(filter(None, (', '.join(counts[:-1]), counts[-1])))})"
    file = _only_file(trace)
    if file is not None:
        places = [p for row in trace["judgments"] for p in row["places"]]
        some_without = any(p.get("line") is None for p in places)
        title += f", rows of {file}" + " (the header is row 0)" * some_without
    if trace["runner_up"] is not None:
        model = trace["label"].get("model_label") or trace["label"]["label"]
        runner_up = short(trace["runner_up"])
        title += f"; evidence in nats, for {short(model)} against {runner_up}"
    return title


def _only_file(trace: Row) -> str | None:
    """Return the file where all judgments stand, if they do in one."""
    files = {p["source_file"] for row in trace["judgments"] for p in row["places"]}
    return files.pop() if len(files) == 1 else None


def judgments(trace: Row) -> Iterable[str]:
    """Return lines on each judgment: judge, answer, evidence or weight, fate, file and row."""
    rows: list[tuple[str, ...]] = []
    without_judge = {row["judge"]: row for row in trace["without_judge"]}
    describe = _place if _only_file(trace) is None else _row
    for row in trace["judgments"]:
        places = [p for p in row["places"] if p["fate"] == row["fate"]]
        other_ranks = ", ".join(f"{b['rank']} {b['system'] or b['item']}" for b in row["beside"])
        rows.append(
            (
                row["judge"] + (" (model)" if row["kind"] == "model" else ""),
                short(row["answer"]) + (f" [{row['criterion']}]" if row["criterion"] else ""),
                _weight(row),
                _label_without_judge(without_judge[row["judge"]])
                if row["likelihoods"] and row["judge"] in without_judge
                else "",
                _fate(row),
                ", ".join(map(describe, places)),
                short(row["reason"], 80) if row["reason"] else "",
                f"of {short(other_ranks, 80)}" if other_ranks else "",
            )
        )
    rows += _sum(trace)
    weight = {"categorical": "evidence", "scalar": "weight"}.get(trace["kind"], "")
    left_over = "without the judge" if any(row[3] for row in rows) else ""
    heads = ("judge", "answer", weight, left_over, "fate", "where", "", "")
    return first_rows([heads, *rows], 1 + MOST) if rows else ()


def _sum(trace: Row) -> list[tuple[str, ...]]:
    """Return the log odds of the label: by prevalence, and together with all answers."""
    prior = trace["prior_evidence"]
    evidence = [row["evidence"] for row in trace["judgments"] if row["likelihoods"]]
    if prior is None or None in evidence:
        return []
    rows = (("prevalence", signed(prior)), ("all together", signed(prior + sum(evidence))))
    return [("", name, log_odds, "", "", "", "", "") for name, log_odds in rows]


def _label_without_judge(without: Row) -> str:
    """Return the label and its probability without a judge."""
    return f"{short(without['label'], 20)}, {share(without['probability'])}"


def _fate(row: Row) -> str:
    kind = row["control"]
    return str(row["fate"]) + (f" [{kind}]" if kind not in ("none", row["fate"]) else "")


def _weight(row: Row) -> str:
    if row["evidence"] is not None:
        return signed(row["evidence"])
    if row["rules_out"]:
        return f"rules out {short(', '.join(row['rules_out']), 20)}"
    if row["weight"] is not None:
        z = "" if row["z"] is None else f", z {signed(row['z'])}"
        return f"{row['weight']:.3f}{z}"
    return ""


def other_places(trace: Row) -> Iterable[str]:
    """Return records that say a judgment again, or said it otherwise."""
    return records(
        [
            location | {"judge": row["judge"]}
            for row in trace["judgments"]
            for location in row["places"]
            if location["fate"] != row["fate"]
        ]
    )


def records(rejected: Sequence[Row]) -> Iterable[str]:
    """Return lines on records with their fates and reasons."""
    rows = [
        (row["fate"], row["judge"] or "nobody", _place(row), short(row["reason"] or "", 100))
        for row in rejected
    ]
    return first_rows(rows)


def set_aside(trace: Row) -> Iterable[str]:
    """Return judgments that a calculation could not take."""
    return first_rows(
        [(r["judge"], r["left_out_of"], short(r["reason"], 100)) for r in trace["set_aside"]]
    )


COUNTED_BY = {
    "known_answer": "answers",
    "consistency": "shared items",
    "reference_threshold": "references",
    "bt500": "scores",
}
"""What the tests without pairs count."""


def excluded(trace: Row) -> Iterable[str]:
    """Return judges whose judgments do not count, with what their test found."""
    rows = [
        (
            row["judge"],
            row["verdict"],
            " ".join(w for w in (row["test"], row["contrast"] and f"({row['contrast']})") if w),
            f"statistic {number(row['statistic'])}",
            f"effect {number(row['effect'])}",
            f"p {number(row['p_value'])}, adjusted {number(row['p_adjusted'])}",
            f"{row['n_pairs']} {COUNTED_BY.get(row['test'], 'pairs')}",
            row["verdict_reason"] or "",
        )
        for row in trace["judges"]
        if row["dropped"]
    ]
    return columns(rows)


def flips(trace: Row) -> str:
    """Return how many judges would change the label if they were left out."""
    if trace["kind"] != "categorical" or not trace["without_judge"]:
        return ""
    n = len(trace["flipped_by"])
    if not n:
        return "no single judge flips the label"
    return f"{n} of {len(trace['without_judge'])} judges flip{'s' * (n == 1)} the label alone"


def without(trace: Row) -> Iterator[str]:
    """Yield what would change without each judge."""
    rows = trace["without_judge"]
    table: list[tuple[str, ...]]
    if trace["kind"] == "categorical":
        table = [
            (
                row["judge"],
                f"{row['n_left']} left" if row["n_left"] else "the prevalence alone",
                f"{short(row['label'])}, {share(row['probability'])}",
            )
            for row in rows
            if row["flips"]
        ]
    else:
        order = sorted(rows, key=lambda row: (-abs(row["change"] or 0.0), row["judge"]))
        table = [
            (row["judge"], "no judgment left", "", "", "")
            if row["raw_mean"] is None
            else (
                row["judge"],
                f"{row['n_left']} left",
                f"mean {number(row['raw_mean'])}",
                f"change {row['change']:+.4g}",
                f"z {number(row['z_mean'])}",
            )
            for row in order
        ]
    yield from first_rows(table)
    if trace["held_fixed"]:
        yield from textwrap.wrap(
            trace["held_fixed"], 98, initial_indent="  ", subsequent_indent="  "
        )


def _place(row: Row) -> str:
    return f"{row['source_file']} {_row(row)}"


def _row(row: Row) -> str:
    cell = f", {row['cell']}" if row["cell"] else ""
    return row_and_line(row["source_row"], row.get("line")) + cell
