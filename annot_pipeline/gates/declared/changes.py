"""Gates on what changed since the newest release, and on model judges."""

from __future__ import annotations

from functools import partial
from typing import Any

from annot_pipeline.gates import measures
from annot_pipeline.gates.gate import Gate
from annot_pipeline.gates.measures import largest_change, named, named_by_task, since_release
from annot_pipeline.stages.gold.metrics import ReleaseChangeMetrics
from annot_pipeline.stages.model_judges.metrics import ModelJudgeMetrics

CHANGES: tuple[Gate[Any], ...] = (
    Gate(
        "agreement_fall", ReleaseChangeMetrics, "agreement_changes",
        "largest fall of a kappa, alpha or Spearman of {minimum} items or more since the newest "
        "release, beyond its interval",
        "look at the judges and exports that are new; if guidelines changed, this may be right",
        measure_from=since_release(lambda m, least: largest_change(m.agreement_falls, least)),
        warn=0.1, error=0.5, minimum=20,
    ),
    Gate(
        "prevalence_drift", ReleaseChangeMetrics, "prevalence_changes",
        "share by which the most changed class grew or shrank since the newest release, in tasks "
        "of {minimum} items or more, beyond its interval",
        "annot diff shows the items; check whether the items differ, the mapping of a label "
        "changed, or new judges use the classes differently",
        measure_from=since_release(lambda m, least: largest_change(m.prevalence_shifts, least)),
        warn=0.1, error=0.5, minimum=20,
    ),
    Gate(
        "dropped_exports", ReleaseChangeMetrics, "lineage",
        "number of exports read again that the last rollback dropped",
        "correct the export, or exclude it: annot status prints the lines for sources",
        lambda metrics: named(metrics.dropped_exports), error=0,
    ),
    Gate(
        "new_classes", ReleaseChangeMetrics, "prevalence",
        "number of labels in use but absent from the same task of the newest release",
        "if they are other spellings of a class, map them to it; declare labels under tasks to "
        "reject others",
        measures.new_classes, warn=0,
    ),
    Gate(
        "label_flips", ReleaseChangeMetrics, "label_changes",
        "share of labelled items that have another label than in the newest release, in the worst "
        "task of {minimum} or more",
        "annot diff shows the cause of each change; look at corrected exports, settings and new "
        "judges",
        measure_from=since_release(measures.label_flips), warn=0.05, error=0.2, minimum=20,
    ),
    Gate(
        "corrected_judgments", ReleaseChangeMetrics, "lineage",
        "share of an export's judgments in the newest release that have another answer now, in the "
        "worst changed export with {minimum} or more",
        "compare the export with the one before: labels may be swapped, or mapped from another "
        "column; if it is right, raise gates.corrected_judgments.error for this build",
        measure_from=since_release(measures.corrected_judgments), warn=0.1, error=0.2, minimum=20,
    ),
    Gate(
        "changed_audits", ReleaseChangeMetrics, "lineage",
        "number of tasks with other answers to an audit than in the newest release",
        "see annot diff; after the verdict a new answer is another try: audit new labels",
        lambda m: since_release(lambda *_: named(m.changed_audits), by_judge=True)(m, 0),
        warn=0,
    ),
    Gate(
        "unlike_exports", ReleaseChangeMetrics, "lineage",
        "largest drop of agreement in the new judgments of an export of {minimum} items or more, "
        "against other items, as a share of agreement beyond chance, beyond twice its interval",
        "compare the export with what judges saw: answers may be shifted, shuffled or of another "
        "column; if its items are that hard, raise gates.unlike_exports.error for this build",
        measure_from=lambda m, least: largest_change(m.unlike_exports, least),
        warn=0.5, error=0.8, minimum=20,
    ),
    Gate(
        "shifted_scores", ReleaseChangeMetrics, "lineage",
        "largest change of the mean score that the same judges give, in an export with {minimum} "
        "scores or more against the others, as a share of the range, beyond twice its interval",
        "look whether the export has another scale, or its scores are reversed: map it with a "
        "source of its own; if its items are that different, raise gates.shifted_scores.error",
        measure_from=partial(measures.shifted, kind="scores"), warn=0.15, error=0.3, minimum=20,
    ),
    Gate(
        "shifted_systems", ReleaseChangeMetrics, "lineage",
        "largest change of a system against the others, in an export with {minimum} answers or "
        "more of it, as a share of the range of the systems, beyond twice its interval",
        "look whether systems or sides of the export are swapped, its scores reversed or its "
        "judges partial; if the systems are that different there, raise "
        "gates.shifted_systems.error for this build",
        measure_from=partial(measures.shifted, kind="systems"), warn=0.5, error=0.8, minimum=20,
    ),
    Gate(
        "shifted_labels", ReleaseChangeMetrics, "lineage",
        "largest share of labels that the same judges give to other classes, in an export with "
        "{minimum} or more against the others, beyond twice its interval",
        "compare the export with what judges saw: labels may be swapped, shuffled or of another "
        "column; if its items are that different, raise gates.shifted_labels.error for this build",
        measure_from=partial(measures.shifted, kind="labels"), warn=0.15, error=0.4, minimum=20,
    ),
    Gate(
        "copied_answers", ReleaseChangeMetrics, "lineage",
        "share of scores or preferences that repeat those of another judge, in the worst export of "
        "{minimum} or more",
        "look whether an export repeats another under other names of judges: exclude it in its "
        "source; if people copied, leave them out (where, or annot forget)",
        measure_from=measures.copied_answers, warn=0, error=0.2, minimum=20,
    ),
    Gate(
        "unseen_judges", ReleaseChangeMetrics, "judge_changes",
        "share of judgments that are by judges who are not in the newest release, in the worst "
        "task of {minimum} or more",
        "look at their verdicts in judges before you trust the changes; if judges are mapped from "
        "another column now, correct the mapping",
        measure_from=since_release(measures.unseen_judges, by_judge=True), warn=0.5, minimum=20,
    ),
    Gate(
        "one_sided_judges", ReleaseChangeMetrics, "judge_changes",
        "number of judges with 20 or more preferences that are all one answer",
        "look at their answers and times: who always takes the same side has hardly looked; leave "
        "their judgments out (where in the source), or mix in known answers (quality.test)",
        lambda m: named(m.one_sided_judges), warn=0,
    ),
    Gate(
        "reinstated_judges", ReleaseChangeMetrics, "judge_changes",
        "number of judges with a failed test in the newest release and a passed one now",
        "their judgments count again: a wrong export makes bad judges look as good as others, so "
        "check what is new (annot diff names changed labels and scores); if right, do nothing",
        lambda m: since_release(lambda *_: named(m.reinstated_judges), by_judge=True)(m, 0),
        warn=0,
    ),
    Gate(
        "doubtful_items", ReleaseChangeMetrics, "judge_changes",
        "share of items judged since the newest release that were decided by suspected judges, or "
        "by new judges whose agreement differs from that of the others, in the worst task of "
        "{minimum} or more",
        "let judges of the newest release judge some of these items, or mix in known answers; to "
        "build without suspected judges, set quality.suspected: drop in campaign.yaml; to leave "
        "out an export, exclude it in its source",
        measure_from=since_release(measures.doubtful_items, by_judge=True),
        warn=0, error=0.2, minimum=20,
    ),
    Gate(
        "model_judge_drift", ReleaseChangeMetrics, "model_drift",
        "number of model judges with less agreement with people on {minimum} or more new items "
        "than in the newest release, beyond chance",
        "check whether the model, its prompt or the items changed: see judge_validation; let "
        "people judge more of the new items",
        measure_from=since_release(measures.model_drift), warn=0, minimum=20,
    ),
    Gate(
        "model_judge_versions", ReleaseChangeMetrics, "model_versions",
        "number of models with another version, prompt or temperature than in the newest release",
        "they are separate judges: look at judge_validation before you compare with earlier "
        "releases",
        measures.model_versions, warn=0,
    ),
    Gate(
        "unvalidated_model_judges", ModelJudgeMetrics, "judge_validation",
        "number of model judges without known answers and without items that people judged",
        "their accuracy is unknown: let people judge some of their items (next_hits.design: "
        "validate, then annot hits), or list known answers",
        lambda m: named_by_task(m.unvalidated), warn=0,
    ),
    Gate(
        "constant_model_judges", ModelJudgeMetrics, "judge_validation",
        "number of model judges with the same answer to all items",
        "check the prompt, and how answers are read from the model's text",
        lambda m: named_by_task(m.constant), warn=0,
    ),
    Gate(
        "several_model_versions", ModelJudgeMetrics, "judge_validation",
        "number of models with several versions, prompts or temperatures in one task",
        "each is a separate judge of the items that it judged; if one counts, exclude the others "
        "by where",
        lambda m: named_by_task(m.several_versions), warn=0,
    ),
    Gate(
        "labels_of_models_alone", ModelJudgeMetrics, "judge_validation",
        "number of labels that only models gave",
        "if they are failed answers, such as error or null, list them under failed; map other "
        "spellings of a class to it; declare labels under tasks to reject others",
        lambda m: named_by_task(m.model_labels), warn=0,
    ),
    Gate(
        "chosen_human_items", ModelJudgeMetrics, "estimates",
        "number of tasks without corrected estimates, because people's items are not a random "
        "sample",
        "draw items at random, or map selection_probability: annot hits with next_hits.design: "
        "validate logs it",
        lambda m: named([f"{task}: {why}" for task, why in m.biased_samples.items()]), warn=0,
    ),
    Gate(
        "vanished_judgments", ReleaseChangeMetrics, "vanished_judgments",
        "share of judgments of the newest release that are in no export now, in the worst task or "
        "export of {minimum} or more",
        "check whether an export is truncated, was replaced, or no longer matches its path; if the"
        " judgments were withdrawn, raise gates.vanished_judgments.error for this build",
        measure_from=since_release(measures.vanished_judgments, by_judge=True),
        warn=0.05, error=0.2, minimum=20,
    ),
    Gate(
        "vanished_items", ReleaseChangeMetrics, "vanished_judgments",
        "share of items of the newest release that are in no export now, in the worst task of "
        "{minimum} or more",
        "check whether an export is truncated, was replaced, or no longer matches its path, or "
        "whether the mapping of item or task changed; if the items were withdrawn, raise "
        "gates.vanished_items.error for this build",
        measure_from=since_release(measures.vanished_items), warn=0.05, error=0.2, minimum=20,
    ),
)  # fmt: skip
