"""Judge control: every judge tested by controls, and what the test says.

Sources: Graham et al. 2013, sections 3 and 4 (degraded copies, repeated items, one-sided tests);
the contrasts and tests that campaigns since use are settings. Without controls, judges of scores
are compared with each other. What does not belong here: which control belongs to which judgment
(sql/control), what is compared (control_scores), what follows from a test (judge_verdicts),
comparisons of judges and screening (compare_judges), arithmetic (methods).
"""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.arrays import Codes, Flags, Floats
from annot_pipeline.config import Quality
from annot_pipeline.contracts import FLAG, INT, REAL, TEXT, VERDICTS
from annot_pipeline.methods.judges.effect_bounds import accuracy_interval
from annot_pipeline.methods.judges.grouped_tests import GroupedTest
from annot_pipeline.methods.judges.known_answers import KnownAnswers, known_answers
from annot_pipeline.runtime.indexing import is_in, names_of
from annot_pipeline.stages.judges.compare_judges import (
    ComparedJudges,
    compare_judges,
    screen_by_bt500,
    screen_by_references,
)
from annot_pipeline.stages.judges.control_scores import (
    ScoredJudges,
    Units,
    answers_of,
    tested_scores,
)
from annot_pipeline.stages.judges.judge_verdicts import (
    FAILED,
    PASSED,
    UNDETERMINED,
    UNTESTED,
    ControlTest,
    JudgeVerdicts,
    answer_test,
    judge_verdicts,
    score_test,
    untested,
)
from annot_pipeline.stages.judges.label_judges import LabelJudges, without_judges
from annot_pipeline.stages.judges.metrics import (
    InconsistentJudge,
    PowerShortage,
    VerdictMetrics,
)
from annot_pipeline.stages.shared.columns import replace_columns
from annot_pipeline.stages.shared.orient_scores import orient_scores

FEW_PAIRS = 10
"""Below so many pairs a test seldom finds anything: with 10, the paired t-test finds a
degradation of 20 points with power .96 (tests/experiments/simulators/test_score_power.py)."""


def inconsistent_judges(
    compared: ComparedJudges, units: Units, drop: Flags, quality: Quality
) -> list[InconsistentJudge]:
    """Return the judges who count and agree no better than chance, those with most items first."""
    result = compared.test.result
    names = units.names(by_task=quality.scope == "task")
    judges: list[InconsistentJudge] = []
    for code in np.flatnonzero(compared.inconsistent & ~drop).tolist():
        correlation = float(result.effect[code])
        judges.append({
            "judge": names[code],
            "n": int(result.n[code]),
            "correlation": correlation if np.isfinite(correlation) else None,
        })  # fmt: skip
    return sorted(judges, key=lambda row: (-row["n"], row["judge"]))


def label_metrics(
    labelled: LabelJudges, some: Flags, units: Units, quality: Quality
) -> dict[str, Any]:
    """Return the metrics of judges of labels, as `VerdictMetrics` names them.

    ``some`` are the units without a verdict by controls.
    """
    unit_names = units.names(by_task=quality.scope == "task")

    def names(chosen: Flags) -> list[str]:
        return sorted(unit_names[code] for code in np.flatnonzero(chosen).tolist())

    is_careless = (labelled.verdict == FAILED) | (labelled.is_random & ~labelled.is_suspected)
    tests = np.array([test or "" for test in labelled.test])
    suspected = labelled.is_suspected.tolist()
    return {
        "label_verdicts": {
            name: int((some & (labelled.verdict == code)).sum())
            for code, name in enumerate(VERDICTS)
        },
        "careless_judges": {
            test: names(is_careless & (tests == test))
            for test in ("chance", "constant", "copies")
            if (is_careless & (tests == test)).any()
        },
        "suspected_judges": names(labelled.is_suspected),
        "suspected_share": labelled.suspected_share if quality.suspected == "keep" else 0.0,
        "unlinked_judges": names(labelled.is_unlinked),
        "unlinked_share": labelled.unlinked_share,
        "camps": labelled.camps,
        "suspicions": sorted({*filter(None, itertools.compress(labelled.reason, suspected))}),
        "failed_label_share": labelled.failed_share if quality.labels == "drop" else 0.0,
    }


def verdict_metrics(
    pairs: pa.Table,
    answers: pa.Table,
    verdicts: JudgeVerdicts,
    drop: Flags,
    test: ControlTest | None,
    inconsistent: list[InconsistentJudge],
    quality: Quality,
) -> VerdictMetrics:
    """Return the counts of verdicts, and of the controls that they rest on.

    Parameters
    ----------
    pairs, answers
        As `apply_control_test` takes them.
    verdicts, drop, test
        Verdicts, whether a judge does not count, and the test, by unit.
    inconsistent
        As `inconsistent_judges` gives them.
    quality
        Which test.
    """
    verdict = verdicts.verdict
    tested = int(np.isin(verdict, (PASSED, FAILED, UNDETERMINED)).sum())
    few = 0 if test is None else int(((test.result.n < FEW_PAIRS) & (verdict != UNTESTED)).sum())
    n_degraded = int(pc.sum(is_in(pairs["control"], ("bad_reference",))).as_py() or 0)
    kinds = pa.array(quality.paired_controls, TEXT)
    pairs = pairs.filter(is_in(pairs["control"], kinds))
    unpaired = pairs.filter(pc.is_valid(pairs["reason"]))
    without_truth = answers.num_rows - answers["reason"].null_count
    return VerdictMetrics(
        verdicts={name: int((verdict == code).sum()) for code, name in enumerate(VERDICTS)},
        judges_in_control=tested,
        judges_dropped=int(drop.sum()),
        verdicts_without_power=_shortages(verdicts, test),
        judges_with_few_pairs=few if quality.has_contrast else 0,
        paired_controls=pairs.num_rows,
        unpaired_controls=unpaired.num_rows,
        unpaired_reasons={
            row["values"]: row["counts"]
            for row in pc.value_counts(unpaired["reason"].cast(TEXT)).to_pylist()
        },
        known_answers=answers.num_rows,
        known_answers_without_truth=without_truth,
        unused_controls={
            "none": 0,
            "known_answer": without_truth + n_degraded,
            "consistency": answers.num_rows + n_degraded,
            "bt500": answers.num_rows + n_degraded,
        }.get(quality.test, answers.num_rows),
        test_without_controls=quality.test if quality.is_chosen_test and not tested else None,
        inconsistent_judges=inconsistent,
    )


def _shortages(verdicts: JudgeVerdicts, test: ControlTest | None) -> list[PowerShortage]:
    """Return how many judges had too little power, by their controls and those they need."""
    if test is None:
        return []
    some = np.flatnonzero(verdicts.lacks_power)
    counts = Counter(
        (int(test.result.n[unit]), float(verdicts.n_needed[unit])) for unit in some.tolist()
    )
    return [
        {"n": n, "needed": int(n_required) if np.isfinite(n_required) else None, "judges": judges}
        for (n, n_required), judges in sorted(counts.items())
    ]


JUDGE_TESTS = pa.schema(
    [(name, TEXT) for name in ("task", "judge", "verdict", "verdict_reason")]
    + [(name, FLAG) for name in ("dropped", "suspected", "uncertain")]
    + [(name, TEXT) for name in ("test", "contrast")]
    + [(name, REAL) for name in ("statistic", "effect", "effect_low", "effect_high")]
    + [(name, REAL) for name in ("required_effect", "p_value", "p_adjusted", "power")]
    + [(name, INT) for name in ("n_pairs", "n_needed", "n_known_answers")]
    + [(f"known_answer_{name}", REAL) for name in ("accuracy", "low", "high")]
    + [(name, REAL) for name in ("bias", "spread", "inconsistency", "correlation")]
    + [("n_shared_items", INT)]
)
"""One row is a task and judge; joined into `contracts.JUDGES`."""


@dataclass(frozen=True)
class TestedJudges:
    """Outcome of judge control, before judges of scores are compared with each other.

    Parameters
    ----------
    units
        Judges of the campaign, or of each task.
    answered
        Results on known answers, which are listed whatever the test.
    test, verdicts
        None where no test is done by controls: `finish_control` does it.
    pairs, answers
        As `apply_control_test` takes them.
    """

    units: Units
    answered: KnownAnswers
    test: ControlTest | None
    verdicts: JudgeVerdicts
    pairs: pa.Table
    answers: pa.Table


def apply_control_test(
    control_judgments: pa.Table,
    pairs: pa.Table,
    answers: pa.Table,
    tasks: pa.Table,
    scores: pa.Table,
    *,
    quality: Quality,
) -> TestedJudges:
    """Test the judges by controls, where the test takes any.

    Parameters
    ----------
    control_judgments
        As sql/control/controls_met.sql gives it.
    pairs
        As `orient_pairs` gives them.
    answers
        As sql/control/known_answers.sql gives them.
    tasks
        ``task``, ``kind``, ``scale_low``, ``scale_high``, ``criteria``.
    scores
        ``task``, ``judge``, ``judge_id``, ``control``, ``criterion``, ``item``, ``hit``, ``score``
        of judgments of scalar tasks that count; looked at where the contrast is ``pooled``, of
        tasks with degraded copies.
    quality
        Which test of which contrast, and what follows from it.
    """
    units = Units.of_controls(control_judgments, quality)
    usable = answers.filter(pc.is_null(answers["reason"]))
    answer_units = answers_of(usable, units)
    floor = quality.known_accuracy
    classes = usable["n_classes"].to_numpy().astype(np.float64)
    chance = np.full(classes.size, floor) if floor else 1 / np.maximum(classes, 2)
    answered = known_answers(answer_units.unit, answer_units.right, chance, n_judges=units.size)
    test: ControlTest | None = None
    verdicts = untested(units.size)
    if quality.test == "reference_threshold":
        test, verdicts = screen_by_references(pairs, tasks, units, quality)
        return TestedJudges(units, answered, test, verdicts, pairs, answers)
    if quality.test == "known_answer":
        right = np.where(answered.n > 0, answered.n_right, np.nan)
        result = GroupedTest(
            right, answered.effect, answered.p_value, answered.n, np.full(units.size, np.inf)
        )
        test = answer_test(
            result,
            answered.accuracy - answered.effect,
            *accuracy_interval(answer_units, units.stratum),
        )
        sampled = set(answers["task"].to_pylist())
    elif quality.has_contrast:
        controls = tested_scores(control_judgments, pairs, tasks, scores, units, quality)
        test = score_test(controls.test, controls.samples, units.stratum, quality)
        sampled = controls.tasks
    if test:
        verdicts = judge_verdicts(test, units.are_controlled(sampled), units.stratum, quality)
    return TestedJudges(units, answered, test, verdicts, pairs, answers)


def finish_control(
    tested: TestedJudges,
    scored: ScoredJudges,
    tasks: pa.Table,
    *,
    quality: Quality,
    seed: int,
    labelled: LabelJudges | None = None,
) -> tuple[pa.Table, VerdictMetrics]:
    """Compare judges of scores with each other, and list what judge control says of all judges.

    Parameters
    ----------
    tested
        As `apply_control_test` gives it.
    scored
        Ordinary scores of scalar tasks.
    tasks, quality
        As `apply_control_test` takes them.
    seed
        Of permutations.
    labelled
        As `label_judges` gives it; None: judges of labels are not tested.

    Returns
    -------
    judge_tests, metrics
        One row per task and judge.
    """
    units, test, verdicts = tested.units, tested.test, tested.verdicts
    if quality.test == "bt500":
        test, verdicts = screen_by_bt500(scored, units, quality)
    if quality.test == "consistency":
        compared = compare_judges(scored, units, np.zeros(units.size, np.bool_), quality, seed)
        test, verdicts = compared.test, compared.verdicts
    else:
        comparison = quality.model_copy(update={"test": "consistency", "required_effect": None})
        compared = compare_judges(scored, units, _dropped(verdicts, quality), comparison, seed)
    drop = _dropped(verdicts, quality)
    of_pair = units.of_pair
    n = of_pair.size

    def column(values: Floats | None, kind: pa.DataType = REAL) -> pa.Array:
        if values is None:
            return pa.nulls(n, kind)
        values = values[of_pair]
        return pa.array(values, mask=~np.isfinite(values)).cast(kind)

    def by_pair(values: Floats) -> pa.Array:
        return pa.array(values, mask=~np.isfinite(values))

    is_scalar = is_in(tasks["kind"], ("scalar",))
    scalar = set(tasks.filter(is_scalar)["task"].to_pylist())
    in_scalar = np.array([name in scalar for name in units.task.names], np.bool_)
    in_scalar = in_scalar[units.pairs.first] if in_scalar.size else np.empty(0, np.bool_)
    figures, answered = compared.figures, tested.answered
    result_or_none = test.result if test else None
    names_test = np.ones(n, np.bool_)
    if quality.test != "known_answer":  # which takes labels; others take scores of a unit
        names_test = (np.bincount(of_pair, in_scalar, minlength=units.size) > 0)[of_pair]

    def name(value: str | None) -> pa.Array:
        return pa.array([value if is_shown else None for is_shown in names_test.tolist()], TEXT)

    table = pa.table(
        {
            "task": names_of(units.task.names, units.pairs.first),
            "judge": names_of(units.judge.names, units.pairs.second),
            "verdict": names_of(VERDICTS, verdicts.verdict[of_pair]),
            "verdict_reason": verdicts.reason.take(pa.array(of_pair)),
            "dropped": drop[of_pair],
            "suspected": np.zeros(n, np.bool_),
            "uncertain": np.zeros(n, np.bool_),
            "test": name(quality.test if test else None),
            "contrast": name(quality.contrast if quality.has_contrast else None),
            "statistic": column(result_or_none.statistic if result_or_none else None),
            "effect": column(result_or_none.effect if result_or_none else None),
            "effect_low": column(test.low if test else None),
            "effect_high": column(test.high if test else None),
            "required_effect": column(verdicts.required),
            "p_value": column(result_or_none.p_value if result_or_none else None),
            "p_adjusted": column(verdicts.p_adjusted),
            "power": column(verdicts.power),
            "n_pairs": result_or_none.n[of_pair] if result_or_none else np.zeros(n, np.int64),
            "n_needed": column(verdicts.n_needed, INT),
            "n_known_answers": answered.n[of_pair],
            "known_answer_accuracy": column(answered.accuracy),
            "known_answer_low": column(answered.low),
            "known_answer_high": column(answered.high),
            "bias": by_pair(figures.bias),
            "spread": by_pair(figures.spread),
            "inconsistency": by_pair(figures.inconsistency),
            "correlation": by_pair(compared.correlations.correlation),
            "n_shared_items": pa.array(figures.n, mask=~in_scalar),
        },
        schema=JUDGE_TESTS,
    )
    inconsistent = inconsistent_judges(compared, units, drop, quality)
    metrics = verdict_metrics(
        tested.pairs, tested.answers, verdicts, drop, test, inconsistent, quality
    )
    if labelled is None:
        return table, metrics
    has_verdict = np.isin(verdicts.verdict, (PASSED, FAILED))
    labelled = without_judges(labelled, has_verdict)
    table = with_label_tests(table, labelled, verdicts.verdict, units, quality)
    is_dropped = table["dropped"].to_numpy()
    return table, replace(
        metrics,
        **label_metrics(labelled, ~has_verdict, units, quality),
        judges_dropped=np.unique(units.of_pair[is_dropped]).size,
    )


def with_label_tests(
    table: pa.Table, labelled: LabelJudges, verdict: Codes, units: Units, quality: Quality
) -> pa.Table:
    """Return the tests of judges, those of labels in place of no test by controls.

    Parameters
    ----------
    table
        Rows of `JUDGE_TESTS`, one a pair of ``units``.
    labelled
        As `label_judges` gives it.
    verdict
        ``(n_units,)`` verdicts by controls, as places in ``VERDICTS``.
    units
        Whom verdicts are about.
    quality
        Whether judges who fail, or are suspected, are dropped.
    """
    is_failed = labelled.verdict == FAILED
    has_reason = np.array([reason is not None for reason in labelled.reason], np.bool_)
    by_labels = (verdict == UNTESTED) & ((labelled.verdict != UNTESTED) | has_reason)
    by_labels |= (verdict == UNDETERMINED) & (is_failed | labelled.is_suspected)
    drop = (is_failed & ~labelled.is_model & (quality.labels == "drop")) | (
        labelled.is_suspected & (quality.suspected == "drop")
    )
    chance = labelled.chance
    nan = np.full(verdict.size, np.nan)
    by_chance = np.array([test in (None, "chance") for test in labelled.test], np.bool_)
    p_value = np.where(by_chance, chance.p_value, nan)
    numbers = {
        "statistic": np.where(by_chance, chance.z, nan), "effect": chance.skill,
        "effect_low": nan, "effect_high": nan, "required_effect": nan, "p_value": p_value,
        "p_adjusted": np.where(by_chance, labelled.p_adjusted, nan),
        "power": np.where(by_chance, labelled.power, nan),
        "n_pairs": chance.n.astype(np.float64), "n_needed": labelled.n_needed,
    }  # fmt: skip
    columns = {
        "verdict": names_of(VERDICTS, labelled.verdict),
        "verdict_reason": pa.array(labelled.reason, TEXT),
        "dropped": pa.array(drop),
        "suspected": pa.array(labelled.is_suspected),
        "test": pa.array(labelled.test, TEXT),
        "contrast": pa.nulls(verdict.size, TEXT),
    } | {name: pa.array(v, mask=~np.isfinite(v)) for name, v in numbers.items()}
    of_pair, mask = pa.array(units.of_pair), pa.array(by_labels[units.of_pair])
    uncertain = labelled.is_suspected | labelled.is_unlinked
    chosen = {
        name: pc.if_else(mask, values.cast(table[name].type).take(of_pair), table[name])
        for name, values in columns.items()
    }
    return replace_columns(table, chosen | {"uncertain": pa.array(uncertain[units.of_pair])})


def _dropped(verdicts: JudgeVerdicts, quality: Quality) -> Flags:
    """Return whether judges do not count, by unit."""
    dropped = (FAILED, UNDETERMINED) if quality.undetermined == "drop" else (FAILED,)
    return np.isin(verdicts.verdict, dropped)


def orient_pairs(pairs: pa.Table, tasks: pa.Table) -> pa.Table:
    """Return pairs of controls with scores turned so that more is better.

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
    oriented_scores = {
        name: orient_scores(
            pairs.select(["task", "criterion"]).append_column(
                "score", pc.fill_null(pairs[name], 0.0)
            ),
            tasks,
        )
        for name in ("score", "ordinary_score")
    }
    turned = {
        name: pa.array(oriented.score, mask=pc.is_null(pairs[name]).to_numpy())
        for name, oriented in oriented_scores.items()
    }
    pairs = replace_columns(pairs, turned)
    return pairs.append_column("in_control", pa.array(oriented_scores["score"].in_control))
