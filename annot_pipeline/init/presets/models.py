"""Results of model evaluations, and comparisons of models."""

from __future__ import annotations

import json
from typing import Any

from annot_pipeline.init.answers import NoJudgmentsError
from annot_pipeline.init.drafts import Draft
from annot_pipeline.init.groups import stem_of
from annot_pipeline.init.objects import Line
from annot_pipeline.init.presets.facts import Facts, is_number_word, parsed, steps, time_line

INSPECT_MODEL = "eval.model"


def inspect_log(facts: Facts) -> Draft | None:
    """Map a log of Inspect in JSON: scores by scorer in each sample."""
    if not facts.has("id", "scores") or facts.group.first.format != "json":
        return None
    cells = facts.cells("scores")
    if not all(isinstance(cell, dict) for cell in cells):
        return None
    values = [s.get("value") for cell in cells for s in cell.values() if isinstance(s, dict)]
    if not values or any(isinstance(v, dict | list) for v in values):
        raise NoJudgmentsError(
            "Inspect: a score holds several values; which one is the label or score?"
        )
    is_score = all(isinstance(v, int | float) for v in values) and {*values} - {0, 1}
    epochs = "epoch" in facts.names and facts.column("epoch").n_distinct > 1
    segment: Any = {"join": ["id", "epoch"], "sep": ":"} if epochs else "id"
    return Draft(
        "an Inspect log",
        [
            ("judge", {"value": "{scorer}"}, "the scorers"), ("segment", segment, ""),
            ("system", INSPECT_MODEL, "of the log"),
            ("score" if is_score else "label", steps("scores", json="{scorer}.value"), ""),
        ],
        "scalar" if is_score else "categorical", each={"scorer": {"keys": "scores"}},
        options={"document_fields": [INSPECT_MODEL]},
    )  # fmt: skip


def promptfoo(facts: Facts) -> Draft | None:
    """Map results of promptfoo: whether an output passed its test."""
    if not facts.has("provider", "success", "testIdx"):
        return None
    objects = [isinstance(cell, dict) for cell in facts.cells("provider")]
    provider: Any = steps("provider", json="id") if all(objects) else "provider"
    prompts = "promptIdx" in facts.names and facts.column("promptIdx").n_distinct > 1
    system: Any = {"join": [provider, "promptIdx"], "sep": ":"} if prompts else provider
    return Draft(
        "promptfoo results",
        [
            ("judge", {"value": "promptfoo"}, "its assertions together"),
            ("system", system, ""), ("segment", "testIdx", ""),
            ("label", steps("success", map={"true": "pass", "false": "fail"}), ""),
        ],
    )  # fmt: skip


def langfuse(facts: Facts) -> list[Draft] | None:
    """Map scores of Langfuse: a name, a value, and who gave it."""
    by_name = {name.lower().replace("_", ""): name for name in facts.names}
    if not {"traceid", "name", "value", "source"} <= by_name.keys():
        return None
    source = by_name["source"]
    judge: Any = source
    if author := by_name.get("authoruserid"):
        judge = {"join": [source, steps(author, match=".+", otherwise="none")], "sep": ":"}
    lines: list[Line] = [
        ("task", by_name["name"], ""), ("judge", judge, ""), ("item", by_name["traceid"], ""),
        *time_line(facts, by_name.get("timestamp", ""), by_name.get("createdat", "")),
    ]  # fmt: skip
    kind, text = by_name.get("datatype"), by_name.get("stringvalue")
    value = by_name["value"]
    if kind is None:
        is_number = all(map(is_number_word, facts.column(value).counts))
        field = "score" if is_number else "label"
        return [Draft("Langfuse scores", [*lines, (field, value, "")],
                      "scalar" if is_number else "categorical")]  # fmt: skip
    drafts = []
    kinds = {*facts.column(kind).counts}
    for types, field, column in (
        (("NUMERIC",), "score", value), (("CATEGORICAL", "BOOLEAN"), "label", text or value),
    ):  # fmt: skip
        if present := [t for t in types if t in kinds]:
            where = [{"column": kind, "in": present}] if len(kinds) > 1 else []
            drafts.append(
                Draft("Langfuse scores", [*lines, (field, column, "")],
                      "scalar" if field == "score" else "categorical", where=where)
            )  # fmt: skip
    return drafts or None


def mlflow(facts: Facts) -> Draft | None:
    """Map assessments of MLflow traces: feedback by name and source."""
    for column, path in (("assessments", ""), ("info", "assessments")):
        if column not in facts.names:
            continue
        cells = facts.cells(column)
        lists = [c.get(path) if path and isinstance(c, dict) else c for c in cells]
        assessments = [one for each in lists if isinstance(each, list) for one in each]
        feedback = [one for one in assessments if isinstance(one, dict) and "feedback" in one]
        if not feedback or "source" not in feedback[0]:
            continue
        name = "assessment_name" if "assessment_name" in feedback[0] else "name"
        values = [one["feedback"].get("value") for one in feedback]
        is_score = all(isinstance(v, int | float) and not isinstance(v, bool) for v in values)
        trace: Any = "trace_id" if "trace_id" in facts.names else steps("info", json="trace_id")
        each: dict[str, Any] = {"list": column} | ({"json": path} if path else {})
        field = "score" if is_score else "label"
        return Draft(
            "MLflow assessments",
            [
                ("task", steps("{a.value}", json=name), ""), ("item", trace, ""),
                ("judge", steps("{a.value}", json="source.source_id"), ""),
                (field, steps("{a.value}", json="feedback.value"), ""),
            ],
            "scalar" if is_score else "categorical", each={"a": each},
            where=[] if len(assessments) == len(feedback)
            else [steps("{a.value}", json="feedback.value") | {"not": [""]}],
        )  # fmt: skip
    return None


def lmsys(facts: Facts) -> Draft | None:
    """Map preferences of LMSYS: the winner in three columns of 0 and 1."""
    won = ("winner_model_a", "winner_model_b", "winner_tie")
    if not facts.has("model_a", "model_b", *won):
        return None
    judge = facts.with_role("judge", won)
    segment = facts.first("id", "prompt", "question_id")
    if segment is None:
        raise NoJudgmentsError("LMSYS: which column is the prompt?")
    outcome = {"join": list(won), "map": {"100": "a", "010": "b", "001": "tie"}}
    notes = [] if judge else ["no column says who voted: all votes are taken for one judge's"]
    name = stem_of(facts.group.paths[0])
    return Draft(
        "winners in three columns",
        [
            ("judge", judge or {"value": name}, ""), ("system_a", "model_a", ""),
            ("system_b", "model_b", ""), ("segment", segment, ""),
            ("preference", outcome, ""),
        ],
        "pairwise", notes=notes,
    )  # fmt: skip


def alpaca_eval(facts: Facts) -> Draft | None:
    """Map annotations of AlpacaEval: preference from 1 (first output) to 2 (second)."""
    if not facts.has("instruction", "generator_1", "generator_2", "annotator", "preference"):
        return None
    lines: list[Line] = [
        ("judge", "annotator", ""), ("segment", "instruction", ""),
        ("system_a", "generator_1", ""), ("system_b", "generator_2", ""),
        ("strength", "preference", "1: the first is better; 2: the second"),
    ]  # fmt: skip
    numbers = facts.column("preference").numbers
    if not numbers or min(numbers) < 1 or max(numbers) > 2:
        raise NoJudgmentsError(
            "AlpacaEval: preference goes beyond 1 to 2; what do the other values mean?"
        )
    where = []
    if facts.column("preference").n_blank:
        where = [{"column": "preference", "not": [""]}]
    return Draft("AlpacaEval annotations", lines, "pairwise", where=where, strength=(2, 1))


def sagemaker_manifest(facts: Facts) -> Draft | None:
    """Refuse SageMaker's output manifest: it holds consolidated labels."""
    jobs = [n.removesuffix("-metadata") for n in facts.names if n.endswith("-metadata")]
    for job in jobs:
        metadata = parsed(next(iter(facts.column(f"{job}-metadata").counts), "{}"))
        if isinstance(metadata, dict) and "job-name" in json.dumps(metadata):
            raise NoJudgmentsError(
                "SageMaker output manifest: it holds one consolidated label an item, and no "
                "workers; use the worker responses in annotations/worker-response/"
            )
    return None
