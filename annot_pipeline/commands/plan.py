"""How many judges and segments an evaluation needs: from a release, or from assumed variances."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any

from annot_pipeline.config import LoadedCampaign
from annot_pipeline.errors import ConfigError, Problem, counted, first_of
from annot_pipeline.methods.rankings import detectable
from annot_pipeline.stages.rankings.score_rankings import NO_JUDGE_CONNECTS
from annot_pipeline.stages.rankings.variance_rows import NO_OVERLAP
from annot_pipeline.storage.queries import Queries
from annot_pipeline.storage.release import Release
from annot_pipeline.storage.releases import Releases

Limit = tuple[Callable[[float], bool], str]
TITLE = "nothing to plan with"
KINDS = ("judge_system", "segment_system", "residual")
"""Variances that a difference of two systems has; levels of judges and segments cancel."""
JUDGES, SEGMENTS, PER_OUTPUT = (5, 10, 20, 40), (50, 100, 200, 500), (1.0,)
"""Designs that are compared unless others are asked for."""
MOST_SEGMENTS = 100_000
ASSUME = "annot plan --assume judge_system=20,segment_system=20,residual=200 plans without data"
CONNECT = (
    "let judges score outputs of several systems; or, if judges were assigned to systems at "
    "random, set ranking.judge_effects: random and build again"
)
NOT_CONNECTED = "no judge has scored two systems"
NOT_MEASURED = "its variances are not known"
SHARED_DOCUMENTS = (
    "{documents} with several segments: this plan takes segments as independent and is too "
    "optimistic"
)
AT_LEAST_2: Limit = (lambda value: value >= 2, "2 or more")
SHARE: Limit = (lambda value: 0 < value < 1, "between 0 and 1")
POSITIVE: Limit = (lambda value: value > 0, "above 0")
LIMITS: Mapping[str, Limit] = {
    "judges": AT_LEAST_2, "segments": AT_LEAST_2, "systems": AT_LEAST_2,
    "per_output": (lambda value: value >= 0.001, "0.001 or more"), "power": SHARE,
    "difference": POSITIVE, "price": POSITIVE,
}  # fmt: skip
"""What a design may be."""
NEGLIGIBLE = 1e-9
"""Sum of variances, points squared, that is rounding."""


@dataclass(frozen=True)
class PlanParams:
    """What is asked.

    Parameters
    ----------
    judges, segments, per_output
        Numbers to combine; judgments of each system's output for a segment.
    systems
        For Holm's correction over all ordered pairs, and for the number of judgments; None: those
        of the release, or 2.
    power
        Of the one-sided test: the probability to find the difference.
    difference
        Points; for each number of judges the segments that find it are named.
    price
        Of a judgment.
    """

    judges: Sequence[int] = JUDGES
    segments: Sequence[int] = SEGMENTS
    per_output: Sequence[float] = PER_OUTPUT
    systems: int | None = None
    power: float = detectable.POWER
    difference: float | None = None
    price: float | None = None

    def __post_init__(self) -> None:
        problems = [
            Problem(name, f"is {value:g}", allowed)
            for name, (is_allowed, allowed) in LIMITS.items()
            for value in _several(getattr(self, name))
            if not is_allowed(value)
        ]
        problems += [
            Problem("per_output", f"is {value:g}", f"{min(self.judges)} or less: the judges")
            for value in self.per_output
            if value > min(self.judges, default=value)
        ]
        if problems:
            raise ConfigError("a design that cannot be", problems)


def _several(value: Any) -> Sequence[float]:
    if isinstance(value, Sequence):
        return value
    return () if value is None else (value,)


def plan_release(
    campaign: LoadedCampaign, version: str, task: str | None, params: PlanParams
) -> dict[str, Any]:
    """Return designs for the tasks of a release that have scores of systems.

    Raises
    ------
    AnnotError
        There is no such release or task, or the task has no variances.
    """
    release = Releases.for_campaign(campaign).get(version)
    variance: dict[str, dict[str, Any]] = {}
    for row in release.table("variance").to_pylist():
        variance.setdefault(row["task"], {})[row["statistic"]] = row
    systems: dict[str, set[str]] = {}
    not_connected: set[str] = set()
    for row in release.table("system_rankings").to_pylist():
        systems.setdefault(row["task"], set()).add(row["system"])
        if row["headline"] and (row["reason"] or "").startswith(NO_JUDGE_CONNECTS):
            not_connected.add(row["task"])
    without = {
        name: NOT_CONNECTED if reason == NO_OVERLAP and name in not_connected else reason
        for name, rows in variance.items()
        if (reason := _unusable(rows))
    }
    usable = [name for name in variance if name not in without]
    names = [task] if task is not None else usable
    if not names or not set(names) <= {*usable}:
        raise ConfigError(TITLE, _problems(release.version, task, without, usable))
    shared = _shared_documents(campaign, release)
    return {
        "release": release.version,
        "tasks": [
            _task(name, variance[name], len(systems[name]), shared.get(name, 0), params)
            for name in names
        ],
    }


def _unusable(rows: Mapping[str, Any]) -> str | None:
    """Return why a task has no variances to plan with; None if it has."""
    if "variance_system" not in rows:
        return "no scores of two systems"
    for kind in KINDS:
        if _value(rows, kind) is None:
            return rows.get(f"variance_{kind}", {}).get("reason") or NOT_MEASURED
    if sum(_value(rows, kind) or 0 for kind in KINDS) <= NEGLIGIBLE:
        return "the scores do not vary"
    return None


def _problems(
    version: str, task: str | None, without: Mapping[str, str], usable: Sequence[str]
) -> list[Problem]:
    """Return why there is nothing to plan with: of one task, or of all by reason."""
    if task is not None:
        reason = without.get(task, "no such task with scores")
        what = f"task {task} has no variances: {reason}"
        return [Problem(version, what, ", ".join(usable), _remedy(reason))]
    tasks: dict[str, list[str]] = {}
    for name, reason in without.items():
        tasks.setdefault(reason, []).append(name)
    if not tasks:
        return [Problem(version, "no task has scores", do=ASSUME)]
    return [
        Problem(version, f"{reason}: {counted(len(names), 'task')}, {first_of(names)}",
                do=_remedy(reason))
        for reason, names in tasks.items()
    ]  # fmt: skip


def _remedy(reason: str) -> str:
    return CONNECT if reason in (NOT_CONNECTED, NO_OVERLAP) else ASSUME


def _shared_documents(campaign: LoadedCampaign, release: Release) -> dict[str, int]:
    """Return by task the documents of which several segments have judgments of systems."""
    judgments = release.stored("judgments")
    queries = Queries(campaign.settings.resources, campaign.spill)
    rows = queries.table("audit/shared_documents", {"judgments": judgments}).to_pylist()
    return {row["task"]: row["documents"] for row in rows}


def plan_assumed(variances: Mapping[str, float], params: PlanParams) -> dict[str, Any]:
    """Return designs for assumed variances, points squared, by `KINDS`."""
    problems = [
        Problem(name, "unknown variance", ", ".join(KINDS)) for name in variances.keys() - {*KINDS}
    ]
    problems += [
        Problem(name, f"is {variances[name]:g}" if name in variances else "is missing", "0 or more")
        for name in KINDS
        if not variances.get(name, -1) >= 0
    ]
    if not problems and not sum(variances.values()):
        problems.append(Problem("", "all variances are 0", "one above 0"))
    if problems:
        raise ConfigError("variances that cannot be", problems)
    rows = _designs(variances, params.systems or 2, params)
    return {"release": None, "tasks": [{"task": None, "variances": dict(variances)} | rows]}


def _task(
    name: str, rows: Mapping[str, Any], n_systems: int, n_shared: int, params: PlanParams
) -> dict[str, Any]:
    """Return the variances of a task, and its designs."""
    variances = {kind: float(_value(rows, kind) or 0) for kind in KINDS}
    measured = rows["detectable_difference"]
    return {
        "task": name, "variances": variances, "judges": measured["n_judges"], "systems": n_systems,
        "detectable_difference": measured["value"], "detectable_reason": measured["reason"],
        "shared_documents": n_shared, "warning": _warning(n_shared, measured),
    } | _designs(variances, params.systems or n_systems, params)  # fmt: skip


def _warning(n_shared: int, measured: Mapping[str, Any]) -> str | None:
    """Return what the plan ignores of documents; None where no document has several segments.

    Parameters
    ----------
    n_shared
        Documents with several segments.
    measured
        The row of the detectable difference, which counts documents.
    """
    if not n_shared:
        return None
    parts = [SHARED_DOCUMENTS.format(documents=counted(n_shared, "document"))]
    if measured["value"] is not None:
        limit = f", {measured['reason']}" if measured["reason"] else ""
        parts.append(f"the difference as judged counts documents: {measured['value']:.3g} points")
        parts[-1] += limit
    return "; ".join(parts)


def _value(rows: Mapping[str, Any], kind: str) -> float | None:
    value: float | None = rows.get(f"variance_{kind}", {}).get("value")
    return value


def _designs(variances: Mapping[str, float], n_systems: int, params: PlanParams) -> dict[str, Any]:
    """Return what designs find, and for each number of judges the fewest segments that find it."""
    alphas = (detectable.ALPHA, detectable.ALPHA / (n_systems * (n_systems - 1)))
    sizes = range(2, MOST_SEGMENTS + 1)

    def row(judges: int, segments: int, per_output: float) -> dict[str, Any]:
        """Return one design: what it finds, alone and after Holm, and what it costs."""
        design = detectable.DesignParams(judges, segments, per_output)
        error, freedom = detectable.design_error(design, **variances)
        n = segments * n_systems * per_output
        uncorrected, after_holm = (
            float(detectable.detectable_difference(error, freedom, alpha=alpha, power=params.power))
            for alpha in alphas
        )
        return asdict(design) | {
            "judgments": round(n),
            "judgments_per_judge": n / judges,
            "detectable_difference": uncorrected,
            "detectable_after_holm": after_holm,
            "cost": None if params.price is None else n * params.price,
        }

    def enough(difference: float, judges: int, per_output: float) -> dict[str, Any]:
        """Return the design of the fewest segments that finds a difference."""

        def negated(segments: int) -> float:  # more segments find smaller differences
            return -float(row(judges, segments, per_output)["detectable_difference"])

        least = bisect_left(sizes, -difference, key=negated)
        if least == len(sizes):
            return {"judges": judges, "per_output": per_output, "segments": None}
        return row(judges, sizes[least], per_output)

    designs = product(params.judges, params.segments, params.per_output)
    document: dict[str, Any] = {"designs": [row(*design) for design in designs]}
    if (points := params.difference) is not None:
        pairs = product(params.judges, params.per_output)
        document["enough"] = [enough(points, *pair) for pair in pairs]
    return document
