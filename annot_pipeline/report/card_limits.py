"""The part of a data card that says what a release cannot tell."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.contracts import share_text, votes_text
from annot_pipeline.errors import first_of
from annot_pipeline.gates.gate import statement
from annot_pipeline.report.markdown import escape


def known_limits(manifest: Mapping[str, Any], gold: Mapping[str, pa.Table]) -> list[str]:
    """Return the lines of the section: limits of the methods used, and what the gates found."""
    limits = [
        *_of_labels(manifest, gold), *_of_votes(manifest), *_of_control(manifest, gold["judges"])
    ]  # fmt: skip
    guessed = manifest["facts"]["guessed_tasks"]
    if guessed:
        names = escape(first_of(guessed))
        limits.append(
            f"The campaign does not declare what these tasks are, it was guessed: {names}"
        )
    limits += [
        f"Gate `{check['name']}` ({check['level']}): "
        f"{statement(check['value'], check['question'])}. {escape(check['detail'])}"
        for check in manifest["checks"]
        if check["level"] != "pass"
    ]
    limits.append(
        "Items, systems, labels, paths of exports and experts' reasons are published as the "
        "exports have them; only who judged is a pseudonym."
        if manifest["settings"]["privacy"]["pseudonymize"]
        else "Judges are not pseudonyms: mind whom you share this with."
    )
    return [*(f"- {limit}" for limit in limits), ""]


def _of_labels(manifest: Mapping[str, Any], gold: Mapping[str, pa.Table]) -> list[str]:
    if not manifest["convergence"]:
        return []
    limits = [_of_probabilities(manifest["settings"]["label_model"])]
    counts = gold["label_counts"].to_pylist()
    n = sum(row["n"] for row in counts)
    uncertain = sum(row["n"] for row in counts if not row["certain"])
    if uncertain:
        limits.append(
            f"{uncertain:,} of {n:,} items ({share_text(uncertain / n)}) have a label that is not "
            "`certain`."
        )
    certainty = manifest["facts"]["certainty"]
    corrected = [task for task, rests in certainty.items() if rests["is_recalibrated"]]
    if corrected:
        limits.append(
            "Probabilities, and labels with them, are corrected by items whose class is known "
            "(`label_calibration`), which are taken as drawn like the others: "
            + escape(first_of(corrected))
            + "."
        )
    other = sum(rests["other_label"] for rests in certainty.values())
    if other:
        limits.append(
            f"Dawid-Skene as the paper has it labels {other:,} items otherwise: "
            "`dawid_skene_label`."
        )
    single = sum(row["n"] for row in gold["labels"].to_pylist() if row["n_judgments"] == 1)
    if single:
        limits.append(
            f"{single:,} of {n:,} items have one judgment: their label rests on one judge, and "
            "its probability says how good the model takes that judge to be."
        )
    lone = sorted({fit["task"] for fit in manifest["convergence"] if fit["n_labels"] == 1})
    if lone:
        limits.append(
            "All judges gave the same class, so every probability is 1 and is not "
            f"`certain`: {escape(first_of(lone))}."
        )
    unsettled = sorted({fit["task"] for fit in manifest["convergence"] if not fit["converged"]})
    if unsettled:
        limits.append(f"The model did not converge for {escape(first_of(unsettled))}.")
    return limits


def _of_votes(manifest: Mapping[str, Any]) -> list[str]:
    votes = manifest["facts"].get("anonymous_votes", {})
    if not votes:
        return []
    return [
        "Labels of these tasks are majorities of anonymous votes: "
        f"{escape(votes_text(votes))}. Careless judges cannot be identified, so every vote counts "
        "alike; no label has a probability, and none is `certain`."
    ]


def _of_probabilities(label_model: str) -> str:
    """Return what `probability` cannot tell."""
    if label_model == "hierarchical":
        return (
            "`labels.probability` allows for judges who err together as far as held-out labels "
            "tell. Where all judges make the same mistake, only known answers show it. "
            "`dawid_skene_probability` takes judges to err independently, and is too high "
            "where they do not."
        )
    return (
        f"`labels.probability` is that of `{label_model}`, which assumes that judges err "
        "independently; on hard items they do not, and it is then too high."
    )


def _of_control(manifest: Mapping[str, Any], judges: pa.Table) -> list[str]:
    quality = manifest["settings"]["quality"]
    verdicts = pc.value_counts(judges["verdict"]).to_pylist()
    n = {row["values"]: row["counts"] for row in verdicts}
    limits = []
    if n.get("passed") or n.get("failed"):
        limits.append(
            f"Judge control with alpha {quality['alpha']:g}: about that share of the judges who do "
            "not look pass, and a careful judge with few controls may fail."
        )
    rows = zip(judges["verdict"].to_pylist(), judges["dropped"].to_pylist(), strict=True)
    if n_counted := sum(
        verdict in ("untested", "undetermined") and not dropped for verdict, dropped in rows
    ):
        limits.append(
            f"{n_counted:,} times a judge has no verdict in a task, for want of controls or shared "
            "items; they count like those who passed."
        )
    return limits
