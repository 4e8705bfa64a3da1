"""What the topology study found: tables, sentences, page."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from annot_pipeline.config import LoadedCampaign
from annot_pipeline.errors import ConfigError, Problem
from studies.curve_figures import MOST_TASKS, Drawn
from studies.curves import Interval
from studies.figures.rebuilt_ranks import rebuilt_ranks_svg
from studies.full_rankings import TITLE, FullRankings, read_full_rankings
from studies.item_rounds import stream
from studies.params import Topology
from studies.progress import Progress
from studies.tables import Cell, Table
from studies.topology import COUNTS, READINGS
from studies.topology_study import (
    MEASURES,
    RebuiltRankings,
    TopologyTask,
    interval_of,
    measures,
    merge_rankings,
    rebuild_all,
)
from studies.write import Result, Section

ALL = "all tasks"
PAPER = {"pearson": 0.93, "sd_of_pearson": 0.08}
"""Section 4.4.1, on 860 rankings of five outputs from WMT10."""
PAPER_RIGHT = 0.854
"""The same; which reading it is of is not said."""

SAID = {
    "ties_count": "ties count as relations",
    "strict_in_original": "no tie in the original",
    "strict_in_rebuilt": "no tie as rebuilt",
    "strict_in_both": "no tie in either",
}
TIED = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
"""Ends of the bands of the share of tied pairs: none, then up to each."""
TABLES = ("topology", "sizes", "ties", "repetitions", "histogram")
BIN = 0.05
"""Width of the histogram's bins."""

ABOUT = (
    "Correlated are dense ranks: of the original, and by dominance. A ranking that ties all its "
    "outputs has no correlation: it is counted, and is not 0.",
    "A relation is inferred if its two outputs were not compared. The paper's 85.4% are of those "
    "inferred from dominance differences: that is most like the reading without ties as rebuilt. "
    "Relations along a path of comparisons are right by logic; those without one are guessed.",
    "The judge of this study never contradicts the original: it shows what leaving out "
    "comparisons costs, and not what people do. Intervals (95%) resample rankings.",
)


def run_topology(campaign: LoadedCampaign, params: Topology, progress: Progress) -> Result:
    """Read the rankings of a campaign, rebuild them, and tell what came out.

    Raises
    ------
    AnnotError
        Exports cannot be read, or no ranking has so many outputs.
    """
    rankings, failed = read_full_rankings(campaign, progress)
    notes = [f"A gate that stops builds: {gate}" for gate in failed]
    return topology_result(rankings, params, progress, notes)


def topology_result(
    rankings: Mapping[str, FullRankings],
    params: Topology,
    progress: Progress,
    notes: Sequence[str] = (),
) -> Result:
    """Rebuild rankings by task, and return the result.

    Raises
    ------
    ConfigError
        No ranking has so many outputs.
    """
    _check(rankings, params.n_outputs)
    by_task = rebuild_all({task: own.rank for task, own in rankings.items()}, params, progress)
    tasks = [
        _task(task, sized[params.n_outputs], params)
        for task, sized in by_task.items()
        if params.n_outputs in sized
    ]
    pooled = tasks[0]
    if len(tasks) > 1:
        pooled = _task(ALL, merge_rankings([task.rebuilt for task in tasks]), params)
    every = [pooled, *(tasks if len(tasks) > 1 else [])]
    by_size = {
        n: merge_rankings([sized[n] for sized in by_task.values() if n in sized])
        for n in sorted({n for sized in by_task.values() for n in sized})
    }
    sizes = _groups("sizes", "outputs", [(str(n), by_size[n]) for n in by_size], params)
    ties = _groups("ties", "tied_pairs", _by_ties(pooled.rebuilt), params)
    tables = [_topology_table(every), sizes, ties, _repetitions_table(every), _histogram(every)]
    parts = every[:MOST_TASKS]
    more = [f"Figures of the first {len(parts)} of {len(every)} tasks."] * (len(parts) < len(every))
    return Result(
        _findings(pooled),
        [*notes, *_left_out(rankings), *more, *ABOUT],
        tables,
        [
            Section(
                one.task,
                [Drawn(f"Ranks rebuilt from {one.rebuilt.comparisons} comparisons", _figure(one))],
                _facts(one.rebuilt),
                [_of_task(tables[0], one.task), *([sizes, ties] if one is pooled else [])],
            )
            for one in parts
        ],
        [_numbers(one) for one in every],
    )


def _check(rankings: Mapping[str, FullRankings], n: int) -> None:
    sizes: dict[int, int] = {}
    for own in rankings.values():
        for size, rank in own.rank.items():
            sizes[size] = sizes.get(size, 0) + len(rank)
    if n in sizes:
        return
    counts_text = ", ".join(f"{count:,} of {size}" for size, count in sorted(sizes.items()))
    do = f"--set n_outputs={max(sizes, key=lambda k: (sizes[k], k))}" if sizes else ""
    what = (
        f"no full ranking of {n} different outputs; there are {counts_text or 'none of 3 or more'}"
    )
    raise ConfigError(TITLE, [Problem("n_outputs", what, do=do)])


def _task(task: str, rebuilt: RebuiltRankings, params: Topology) -> TopologyTask:
    rng = stream(params.seed, task, "rankings", rebuilt.n)
    return TopologyTask(task, rebuilt, interval_of(rebuilt, params.rounds, rng))


# --- tables ----------------------------------------------------------------------------------


def _topology_table(every: Sequence[TopologyTask]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for one in every:
        counts = one.rebuilt.counts.sum(axis=(0, 1))
        n_by_measure = {"pearson": int((~one.rebuilt.constant).sum())}
        n_by_measure["sd_of_pearson"] = n_by_measure["pearson"]
        repeats = len(one.rebuilt.pearson)
        for reading, (_, below) in READINGS.items():
            position = COUNTS.index(below)
            n_by_measure[reading] = int(counts[:, position].sum()) // repeats
            n_by_measure[f"{reading}_without_path"] = int(counts[1, position]) // repeats
        n_by_measure["share_without_path"] = n_by_measure["ties_count"]
        for position, measure in enumerate(MEASURES):
            paper = PAPER.get(measure, PAPER_RIGHT if measure in READINGS else None)
            rows.append(
                (one.task, measure, *_ends(one.interval, position), n_by_measure[measure], paper)
            )
    columns = ("task", "measure", "value", "low", "high", "over", "paper")
    return Table("topology", columns, tuple(rows))


def _groups(
    name: str, by: str, groups: Sequence[tuple[str, RebuiltRankings]], params: Topology
) -> Table:
    """Return a table of groups of rankings, with all measures."""
    rows: list[tuple[Cell, ...]] = []
    for group, rebuilt in groups:
        measured = interval_of(rebuilt, params.rounds, stream(params.seed, name, group))
        rows.append(
            (
                group, len(rebuilt.rank), int(rebuilt.constant.sum()), rebuilt.comparisons,
                rebuilt.relations, *_ends(measured, 0), *measured.value[1:].tolist(),
            )
        )  # fmt: skip
    columns = (
        by, "rankings", "constant", "asked", "all_pairs", "pearson", "low", "high", *MEASURES[1:],
    )  # fmt: skip
    return Table(name, columns, tuple(rows))


def _by_ties(rebuilt: RebuiltRankings) -> list[tuple[str, RebuiltRankings]]:
    tied, groups = rebuilt.tied, []
    band = np.searchsorted(TIED, tied - 1e-9)
    for position, end in enumerate(TIED):
        which = band == position
        if which.any():
            low = TIED[max(position - 1, 0)]
            name = "none" if position == 0 else f"above {low:g}, up to {end:g}"
            groups.append((name, rebuilt.only(which)))
    return groups


def _repetitions_table(every: Sequence[TopologyTask]) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (one.task, repeat, *values)
        for one in every
        for repeat, values in enumerate(measures(one.rebuilt).tolist(), 1)
    ]
    return Table("repetitions", ("task", "repetition", *MEASURES), tuple(rows))


def _histogram(every: Sequence[TopologyTask]) -> Table:
    n_bins = round(2 / BIN)
    edges = np.linspace(-1, 1, n_bins + 1)
    rows: list[tuple[Cell, ...]] = []
    for one in every:
        r = one.rebuilt.pearson[~np.isnan(one.rebuilt.pearson)]
        counts = np.histogram(np.round(r, 9), np.round(edges, 9))[0]
        rows += [
            (one.task, float(edges[k]), float(edges[k + 1]), int(counts[k]))
            for k in np.flatnonzero(counts).tolist()
        ]
    return Table("histogram", ("task", "r_from", "r_to", "rebuilt_rankings"), tuple(rows))


def _of_task(table: Table, task: str) -> Table:
    """Return one task's rows, without its name."""
    rows = tuple(row[1:] for row in table.rows if row[0] == task)
    return Table(table.name, table.columns[1:], rows)


def _ends(interval: Interval, position: int) -> tuple[float, float, float]:
    return (
        float(interval.value[position]),
        float(interval.low[position]),
        float(interval.high[position]),
    )


# --- page ------------------------------------------------------------------------------------


def _figure(one: TopologyTask) -> str:
    places = [MEASURES.index(reading) for reading in READINGS]
    return rebuilt_ranks_svg(
        one.rebuilt.pearson.ravel(),
        list(SAID.values()),
        *(part[places] for part in vars(one.interval).values()),
        paper_pearson=PAPER["pearson"],
        paper_right=PAPER_RIGHT,
    )


def _facts(rebuilt: RebuiltRankings) -> dict[str, object]:
    return {
        "rankings": len(rebuilt.rank),
        "of them constant": int(rebuilt.constant.sum()),
        "outputs": rebuilt.n,
        "comparisons asked": rebuilt.comparisons,
        "all pairs": rebuilt.relations,
        "saved": f"{100 * (1 - rebuilt.comparisons / rebuilt.relations):.1f}%",
        "pairs that are ties": f"{100 * float(rebuilt.tied.mean()):.1f}%",
        "tournaments of each": len(rebuilt.pearson),
    }


def _left_out(rankings: Mapping[str, FullRankings]) -> list[str]:
    counts: dict[str, int] = {}
    for own in rankings.values():
        for reason, n in own.left_out.items():
            counts[reason] = counts.get(reason, 0) + n
    parts = [f"{n:,} {reason}" for reason, n in counts.items() if n]
    return [f"Left out of all that was judged at once: {'; '.join(parts)}."] if parts else []


def _findings(one: TopologyTask) -> list[str]:
    rebuilt, r, sd = one.rebuilt, _ends(one.interval, 0), _ends(one.interval, 1)
    constant = int(rebuilt.constant.sum())
    without = f"; {constant:,} tie all outputs and have none" if constant else ""
    first = (
        f"Ranks rebuilt from {rebuilt.comparisons} of {rebuilt.relations} comparisons correlate "
        f"with the {len(rebuilt.rank):,} original rankings of {rebuilt.n} outputs by r = "
        f"{_interval_text(r)} in the mean, with a standard deviation of {sd[0]:.3f} "
        f"(paper, on WMT10: .93 and .08){without}."
    )
    parts = [
        f"{_percent(_ends(one.interval, MEASURES.index(reading)))} ({words})"
        for reading, words in SAID.items()
    ]
    second = (
        f"Of the relations that were only inferred, {', '.join(parts)} are right "
        "(the paper: 85.4%, without saying which)."
    )
    if math.isnan(one.interval.value[MEASURES.index("ties_count")]):
        second = "No relation was only inferred: all pairs are asked."
    return [first, second]


def _interval_text(values: tuple[float, float, float]) -> str:
    value, low, high = values
    return "undefined" if math.isnan(value) else f"{value:.3f} ({low:.3f} to {high:.3f})"


def _percent(values: tuple[float, float, float]) -> str:
    value, low, high = (100 * v for v in values)
    return "none" if math.isnan(value) else f"{value:.1f}% [{low:.1f} to {high:.1f}]"


def _numbers(one: TopologyTask) -> dict[str, object]:
    rebuilt = one.rebuilt
    return {
        "task": one.task,
        "rankings": len(rebuilt.rank),
        "constant": int(rebuilt.constant.sum()),
        "outputs": rebuilt.n,
        "asked": rebuilt.comparisons,
        "all_pairs": rebuilt.relations,
    } | {
        measure: [None if math.isnan(v) else round(v, 6) for v in _ends(one.interval, position)]
        for position, measure in enumerate(MEASURES)
    }
