"""The scores and answers that judge control tests, by judge, and those that judges share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.arrays import Codes, Flags, Floats
from annot_pipeline.config import Quality
from annot_pipeline.contracts import TEXT
from annot_pipeline.errors import ConfigError, Problem
from annot_pipeline.methods.judges.effect_bounds import Answers, ControlScores
from annot_pipeline.methods.judges.grouped_tests import (
    GroupedTest,
    mann_whitney,
    paired_t,
    signed_rank,
    welch,
)
from annot_pipeline.methods.judges.leave_one_out import SharedScores
from annot_pipeline.methods.numerics.blocks import Blocks
from annot_pipeline.methods.numerics.rounding import comparable
from annot_pipeline.runtime.coded_task import CodedTask
from annot_pipeline.runtime.indexing import Index, PairIndex, index, index_pairs, is_in
from annot_pipeline.stages.shared.orient_scores import orient_scores

Scale = tuple[float, float]
UNBOUNDED: Scale = (-np.inf, np.inf)


@dataclass(frozen=True)
class Units:
    """Holds the units of testing: judges of the campaign, or judges of each task.

    Parameters
    ----------
    pairs, task, judge
        All pairs of task and judge, and their names.
    of_pair
        Unit of each pair.
    stratum
        ``(size,)`` code of the judges that a unit is compared with: those of its task where tasks
        are tested apart, else all.
    size
        Number of units.
    """

    pairs: PairIndex
    task: Index
    judge: Index
    of_pair: Codes
    stratum: Codes
    size: int

    @classmethod
    def of_controls(cls, control_judgments: pa.Table, quality: Quality) -> Units:
        """Return the units of the controls that judges met, as ``quality.scope`` has them."""
        task, judge = index(control_judgments["task"]), index(control_judgments["judge_id"])
        pairs = index_pairs(task.codes, judge.codes)
        if quality.scope == "task":
            size = pairs.first.size
            return cls(pairs, task, judge, np.arange(size), pairs.first, size)
        size = len(judge.names)
        return cls(pairs, task, judge, pairs.second, np.zeros(size, np.int64), size)

    def of_rows(self, rows: pa.Table) -> Codes:
        """Return the unit of each row of a table with ``task`` and ``judge_id``."""
        return self.of_pair[self.pair_of_rows(rows)]

    def pair_of_rows(self, rows: pa.Table) -> Codes:
        """Return the task and judge of each row of such a table."""
        width = len(self.judge.names)
        keys = _place(rows["task"], self.task) * width + _place(rows["judge_id"], self.judge)
        return np.searchsorted(self.pairs.first * width + self.pairs.second, keys)

    def names(self, *, by_task: bool) -> list[str]:
        """Return names of units: of judges, with the task before where ``by_task`` is true."""
        first = np.unique(self.of_pair, return_index=True)[1]
        judges = [self.judge.names[code] for code in self.pairs.second[first].tolist()]
        if not by_task:
            return judges
        tasks = (self.task.names[code] for code in self.pairs.first[first].tolist())
        return [f"{task} {judge}" for task, judge in zip(tasks, judges, strict=True)]

    def are_controlled(self, sampled: set[str]) -> npt.NDArray[np.bool_]:
        """Return whether any task of a unit holds controls for the test."""
        in_sample = np.array([name in sampled for name in self.task.names], np.bool_)
        hit = in_sample[self.pairs.first] if in_sample.size else np.empty(0, np.bool_)
        return np.bincount(self.of_pair[hit], minlength=self.size) > 0


@dataclass(frozen=True)
class TestedScores:
    """The test of every unit, with what it compared.

    Parameters
    ----------
    test
        Its result.
    samples
        Differences of pairs, or the two samples.
    tasks
        Names of the tasks that hold the controls it needs.
    """

    test: GroupedTest
    samples: tuple[ControlScores, ...]
    tasks: set[str]


def with_degraded_copies(control_judgments: pa.Table) -> set[str]:
    """Return the tasks of which judges met degraded copies."""
    degraded = control_judgments.filter(is_in(control_judgments["control"], ("bad_reference",)))
    return set(pc.unique(degraded["task"]).to_pylist())


def tested_scores(
    control_judgments: pa.Table,
    pairs: pa.Table,
    tasks: pa.Table,
    scores: pa.Table,
    units: Units,
    quality: Quality,
) -> TestedScores:
    """Test every unit by scores; parameters as `apply_control_test` has them."""
    scalar = {row["task"] for row in tasks.to_pylist() if row["kind"] == "scalar"}
    sampled = with_degraded_copies(control_judgments) & scalar
    points = _points(tasks, sampled, quality)
    samples: tuple[ControlScores, ...]
    if quality.contrast == "pooled":
        (ordinary, groups), (copies, groups_of_copies) = (
            _scores(scores, control, tasks, units, points) for control in ("none", "bad_reference")
        )
        # scores of tasks and criteria in which the judge saw no degraded copy are another matter
        some = np.isin(groups, groups_of_copies)
        samples = (ControlScores(*(values[some] for values in vars(ordinary).values())), copies)
    else:
        degraded = _differences(pairs, "bad_reference", units, points)
        if quality.contrast == "paired":
            one_sample = paired_t if quality.test == "paired_t" else signed_rank
            test = one_sample(degraded.unit, degraded.value, n_groups=units.size)
            return TestedScores(test, (degraded,), sampled)
        repeated = _differences(pairs, "ask_again", units, points, absolute=not quality.signed)
        samples = (degraded, repeated)
    two_samples = welch if quality.test == "welch" else mann_whitney
    first, second = samples
    test = two_samples(first.unit, first.value, second.unit, second.value, n_groups=units.size)
    return TestedScores(test, samples, sampled)


def answers_of(answers: pa.Table, units: Units) -> Answers:
    """Return known answers with a usable truth, as sql/control/known_answers.sql gives them."""
    right = pc.equal(answers["label"].cast(TEXT), answers["truth"].cast(TEXT)).to_numpy()
    unit = units.of_rows(answers)
    item = index(answers["item"], null="")
    output = index_pairs(units.pair_of_rows(answers), item.codes).codes
    return Answers(unit, right, output, _hits(answers, units, output))


def _points(tasks: pa.Table, sampled: set[str], quality: Quality) -> dict[str, Scale]:
    """Return zero and unit of each task's scores.

    They are 0 and 1, or where scales differ, the lowest point and the hundredth part of the scale.

    Raises
    ------
    ConfigError
        Judges are to be tested over tasks of which one has another scale than the others, and
        one has none declared.
    """
    scales = {
        row["task"]: (row["scale_low"], row["scale_high"])
        for row in tasks.to_pylist()
        if row["task"] in sampled
    }
    if quality.scope == "task" or len(set(scales.values())) < 2:
        return dict.fromkeys(scales, (0.0, 1.0))
    unknown = sorted(task for task, (low, _) in scales.items() if low is None)
    if unknown:
        raise ConfigError(
            "judges cannot be tested over tasks of different scales",
            [
                Problem(
                    "tasks",
                    "no scale is declared, and other tasks have one",
                    do="declare scale: [lowest, highest], or write quality.scope: task",
                    values=tuple(unknown),
                )
            ],
        )
    return {task: (low, (high - low) / 100) for task, (low, high) in scales.items()}


def _scores(
    scored: pa.Table, control: str, tasks: pa.Table, units: Units, points: dict[str, Scale]
) -> tuple[ControlScores, Codes]:
    """Return scores of one kind of judgment in tasks with controls, for criteria that take part.

    And codes that tell judge, task and criterion apart.
    """
    rows = scored.select(["task", "judge_id", "control", "criterion", "item", "hit", "score"])
    rows = rows.filter(is_in(rows["control"], (control,)))
    rows = rows.filter(is_in(rows["task"], list(points)))
    oriented = orient_scores(rows, tasks)
    rows = rows.filter(pa.array(oriented.in_control))
    zero, unit = _by_task(rows, points)
    score = (oriented.score[oriented.in_control] - zero) / unit
    criteria = pc.unique(scored["criterion"].cast(TEXT))
    criterion = pc.fill_null(pc.index_in(rows["criterion"].cast(TEXT), criteria), 0).to_numpy()
    group = units.pair_of_rows(rows) * (len(criteria) + 1) + criterion
    return _control_scores(rows, score, units), group


def _differences(
    pairs: pa.Table,
    control: str,
    units: Units,
    points: dict[str, Scale],
    *,
    absolute: bool = False,
) -> ControlScores:
    """Return the ordinary score minus the control's score, by unit."""
    rows = pairs.filter(is_in(pairs["control"], (control,)))
    rows = rows.filter(pc.and_(pc.is_null(rows["reason"]), rows["in_control"]))
    rows = rows.filter(is_in(rows["task"], list(points)))
    differences = rows["ordinary_score"].to_numpy() - rows["score"].to_numpy()
    _, unit = _by_task(rows, points)
    differences = comparable(differences / unit)
    return _control_scores(rows, np.abs(differences) if absolute else differences, units)


def _control_scores(rows: pa.Table, values: Floats, units: Units) -> ControlScores:
    """Return the values of rows with ``task``, ``judge_id``, ``item`` and ``hit``."""
    hit, item = (index(rows[name], null="") for name in ("hit", "item"))
    pairs = index_pairs(hit.codes, item.codes).codes
    output = index_pairs(units.pair_of_rows(rows), pairs).codes
    return ControlScores(units.of_rows(rows), values, output, _hits(rows, units, output))


def _hits(rows: pa.Table, units: Units, output: Codes) -> Codes:
    """Return the HIT of each row by judge; without HITs each output is one of its own."""
    hit = index(rows["hit"], null="")
    codes = index_pairs(units.of_rows(rows), hit.codes).codes
    unknown = pc.is_null(rows["hit"]).to_numpy()
    return np.where(unknown, int(codes.max(initial=-1)) + 1 + output, codes)


def _place(column: pa.ChunkedArray, names: Index) -> Codes:
    codes = pc.index_in(column.cast(TEXT), pa.array(names.names, TEXT))
    return np.asarray(codes.to_numpy(), np.int64)


def _by_task(rows: pa.Table, points: dict[str, Scale]) -> Floats:
    """Return zero and unit of each row's task, ``(2, n_rows)``."""
    positions = pc.index_in(rows["task"].cast(TEXT), pa.array(list(points), TEXT)).to_numpy()
    return np.asarray(np.array(list(points.values()), np.float64).reshape(-1, 2)[positions].T)


@dataclass(frozen=True)
class SeriesNames:
    """Names of the series of all blocks; series ``criterion * n_judges + judge``.

    Parameters
    ----------
    judges
        Public names by task and judge, of those who gave ordinary scores, in order.
    criteria
        Names of criteria, in order; "" stands for none.
    """

    judges: Mapping[tuple[str, str], str]
    criteria: Sequence[str]

    @classmethod
    def from_rows(cls, rows: pa.Table) -> SeriesNames:
        """Return the names of the judgments of a block that take part."""
        coded = CodedTask("", rows)
        pairs, names = _judges(coded)
        first = np.unique(pairs.codes, return_index=True)[1]
        public = rows["judge_id"].cast(TEXT).take(pa.array(first)).to_pylist()
        return cls(dict(zip(names, public, strict=True)), coded.names_or_none("criterion"))

    @classmethod
    def joined(cls, parts: Sequence[SeriesNames]) -> SeriesNames:
        """Return the names of several blocks, each once."""
        judges = {name: public for part in parts for name, public in part.judges.items()}
        criteria = sorted({name for part in parts for name in part.criteria})
        return cls(dict(sorted(judges.items())), criteria)


def shared_scores(rows: pa.Table, tasks: pa.Table, series: SeriesNames) -> SharedScores:
    """Return the scores of a block; ``rows`` and ``tasks`` as `ordinary_scores` has them."""
    coded = CodedTask("", rows)
    pairs, names = _judges(coded)
    position = {name: n for n, name in enumerate(series.judges)}
    judge_of_pair = np.array([position[name] for name in names], np.int64)
    items = coded.groups("task", "item")
    return SharedScores.from_scores(
        items, judge_of_pair[pairs.codes], orient_scores(rows, tasks).score,
        coded.codes_among("criterion", series.criteria),
        n_items=int(items.max(initial=-1)) + 1, n_judges=len(series.judges),
        n_criteria=len(series.criteria),
    )  # fmt: skip


def _judges(rows: CodedTask) -> tuple[PairIndex, list[tuple[str, str]]]:
    """Return the codes of task and judge of each row, and the names of these pairs."""
    task, judge = rows["task"], rows["judge"]
    pairs = index_pairs(task.codes, judge.codes)
    codes = zip(pairs.first.tolist(), pairs.second.tolist(), strict=True)
    return pairs, [(task.names[t], judge.names[j]) for t, j in codes]


@dataclass(frozen=True)
class ScoredJudges:
    """Holds the scores of all scalar tasks in blocks of items, and the names of their series."""

    names: SeriesNames
    blocks: Blocks[SharedScores]


@dataclass(frozen=True)
class SeriesCodes:
    """What each series belongs to, ``(n_series,)``.

    Parameters
    ----------
    pair, unit, task
        Codes of task and judge, of the unit of testing, of the task.
    names
        ``n_units`` raw names of the units, which permutations follow from; "" for a unit
        without scores.
    has_scores
        ``(n_units,)`` whether a unit has ordinary scores.
    """

    pair: Codes
    unit: Codes
    task: Codes
    names: Sequence[str]
    has_scores: Flags

    @classmethod
    def from_names(cls, series: SeriesNames, units: Units, *, by_task: bool) -> SeriesCodes:
        """Return the codes of series; ``by_task``: whether judges are tested in each task."""
        judges = series.judges
        pair = units.pair_of_rows(
            pa.table({
                "task": pa.array([task for task, _ in judges], TEXT),
                "judge_id": pa.array([*judges.values()], TEXT),
            })
        )  # fmt: skip
        unit = units.of_pair[pair]
        names = [""] * units.size
        for code, (task, judge) in zip(unit.tolist(), judges, strict=True):
            names[code] = f"{task}\x1f{judge}" if by_task else judge
        has_scores = np.bincount(unit, minlength=units.size) > 0
        n_criteria = len(series.criteria)
        return cls(
            np.tile(pair, n_criteria),
            np.tile(unit, n_criteria),
            np.tile(units.pairs.first[pair], n_criteria),
            names,
            has_scores,
        )


def ordinary_scores(rows: pa.Table, tasks: pa.Table) -> pa.Table:
    """Return the first showings of items in scalar tasks, of criteria that take part.

    Parameters
    ----------
    rows
        ``task``, ``judge``, ``judge_id``, ``control``, ``criterion``, ``item``, ``score``, of
        judgments that count.
    tasks
        ``task``, ``kind``, ``scale_low``, ``scale_high``, ``criteria``.
    """
    scalar = tasks.filter(is_in(tasks["kind"], ("scalar",)))["task"].to_pylist()
    takes_part = pc.and_(is_in(rows["task"], scalar), is_in(rows["control"], ("none",)))
    rows = rows.filter(takes_part)
    return rows.filter(pa.array(orient_scores(rows, tasks).in_control))


def scores_by_task(rows: pa.Table, tasks: Sequence[str]) -> dict[str, Floats]:
    """Return the scores of some tasks in a block."""
    codes = pc.index_in(rows["task"].cast(TEXT), pa.array(tasks, TEXT))
    task, score = pc.fill_null(codes, -1).to_numpy(), rows["score"].to_numpy()
    return {name: score[task == code] for code, name in enumerate(tasks)}


def within_fences(rows: pa.Table, fences: Mapping[str, Scale]) -> pa.Table:
    """Return the rows of a block without outlying scores, which would decide correlations.

    Parameters
    ----------
    rows
        ``task``, ``score``.
    fences
        Of tasks of unknown scale (methods.scores.outlying_scores); others have none.
    """
    tasks: list[str] = pc.unique(rows["task"]).to_pylist()
    low, high = _by_task(rows, {task: fences.get(task, UNBOUNDED) for task in tasks})
    score = rows["score"].to_numpy()
    return rows.filter(pa.array((score >= low) & (score <= high)))
