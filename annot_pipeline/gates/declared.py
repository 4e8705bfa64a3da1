"""All gates, each with its question, its levels, and what to do when it fails."""

from __future__ import annotations

from typing import Any

from annot_pipeline.contracts import GOLD
from annot_pipeline.contracts.stage_metrics import TableMetrics
from annot_pipeline.errors import first_of
from annot_pipeline.gates.gate import Finding, Gate
from annot_pipeline.gates.measures import (
    agreement_by_chance,
    contract_of,
    few_judgments,
    inconsistent_judges,
    judges_below_chance,
    judges_failed,
    labels_against_the_plurality,
    lopsided_orders,
    many_classes,
    misnamed_classes,
    named,
    named_by_task,
    nothing_used,
    of_judges_in_control,
    published_names,
    rejected,
    rejected_in_worst,
    related_judges,
    repeated_answers,
    segments_in_parts,
    superseded_by_order,
    tasks_without_model,
    thin_systems,
    total,
    unconfirmed_rankings,
    unpaired_controls,
    unsupported_labels,
    verdicts_without_power,
    worst_task,
)
from annot_pipeline.gates.since_release import (
    certain_share,
    label_flips,
    largest_change,
    model_drift,
    model_versions,
    new_classes,
    since_release,
    unseen_judges,
    vanished_items,
    vanished_judgments,
)
from annot_pipeline.stages.agreement.metrics import AgreementMetrics
from annot_pipeline.stages.comparisons.metrics import (
    ComparisonMetrics,
    ContradictionMetrics,
    SegmentRankMetrics,
    SystemRankMetrics,
)
from annot_pipeline.stages.gold.metrics import (
    CostMetrics,
    ItemMetrics,
    LineageMetrics,
    ReleaseChangeMetrics,
    ReleaseMetrics,
)
from annot_pipeline.stages.ingest.metrics import ExportMetrics, JudgmentMetrics, RecordMetrics
from annot_pipeline.stages.judges.metrics import ControlMetrics
from annot_pipeline.stages.labels.metrics import CalibrationMetrics, LabelMetrics
from annot_pipeline.stages.model_judges.metrics import ModelJudgeMetrics
from annot_pipeline.stages.scores.metrics import ItemScoreMetrics, StandardizeMetrics

GATES: tuple[Gate[Any], ...] = (
    Gate(
        "accounting", ControlMetrics, "controlled",
        "number of files with unaccounted rows or records",
        "this is a defect of the pipeline; please report it",
        lambda m: named(m.unaccounted), error=0,
    ),
    Gate(
        "lineage_rows", LineageMetrics, "lineage",
        "number of records missing from lineage or listed twice",
        "this is a defect of the pipeline; please report it",
        lambda m: Finding(abs(m.lineage_rows - m.records)), error=0,
    ),
    Gate(
        "nothing_used", ControlMetrics, "controlled",
        "number of campaigns without usable judgments",
        "check the mapping with annot validate; if all judges failed, check quality",
        nothing_used, error=0,
    ),
    Gate(
        "rejected_share", JudgmentMetrics, "settled",
        "share of records that were rejected",
        "fix the export or the mapping (annot validate shows examples), or raise "
        "gates.rejected_share.error",
        rejected, warn=0.01, error=0.1,
    ),
    Gate(
        "rejected_share_by_export", JudgmentMetrics, "settled",
        "share of records that were rejected in the worst export",
        "run annot validate to see examples; check whether a class or a column is missing in the "
        "mapping",
        rejected_in_worst, warn=0.05,
    ),
    Gate(
        "empty_exports", JudgmentMetrics, "settled",
        "number of exports without any row",
        "check that the export was complete",
        lambda m: named(m.empty_files), warn=0,
    ),
    Gate(
        "guessed_kinds", JudgmentMetrics, "settled",
        "number of tasks whose kind was guessed among several",
        "set the kind under tasks",
        lambda m: named(m.ambiguous_tasks), warn=0,
    ),
    Gate(
        "assumed_scales", JudgmentMetrics, "settled",
        "number of scalar tasks without a declared scale, for which EASL scores assume one",
        "set scale: [lowest, highest] under tasks",
        lambda m: named(m.assumed_scales), warn=0,
    ),
    Gate(
        "unused_task_settings", JudgmentMetrics, "settled",
        "number of entries under tasks without effect on any task",
        "correct the name: a glob on the task's name; the first match wins",
        lambda m: named(m.unused_task_settings), warn=0,
    ),
    Gate(
        "unused_judge_settings", RecordMetrics, "record_files",
        "number of entries under judges without effect: no model, and no two judges of one family",
        "correct the name (a glob on the judge's name; the first match wins), or delete the entry: "
        "a family needs two judges, kind: model one",
        lambda m: named(m.unused_judge_settings), warn=0,
    ),
    Gate(
        "ambiguous_judges", RecordMetrics, "record_files",
        "number of pairs of entries under judges with different settings for the same judges",
        "the first entry that matches counts: list the narrower name first, or narrow the other",
        lambda m: named(m.ambiguous_judges), warn=0,
    ),
    Gate(
        "undeclared_models", JudgmentMetrics, "settled",
        "number of judges with the name of a language model, counted as people",
        'declare them: judges: [{name: "gpt-*", kind: model}]; if they are people, list them there'
        " too",
        lambda m: Finding(m.undeclared_models), warn=0,
    ),
    Gate(
        "look_alikes", JudgmentMetrics, "settled",
        "number of similar but different spellings of names or labels",
        "they count as different; map them to one spelling if they mean the same",
        lambda m: named(m.look_alikes), warn=0,
    ),
    Gate(
        "repeated_answers", JudgmentMetrics, "settled",
        "number of pairs of judge and item with several answers",
        "if the answers are to different questions, map the column that distinguishes them (task, "
        "criterion, item); if not, set under tasks which one counts: repeats: last, first, reject "
        "or keep",
        repeated_answers, warn=0,
    ),
    Gate(
        "superseded_by_order", JudgmentMetrics, "settled",
        "number of answers superseded only because of the order of files",
        "map submitted_at, so that the later answer counts; or name corrections so that they sort "
        "last, or list them as a later source",
        superseded_by_order, warn=0,
    ),
    Gate(
        "experts_disagree", JudgmentMetrics, "settled",
        "number of items with different decisions of experts",
        "the latest decision counts; let the experts agree and export one decision",
        lambda m: named(m.experts_disagree), warn=0,
    ),
    Gate(
        "decided_not_judged", LabelMetrics, "labels",
        "number of items decided by experts but without any judgment that counts",
        "check the spelling of the item names; withdraw wrong decisions, or map item to one "
        "spelling",
        lambda m: named_by_task(m.decided_not_judged), warn=0,
    ),
    Gate(
        "decided_new_classes", LabelMetrics, "labels",
        "number of classes that experts used and no judge used",
        "check the spelling; declare labels under tasks to reject other classes",
        lambda m: named_by_task(m.decided_new_classes), warn=0,
    ),
    Gate(
        "unread_rewards", CostMetrics, "costs",
        "number of different rewards that cannot be read as money",
        "write them as 0.05, $0.05 or 0.05 USD; the judgments count without them",
        lambda m: named(m.unread_rewards), warn=0,
    ),
    Gate(
        "unread_items", RecordMetrics, "item_rows",
        "number of rows of item tables that cannot be read",
        "fix the item table; until then its items are published without these rows",
        lambda m: named(m.unread_items), warn=0,
    ),
    Gate(
        "too_many_classes", JudgmentMetrics, "settled",
        "largest number of classes in a task without declared labels",
        "map label to a column of classes, not of free text; if these are classes, list them under"
        " tasks.labels (memory grows with judges times classes squared)",
        many_classes, warn=50, error=200,
    ),
    Gate(
        "published_names", ReleaseMetrics, "release",
        "number of judges whose raw names the release would publish",
        "remove the names from the other columns of exports, from file names or from settings; "
        "then delete store/stages and build again, or set privacy.pseudonymize to false",
        published_names, error=0,
    ),
    Gate(
        "exposed_secrets", ExportMetrics, "exports",
        "number of ways in which others can read or guess the key of the judges' names",
        "chmod 700 the store and 600 its judge.key; for a new secret of 32 random bytes, build "
        "once with --set privacy.new_key=true, which gives judges other names",
        lambda m: named(m.exposed_secrets), warn=0,
    ),
    Gate(
        "judges_in_paths", RecordMetrics, "record_files",
        "number of sources with judge names in the file path, which is published",
        "rename the files, or set privacy.pseudonymize to false if judges need no pseudonyms",
        lambda m: named(m.judges_in_paths), warn=0,
    ),
    Gate(
        "repeated_items", ItemMetrics, "items",
        "number of items with different descriptions in exports or item tables",
        "list each item once, with one truth: the first row of an item table counts and overrides "
        "exports; if exports contradict each other, no truth counts",
        lambda m: named(m.repeated_items), warn=0,
    ),
    Gate(
        "judges_failed", ControlMetrics, "judge_tests",
        "share of tested judges who failed judge control",
        "look at p, effect and seconds of these judges in the table judges; if most fail, the "
        "controls may be too hard to see, or the test too strict",
        measure_from=judges_failed, warn=0.5, error=0.9, minimum=10,
    ),
    Gate(
        "judges_undetermined", ControlMetrics, "judge_tests",
        "share of tested judges who have too few controls for a verdict",
        "give every judge controls; until then quality.undetermined decides whether their "
        "judgments count",
        lambda m: of_judges_in_control(m, m.verdicts["undetermined"]), warn=0.2,
    ),
    Gate(
        "verdicts_without_power", ControlMetrics, "judge_tests",
        "number of judges whose test had too little power for a verdict",
        "give each judge as many controls as n_needed in judges says; until then "
        "quality.undetermined decides whether their judgments count",
        verdicts_without_power, warn=0,
    ),
    Gate(
        "few_controls", ControlMetrics, "judge_tests",
        "share of tested judges who have fewer than 10 controls in the smaller sample",
        "give each judge at least 10 controls: with fewer, careless judges pass and careful judges"
        " fail",
        lambda m: of_judges_in_control(m, m.judges_with_few_pairs), warn=0.5,
    ),
    Gate(
        "unpaired_controls", ControlMetrics, "judge_tests",
        "share of controls to be paired that have no ordinary judgment",
        "look at set_aside; map system and segment, or control_of; do not map hit if a control and"
        " its output are in different HITs",
        unpaired_controls, warn=0.05,
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
        "map the controls that the test needs (docs/campaign.md, judge control), or delete "
        "quality.test",
        lambda m: named([m.test_without_controls] if m.test_without_controls else []), warn=0,
    ),
    Gate(
        "inconsistent_judges", ControlMetrics, "judge_tests",
        "number of judges with {minimum} or more shared items and agreement with others no better "
        "than chance",
        "look at correlation and inconsistency in judges; if there are no controls, set "
        "quality.test: consistency to exclude these judgments",
        measure_from=inconsistent_judges, warn=0, minimum=10,
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
        "tasks_without_comparisons", ComparisonMetrics, "comparisons",
        "number of tasks of kind pairwise or ranking without any comparison",
        "look at set_aside: rankings of one output; map ranking, or hit, and segment",
        lambda m: named([task for task, so in m.without_comparisons.items() if so]), warn=0,
    ),
    Gate(
        "not_compared", ComparisonMetrics, "comparisons",
        "share of ranked outputs that are in no comparison",
        "look at set_aside; map what was ranked together: ranking, or hit, and segment",
        lambda m: Finding(total(m.left_out) / max(total(m.ranked), 1)), warn=0.05,
    ),
    Gate(
        "unplaced_comparisons", ComparisonMetrics, "comparisons",
        "share of comparing judgments that lack the segment or system that others have",
        "segment_ranks or system_rankings omit them, see set_aside; map segment and system, or "
        "list all items",
        lambda m: Finding(total(m.unplaced) / max(total(m.compared), 1)), warn=0.01,
    ),
    Gate(
        "repeated_outputs", ComparisonMetrics, "comparisons",
        "number of outputs with different ranks in one ranking",
        "the mean rank counts; map ranking to separate two rankings of one segment",
        lambda m: named_by_task(m.repeated_outputs), warn=0,
    ),
    Gate(
        "contradictions", ContradictionMetrics, "judge_contradictions",
        "share of outputs that are in contradictions of single judges, in the worst task",
        "see consistency in judges: judges who contradict themselves are careless, or the task is "
        "too hard",
        lambda m: worst_task(m.in_contradiction), warn=0.25,
    ),
    Gate(
        "segments_in_parts", SegmentRankMetrics, "segment_ranks",
        "share of segments that have outputs unconnected by comparisons, in the worst task",
        "each connected part is ranked separately; set next_hits.design: tournament, and annot "
        "hits asks for the missing comparisons",
        segments_in_parts, warn=0.1,
    ),
    Gate(
        "adequacy_without_labels", SegmentRankMetrics, "segment_ranks",
        "number of tasks with an adequacy task that has no labels",
        "correct tasks.adequacy.task; or set next_hits.design: adequacy, and annot hits asks for "
        "them",
        lambda m: named([f"{task}: {name}" for task, name in m.adequacy_without_labels.items()]),
        warn=0,
    ),
    Gate(
        "disconnected_systems", SystemRankMetrics, "system_rankings",
        "number of tasks with systems that no chain of comparisons connects",
        "each component is ranked separately, see component; compare systems of different "
        "components",
        lambda m: named([t for t, counts in m.systems_compared.items() if counts["parts"] > 1]),
        warn=0,
    ),
    Gate(
        "no_finite_scores", SystemRankMetrics, "system_rankings",
        "number of tasks without finite Bradley-Terry scores",
        "some systems never lose to others, see reason; collect more comparisons, or set "
        "ranking.regularize",
        lambda m: named([t for t, is_so in m.not_strongly_connected.items() if is_so]), warn=0,
    ),
    Gate(
        "judge_system_overlap", SystemRankMetrics, "system_rankings",
        "number of tasks with scored systems that no chain of judges connects",
        "systems are ranked by component, because scores of judges who share no system are on "
        "different scales; let judges judge systems of several components, or, if judges were "
        "assigned at random, set ranking.judge_effects: random",
        lambda m: named([task for task, counts in m.systems_scored.items()
                         if len(counts["judge_components"]) > 1
                         and counts.get("judge_effects") != "random"]),
        warn=0,
    ),
    Gate(
        "too_few_judges_to_rank", SystemRankMetrics, "system_rankings",
        "number of tasks without two systems that have enough judges and segments for clusters",
        "clusters are null: they need 10 effective judges and 20 segments (or documents, if "
        "mapped); let more judges judge both systems, or spread judgments more evenly over judges",
        unconfirmed_rankings, warn=0,
    ),
    Gate(
        "order_imbalance", SystemRankMetrics, "system_rankings",
        "number of tasks with a system shown first in less than 10% or more than 90% of its "
        "comparisons",
        "vary which system is shown first: the effect of the order cannot be separated from the "
        "system",
        lopsided_orders, warn=0,
    ),
    Gate(
        "thin_systems", SystemRankMetrics, "system_rankings",
        "number of systems ranked by fewer than {minimum} judgments",
        "their ranks are uncertain, see rank_low and rank_high; collect more judgments of them, or"
        " leave them out of rankings",
        measure_from=thin_systems, warn=0, minimum=10,
    ),
    Gate(
        "agreement_by_chance", AgreementMetrics, "agreement",
        "number of tasks of {minimum} items or more with agreement no better than chance",
        "check the question and the guidelines, and look for judges who answer at random: the "
        "labels and scores of such a task are not reliable",
        measure_from=agreement_by_chance, warn=0, minimum=20,
    ),
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
        "new_classes", ReleaseChangeMetrics, "prevalence",
        "number of labels in use but absent from the same task of the newest release",
        "if they are other spellings of a class, map them to it; declare labels under tasks to "
        "reject others",
        new_classes, warn=0,
    ),
    Gate(
        "label_flips", ReleaseChangeMetrics, "label_changes",
        "share of labelled items that have another label than in the newest release, in the worst "
        "task of {minimum} or more",
        "annot diff shows the cause of each change; look at corrected exports, settings and new "
        "judges",
        measure_from=since_release(label_flips), warn=0.05, error=0.5, minimum=20,
    ),
    Gate(
        "unseen_judges", ReleaseChangeMetrics, "judge_changes",
        "share of judgments that are by judges who are not in the newest release, in the worst "
        "task of {minimum} or more",
        "look at their verdicts in judges before you trust the changes; if judges are mapped from "
        "another column now, correct the mapping",
        measure_from=since_release(unseen_judges), warn=0.5, minimum=20,
    ),
    Gate(
        "model_judge_drift", ReleaseChangeMetrics, "model_drift",
        "number of model judges with less agreement with people on {minimum} or more new items "
        "than in the newest release, beyond chance",
        "check whether the model, its prompt or the items changed: see judge_validation; let "
        "people judge more of the new items",
        measure_from=since_release(model_drift), warn=0, minimum=20,
    ),
    Gate(
        "model_judge_versions", ReleaseChangeMetrics, "model_versions",
        "number of models with another version, prompt or temperature than in the newest release",
        "they are separate judges: look at judge_validation before you compare with earlier "
        "releases",
        model_versions, warn=0,
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
        "if they are failed answers, such as error or null, list them under abstain; map other "
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
        "share of judgments of the newest release that are in no export now, in the worst task of "
        "{minimum} or more",
        "check whether an export is truncated, was replaced, or no longer matches its path; if the"
        " judgments were withdrawn, raise gates.vanished_judgments.error for this build",
        measure_from=since_release(vanished_judgments), warn=0.05, error=0.5, minimum=20,
    ),
    Gate(
        "vanished_items", ReleaseChangeMetrics, "vanished_judgments",
        "share of items of the newest release that are in no export now, in the worst task of "
        "{minimum} or more",
        "check whether an export is truncated, was replaced, or no longer matches its path, or "
        "whether the mapping of item or task changed; if the items were withdrawn, raise "
        "gates.vanished_items.error for this build",
        measure_from=since_release(vanished_items), warn=0.05, error=0.5, minimum=20,
    ),
    Gate(
        "tasks_without_model", LabelMetrics, "labels",
        "number of tasks with too many classes and judges for the label model",
        "these tasks publish majority votes without probabilities; map label to a column of "
        "classes, merge classes, or raise dawid_skene.max_parameters (10 million take 2 GB of "
        "memory)",
        tasks_without_model, warn=0,
    ),
    Gate(
        "convergence", LabelMetrics, "labels",
        "number of tasks with a label model that did not converge",
        "raise dawid_skene.max_iterations",
        lambda m: named([t for t, converged in m.converged.items() if not converged]), warn=0,
    ),
    Gate(
        "class_identity", LabelMetrics, "prevalence",
        "number of classes whose name cannot be trusted under Dawid-Skene",
        "the detail shows which of them the published model keeps; look at prevalence and "
        "judge_confusion; collect more judgments, or merge rare classes",
        misnamed_classes, warn=0,
    ),
    Gate(
        "unsupported_labels", LabelMetrics, "labels",
        "number of items with a label that no judge and no expert gave",
        "set label_model: hierarchical, which never publishes such labels; dawid_skene_* columns "
        "have those of Dawid-Skene",
        unsupported_labels, warn=0,
    ),
    Gate(
        "labels_against_the_plurality", LabelMetrics, "labels",
        "share of items that have another label than the most frequent answer, in the worst task "
        "of {minimum} or more",
        "annot trace shows why; the model may take good judges for bad ones, or one class for "
        "another: ask an expert about some of these items",
        measure_from=labels_against_the_plurality, warn=0.1, minimum=20,
    ),
    Gate(
        "votes_predict_better", LabelMetrics, "labels",
        "number of tasks with held-out labels that votes predict better than the label model, "
        "beyond chance",
        "the model does not fit, and hierarchical publishes the votes: look for judges who copy "
        "each other and set their family under judges, or for a label that several classes share",
        lambda m: named([t for t, row in m.certainty.items() if row["votes_predict_better"]]),
        warn=0,
    ),
    Gate(
        "one_family", LabelMetrics, "labels",
        "number of tasks with labels of one judge or family per item",
        "votes are published with unknown accuracy: ask judges of another family, or an expert",
        lambda m: named([t for t, row in m.certainty.items() if row["is_one_family"]]), warn=0,
    ),
    Gate(
        "unlike_known_items", LabelMetrics, "labels",
        "number of tasks with known items whose classes are distributed differently from all items",
        "draw known items at random from all items: others show how sure the model should be, but "
        "neither how often judges confuse classes nor how many labels are right",
        lambda m: named([t for t, row in m.certainty.items() if row["known_items_differ"]]),
        warn=0,
    ),
    Gate(
        "related_judges", LabelMetrics, "labels",
        "number of groups of judges with correlated errors, beyond what the classes explain",
        "they count as one judge if held-out labels support it; if judges copy each other, share "
        "an account or are one language model, set their family under judges, or keep one of them",
        related_judges, warn=0,
    ),
    Gate(
        "certain_share", ReleaseChangeMetrics, "label_changes",
        "largest change of a task's share of certain labels since the newest release, in tasks of "
        "{minimum} items or more",
        "annot diff shows the items; look at new judges, exports and settings",
        measure_from=since_release(certain_share), warn=0.2, minimum=20,
    ),
    Gate(
        "wrong_certain_labels", CalibrationMetrics, "label_calibration",
        "number of tasks with more wrong certain labels, by the items' truth, than "
        "labels.certain_at allows (beyond the 95% interval)",
        "look at those items: truths may be wrong; else all judges make the same mistake: ask an "
        "expert, and do not train on certain labels alone",
        lambda m: named(m.wrong_certain_labels), warn=0,
    ),
    Gate(
        "truths_of_no_class", CalibrationMetrics, "label_calibration",
        "number of item truths outside the classes of their task",
        "check that truth is spelt as labels are; a label of such an item counts as wrong",
        lambda m: named_by_task(m.truths_of_no_class), warn=0,
    ),
    Gate(
        "judges_below_chance", LabelMetrics, "labels",
        "share of judges who did worse than chance (beyond the 95% interval)",
        "look at these judges in judges and judge_confusion; they may have misread the classes",
        measure_from=judges_below_chance, warn=0.05, error=0.5, minimum=10,
    ),
    Gate(
        "single_judgment_items", LabelMetrics, "labels",
        "share of judged items that have fewer than {minimum} judgments",
        "collect more judgments per item: the certainty of a single label is unknown",
        measure_from=few_judgments, warn=0.5, minimum=2,
    ),
    Gate(
        "single_judgment_scores", ItemScoreMetrics, "scores",
        "share of scored items (of no system) that have fewer than {minimum} judgments",
        "collect more judgments per item: a single score is the opinion of one judge; annot hits "
        "selects the items where more help most",
        measure_from=few_judgments, warn=0.5, minimum=2,
    ),
    *(
        Gate(
            f"contract_{table}", TableMetrics, table,
            f"number of schema violations in {table}",
            "if the detail says doubtful, the export contains invalid values: fix it and build "
            "again; any other violation is a defect of the pipeline: please report it",
            contract_of(table), warn=0, error=0,
        )
        for table in GOLD
    ),
)  # fmt: skip
"""All gates; those of a contract belong to whichever stage makes the table."""
