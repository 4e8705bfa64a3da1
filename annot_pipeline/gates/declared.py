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
    named,
    named_by_task,
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
        "number of files with rows or records unaccounted for",
        "this is a defect of the pipeline; please report it",
        lambda m: named(m.unaccounted), error=0,
    ),
    Gate(
        "lineage_rows", LineageMetrics, "lineage",
        "number of records that lineage lacks or has too many of",
        "this is a defect of the pipeline; please report it",
        lambda m: Finding(abs(m.lineage_rows - m.records)), error=0,
    ),
    Gate(
        "nothing_used", ControlMetrics, "controlled",
        "number of campaigns (1: this one) without any judgment to use",
        "check the mapping with annot validate; if all judges failed, check quality",
        lambda m: Finding(float(m.fates["used"] == 0)), error=0,
    ),
    Gate(
        "rejected_share", JudgmentMetrics, "settled",
        "share of records that were rejected",
        "mend the export or the mapping (annot validate shows examples), or raise "
        "gates.rejected_share.error",
        rejected, warn=0.01, error=0.1,
    ),
    Gate(
        "rejected_share_by_export", JudgmentMetrics, "settled",
        "share of records that were rejected in the worst export",
        "annot validate shows examples; look whether a class or a column is missing in the mapping",
        rejected_in_worst, warn=0.05,
    ),
    Gate(
        "empty_exports", JudgmentMetrics, "settled",
        "number of exports without any row",
        "check that the export had finished",
        lambda m: named(m.empty_files), warn=0,
    ),
    Gate(
        "guessed_kinds", JudgmentMetrics, "settled",
        "number of tasks whose kind was guessed between several",
        "name the kind under tasks",
        lambda m: named(m.ambiguous_tasks), warn=0,
    ),
    Gate(
        "assumed_scales", JudgmentMetrics, "settled",
        "number of scalar tasks that declare no scale, and whose EASL scores assume one",
        "write scale: [lowest, highest] under tasks",
        lambda m: named(m.assumed_scales), warn=0,
    ),
    Gate(
        "unused_task_settings", JudgmentMetrics, "settled",
        "number of entries under tasks that no task takes its settings from",
        "mend their names: a glob on the task's name; the first match wins",
        lambda m: named(m.unused_task_settings), warn=0,
    ),
    Gate(
        "unused_judge_settings", RecordMetrics, "record_files",
        "number of entries under judges that declare no model and make no two judges a family",
        "correct the name (a glob on the judge's name; the first match wins), or delete the entry: "
        "a family needs two judges, kind: model one",
        lambda m: named(m.unused_judge_settings), warn=0,
    ),
    Gate(
        "ambiguous_judges", RecordMetrics, "record_files",
        "number of pairs of entries under judges that say different things of the same judges",
        "the first entry that matches counts: put the narrower name first, or narrow the other",
        lambda m: named(m.ambiguous_judges), warn=0,
    ),
    Gate(
        "undeclared_models", JudgmentMetrics, "settled",
        "number of judges who are named like language models and count as people",
        'declare them: judges: [{name: "gpt-*", kind: model}]; if they are people, name them '
        "there",
        lambda m: Finding(m.undeclared_models), warn=0,
    ),
    Gate(
        "look_alikes", JudgmentMetrics, "settled",
        "number of names or labels that look alike but differ",
        "they are kept apart; map them to one spelling if they mean the same",
        lambda m: named(m.look_alikes), warn=0,
    ),
    Gate(
        "repeated_answers", JudgmentMetrics, "settled",
        "number of times that a judge answered an item more than once",
        "if the answers are to different questions, map what tells them apart (task, criterion, "
        "item); if not, say under tasks which one counts: repeats: last, first, reject or keep",
        repeated_answers, warn=0,
    ),
    Gate(
        "superseded_by_order", JudgmentMetrics, "settled",
        "number of answers that gave way to others by the order of files alone",
        "map submitted_at, so that the later answer counts; or name corrections so that they sort "
        "last, or list them as a later source",
        superseded_by_order, warn=0,
    ),
    Gate(
        "experts_disagree", JudgmentMetrics, "settled",
        "number of items on which experts decided differently",
        "the latest decision counts; let the experts settle it and export one decision",
        lambda m: named(m.experts_disagree), warn=0,
    ),
    Gate(
        "decided_not_judged", LabelMetrics, "labels",
        "number of items that experts decided and of which no judgment counts",
        "look whether their names are mistyped; withdraw what is, map item to one spelling",
        lambda m: named_by_task(m.decided_not_judged), warn=0,
    ),
    Gate(
        "decided_new_classes", LabelMetrics, "labels",
        "number of classes that experts decided for and no judge used",
        "look whether they are mistyped; declare labels under tasks, and others are rejected",
        lambda m: named_by_task(m.decided_new_classes), warn=0,
    ),
    Gate(
        "unread_rewards", CostMetrics, "costs",
        "number of different rewards that are no amount of money",
        "write them as 0.05, $0.05 or 0.05 USD; the judgments count all the same",
        lambda m: named(m.unread_rewards), warn=0,
    ),
    Gate(
        "unread_items", RecordMetrics, "item_rows",
        "number of rows of item tables that cannot be read",
        "mend the item table; the items are there all the same, without what these rows say",
        lambda m: named(m.unread_items), warn=0,
    ),
    Gate(
        "too_many_classes", JudgmentMetrics, "settled",
        "largest number of classes of a task that declares none",
        "map label to a column of classes, not of free text; if these are classes, list them under "
        "tasks.labels (memory grows with judges times classes squared)",
        many_classes, warn=50, error=200,
    ),
    Gate(
        "published_names", ReleaseMetrics, "release",
        "number of judges whose raw names the release would publish",
        "take the names out of the exports' other columns, file names or settings; then delete "
        "store/stages and build again, or set privacy.pseudonymize to false",
        published_names, error=0,
    ),
    Gate(
        "exposed_secrets", ExportMetrics, "exports",
        "number of ways in which others can read or guess the key of the judges' names",
        "chmod 700 the store and 600 its judge.key; a secret of 32 random bytes gives judges "
        "other names, with --set privacy.new_key=true, once",
        lambda m: named(m.exposed_secrets), warn=0,
    ),
    Gate(
        "judges_in_paths", RecordMetrics, "record_files",
        "number of sources whose paths tell who judged; paths are published",
        "name the files otherwise, or set privacy.pseudonymize to false if judges need no "
        "pseudonyms",
        lambda m: named(m.judges_in_paths), warn=0,
    ),
    Gate(
        "repeated_items", ItemMetrics, "items",
        "number of items that exports or item tables describe in different ways",
        "list each item once, with one truth: the first row of an item table counts, and goes "
        "before exports; of exports that contradict each other no truth counts",
        lambda m: named(m.repeated_items), warn=0,
    ),
    Gate(
        "judges_failed", ControlMetrics, "judge_tests",
        "share of the judges in judge control who failed",
        "look at their rows in judges: p, effect, seconds; if most fail, the controls may be too "
        "hard to see, or the test too strict",
        measure_from=judges_failed, warn=0.5, error=0.9, minimum=10,
    ),
    Gate(
        "judges_undetermined", ControlMetrics, "judge_tests",
        "share of the judges in judge control with too few controls for a verdict",
        "give every judge controls; until then quality.undetermined says what becomes of them",
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
        "share of the judges in judge control whose smaller sample is below 10",
        "a test of so few pairs lets careless judges pass and fails careful ones; give each judge "
        "at least 10",
        lambda m: of_judges_in_control(m, m.judges_with_few_pairs), warn=0.5,
    ),
    Gate(
        "unpaired_controls", ControlMetrics, "judge_tests",
        "share of the controls that the test pairs which lack their ordinary judgment",
        "look at set_aside; map system and segment, or control_of; do not map hit where a control "
        "and its output stand in different HITs",
        unpaired_controls, warn=0.05,
    ),
    Gate(
        "unused_controls", ControlMetrics, "judge_tests",
        "number of known answers or degraded copies that quality.test does not use",
        "name the test that fits them (known_answer for categorical tasks), or none if they are "
        "for information; see set_aside for known answers without a usable truth",
        lambda m: Finding(m.unused_controls), warn=0,
    ),
    Gate(
        "test_without_controls", ControlMetrics, "judge_tests",
        "number of tests that quality.test asks for and that could test no judge",
        "map the controls that the test needs (docs/campaign.md, judge control), or delete "
        "quality.test",
        lambda m: named([m.test_without_controls] if m.test_without_controls else []), warn=0,
    ),
    Gate(
        "inconsistent_judges", ControlMetrics, "judge_tests",
        "number of judges who count, share {minimum} items or more with others, and agree with "
        "them no better than chance",
        "look at correlation and inconsistency in judges; without controls set quality.test: "
        "consistency, and their judgments do not count",
        measure_from=inconsistent_judges, warn=0, minimum=10,
    ),
    Gate(
        "rows_without_z", StandardizeMetrics, "judge_scores",
        "share of the scalar judgments of judges kept that have no z-score",
        "look at set_aside: judges with one score, or the same score always",
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
        "share of the ranked outputs that are in no comparison",
        "look at set_aside; map what was ranked at once: ranking, or hit, and segment",
        lambda m: Finding(total(m.left_out) / max(total(m.ranked), 1)), warn=0.05,
    ),
    Gate(
        "unplaced_comparisons", ComparisonMetrics, "comparisons",
        "share of the comparing judgments without a segment or a system, where others have one",
        "they are left out of segment_ranks or system_rankings, see set_aside; map segment and "
        "system, or list all items",
        lambda m: Finding(total(m.unplaced) / max(total(m.compared), 1)), warn=0.01,
    ),
    Gate(
        "repeated_outputs", ComparisonMetrics, "comparisons",
        "number of outputs that stand twice in a ranking with different ranks",
        "their mean counts; map ranking, so that two rankings of one segment stay apart",
        lambda m: named_by_task(m.repeated_outputs), warn=0,
    ),
    Gate(
        "contradictions", ContradictionMetrics, "judge_contradictions",
        "share of outputs in contradictions of single judges, in the worst task",
        "judges who contradict themselves do not look, or the task is too hard: see consistency "
        "in judges",
        lambda m: worst_task(m.in_contradiction), warn=0.25,
    ),
    Gate(
        "segments_in_parts", SegmentRankMetrics, "segment_ranks",
        "share of segments whose outputs no chain of comparisons connects, in the worst task",
        "parts are ranked apart; annot hits with next_hits.design: tournament asks what connects "
        "them",
        segments_in_parts, warn=0.1,
    ),
    Gate(
        "adequacy_without_labels", SegmentRankMetrics, "segment_ranks",
        "number of tasks whose adequacy names a task without labels",
        "mend tasks.adequacy.task; or ask: annot hits with next_hits.design: adequacy",
        lambda m: named([f"{task}: {name}" for task, name in m.adequacy_without_labels.items()]),
        warn=0,
    ),
    Gate(
        "disconnected_systems", SystemRankMetrics, "system_rankings",
        "number of tasks whose systems no chain of comparisons connects",
        "they are ranked in parts, see component; compare systems of different parts",
        lambda m: named([t for t, counts in m.systems_compared.items() if counts["parts"] > 1]),
        warn=0,
    ),
    Gate(
        "no_finite_scores", SystemRankMetrics, "system_rankings",
        "number of tasks in which Bradley-Terry has no finite scores",
        "some systems never lose to others, see reason; compare more, or set ranking.regularize",
        lambda m: named([t for t, is_so in m.not_strongly_connected.items() if is_so]), warn=0,
    ),
    Gate(
        "judge_system_overlap", SystemRankMetrics, "system_rankings",
        "number of tasks with scores whose systems no chain of judges connects",
        "scores of judges who share no system are on different scales, so systems are ranked by "
        "component; let judges judge systems of several components, or, if judges were assigned at "
        "random, set ranking.judge_effects: random",
        lambda m: named([task for task, counts in m.systems_scored.items()
                         if len(counts["judge_components"]) > 1
                         and counts.get("judge_effects") != "random"]),
        warn=0,
    ),
    Gate(
        "too_few_judges_to_rank", SystemRankMetrics, "system_rankings",
        "number of tasks in which no two systems have enough judges and segments for clusters",
        "clusters are null: they need 10 effective judges and 20 segments, or documents where "
        "these are mapped; let more judges judge both systems, or spread judgments more evenly "
        "over judges",
        unconfirmed_rankings, warn=0,
    ),
    Gate(
        "order_imbalance", SystemRankMetrics, "system_rankings",
        "number of tasks in which a system is shown first in less than 10% or more than 90% of its "
        "comparisons",
        "being shown first and being that system look alike there; swap what is shown first",
        lopsided_orders, warn=0,
    ),
    Gate(
        "thin_systems", SystemRankMetrics, "system_rankings",
        "number of systems that are ranked by fewer than {minimum} judgments",
        "their ranks are hardly more than chance, see rank_low and rank_high; ask for more "
        "judgments of them, or list them in no ranking",
        measure_from=thin_systems, warn=0, minimum=10,
    ),
    Gate(
        "agreement_by_chance", AgreementMetrics, "agreement",
        "number of tasks of {minimum} items or more whose judges agree no more than by chance",
        "look at the question and the guidelines, and at judges who answer at random: labels and "
        "scores of such a task rest on nothing that judges share",
        measure_from=agreement_by_chance, warn=0, minimum=20,
    ),
    Gate(
        "agreement_fall", ReleaseChangeMetrics, "agreement_changes",
        "largest fall of a kappa, alpha or Spearman of {minimum} items or more since the newest "
        "release, of those that their intervals do not explain",
        "look at the judges and exports that are new; if guidelines changed, this may be right",
        measure_from=since_release(lambda m, least: largest_change(m.agreement_falls, least)),
        warn=0.1, error=0.5, minimum=20,
    ),
    Gate(
        "prevalence_drift", ReleaseChangeMetrics, "prevalence_changes",
        "share of the items by which a class grew or shrank most since the newest release, in "
        "tasks of {minimum} items or more, of those changes that their intervals do not explain",
        "annot diff shows the items; look whether other items came in, a label is mapped anew, or "
        "new judges use the classes otherwise",
        measure_from=since_release(lambda m, least: largest_change(m.prevalence_shifts, least)),
        warn=0.1, error=0.5, minimum=20,
    ),
    Gate(
        "new_classes", ReleaseChangeMetrics, "prevalence",
        "number of labels that judges use and that the newest release does not have in their task",
        "if they are other spellings of a class, map them to it; declare labels under tasks, and "
        "others are rejected",
        new_classes, warn=0,
    ),
    Gate(
        "label_flips", ReleaseChangeMetrics, "label_changes",
        "share of the items labelled before whose label is not that of the newest release, in the "
        "worst task of {minimum} or more",
        "annot diff names the cause of each; look at corrected exports, settings and new judges",
        measure_from=since_release(label_flips), warn=0.05, error=0.5, minimum=20,
    ),
    Gate(
        "unseen_judges", ReleaseChangeMetrics, "judge_changes",
        "share of the judgments that are by judges whom the newest release does not have, in the "
        "worst task of {minimum} or more",
        "look at their verdicts in judges before you trust what changed; if judges are mapped "
        "from another column now, mend the mapping",
        measure_from=since_release(unseen_judges), warn=0.5, minimum=20,
    ),
    Gate(
        "model_judge_drift", ReleaseChangeMetrics, "model_drift",
        "number of model judges who agree less with people on {minimum} or more new items than on "
        "those of the newest release, by more than chance",
        "look whether the model, its prompt or the items changed: rows of judge_validation; let "
        "people judge more of the new items",
        measure_from=since_release(model_drift), warn=0, minimum=20,
    ),
    Gate(
        "model_judge_versions", ReleaseChangeMetrics, "model_versions",
        "number of models that judge with another version, prompt or temperature than in the "
        "newest release",
        "they are judges of their own: look at their rows in judge_validation before you compare "
        "with earlier releases",
        model_versions, warn=0,
    ),
    Gate(
        "unvalidated_model_judges", ModelJudgeMetrics, "judge_validation",
        "number of model judges who share no item with people and none with a known answer",
        "nothing says how often they are right: let people judge some of their items (annot hits "
        "with next_hits.design: validate), or list known answers",
        lambda m: named_by_task(m.unvalidated), warn=0,
    ),
    Gate(
        "constant_model_judges", ModelJudgeMetrics, "judge_validation",
        "number of model judges who give the same answer to all of their items",
        "look at the prompt, and at how answers are read from the model's text",
        lambda m: named_by_task(m.constant), warn=0,
    ),
    Gate(
        "several_model_versions", ModelJudgeMetrics, "judge_validation",
        "number of models that judge a task with several versions, prompts or temperatures",
        "each is a judge of its own, over the items that it judged; if one counts, leave the "
        "others out with where",
        lambda m: named_by_task(m.several_versions), warn=0,
    ),
    Gate(
        "labels_of_models_alone", ModelJudgeMetrics, "judge_validation",
        "number of labels that models gave and no person did",
        "if they are failed answers, as error or null, name them under abstain; map other "
        "spellings of a class to it; declare labels under tasks, and others are rejected",
        lambda m: named_by_task(m.model_labels), warn=0,
    ),
    Gate(
        "chosen_human_items", ModelJudgeMetrics, "estimates",
        "number of tasks without corrected estimates, as people's items are no random sample",
        "draw items at random, or map selection_probability: annot hits with next_hits.design: "
        "validate logs it",
        lambda m: named([f"{task}: {why}" for task, why in m.biased_samples.items()]), warn=0,
    ),
    Gate(
        "vanished_judgments", ReleaseChangeMetrics, "vanished_judgments",
        "share of the newest release's judgments that no export holds any more, in the worst task "
        "of {minimum} or more",
        "look whether an export is cut short, replaced or not matched by path any more; if they "
        "were withdrawn, raise gates.vanished_judgments.error for this build",
        measure_from=since_release(vanished_judgments), warn=0.05, error=0.5, minimum=20,
    ),
    Gate(
        "vanished_items", ReleaseChangeMetrics, "vanished_judgments",
        "share of the newest release's items that no export judges any more, in the worst task of "
        "{minimum} or more",
        "look whether an export is cut short, replaced or not matched by path any more, or item or "
        "task is mapped anew; if they were withdrawn, raise gates.vanished_items.error for this "
        "build",
        measure_from=since_release(vanished_items), warn=0.05, error=0.5, minimum=20,
    ),
    Gate(
        "tasks_without_model", LabelMetrics, "labels",
        "number of tasks with too many classes and judges for the model: majority votes are "
        "published, without probabilities",
        "map label to a column of classes, merge classes, or raise dawid_skene.max_parameters "
        "(10 million take 2 GB of memory)",
        tasks_without_model, warn=0,
    ),
    Gate(
        "convergence", LabelMetrics, "labels",
        "number of tasks whose model did not converge",
        "raise dawid_skene.max_iterations",
        lambda m: named([t for t, converged in m.converged.items() if not converged]), warn=0,
    ),
    Gate(
        "class_identity", LabelMetrics, "prevalence",
        "number of classes that no longer mean their name under Dawid-Skene",
        "the detail says which of them the published model keeps; look at their rows in prevalence "
        "and judge_confusion; ask more judges, or merge rare classes",
        lambda m: named_by_task(m.misnamed_classes), warn=0,
    ),
    Gate(
        "unsupported_labels", LabelMetrics, "labels",
        "number of items whose label no judge gave, and no expert decided",
        "publish label_model: hierarchical, which never does so; dawid_skene_* has the paper's",
        unsupported_labels, warn=0,
    ),
    Gate(
        "labels_against_the_plurality", LabelMetrics, "labels",
        "share of the items whose label is not one given most often, in the worst task of "
        "{minimum} or more",
        "annot trace shows why; judges who outvote the others are taken for worse ones, or one "
        "class for another: ask an expert for some of these items",
        measure_from=labels_against_the_plurality, warn=0.1, minimum=20,
    ),
    Gate(
        "votes_predict_better", LabelMetrics, "labels",
        "number of tasks whose held-out labels votes predict better than the label model, beyond "
        "chance",
        "the model does not fit, and hierarchical publishes the votes: look for judges who copy "
        "each other and name their family under judges, or for a label that several classes share",
        lambda m: named([t for t, row in m.certainty.items() if row["votes_predict_better"]]),
        warn=0,
    ),
    Gate(
        "one_family", LabelMetrics, "labels",
        "number of tasks in which all labels of each item are of one judge or family",
        "votes are published, and nothing tells how often they are right: ask judges of another "
        "family, or an expert",
        lambda m: named([t for t, row in m.certainty.items() if row["is_one_family"]]), warn=0,
    ),
    Gate(
        "unlike_known_items", LabelMetrics, "labels",
        "number of tasks whose known items are of other classes than all items, by their labels",
        "they say how sure the model should be, not how often judges mistake a class, nor how many "
        "labels are right: take known items at random from all",
        lambda m: named([t for t, row in m.certainty.items() if row["known_items_differ"]]),
        warn=0,
    ),
    Gate(
        "related_judges", LabelMetrics, "labels",
        "number of groups of judges whose errors go together more than the classes explain",
        "they count as one where held-out labels bear it out; judges who copy each other, share an "
        "account or are one language model: name their family under judges, or keep one of them",
        related_judges, warn=0,
    ),
    Gate(
        "certain_share", ReleaseChangeMetrics, "label_changes",
        "largest change since the newest release of a task's share of certain labels, in tasks of "
        "{minimum} items or more",
        "annot diff shows the items; look at new judges, exports and settings",
        measure_from=since_release(certain_share), warn=0.2, minimum=20,
    ),
    Gate(
        "wrong_certain_labels", CalibrationMetrics, "label_calibration",
        "number of tasks of whose certain labels more are wrong by the items' truth than "
        "labels.certain_at allows, beyond chance (the 95% interval)",
        "look at those items: truths may be wrong; else all judges make the same mistake: ask an "
        "expert, and do not train on certainty alone",
        lambda m: named(m.wrong_certain_labels), warn=0,
    ),
    Gate(
        "truths_of_no_class", CalibrationMetrics, "label_calibration",
        "number of truths of items that are no class of their task",
        "look whether truth is spelt as labels are; a label of such an item counts as wrong",
        lambda m: named_by_task(m.truths_of_no_class), warn=0,
    ),
    Gate(
        "judges_below_chance", LabelMetrics, "labels",
        "share of judges who do worse than answering without looking, beyond chance (the 95% "
        "interval)",
        "look at their rows in judges and judge_confusion; they may have misread the classes",
        measure_from=judges_below_chance, warn=0.05, error=0.5, minimum=10,
    ),
    Gate(
        "single_judgment_items", LabelMetrics, "labels",
        "share of the items judged that have fewer than {minimum} judgments",
        "ask more judges: one label says nothing of its own certainty",
        measure_from=few_judgments, warn=0.5, minimum=2,
    ),
    Gate(
        "single_judgment_scores", ItemScoreMetrics, "scores",
        "share of the items of no system whose score rests on fewer than {minimum} judgments",
        "ask more judges: such a score is what one judge says; annot hits asks where it helps most",
        measure_from=few_judgments, warn=0.5, minimum=2,
    ),
    *(
        Gate(
            f"contract_{table}", TableMetrics, table,
            f"number of ways in which {table} breaks its contract, or is doubtful",
            "what is doubtful stands so in the exports: mend them; all else is a defect of the "
            "pipeline: please report it",
            contract_of(table), warn=0, error=0,
        )
        for table in GOLD
    ),
)  # fmt: skip
"""All gates; those of a contract belong to whichever stage makes the table."""
