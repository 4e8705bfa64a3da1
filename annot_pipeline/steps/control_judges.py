"""Judge control: every judge tested by controls, and what the test says.

Sources: Graham et al. 2013, sections 3 and 4 (degraded copies, repeated items, one-sided
tests); the contrasts and tests that campaigns since use are settings. What does not belong
here: which control belongs to which judgment (sql/control), the arithmetic of the tests.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.config import Quality
from annot_pipeline.contracts import INT, REAL, TEXT, VERDICTS
from annot_pipeline.errors import ConfigError, Problem
from annot_pipeline.methods.grouped_tests import (
    GroupedTest,
    mann_whitney,
    paired_t,
    signed_rank,
    welch,
)
from annot_pipeline.methods.known_answers import known_answers
from annot_pipeline.methods.multiplicity import adjust
from annot_pipeline.methods.rounding import comparable
from annot_pipeline.steps.indexing import Index, PairIndex, index, index_pairs, is_any, names_of
from annot_pipeline.steps.orient_scores import orient_scores

FEW_PAIRS = 10
"""Below so many pairs a test seldom finds anything: with 10, the paired t-test finds a
degradation of 20 points with power .96 (METHODS; tests/simulate/test_score_power.py)."""

JUDGE_TESTS = pa.schema(
    [
        ("task", TEXT),
        ("judge", TEXT),
        ("verdict", TEXT),
        ("verdict_reason", TEXT),
        ("dropped", pa.bool_()),
        ("test", TEXT),
        ("contrast", TEXT),
        ("statistic", REAL),
        ("effect", REAL),
        ("p_value", REAL),
        ("p_adjusted", REAL),
        ("n_pairs", INT),
        ("n_known_answers", INT),
        ("known_answer_accuracy", REAL),
        ("known_answer_low", REAL),
        ("known_answer_high", REAL),
    ]
)
"""One row is a task and judge; joined into `contracts.JUDGES`."""

Codes = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
PASSED, FAILED, UNDETERMINED, UNTESTED = range(len(VERDICTS))


@dataclass(frozen=True)
class _Units:
    """Who is tested: judges of the campaign, or judges of each task.

    ``of_pair`` is the unit of each (task, judge) pair; ``size`` the number of units.
    """

    pairs: PairIndex
    task: Index
    judge: Index
    of_pair: Codes
    size: int

    def of(self, rows: pa.Table) -> Codes:
        """Unit of each row of a table with ``task`` and ``judge_id``."""
        return self.of_pair[self.pair(rows)]

    def pair(self, rows: pa.Table) -> Codes:
        """Task and judge of each row of such a table."""
        width = len(self.judge.names)
        keys = _place(rows["task"], self.task) * width + _place(rows["judge_id"], self.judge)
        return np.searchsorted(self.pairs.first * width + self.pairs.second, keys)


def control_judges(
    met: pa.Table,
    pairs: pa.Table,
    answers: pa.Table,
    tasks: pa.Table,
    scores: pa.Table,
    *,
    quality: Quality,
) -> tuple[pa.Table, dict[str, Any]]:
    """Test the judges.

    Parameters
    ----------
    met
        As sql/control/controls_met.sql gives it.
    pairs
        As `orient_pairs` gives them.
    answers
        As sql/control/known_answers.sql gives them.
    tasks
        ``task``, ``kind``, ``scale_low``, ``scale_high``, ``criteria``.
    scores
        ``task``, ``judge_id``, ``control``, ``criterion``, ``score`` of judgments that count, of
        tasks with degraded copies; looked at where the contrast is ``pooled``.
    quality
        Which test of which contrast, and what follows from it.

    Returns
    -------
    judge_tests, facts
        A row a task and judge.
    """
    units = _units(met, quality)
    known = answers.filter(pc.is_null(answers["reason"]))
    right = pc.equal(known["label"].cast(TEXT), known["truth"].cast(TEXT)).to_numpy()
    floor = quality.known_accuracy
    classes = known["n_classes"].to_numpy().astype(np.float64)
    chance = np.full(classes.size, floor) if floor else 1 / np.maximum(classes, 2)
    answered = known_answers(units.of(known), right, chance, n_judges=units.size)
    if quality.test == "none":
        test, sampled = None, set()
    elif quality.test == "known_answer":
        test = GroupedTest(
            np.where(answered.n > 0, answered.n_right, np.nan),
            answered.effect,
            answered.p_value,
            answered.n,
        )
        sampled = set(answers["task"].to_pylist())
    else:
        test, sampled = _test_scores(met, pairs, tasks, scores, units, quality)
    verdict, reason, p_adjusted = _decide(test, _is_controlled(units, sampled), quality)
    drop = verdict == FAILED
    if quality.undetermined == "drop":
        drop |= verdict == UNDETERMINED
    of = units.of_pair
    n = of.size

    def column(values: Floats | None) -> pa.Array:
        if values is None:
            return pa.nulls(n, REAL)
        return pa.array(values[of], REAL, mask=~np.isfinite(values[of]))

    has_contrast = quality.test not in ("none", "known_answer")
    table = pa.table(
        {
            "task": names_of(units.task.names, units.pairs.first),
            "judge": names_of(units.judge.names, units.pairs.second),
            "verdict": names_of(VERDICTS, verdict[of]),
            "verdict_reason": reason.take(pa.array(of)),
            "dropped": drop[of],
            "test": pa.repeat(pa.scalar(quality.test if test else None, TEXT), n),
            "contrast": pa.repeat(pa.scalar(quality.contrast if has_contrast else None, TEXT), n),
            "statistic": column(test.statistic if test else None),
            "effect": column(test.effect if test else None),
            "p_value": column(test.p_value if test else None),
            "p_adjusted": column(p_adjusted),
            "n_pairs": test.n[of] if test else np.zeros(n, np.int64),
            "n_known_answers": answered.n[of],
            "known_answer_accuracy": column(answered.accuracy),
            "known_answer_low": column(answered.low),
            "known_answer_high": column(answered.high),
        },
        schema=JUDGE_TESTS,
    )
    return table, _facts(verdict, drop, test, pairs, answers, quality)


def orient_pairs(pairs: pa.Table, tasks: pa.Table) -> pa.Table:
    """Pairs of controls with scores turned so that more is better.

    Parameters
    ----------
    pairs
        As sql/control/pairs.sql gives them; a control without its pair has no ordinary score.
    tasks
        ``task``, ``scale_low``, ``scale_high``, ``criteria``.

    Returns
    -------
    The same, with whether the criterion is ``in_control``.
    """
    of = {
        name: orient_scores(
            pairs.select(["task", "criterion"]).append_column(
                "score", pc.fill_null(pairs[name], 0.0)
            ),
            tasks,
        )
        for name in ("score", "ordinary_score")
    }
    for name, oriented in of.items():
        at = pairs.schema.get_field_index(name)
        missing = pc.is_null(pairs[name]).to_numpy()
        pairs = pairs.set_column(at, name, pa.array(oriented.score, mask=missing))
    return pairs.append_column("in_control", pa.array(of["score"].in_control))


def with_degraded_copies(met: pa.Table) -> set[str]:
    """Tasks of which judges met degraded copies."""
    degraded = met.filter(is_any(met["control"], ("bad_reference",)))
    return set(pc.unique(degraded["task"]).to_pylist())


def _units(met: pa.Table, quality: Quality) -> _Units:
    task, judge = index(met["task"]), index(met["judge_id"])
    pairs = index_pairs(task.codes, judge.codes)
    if quality.scope == "task":
        return _Units(pairs, task, judge, np.arange(pairs.first.size), pairs.first.size)
    return _Units(pairs, task, judge, pairs.second, len(judge.names))


def _place(column: pa.ChunkedArray, names: Index) -> Codes:
    found = pc.index_in(column.cast(TEXT), pa.array(names.names, TEXT))
    return np.asarray(found.to_numpy(), np.int64)


def _test_scores(
    met: pa.Table,
    pairs: pa.Table,
    tasks: pa.Table,
    scores: pa.Table,
    units: _Units,
    quality: Quality,
) -> tuple[GroupedTest, set[str]]:
    """The test of every unit, and the tasks that hold the controls it needs."""
    sampled = with_degraded_copies(met) & set(_scalar(tasks))
    points = _points(tasks, sampled, quality)
    if quality.contrast == "pooled":
        both = (_scores(scores, c, tasks, units, points) for c in ("none", "bad_reference"))
        ordinary, copies = both
        # scores of tasks and criteria in which the judge saw no degraded copy are another matter
        beside = np.isin(ordinary.group, copies.group)
        samples = (ordinary.unit[beside], ordinary.score[beside], copies.unit, copies.score)
    else:
        units_2, d2 = _differences(pairs, "bad_reference", units, points)
        if quality.contrast == "paired":
            test = paired_t if quality.test == "paired_t" else signed_rank
            return test(units_2, d2, n_groups=units.size), sampled
        units_1, d1 = _differences(pairs, "ask_again", units, points)
        samples = (units_2, d2, units_1, d1 if quality.signed else np.abs(d1))
    two_samples = welch if quality.test == "welch" else mann_whitney
    return two_samples(*samples, n_groups=units.size), sampled


@dataclass(frozen=True)
class _Scores:
    """Scores of one kind of judgment; ``group`` tells judge, task and criterion apart."""

    unit: Codes
    group: Codes
    score: Floats


Scale = tuple[float, float]


def _points(tasks: pa.Table, sampled: set[str], quality: Quality) -> dict[str, Scale]:
    """Zero and unit of each task's scores: 0 and 1, or where scales differ, the lowest point and
    the hundredth part of the scale.

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
    scored: pa.Table, control: str, tasks: pa.Table, units: _Units, points: dict[str, Scale]
) -> _Scores:
    """Scores of one kind of judgment in the tasks with controls, of criteria that take part."""
    rows = scored.select(["task", "judge_id", "control", "criterion", "score"])
    rows = rows.filter(is_any(rows["control"], (control,)))
    rows = rows.filter(is_any(rows["task"], list(points)))
    oriented = orient_scores(rows, tasks)
    rows = rows.filter(pa.array(oriented.in_control))
    zero, unit = _by_task(rows, points)
    score = (oriented.score[oriented.in_control] - zero) / unit
    criteria = pc.unique(scored["criterion"].cast(TEXT))
    criterion = pc.fill_null(pc.index_in(rows["criterion"].cast(TEXT), criteria), 0).to_numpy()
    pair = units.pair(rows)
    return _Scores(units.of_pair[pair], pair * (len(criteria) + 1) + criterion, score)


def _differences(
    pairs: pa.Table, control: str, units: _Units, points: dict[str, Scale]
) -> tuple[Codes, Floats]:
    """Ordinary score minus control's score, by unit."""
    rows = pairs.filter(is_any(pairs["control"], (control,)))
    rows = rows.filter(pc.and_(pc.is_null(rows["reason"]), rows["in_control"]))
    rows = rows.filter(is_any(rows["task"], list(points)))
    differences = rows["ordinary_score"].to_numpy() - rows["score"].to_numpy()
    _, unit = _by_task(rows, points)
    return units.of(rows), comparable(differences / unit)


def _by_task(rows: pa.Table, points: dict[str, Scale]) -> Floats:
    """Zero and unit of each row's task, ``(2, n_rows)``."""
    place = pc.index_in(rows["task"].cast(TEXT), pa.array(list(points), TEXT)).to_numpy()
    return np.asarray(np.array(list(points.values()), np.float64).reshape(-1, 2)[place].T)


def _scalar(tasks: pa.Table) -> list[str]:
    return [row["task"] for row in tasks.to_pylist() if row["kind"] == "scalar"]


def _is_controlled(units: _Units, sampled: set[str]) -> npt.NDArray[np.bool_]:
    """Whether any task of a unit holds controls for the test."""
    of_task = np.array([name in sampled for name in units.task.names], np.bool_)
    hit = of_task[units.pairs.first] if of_task.size else np.empty(0, np.bool_)
    return np.bincount(units.of_pair[hit], minlength=units.size) > 0


def _decide(
    test: GroupedTest | None, controlled: npt.NDArray[np.bool_], quality: Quality
) -> tuple[Codes, pa.Array, Floats | None]:
    """Verdict, reason and adjusted p of every unit."""
    n_units = controlled.size
    if test is None:
        return np.full(n_units, UNTESTED), pa.repeat("quality.test is none", n_units), None
    enough = test.n >= (1 if quality.test == "known_answer" else quality.min_pairs)
    decided = controlled & enough & ~np.isnan(test.p_value)
    p_adjusted = np.where(decided, test.p_value, np.nan)
    p_adjusted = adjust(p_adjusted, quality.correction)
    passes = np.less(p_adjusted, quality.alpha, where=decided, out=np.zeros(n_units, np.bool_))
    verdict = np.select(
        [decided & passes, decided, controlled], [PASSED, FAILED, UNDETERMINED], UNTESTED
    )
    constant = decided & np.isin(test.p_value, (0.0, 1.0)) & ~np.isfinite(test.statistic)
    constant |= decided & (test.statistic == 0) & (test.effect == 0) & (test.p_value == 1)
    what = "known answers" if quality.test == "known_answer" else "pairs"
    if quality.contrast == "pooled" and what == "pairs":
        what = "scores in the smaller sample"
    least = 1 if quality.test == "known_answer" else quality.min_pairs
    counts, place = np.unique(test.n, return_inverse=True)
    texts = [
        "no controls for this test",
        "the scores do not vary: decided by the means",
        *(f"{n} {what}, {least} are needed" for n in counts),
    ]
    which = np.select([verdict == UNTESTED, constant, ~decided], [0, 1, place + 2], -1)
    return verdict, pc.take(pa.array(texts, TEXT), pa.array(which, mask=which < 0)), p_adjusted


def _facts(
    verdict: Codes,
    drop: npt.NDArray[np.bool_],
    test: GroupedTest | None,
    pairs: pa.Table,
    answers: pa.Table,
    quality: Quality,
) -> dict[str, Any]:
    tested = int(np.isin(verdict, (PASSED, FAILED, UNDETERMINED)).sum())
    few = 0 if test is None else int(((test.n < FEW_PAIRS) & (verdict != UNTESTED)).sum())
    n_degraded = int(pc.sum(is_any(pairs["control"], ("bad_reference",))).as_py() or 0)
    kinds = pa.array(quality.paired_controls, TEXT)
    pairs = pairs.filter(is_any(pairs["control"], kinds))
    unpaired = pairs.filter(pc.is_valid(pairs["reason"]))
    without_truth = answers.num_rows - answers["reason"].null_count
    return {
        "verdicts": {name: int((verdict == code).sum()) for code, name in enumerate(VERDICTS)},
        "judges_in_control": tested,
        "judges_dropped": int(drop.sum()),
        "judges_with_few_pairs": few if quality.test != "known_answer" else 0,
        "paired_controls": pairs.num_rows,
        "unpaired_controls": unpaired.num_rows,
        "unpaired_reasons": {
            row["values"]: row["counts"]
            for row in pc.value_counts(unpaired["reason"].cast(TEXT)).to_pylist()
        },
        "known_answers": answers.num_rows,
        "known_answers_without_truth": without_truth,
        "unused_controls": {"none": 0, "known_answer": without_truth + n_degraded}.get(
            quality.test, answers.num_rows
        ),
    }
