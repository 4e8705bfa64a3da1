"""Model judges beside people: validation, estimates, bias, and where to ask a person."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from annot_pipeline.contracts import share_text
from annot_pipeline.errors import counted
from annot_pipeline.report.contents import Contents
from annot_pipeline.report.figures.agreement_intervals import agreement_svg
from annot_pipeline.report.release_figures import Drawn
from annot_pipeline.report.render import in_words, interval, number

MOST_MODELS = 60
"""Models and tasks with a page each; the first by task and name."""
MOST_ESTIMATES = 200
MOST_ASKED = 15
"""Items of each kind and task on which models and people, or models, differ."""

Row = Mapping[str, Any]
Key = tuple[str, str]


def models(contents: Contents) -> dict[str, Any]:
    """Return the section; nothing where no judge is declared to be a model."""
    validation = contents.tables["judge_validation"].to_pylist()
    if not validation:
        return {}
    bias = {(row["task"], row["judge"]): row for row in contents.tables["judge_bias"].to_pylist()}
    corrected = [
        row for row in contents.tables["estimates"].to_pylist()
        if row["method"] == "prediction_powered"
    ]  # fmt: skip
    disagreements = contents.tables["model_disagreements"].to_pylist()
    differing, asked_items = (
        [
            row | {"said_people": row["said_people"] or ""}
            for row in disagreements
            if row["kind"] == kind
        ]
        for kind in ("differ", "ask")
    )
    return {
        "n_measured": contents.facts["fates"].get("measured", 0),
        "drawings": _drawings(validation),
        "models": [
            row | {
                "agreement_ends": interval(row["agreement_low"], row["agreement_high"], "share"),
                "bias_ends": interval(row["bias_low"], row["bias_high"]),
                "first_shown": bias.get((row["task"], row["judge"]), {}).get("first_shown_share"),
                "reason": row["reason"] or "",
            }
            for row in validation
        ],
        "estimates": _estimates(contents, corrected[:MOST_ESTIMATES]),
        "n_estimates": len(corrected),
        "differing": differing,
        "asked": asked_items,
        "pages": _pages(contents, validation, bias),
        "n_models": len({(row["task"], row["judge"]) for row in validation}),
    }  # fmt: skip


def _drawings(validation: Sequence[Row]) -> list[Drawn]:
    """Draw the agreement of all models that have one."""
    rows = [row for row in validation if row["agreement"] is not None][:MOST_MODELS]
    value, low, high = ([row[f"agreement{end}"] for row in rows] for end in ("", "_low", "_high"))
    svg = agreement_svg(
        [row["task"] for row in rows],
        [f"{row['judge']} ({row['reference']})" for row in rows],
        value, low, high,
        "Share of answers that are the same, not corrected for chance: kappa is below.",
    )  # fmt: skip
    return [Drawn("Agreement of models with people, and with known answers", svg)] if rows else []


def _estimates(contents: Contents, corrected: Sequence[Row]) -> list[Any]:
    """Return people's, models' and corrected estimates side by side."""
    rows = contents.tables["estimates"].to_pylist()
    keys = ("task", "quantity", "criterion", "system", "label")
    people = {tuple(row[k] for k in keys): row for row in rows if row["method"] == "people"}
    model_rows = {
        (*(row[k] for k in keys), row["judge"]): row for row in rows if row["method"] == "model"
    }
    cells = []
    for row in corrected:
        key = tuple(row[k] for k in keys)
        human, model = people.get(key, {}), model_rows.get((*key, row["judge"]), {})
        what = ", ".join(str(row[k]) for k in keys[2:] if row[k] is not None) or "all items"
        cells.append((
            what, row["value"], interval(row["ci_low"], row["ci_high"]), human.get("value"),
            interval(human.get("ci_low"), human.get("ci_high")), model.get("value"),
            row["n_human"], row["effective_n_human"], row["judge"], in_words(row["quantity"]),
            row["task"], row["reason"] or "",
        ))  # fmt: skip
    return cells


def _by_model(rows: Sequence[Row]) -> dict[Key, list[Row]]:
    by_model: dict[Key, list[Row]] = {}
    for row in rows:
        by_model.setdefault((row["task"], row["judge"]), []).append(row)
    return by_model


def _pages(
    contents: Contents, validation: Sequence[Row], bias: Mapping[Key, Row]
) -> list[dict[str, Any]]:
    """Return what is known of each model, to open."""
    by_model, judges = _by_model(validation), _by_model(contents.judges)
    drift = _by_model(contents.internal["model_drift"].to_pylist())
    costs = _by_model(contents.facts["model_cost"])
    confusions = _by_model(contents.tables["validation_confusion"].to_pylist())
    pages = []
    for key in sorted(by_model)[:MOST_MODELS]:
        [judge] = judges.get(key, [{}])[-1:]
        [change] = drift.get(key, [None])[-1:]
        pages.append({
            "title": f"{key[1]}, {key[0]}",
            "facts": [
                *_identity(judge), *_validated(by_model[key]), *_biases(bias.get(key)),
                *_drift(change), *_cost(judge, costs.get(key, ())),
            ],
            "answers": confusions.get(key, ()),
        })  # fmt: skip
    return pages


Fact = tuple[str, str, str]


def _identity(judge: Row) -> list[Fact]:
    names = ("model", "family", "version", "prompt_hash", "temperature")
    facts = [
        (in_words(name), str(value), "") for name in names if (value := judge.get(name)) is not None
    ]
    return [*facts, ("judgments", number(judge.get("n_judgments"), "count"), "")]


def _validated(rows: Sequence[Row]) -> list[Fact]:
    facts: list[Fact] = []
    for row in rows:
        against = f"({row['reference']}, {counted(row['n_items'], 'item')})"
        facts += [
            (f"{in_words(name)} {against}", number(row[name]),
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
    items = f"{row['new_items']:,} new items, {row['released_items']:,} of the release before"
    ends = interval(row["change_low"], row["change_high"])
    note = ", ".join(filter(None, (ends, items)))
    return [("drift of agreement with people", number(row["change"]), note)]


def _cost(judge: Row, costs: Sequence[Row]) -> list[Fact]:
    facts = [
        ("cost of a judgment", f"{row['paid'] / row['n_paid']:.6g} {row['currency'] or ''}".strip(),
         f"{row['n_paid']:,} with a reward")
        for row in costs
    ]  # fmt: skip
    seconds = judge.get("seconds_per_judgment")
    return facts + ([("seconds per judgment", number(seconds), "")] if seconds is not None else [])
