"""Gates on exports, records and judgments: whether each row was read and counts."""

from __future__ import annotations

from typing import Any

from annot_pipeline.gates import measures
from annot_pipeline.gates.gate import Finding, Gate
from annot_pipeline.gates.measures import named, named_by_task
from annot_pipeline.stages.gold.metrics import (
    CostMetrics,
    ItemMetrics,
    LineageMetrics,
    ReleaseMetrics,
)
from annot_pipeline.stages.ingest.metrics import ExportMetrics, JudgmentMetrics, RecordMetrics
from annot_pipeline.stages.judges.metrics import ControlMetrics
from annot_pipeline.stages.labels.metrics import LabelMetrics

RECORDS: tuple[Gate[Any], ...] = (
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
        "check the mapping with annot validate; if all judges failed, check quality; if all "
        "answers are unscored, check failed and failed_where",
        measures.nothing_used, error=0,
    ),
    Gate(
        "rejected_share", JudgmentMetrics, "settled",
        "share of records that were rejected",
        "fix the export or the mapping (annot validate shows examples), or raise "
        "gates.rejected_share.error",
        measures.rejected, warn=0.01, error=0.1,
    ),
    Gate(
        "rejected_share_by_export", JudgmentMetrics, "settled",
        "share of records that were rejected in the worst export",
        "run annot validate to see examples; check whether a class or a column is missing in the "
        "mapping",
        measures.rejected_in_worst, warn=0.05,
    ),
    Gate(
        "respelled_classes", JudgmentMetrics, "settled",
        "share of an export's records that were rejected for another spelling of a declared class, "
        "in the worst export (an error: of {minimum} records or more)",
        "answers of one class are missing, which moves labels: map them to the declared spelling "
        "(label: {column: NAME, map: {Yes: yes}}), or correct the export",
        measure_from=measures.respelled_classes, warn=0, error=0.05, minimum=20,
    ),
    Gate(
        "swallowed_rows", RecordMetrics, "record_files",
        "number of lines within quoted cells that look like rows",
        "close the quote in the export, or set options.quote or options.escape; if these are cells "
        "of several lines, raise gates.swallowed_rows.error",
        measures.swallowed_rows, warn=0, error=10,
    ),
    Gate(
        "cut_exports", RecordMetrics, "record_files",
        "number of exports cut within a row, or before the line end that others of the source have",
        "compare the last row with its origin; fetch the export again if it was cut",
        lambda m: named(m.cut_exports), warn=0,
    ),
    Gate(
        "copied_exports", RecordMetrics, "record_files",
        "number of exports with the bytes of another export",
        "its answers count once: if it should hold others, fetch it again; if not, delete the copy",
        lambda m: named(m.copied_exports), warn=0,
    ),
    Gate(
        "doubtful_quotes", RecordMetrics, "record_files",
        'number of exports with quoted cells although options.quote is ""',
        "give these exports a source of their own, without options.quote",
        lambda m: named(m.doubtful_quotes), warn=0,
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
        "their answers are mixed with those of people: look up their names in the exports, and "
        'declare them: judges: [{name: "gpt-*", kind: model}]; if they are people, list them there '
        "without kind",
        measures.undeclared_models, warn=0,
    ),
    Gate(
        "look_alikes", JudgmentMetrics, "settled",
        "number of similar but different spellings of names or labels",
        "they count as different; map them to one spelling if they mean the same",
        lambda m: named(m.look_alikes, m.n_look_alikes), warn=0,
    ),
    Gate(
        "judges_as_items", JudgmentMetrics, "settled",
        "number of names of judges that are names of items, too",
        "compare the columns of the newest export with the others: judge and item may be swapped; "
        "if so, correct it or exclude it",
        lambda m: Finding(m.judges_as_items), warn=0,
    ),
    Gate(
        "repeated_answers", JudgmentMetrics, "settled",
        "number of pairs of judge and item with several answers",
        "if the answers are to different questions, map the column that distinguishes them (task, "
        "criterion, item); if not, set under tasks which one counts: repeats: last, first, reject "
        "or keep",
        measures.repeated_answers, warn=0,
    ),
    Gate(
        "changed_items", JudgmentMetrics, "settled",
        "number of items with several texts",
        "answers count for the text that they were given to: an earlier text is the item "
        "NAME#DIGEST; let judges answer the current text, or correct the export if it is the same",
        lambda m: named(m.changed_items), warn=0,
    ),
    Gate(
        "superseded_by_order", JudgmentMetrics, "settled",
        "number of answers superseded only because of the order of files",
        "map submitted_at, so that the later answer counts; or name corrections so that they sort "
        "last, or list them as a later source",
        measures.superseded_by_order, warn=0,
    ),
    Gate(
        "experts_disagree", JudgmentMetrics, "settled",
        "number of items with different decisions of experts",
        "the latest decision counts; let the experts agree and export one decision",
        lambda m: named(m.experts_disagree), warn=0,
    ),
    Gate(
        "uncounted_items", ItemMetrics, "items",
        "number of items without a judgment that counts: their judges failed, or answers were "
        "rejected",
        "gold has no label or score of them: annot hits asks first for those whose judges failed; "
        "see verdict_reason in judges, and rejected rows in annot validate",
        measures.uncounted_items, warn=0,
    ),
    Gate(
        "decided_not_judged", LabelMetrics, "labels",
        "number of items decided by experts but without any judgment that counts",
        "check the spelling of the item names; withdraw wrong decisions, or map item to one "
        "spelling",
        lambda m: named_by_task(m.decided_not_judged, "/"), warn=0,
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
        "unread_files", RecordMetrics, "record_files",
        "number of files not read, since no source matches",
        "correct the glob (as exports/**/*.csv), add a source or item table for them, or move them",
        lambda m: named(m.unread_files), warn=0,
    ),
    Gate(
        "too_many_classes", JudgmentMetrics, "settled",
        "largest number of classes in a task without declared labels",
        "map label to a column of classes, not of free text; if these are classes, list them under"
        " tasks.labels (memory grows with judges times classes squared)",
        measures.many_classes, warn=50, error=200,
    ),
    Gate(
        "published_names", ReleaseMetrics, "release",
        "number of judges whose raw names the release would publish",
        "find the names in exports, at the rows of these judges in the candidate's lineage; remove "
        "them from other columns, from file names or settings; then delete store/stages and build "
        "again, or set privacy.pseudonymize to false",
        measures.published_names, error=0,
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
)  # fmt: skip
