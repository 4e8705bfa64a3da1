"""Gates on judges and their controls."""

from __future__ import annotations

from typing import Any

from annot_pipeline.errors import first_of
from annot_pipeline.gates import measures
from annot_pipeline.gates.gate import Finding, Gate
from annot_pipeline.gates.measures import named
from annot_pipeline.stages.gold.metrics import JudgeMetrics
from annot_pipeline.stages.judges.metrics import ControlMetrics
from annot_pipeline.stages.scores.metrics import StandardizeMetrics

JUDGES: tuple[Gate[Any], ...] = (
    Gate(
        "judges_failed", ControlMetrics, "judge_tests",
        "share of tested judges who failed judge control",
        "look at p, effect and seconds of these judges in the table judges; if most fail, the "
        "controls may be too hard to see, or the test too strict",
        measure_from=measures.judges_failed, warn=0.5, error=0.9, minimum=10,
    ),
    Gate(
        "careless_judges", ControlMetrics, "judge_tests",
        "number of judges with answers that look random (agreement no better than chance), are all "
        "one, or are copies",
        "see verdict and verdict_reason in the table judges; answers of people who failed do not "
        "count, unless quality.labels is measure",
        measures.careless_judges, warn=0,
    ),
    Gate(
        "failed_labels", ControlMetrics, "judge_tests",
        "share of answers that are of people whose answers look random, are all one, or are copies",
        "see verdict_reason in the table judges; if most answers of an export are careless, remove "
        "the export and do not pay for it yet; raise gates.failed_labels.error to build without "
        "these answers, or set quality.labels: measure to count them",
        measures.failed_labels, warn=0.1, error=0.5,
    ),
    Gate(
        "suspected_labels", ControlMetrics, "judge_tests",
        "share of items that were decided by suspected judges",
        "the data cannot show who is right: let judges with a verdict judge some of these items, "
        "mix in known answers, or let an expert decide; quality.suspected: drop in campaign.yaml "
        "builds without these judges",
        measures.suspected_labels, warn=0, error=0.05,
    ),
    Gate(
        "unlinked_labels", ControlMetrics, "judge_tests",
        "share of items that were decided by judges who share no item with most others",
        "none of these labels is certain: let judges share items, or mix in known answers",
        measures.unlinked_labels, warn=0.05,
    ),
    Gate(
        "judges_undetermined", ControlMetrics, "judge_tests",
        "share of tested judges who have too few controls for a verdict",
        "give every judge controls; until then quality.undetermined decides whether their "
        "judgments count",
        lambda m: measures.of_judges_in_control(m, m.verdicts["undetermined"]), warn=0.2,
    ),
    Gate(
        "verdicts_without_power", ControlMetrics, "judge_tests",
        "number of judges whose test had too little power for a verdict",
        "give each judge as many controls as n_needed in judges says; until then "
        "quality.undetermined decides whether their judgments count",
        measures.verdicts_without_power, warn=0,
    ),
    Gate(
        "few_controls", ControlMetrics, "judge_tests",
        "share of tested judges who have fewer than 10 controls in the smaller sample",
        "give each judge at least 10 controls: with fewer, careless judges pass and careful judges"
        " fail",
        lambda m: measures.of_judges_in_control(m, m.judges_with_few_pairs), warn=0.5,
    ),
    Gate(
        "unpaired_controls", ControlMetrics, "judge_tests",
        "share of controls to be paired that have no ordinary judgment",
        "look at set_aside; map system and segment, or control_of; do not map hit if a control and"
        " its output are in different HITs",
        measures.unpaired_controls, warn=0.05,
    ),
    Gate(
        "unused_controls", ControlMetrics, "judge_tests",
        "number of controls not used by quality.test: known answers or degraded copies",
        "set the test that uses them (known_answer for categorical tasks), or none to keep them "
        "for information; see set_aside for known answers without a usable truth",
        lambda m: Finding(m.unused_controls), warn=0,
    ),
    Gate(
        "test_without_controls", ControlMetrics, "judge_tests",
        "number of tests in quality.test without any judge to test",
        "map the controls that the test needs, or delete quality.test; consistency and bt500 test "
        "judges of scores; labels are tested without controls by any test, with controls by "
        "known_answer (docs/judge_control.md)",
        lambda m: named([m.test_without_controls] if m.test_without_controls else []), warn=0,
    ),
    Gate(
        "inconsistent_judges", ControlMetrics, "judge_tests",
        "number of judges with {minimum} or more shared items and scores that look random "
        "(agreement with others no better than chance)",
        "look at correlation and inconsistency in judges; if there are no controls, set "
        "quality.test: consistency to exclude these judgments",
        measure_from=measures.inconsistent_judges, warn=0, minimum=10,
    ),
    Gate(
        "answers_missing_by_judge", JudgeMetrics, "judges",
        "number of tasks with judges that differ in their share of failed answers beyond chance",
        "look at n_unscored and answered_share in judges; check the prompt, and how answers are "
        "read from the text",
        lambda m: measures.missing_answers(m.missing_answers, "the answers did not fail"), warn=0,
    ),
    Gate(
        "rows_without_z", StandardizeMetrics, "judge_scores",
        "share of scores that have no z-score, among judges who count",
        "look at set_aside: these judges gave one score, or always the same score",
        lambda m: Finding(
            m.kept_without_z / max(m.kept_judgments, 1),
            first_of(m.judges_without_z, between="; "),
        ), warn=0.01,
    ),
    Gate(
        "outlying_scores", StandardizeMetrics, "judge_scores",
        "number of scores so far from all others that they decide means",
        "set scale: [lowest, highest] under tasks, and scores outside are rejected; or correct the "
        "export",
        lambda m: Finding(m.outlying_scores, first_of(m.farthest_scores)), warn=0,
    ),
    Gate(
        "hurried_judges", JudgeMetrics, "judges",
        "number of judges with most answers in less than a third of the typical time",
        "see hurried_share, verdict and accuracy in the table judges: hurry alone proves nothing; "
        "if they are careless, mix in known answers",
        measures.hurried_judges, warn=0,
    ),
    Gate(
        "narrow_judges", JudgeMetrics, "judges",
        "number of judges whose scores rise with those of the others, but by less than a tenth",
        "they score on another scale, such as 0 to 1 beside 0 to 100: correct their exports; until "
        "then z-scores and rankings by them hold, means of scores do not",
        measures.narrow_judges, warn=0,
    ),
)  # fmt: skip
