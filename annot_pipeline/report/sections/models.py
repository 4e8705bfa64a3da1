"""Model judges beside people: validation, estimates, bias, and where to ask a person."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from annot_pipeline.report.contents import Contents
from annot_pipeline.report.figures.agreement_intervals import agreement_svg
from annot_pipeline.report.release_figures import Drawn
from annot_pipeline.report.render import in_words, interval

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
            "judge": judge, "validated": by_model[key], "bias": bias.get(key), "drift": change,
            "costs": costs.get(key, ()),
            "answers": confusions.get(key, ()),
        })  # fmt: skip
    return pages
