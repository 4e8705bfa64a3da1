"""Model judges beside people: validation, estimates, bias, and where to ask a person."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from annot_pipeline.contracts import share_text
from annot_pipeline.errors import counted
from annot_pipeline.report.contents import Contents
from annot_pipeline.report.figures.agreement_intervals import agreement_svg
from annot_pipeline.report.markup import (
    Column,
    Markup,
    figures,
    interval,
    join,
    left_out,
    more,
    number,
    paragraph,
    part,
    table,
    text,
)
from annot_pipeline.report.release_figures import Drawn

MOST_MODELS = 60
"""Models and tasks with a page each; the first by task and name."""
MOST_ESTIMATES = 200
FACT_COLUMNS = [Column("figure"), Column("value"), Column("note")]
MOST_ASKED = 15
"""Items of each kind and task on which models and people, or models, differ."""

Row = Mapping[str, Any]
Key = tuple[str, str]


def models(contents: Contents) -> str:
    """Return the section; empty where no judge is declared to be a model."""
    validation = contents.tables["judge_validation"].to_pylist()
    if not validation:
        return ""
    bias = {(row["task"], row["judge"]): row for row in contents.tables["judge_bias"].to_pylist()}
    return join([
        paragraph(text(_words(contents), 1000)),
        part("Models against people", _against(validation, bias)),
        part("Estimates for all items", _estimates(contents)),
        part("Where models and people differ most", _items(contents, "differ")),
        part("Items that people should judge next", _items(contents, "ask")),
        part("Each model", join(_pages(contents, validation, bias))),
    ])  # fmt: skip


def _words(contents: Contents) -> str:
    n: int = contents.facts["fates"].get("measured", 0)
    measured = (
        f"{counted(n, 'judgment')} of judges whom a task does not use {'is' if n == 1 else 'are'} "
        "measured only: labels, scores and rankings are made without them. "
    ) * (n > 0)
    return measured + (
        "Agreement counts each item once; the ceiling is the agreement of people with each other. "
        "A model that agrees less than people do can still help: estimates correct it by what "
        "people say."
    )


def _against(validation: Sequence[Row], bias: Mapping[Key, Row]) -> str:
    """Return a figure and a table of all models."""
    rows = [row for row in validation if row["agreement"] is not None][:MOST_MODELS]
    value, low, high = ([row[f"agreement{end}"] for row in rows] for end in ("", "_low", "_high"))
    figure = agreement_svg(
        [row["task"] for row in rows],
        [f"{row['judge']} ({row['reference']})" for row in rows],
        value, low, high,
        "Share of answers that are the same, not corrected for chance: kappa is below.",
    )  # fmt: skip
    drawings = [Drawn("Agreement of models with people, and with known answers", figure)]
    columns = [
        Column("model"), Column("task", choose=True), Column("against", choose=True),
        Column("items", "count"), Column("people", "count"), Column("agreement", "share"),
        Column("95% interval"), Column("ceiling", "share", tip="Agreement of people"),
        Column("kappa", "real"), Column("correlation", "real"), Column("bias", "real"),
        Column("error", "real"), Column("winning rate", "share", tip="Alternative annotator test"),
        Column("first shown wins", "share"), Column("note"),
    ]  # fmt: skip
    cells = [
        (
            row["judge"], row["task"], row["reference"], row["n_items"], row["n_people"],
            row["agreement"], interval(row["agreement_low"], row["agreement_high"], "share"),
            row["human_agreement"], row["kappa"], row["correlation"], row["bias"], row["error"],
            row["winning_rate"],
            bias.get((row["task"], row["judge"]), {}).get("first_shown_share"),
            row["reason"] or "",
        )
        for row in validation
    ]  # fmt: skip
    columns, cells = _without_empty(columns, cells)
    return figures(drawings if rows else []) + table(
        "Models", columns, cells, sortable=True, search=True
    )


def _without_empty(
    columns: list[Column], cells: list[tuple[Any, ...]]
) -> tuple[list[Column], list[tuple[Any, ...]]]:
    """Leave out columns without any value."""
    filled = [n for n in range(len(columns)) if any(row[n] not in (None, "") for row in cells)]
    return [columns[n] for n in filled], [tuple(row[n] for n in filled) for row in cells]


def _estimates(contents: Contents) -> str:
    """Return people's, models' and corrected estimates side by side."""
    rows = contents.tables["estimates"].to_pylist()
    keys = ("task", "quantity", "criterion", "system", "label")
    people = {tuple(row[k] for k in keys): row for row in rows if row["method"] == "people"}
    model_rows = {
        (*(row[k] for k in keys), row["judge"]): row for row in rows if row["method"] == "model"
    }
    corrected = [row for row in rows if row["method"] == "prediction_powered"]
    columns = [
        Column("of"), Column("corrected", "real"), Column("95% interval"),
        Column("people alone", "real"), Column("95% interval"), Column("model alone", "real"),
        Column("people's answers", "count"),
        Column("worth", "count", tip="Human answers with the same interval, without the model"),
        Column("model", choose=True), Column("quantity", choose=True), Column("task", choose=True),
        Column("note"),
    ]  # fmt: skip
    cells = []
    for row in corrected[:MOST_ESTIMATES]:
        key = tuple(row[k] for k in keys)
        human, model = people.get(key, {}), model_rows.get((*key, row["judge"]), {})
        what = ", ".join(str(row[k]) for k in keys[2:] if row[k] is not None) or "all items"
        cells.append((
            what, row["value"], interval(row["ci_low"], row["ci_high"]), human.get("value"),
            interval(human.get("ci_low"), human.get("ci_high")), model.get("value"),
            row["n_human"], row["effective_n_human"], row["judge"],
            row["quantity"].replace("_", " "), row["task"], row["reason"] or "",
        ))  # fmt: skip
    html = table("Estimates", columns, cells, sortable=True, search=True)
    return html + left_out(len(corrected), len(cells), "estimates.parquet")


def _items(contents: Contents, kind: str) -> str:
    """Return the items of one kind of difference."""
    rows = [r for r in contents.tables["model_disagreements"].to_pylist() if r["kind"] == kind]
    columns = [
        Column("item"), Column("task", choose=True), Column("people say"), Column("models say"),
        Column("difference", "real"),
    ]  # fmt: skip
    cells = [
        (row["item"], row["task"], row["said_people"] or "", row["said_models"], row["degree"])
        for row in rows
    ]
    columns, cells = _without_empty(columns, cells)
    return table("Items", columns, cells, sortable=True, search=len(cells) > 10)


def _pages(contents: Contents, validation: Sequence[Row], bias: Mapping[Key, Row]) -> list[Markup]:
    """Return what is known of each model, to open."""
    by_model: dict[Key, list[Row]] = {}
    for row in validation:
        by_model.setdefault((row["task"], row["judge"]), []).append(row)
    judges = {(row["task"], row["judge"]): row for row in contents.judges}
    drift = {
        (row["task"], row["judge"]): row for row in contents.internal["model_drift"].to_pylist()
    }
    costs: dict[Key, list[Row]] = {}
    for row in contents.facts.get("model_cost") or ():
        costs.setdefault((row["task"], row["judge"]), []).append(row)
    confusions: dict[Key, list[Row]] = {}
    for row in contents.tables["validation_confusion"].to_pylist():
        confusions.setdefault((row["task"], row["judge"]), []).append(row)
    pages = []
    for key in sorted(by_model)[:MOST_MODELS]:
        facts = [
            *_identity(judges.get(key, {})), *_validated(by_model[key]), *_biases(bias.get(key)),
            *_drift(drift.get(key)), *_cost(judges.get(key, {}), costs.get(key, ())),
        ]  # fmt: skip
        figures_of_model = table(
            "What is known", [Column("figure"), Column("value"), Column("note")], facts
        )
        confusion = table(
            "Answers (of comparisons: a is the item whose name comes first)",
            [Column("against"), Column("reference says"), Column("model says"),
             Column("items", "real"), Column("share", "share")],
            [(r["reference"], r["reference_answer"], r["model_answer"], r["n_items"], r["share"])
             for r in confusions.get(key, ())],
        )  # fmt: skip
        pages.append(more(f"{key[1]}, {key[0]}", figures_of_model + confusion))
    n = len(by_model)
    return [*pages, left_out(n, min(n, MOST_MODELS), "judge_validation.parquet")]


Fact = tuple[str, str, str]


def _identity(judge: Row) -> list[Fact]:
    names = ("model", "family", "version", "prompt_hash", "temperature")
    facts = [
        (name.replace("_", " "), str(value), "")
        for name in names
        if (value := judge.get(name)) is not None
    ]
    return [*facts, ("judgments", number(judge.get("n_judgments"), "count"), "")]


def _validated(rows: Sequence[Row]) -> list[Fact]:
    facts: list[Fact] = []
    for row in rows:
        against = f"({row['reference']}, {counted(row['n_items'], 'item')})"
        facts += [
            (f"{name.replace('_', ' ')} {against}", number(row[name]),
             interval(row.get(f"{name}_low"), row.get(f"{name}_high")))
            for name in (
                "agreement", "human_agreement", "kappa", "human_kappa", "bias", "error",
                "human_error", "correlation", "rank_correlation", "human_correlation",
                "pairwise_accuracy", "soft_pairwise_accuracy", "winning_rate",
                "advantage_probability",
            )
            if row[name] is not None
        ]  # fmt: skip
        if row["reason"]:
            facts.append((f"note {against}", "", row["reason"]))
    return facts


def _biases(row: Row | None) -> list[Fact]:
    if row is None:
        return []
    shares = [
        ("first shown wins", row["first_shown_share"], f"{row['n_decided']:,} decided"),
        ("same answer in both orders", row["consistency"], f"{row['n_both_orders']:,} pairs"),
        ("longer text wins", row["longer_share"], f"{row['n_lengths']:,} with lengths"),
        ("own family wins", row["own_family_share"], f"{row['n_own_family']:,} comparisons"),
    ]
    facts = [(name, share_text(value), note) for name, value, note in shares if value is not None]
    for name, what in (
        ("order_effect", "order effect, log odds"), ("length_effect", "length effect, log odds"),
        ("own_family_preference", "own family, beyond people"),
    ):  # fmt: skip
        if row[name] is not None:
            facts.append(
                (what, number(row[name]), interval(row[f"{name}_low"], row[f"{name}_high"]))
            )
    return facts


def _drift(row: Row | None) -> list[Fact]:
    if row is None or not row["released_items"] or not row["new_items"]:
        return []
    note = f"{row['new_items']:,} new items, {row['released_items']:,} of the release before"
    ends = interval(row["change_low"], row["change_high"])
    return [
        (
            "drift of agreement with people",
            number(row["change"]),
            ", ".join(filter(None, (ends, note))),
        )
    ]


def _cost(judge: Row, costs: Sequence[Row]) -> list[Fact]:
    facts = [
        ("cost of a judgment", f"{row['paid'] / row['n_paid']:.6g} {row['currency'] or ''}".strip(),
         f"{row['n_paid']:,} with a reward")
        for row in costs
    ]  # fmt: skip
    seconds = judge.get("seconds_per_judgment")
    return facts + ([("seconds per judgment", number(seconds), "")] if seconds is not None else [])
