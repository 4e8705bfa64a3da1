"""Rankings of systems from scores or comparisons, as releases publish them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.api.frame_build import FrameTables, build_frame
from annot_pipeline.api.frames import AnyFrame, Frame, column_names, materialize
from annot_pipeline.api.results import Result, new_axes
from annot_pipeline.errors import ConfigError, InputError, Problem

COLUMNS = (
    "system", "rank", "score", "ci_low", "ci_high", "rank_low", "rank_high", "wins", "cluster",
    "component", "n_segments", "n_judgments", "reason",
)  # fmt: skip
COMPARISON_COLUMNS = (
    "system_a", "system_b", "difference", "ci_low", "ci_high", "p_value", "p_adjusted",
    "a_beats_b", "reason",
)  # fmt: skip


@dataclass(frozen=True, eq=False, repr=False)
class RankResult(Result):
    """Systems in their order.

    Parameters
    ----------
    ranking
        One row per system: rank, score, 95% interval (of its difference from the mean of the
        others; compare systems in ``comparisons``), ranks that the tests do not exclude, wins,
        cluster; null with a ``reason`` where the data cannot tell.
    comparisons
        One row per ordered pair of systems: difference, 95% interval, p-values.
    all_methods
        One row per method and system: the other methods, for description.
    method
        The method of ``ranking``: ``adjusted`` of scores, ``bradley_terry`` of comparisons.
    excluded
        Rows that do not count: ``row`` (from 0), ``fate``, ``reason``.
    gold
        The gold tables behind it.
    """

    ranking: AnyFrame
    comparisons: AnyFrame
    all_methods: AnyFrame
    method: str
    excluded: AnyFrame
    gold: FrameTables

    def plot(self, axes: Any = None) -> Any:
        """Draw scores with their 95% intervals, and return the axes of matplotlib."""
        axes = new_axes(axes)
        rows = [row for row in _ranked(self.gold) if row["score"] is not None]
        for y, row in enumerate(rows):
            if row["ci_low"] is not None:
                axes.plot([row["ci_low"], row["ci_high"]], [y, y], color="0.5")
            axes.plot(row["score"], y, "o", color="C0")
        axes.set_yticks(range(len(rows)), [str(row["system"]) for row in rows])
        axes.invert_yaxis()
        axes.set_xlabel(f"score ({self.method})")
        return axes

    def _main_table(self) -> tuple[str, AnyFrame]:
        return "ranking", self.ranking

    def _summary(self) -> str:
        n = len(_ranked(self.gold))
        return f"{n:,} systems by {self.method}"


def rank(
    frame: AnyFrame,
    *,
    judge: str = "judge",
    segment: str = "segment",
    system: str = "system",
    score: str = "score",
    system_a: str = "system_a",
    system_b: str = "system_b",
    preference: str = "preference",
    scale: tuple[float, float] | None = None,
    task: Mapping[str, Any] | None = None,
    settings: Mapping[str, Any] | None = None,
) -> RankResult:
    """Rank systems by scores or by comparisons of two.

    Parameters
    ----------
    frame
        One row per score (``judge``, ``segment``, ``system``, ``score``), or per comparison
        (``judge``, ``system_a``, ``system_b``, ``preference``): pandas, polars or Arrow. A frame
        with a preference column holds comparisons; without a segment column each row is a segment
        of its own.
    judge, segment, system, score, system_a, system_b, preference
        Its columns. A preference is ``a``, ``b`` or ``tie``.
    scale
        Lowest and highest score; None: as the scores tell.
    task
        Settings of the task, as under ``tasks`` in campaign.yaml: ``{"repeats": "last"}``.
    settings
        Settings by their top-level keys in campaign.yaml, as ``{"ranking": {...}}``.

    Raises
    ------
    ConfigError
        A column is missing or there twice, or a setting is wrong.
    InputError
        No row can be used, with the reasons.
    """
    frame = materialize(frame)
    names = column_names(frame)
    columns = {"judge": judge}
    of_task: dict[str, Any] = {}
    if preference in names and score in names:
        problem = Problem(
            "frame", f'has the columns "{score}" and "{preference}"', do="select the one to rank by"
        )
        raise ConfigError("scores or comparisons?", [problem])
    if preference in names:
        of_task["kind"] = "pairwise"
        columns |= {"system_a": system_a, "system_b": system_b, "preference": preference}
        if segment in names:
            columns["segment"] = segment
    else:
        of_task["kind"] = "scalar"
        columns |= {"segment": segment, "system": system, "score": score}
        if scale is not None:
            of_task["scale"] = list(scale)
    read = Frame.read(frame, columns)
    _check_types(read)
    if "segment" not in columns:
        rows = pa.array([str(n) for n in range(read.n_rows)])
        read = Frame(read.kind, read.names, dict(read.values) | {"segment": rows})
    gold = build_frame(
        read, ("system_rankings", "system_comparisons"), task=of_task | dict(task or {}),
        settings=settings,
    )  # fmt: skip
    role = "system" if of_task["kind"] == "scalar" else "system_a"
    roles: dict[str, str | None] = dict.fromkeys(("system", "system_a", "system_b"), role)
    headline = pc.field("headline")
    methods = pc.unique(gold.table("system_rankings").filter(headline)["method"]).to_pylist()
    return RankResult(
        ranking=gold.restore(
            "system_rankings", {name: roles.get(name) for name in COLUMNS}, headline,
            ("rank", "system"),
        ),
        comparisons=gold.restore(
            "system_comparisons", {name: roles.get(name) for name in COMPARISON_COLUMNS}, headline
        ),
        all_methods=gold.restore(
            "system_rankings", {name: roles.get(name) for name in ("method", *COLUMNS)},
            order=("method", "rank", "system"),
        ),
        method=methods[0] if methods else "none",
        excluded=gold.excluded,
        gold=gold,
    )  # fmt: skip


def _check_types(read: Frame) -> None:
    """Make sure that both columns of systems have one type.

    Raises
    ------
    InputError
        They have two.
    """
    types = {
        role: read.values[role].type for role in ("system_a", "system_b") if role in read.values
    }
    if len(set(types.values())) > 1:
        what = ", ".join(f"{read.names[role]}: {type_}" for role, type_ in types.items())
        do = "make them one type, as frame[...].astype(str)"
        raise InputError("systems have two types", [Problem("system_a=, system_b=", what, do=do)])


def _ranked(gold: FrameTables) -> list[Mapping[str, Any]]:
    rows = gold.table("system_rankings").filter(pc.field("headline"))
    return list(rows.sort_by([("rank", "ascending"), ("system", "ascending")]).to_pylist())
