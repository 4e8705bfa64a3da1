"""What judge control tells of its verdicts: counts, and judges to look at."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.arrays import Flags
from annot_pipeline.config import Quality
from annot_pipeline.contracts import TEXT, VERDICTS
from annot_pipeline.runtime.indexing import is_in
from annot_pipeline.stages.judges.careful_judge import ControlTest
from annot_pipeline.stages.judges.compare_judges import ComparedJudges
from annot_pipeline.stages.judges.control_scores import Units
from annot_pipeline.stages.judges.judge_verdicts import (
    FAILED,
    PASSED,
    UNDETERMINED,
    UNTESTED,
    JudgeVerdicts,
)
from annot_pipeline.stages.judges.label_judges import LabelJudges
from annot_pipeline.stages.judges.metrics import (
    InconsistentJudge,
    PowerShortage,
    VerdictMetrics,
)

FEW_PAIRS = 10
"""Below so many pairs a test seldom finds anything: with 10, the paired t-test finds a
degradation of 20 points with power .96 (tests/experiments/simulators/test_score_power.py)."""


def inconsistent_judges(
    compared: ComparedJudges, units: Units, drop: Flags, quality: Quality
) -> list[InconsistentJudge]:
    """Return the judges who count and agree no better than chance, those with most items first."""
    result = compared.test.result
    unit = np.flatnonzero(compared.inconsistent & ~drop)
    first = np.unique(units.of_pair, return_index=True)[1]
    judges: list[InconsistentJudge] = []
    for code in unit.tolist():
        pair = first[code]
        judge = units.judge.names[units.pairs.second[pair]]
        task = units.task.names[units.pairs.first[pair]]
        correlation = float(result.effect[code])
        judges.append({
            "judge": f"{task} {judge}" if quality.scope == "task" else judge,
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
    pair = np.zeros(units.size, np.int64)
    pair[units.of_pair[::-1]] = np.arange(units.of_pair.size)[::-1]

    def names(chosen: Flags) -> list[str]:
        judges = []
        for code in pair[np.flatnonzero(chosen)].tolist():
            judge = units.judge.names[units.pairs.second[code]]
            task = units.task.names[units.pairs.first[code]]
            judges.append(f"{task} {judge}" if quality.scope == "task" else judge)
        return sorted(judges)

    is_careless = (labelled.verdict == FAILED) | (labelled.is_random & ~labelled.is_suspected)
    tests = np.array([test or "" for test in labelled.test])
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
        "suspicions": sorted(
            {
                reason
                for reason, is_suspected in zip(
                    labelled.reason, labelled.is_suspected.tolist(), strict=True
                )
                if is_suspected and reason
            }
        ),
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
