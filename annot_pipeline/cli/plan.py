"""annot plan."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from annot_pipeline.cli.common import Document, chosen, load, show
from annot_pipeline.cli.render import fields, table, text
from annot_pipeline.errors import ConfigError, Problem, counted, printable

ASSUMED = "judge_system=20,segment_system=20,residual=200"
"""An example, points squared."""
DESIGN = (
    "judges segments per_output judgments detectable_difference=finds "
    "detectable_after_holm=after_Holm cost"
)


def run_plan(arguments: argparse.Namespace) -> int:
    """Say which differences of systems a design finds."""
    from annot_pipeline.commands.plan import PlanParams, plan_assumed, plan_release

    numbers: dict[str, Any] = {
        name: _numbers(name, written)
        for name in ("judges", "segments", "per_output")
        if (written := getattr(arguments, name)) is not None
    }
    params = PlanParams(**numbers, **chosen(arguments, "systems power difference price"))
    if arguments.assume is not None:
        document = plan_assumed(_assumed(arguments.assume), params)
    elif arguments.campaign is None:
        do = f"annot plan CAMPAIGN, or annot plan --assume {ASSUMED}"
        raise ConfigError("nothing to plan with", [Problem("", "no campaign is named", do=do)])
    else:
        document = plan_release(load(arguments), arguments.release, arguments.task, params)
    return show(arguments, document, lambda: _lines(document, params.power))


def _number(name: str, written: str, do: str, kind: type = float) -> Any:
    try:
        return kind(written)
    except ValueError:
        problem = Problem(name, f"{printable(written)} is no number", do=do)
        raise ConfigError("a design that cannot be", [problem]) from None


def _numbers(name: str, written: str) -> tuple[Any, ...]:
    do, kind = f"--{name.replace('_', '-')} 5,10,20", float if name == "per_output" else int
    return tuple(_number(name, part, do, kind) for part in written.split(","))


def _assumed(written: str) -> dict[str, float]:
    pairs = (part.partition("=") for part in written.split(","))
    return {k.strip(): _number(k, value, f"--assume {ASSUMED}") for k, _, value in pairs}


def _lines(document: Document, power: float) -> Iterator[str]:
    for task in document["tasks"]:
        name = "assumed variances" if task["task"] is None else f"task {task['task']}"
        sds = {kind.replace("_", " x "): value**0.5 for kind, value in task["variances"].items()}
        yield f"{name}: standard deviations in points: {text(sds)}"
        if task.get("detectable_difference") is not None:
            sizes = f"{counted(task['judges'], 'judge')}, {counted(task['systems'], 'system')}"
            limit = f", {task['detectable_reason']}" if task["detectable_reason"] else ""
            size = text(task["detectable_difference"])
            yield f"  as judged ({sizes}): {size} points are found in 80 of 100 evaluations{limit}"
        yield from fields(task, {"warning": "  warning"})
        yield from table("", task["designs"], DESIGN, most=len(task["designs"]))
        enough = [
            row if row["segments"] else row | {"segments": "no number of segments finds it"}
            for row in task.get("enough", ())
        ]
        names = "judges per_output segments judgments"
        yield from table("  designs that find the difference", enough, names, most=len(enough))
    test = f"a one-sided test at .05 finds with probability {power:g}"
    yield f"finds: points of difference that {test}; after Holm: of one pair among all"
