"""Gates on labels, label models and scores of items."""

from __future__ import annotations

from typing import Any

from annot_pipeline.gates import measures
from annot_pipeline.gates.gate import Gate
from annot_pipeline.gates.measures import named, named_by_task, since_release
from annot_pipeline.stages.gold.metrics import ReleaseChangeMetrics
from annot_pipeline.stages.labels.metrics import CalibrationMetrics, LabelMetrics
from annot_pipeline.stages.scores.metrics import ItemScoreMetrics

LABELS: tuple[Gate[Any], ...] = (
    Gate(
        "tasks_without_model", LabelMetrics, "labels",
        "number of tasks with too many classes and judges for the label model",
        "these tasks publish majority votes without probabilities; map label to a column of "
        "classes, merge classes, or raise dawid_skene.max_parameters (10 million take 2 GB of "
        "memory)",
        measures.tasks_without_model, warn=0,
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
        measures.misnamed_classes, warn=0,
    ),
    Gate(
        "unsupported_labels", LabelMetrics, "labels",
        "number of items with a label that no judge and no expert gave",
        "set label_model: hierarchical, which never publishes such labels; dawid_skene_* columns "
        "have those of Dawid-Skene",
        measures.unsupported_labels, warn=0,
    ),
    Gate(
        "labels_against_the_plurality", LabelMetrics, "labels",
        "share of items that have another label than the most frequent answer, in the worst task "
        "of {minimum} or more",
        "annot trace shows why; the model may take good judges for bad ones, or one class for "
        "another: ask an expert about some of these items",
        measure_from=measures.labels_against_the_plurality, warn=0.1, minimum=20,
    ),
    Gate(
        "votes_predict_better", LabelMetrics, "labels",
        "number of tasks in which votes predict held-out labels better than the label model, or "
        "the model would overturn many clear pluralities",
        "the model does not fit, and hierarchical publishes the votes: look for judges who copy "
        "each other and set their family under judges, or for a label that several classes share; "
        "with 50 known items the model may overturn pluralities",
        lambda m: named([t for t, row in m.certainty.items() if row["votes_predict_better"]]),
        warn=0,
    ),
    Gate(
        "one_family", LabelMetrics, "labels",
        "number of tasks with labels of one judge or family per item, or of two in all",
        "nothing says how often judges are right, so no label is certain, and where two judges "
        "differ the more frequent class wins: ask judges of another family, or an expert, or add "
        "items with a known truth",
        lambda m: named([t for t, row in m.certainty.items() if not row["is_identified"]]), warn=0,
    ),
    Gate(
        "one_class", LabelMetrics, "labels",
        "number of tasks of which all judgments are of one class, and no other is declared",
        "no label is certain there, and a probability of 1 says only that no other class is in "
        "sight: declare all classes by labels under tasks, or correct the mapping of label",
        lambda m: named([task for task, classes in m.classes.items() if len(classes) == 1]), warn=0,
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
        measures.related_judges, warn=0,
    ),
    Gate(
        "certain_share", ReleaseChangeMetrics, "label_changes",
        "largest change of a task's share of certain labels since the newest release, in tasks of "
        "{minimum} items or more",
        "annot diff shows the items; look at new judges, exports and settings",
        measure_from=since_release(measures.certain_share), warn=0.2, minimum=20,
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
        "uncertified_labels", LabelMetrics, "labels",
        "number of tasks with an audit that certifies no label",
        "docs/hits.md says what follows from each reason",
        lambda m: named([f"{t}: {c['reason']}" for t, c in m.certificates.items() if c["reason"]]),
        warn=0,
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
        measure_from=measures.judges_below_chance, warn=0.05, error=0.5, minimum=10,
    ),
    Gate(
        "single_judgment_items", LabelMetrics, "labels",
        "share of judged items that have fewer than {minimum} judgments",
        "collect more judgments per item: the certainty of a single label is unknown",
        measure_from=measures.few_judgments, warn=0.5, minimum=2,
    ),
    Gate(
        "single_judgment_scores", ItemScoreMetrics, "scores",
        "share of scored items (of no system) that have fewer than {minimum} judgments",
        "collect more judgments per item: a single score is the opinion of one judge; annot hits "
        "selects the items where more help most",
        measure_from=measures.few_judgments, warn=0.5, minimum=2,
    ),
)  # fmt: skip
