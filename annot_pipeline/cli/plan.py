"""annot plan."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from annot_pipeline.cli.columns import columns, number
from annot_pipeline.cli.common import (
    CAMPAIGN_HELP,
    RELEASE_HELP,
    SET_HELP,
    TASK_HELP,
    Document,
    load,
    show,
)
from annot_pipeline.errors import ConfigError, Problem, counted, printable

ASSUMED = "judge_system=20,segment_system=20,residual=200"
"""An example, points squared."""


def add(plan: argparse.ArgumentParser) -> None:
    """Add its arguments."""
    plan.add_argument("campaign", metavar="CAMPAIGN", nargs="?", help=CAMPAIGN_HELP)
    plan.add_argument(
        "--set", action="append", default=[], metavar="a.b=c", dest="sets", help=SET_HELP
    )
    plan.add_argument("--release", metavar="V", default="latest", help=RELEASE_HELP)
    plan.add_argument("--task", metavar="TASK", help=TASK_HELP)
    plan.add_argument(
        "--assume", metavar="a=b,...",
        help="variances to assume without a release: judge_system, segment_system, residual",
    )  # fmt: skip
    for name, text in (
        ("judges", "numbers of judges to compare, as 5,10,20"),
        ("segments", "numbers of segments to compare, as 100,500"),
        ("per-output", "numbers of judgments per output to compare, as 1,2"),
    ):
        plan.add_argument(f"--{name}", metavar="N,...", help=text)
    plan.add_argument("--systems", metavar="N", type=int, help="number of systems")
    plan.add_argument(
        "--difference", metavar="POINTS", type=float, help="smallest difference to detect"
    )
    plan.add_argument(
        "--power",
        metavar="SHARE",
        type=float,
        default=0.8,
        help="power at which a difference counts as detectable (default: 0.8)",
    )
    plan.add_argument(
        "--price",
        metavar="X",
        type=float,
        help="price of one judgment; adds the cost of each design",
    )


def run(arguments: argparse.Namespace) -> int:
    """Say which differences of systems a design finds."""
    from annot_pipeline.commands.plan import PlanParams, plan_assumed, plan_release

    chosen: dict[str, Any] = {
        name: _numbers(name, text)
        for name in ("judges", "segments", "per_output")
        if (text := getattr(arguments, name)) is not None
    }
    params = PlanParams(
        **chosen, systems=arguments.systems, power=arguments.power,
        difference=arguments.difference, price=arguments.price,
    )  # fmt: skip
    if arguments.assume is not None:
        document = plan_assumed(_assumed(arguments.assume), params)
    elif arguments.campaign is None:
        do = f"annot plan CAMPAIGN, or annot plan --assume {ASSUMED}"
        raise ConfigError("nothing to plan with", [Problem("", "no campaign is named", do=do)])
    else:
        document = plan_release(load(arguments), arguments.release, arguments.task, params)
    show(arguments, document, lambda: "\n".join(_text(document, params.power)))
    return 0


def _numbers(name: str, text: str) -> tuple[Any, ...]:
    kind = float if name == "per_output" else int
    try:
        return tuple(kind(part) for part in text.split(","))
    except ValueError:
        do = f"--{name.replace('_', '-')} 5,10,20"
        problem = Problem(name, f"{printable(text)} is no list of numbers", do=do)
        raise ConfigError("a design that cannot be", [problem]) from None


def _assumed(text: str) -> dict[str, float]:
    variances = {}
    for part in text.split(","):
        name, _, value = part.partition("=")
        try:
            variances[name.strip()] = float(value)
        except ValueError:
            do = f"--assume {ASSUMED}"
            problem = Problem(name, f"{printable(value)} is no number", do=do)
            raise ConfigError("variances that cannot be", [problem]) from None
    return variances


def _text(document: Document, power: float) -> Iterator[str]:
    for task in document["tasks"]:
        name = "assumed variances" if task["task"] is None else f"task {printable(task['task'])}"
        sds = ", ".join(
            f"{kind.replace('_', ' x ')} {number(value**0.5)}"
            for kind, value in task["variances"].items()
        )
        yield f"{name}: standard deviations in points: {sds}"
        if task.get("detectable_difference") is not None:
            sizes = f"{counted(task['judges'], 'judge')}, {counted(task['systems'], 'system')}"
            limit = f", {task['detectable_reason']}" if task["detectable_reason"] else ""
            yield (
                f"  as judged ({sizes}): {number(task['detectable_difference'])} points are found "
                f"in 80 of 100 evaluations{limit}"
            )
        if task.get("warning"):
            yield f"  warning: {task['warning']}"
        head = ["judges", "segments", "per output", "judgments", "finds", "after Holm"]
        if any(row["cost"] is not None for row in task["designs"]):
            head.append("cost")
        yield from columns([tuple(head), *(_cells(row)[: len(head)] for row in task["designs"])])
        for row in task.get("enough", ()):
            if row["segments"] is None:
                yield f"  {row['judges']} judges do not find it with any number of segments"
            else:
                yield (
                    f"  {row['judges']} judges find it with {row['segments']:,} segments: "
                    f"{row['judgments']:,} judgments"
                )
    yield (
        "finds: points of difference that a one-sided test at .05 finds with probability "
        f"{power:g}; after Holm: of one pair among all"
    )


def _cells(row: Document) -> tuple[str, ...]:
    return (
        f"{row['judges']:,}", f"{row['segments']:,}", f"{row['per_output']:g}",
        f"{row['judgments']:,}", number(row["detectable_difference"]),
        number(row["detectable_after_holm"]), "" if row["cost"] is None else f"{row['cost']:,.2f}",
    )  # fmt: skip
