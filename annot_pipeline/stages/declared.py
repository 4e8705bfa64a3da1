"""The stages, declared once: inputs, outputs, settings, code version, work.

A new stage is one entry here, a new gold table one more output. A change of code that moves results
raises the code version here. What does not belong here: how a
stage is run (pipeline), arithmetic (methods), tables' contents (steps).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from annot_pipeline.contracts import DESCRIBING, GOLD
from annot_pipeline.stages import (
    agreement,
    by_task,
    compare,
    control,
    exports,
    gold,
    judgments,
    parsed_exports,
    standardize,
)
from annot_pipeline.stages.context import Made, StageContext


@dataclass(frozen=True)
class Stage:
    """One stage of the pipeline.

    Parameters
    ----------
    name, description
        What it is called and what it does, for people.
    inputs
        Tables it reads, with the columns it needs of each (empty: all, or by its file).
    outputs
        Tables it makes.
    settings
        Sections of campaign.yaml that can move its result.
    code_version
        Raised whenever the same inputs would give another result.
    work
        Does it.
    remembered
        Whether a result may be used again for the same inputs, settings and code.
    kinds
        Shown in Dagster.
    """

    name: str
    description: str
    inputs: Mapping[str, tuple[str, ...]]
    outputs: tuple[str, ...]
    settings: tuple[str, ...]
    code_version: str
    work: Callable[[StageContext], Made]
    remembered: bool = True
    kinds: frozenset[str] = frozenset({"parquet"})


SCALE = ("scale_low", "scale_high", "assumed_low", "assumed_high")
"""Columns of ``tasks`` that tell a scale."""

STAGES: tuple[Stage, ...] = (
    Stage(
        "archive_exports",
        "Finds the exports and keeps their raw bytes by SHA-256.",
        inputs={},
        outputs=("exports",),
        settings=("sources", "items"),
        code_version="2",
        work=exports.archive_exports,
        remembered=False,  # the folder is looked at anew each time
        kinds=frozenset({"file"}),
    ),
    Stage(
        "read_records",
        "Reads each export that was not read before: a row becomes records, or a reason.",
        inputs={"exports": ()},
        outputs=("record_files", "item_rows"),
        settings=("campaign", "sources", "items"),
        code_version=parsed_exports.CODE_VERSION,
        work=exports.read_exports,
        remembered=False,  # each export is, on its own
        kinds=frozenset({"parquet", "pyarrow"}),
    ),
    Stage(
        "settle_judgments",
        "Gives every judgment an id and every record a fate; names tasks, kinds and judges.",
        inputs={"record_files": ()},
        outputs=("settled", "tasks", "names"),
        settings=("campaign", "tasks", "privacy", "quality.rejected_assignments"),
        code_version="12",  # examples of rejected rows name their lines
        work=judgments.settle_judgments,
        kinds=frozenset({"parquet", "duckdb"}),
    ),
    Stage(
        "pair_controls",
        "Pairs each control with the judgment it is compared with; finds known answers.",
        inputs={"settled": (), "tasks": (), "item_rows": ("item", "truth", "place")},
        outputs=("control_pairs", "known_answers", "controls_met"),
        settings=(),
        code_version="3",  # known answers with their HITs
        work=control.pair_controls,
        kinds=frozenset({"parquet", "duckdb"}),
    ),
    Stage(
        "control_judges",
        "Tests every judge by controls; the judgments of those who fail count no more.",
        inputs={
            "settled": (), "tasks": (), "record_files": (), "control_pairs": (),
            "known_answers": (), "controls_met": (),
        },
        outputs=("controlled", "judge_tests"),
        settings=("quality",),
        code_version="6",  # undetermined without power
        work=control.control_judges_of_campaign,
        kinds=frozenset({"parquet", "numpy"}),
    ),
    Stage(
        "standardize_scores",
        "Turns reversed criteria, and standardises scores by judge and task.",
        inputs={
            "controlled": (
                *DESCRIBING, "score", "fate", "native_id",
            ),
            "tasks": (),
            "item_rows": ("item", "segment", "system", "place"),
        },
        outputs=("standardized", "judge_scores"),
        settings=("standardize",),
        code_version="7",  # large tasks in blocks
        work=standardize.standardize_judgments,
        kinds=frozenset({"parquet", "numpy"}),
    ),
    Stage(
        "score_items",
        "Scores items: means, raw and standardised; EASL; comparisons within HITs.",
        inputs={
            "standardized": (
                "task", "item", "segment", "system", "criterion", "judge", "control", "kept",
                "score", "z", "ranking", "hit", "submitted_at", "judgment_id",
            ),
            "tasks": ("task", *SCALE),
        },
        outputs=("scores",),
        settings=(
            "easl.gamma", "easl.epsilon", "easl.margin", "easl.trueskill_mean",
            "easl.trueskill_sd",
        ),
        code_version="6",  # large tasks in blocks
        work=by_task.score_items_of_tasks,
        kinds=frozenset({"parquet", "numpy"}),
    ),
    Stage(
        "break_into_comparisons",
        "Breaks preferences, rankings and HITs scored side by side into comparisons of outputs.",
        inputs={
            "controlled": (
                *DESCRIBING, "item_a", "item_b", "system_a", "system_b",
                "preference", "rank", "rank_a", "rank_b", "score", "fate",
            ),
            "standardized": (
                "task", "item", "segment", "system", "judge", "judge_id", "control", "kept",
                "score", "ranking", "hit", "submitted_at", "judgment_id", "position", "seconds",
                "hit_seconds",
            ),
            "tasks": ("task", "kind"),
            "item_rows": ("item", "segment", "system", "place"),
        },
        outputs=("comparisons", "not_compared"),
        settings=("easl.margin",),
        code_version="5",  # large tasks in blocks
        work=by_task.compare_outputs,
        kinds=frozenset({"parquet", "numpy"}),
    ),
    Stage(
        "infer_labels",
        "Counts votes and fits Dawid-Skene to all categorical tasks in one batch; what experts "
        "decided overrides it.",
        inputs={
            "controlled": (
                "task", "item", "judge", "judge_id", "label", "control", "fate", "submitted_at",
                "why",
            ),
            "tasks": ("task", "kind", "labels"),
        },
        outputs=(
            "labels", "label_distributions", "prevalence", "judge_confusion", "judge_figures",
            "label_fits", "label_evidence",
        ),
        settings=("dawid_skene", "seed"),
        code_version="13",  # tasks too large for the model have labels by votes
        work=by_task.infer_label_tables,
        kinds=frozenset({"parquet", "numpy"}),
    ),
    Stage(
        "rank_segments",
        "Ranks the outputs of each segment by dominance; says which are adequate.",
        inputs={
            "comparisons": (), "tasks": ("task", "references", "adequacy_task", "adequate"),
            "item_rows": ("task", "item", "segment", "system", "text"),
            "label_distributions": ("task", "item", "label", "votes"),
        },
        outputs=("segment_ranks",),
        settings=("ranking.segment_graphs",),
        code_version="3",  # in parts, its facts by task
        work=by_task.rank_outputs,
        kinds=frozenset({"parquet", "numpy"}),
    ),
    Stage(
        "plan_hits",
        "Chooses the items of the next HITs, as next_hits says.",
        inputs={
            "scores": (
                "task", "item", "segment", "system", "n_judgments", "easl_alpha", "easl_beta",
            ),
            "tasks": (), "item_rows": (), "comparisons": (),
            "label_distributions": ("task", "item", "label", "votes"),
        },
        outputs=("next_hits",),
        settings=(
            "campaign", "tasks", "easl", "next_hits.design", "next_hits.within",
            "next_hits.segments", "next_hits.hit_size",
            "controlled_hits", "seed",
        ),
        code_version="4",
        work=gold.plan_next_hits,
        kinds=frozenset({"parquet", "numpy"}),
    ),
    Stage(
        "rank_systems",
        "Ranks systems by mean scores and EASL, and by comparisons; tests pairs; clusters.",
        inputs={
            "standardized": (
                "task", "item", "segment", "system", "criterion", "judge", "control", "kept",
                "score", "z",
            ),
            "tasks": ("task", *SCALE),
            "comparisons": (), "segment_ranks": ("task", "segment", "system", "dominance"),
        },
        outputs=("system_rankings", "system_comparisons"),
        settings=(
            "ranking", "standardize", "seed", "easl.gamma", "easl.epsilon", "easl.trueskill_mean",
            "easl.trueskill_sd",
        ),
        code_version="4",  # large tasks in blocks
        work=by_task.rank_systems_of_tasks,
        kinds=frozenset({"parquet", "numpy"}),
    ),
    Stage(
        "measure_agreement",
        "Agreement of judges: on labels, scores, preferences; with others and with themselves.",
        inputs={
            "controlled": ("task", "item", "judge", "label", "control", "fate"),
            "standardized": (
                "task", "item", "criterion", "judge", "control", "kept", "score", "z",
            ),
            "control_pairs": (), "judge_tests": ("task", "judge", "dropped"),
            "judge_scores": ("task", "judge", "mean", "sd"), "tasks": (),
            "comparisons": (),
        },
        outputs=("agreement",),
        settings=("agreement", "standardize.arithmetic", "seed"),
        code_version="7",  # tasks whose agreement is not above chance
        work=agreement.measure_agreement_of_tasks,
        kinds=frozenset({"parquet", "numpy"}),
    ),
    Stage(
        "describe_comparisons",
        "Counts contradictions in comparisons by judge and segment; times comparisons.",
        inputs={
            "comparisons": (), "item_rows": ("task", "item", "segment", "source", "place"),
        },
        outputs=("judge_contradictions", "segment_contradictions", "comparison_times"),
        settings=(),
        code_version="3",  # in parts
        work=by_task.describe_comparisons_of_tasks,
        kinds=frozenset({"parquet", "numpy"}),
    ),
    Stage(
        "describe_judges",
        "Lists the judges of each task with what is known of them.",
        inputs={
            "controlled": (), "tasks": (), "judge_tests": (), "judge_scores": (),
            "judge_figures": (), "judge_contradictions": (),
        },
        outputs=("judges",),
        settings=("quality",),
        code_version="5",  # power and interval of the effect
        work=gold.describe_judges,
        kinds=frozenset({"parquet", "duckdb"}),
    ),
    Stage(
        "describe_items",
        "Lists the items that were judged, with what item tables say of them.",
        inputs={"controlled": (), "item_rows": ()},
        outputs=("items",),
        settings=(),
        code_version="2",
        work=gold.describe_items,
        kinds=frozenset({"parquet", "duckdb"}),
    ),
    Stage(
        "check_calibration",
        "Holds probabilities of labels against held-out labels and the truth of item tables.",
        inputs={
            "label_evidence": (),
            "label_distributions": (
                "task", "item", "label", "probability", "calibrated_probability", "votes",
            ),
            "items": ("item", "truth"),
        },
        outputs=("label_calibration",),
        settings=(),
        code_version="5",  # in parts
        work=by_task.check_label_calibration,
        kinds=frozenset({"parquet", "numpy"}),
    ),
    Stage(
        "list_judgments",
        "Lists what every judge answered, once, with standardised scores.",
        inputs={
            "controlled": (
                "public_id", "task", "item", "judge_id", "fate", "control", "segment", "system",
                "criterion", "label", "score", "item_a", "item_b", "system_a", "system_b",
                "preference", "rank", "rank_a", "rank_b", "ranking", "hit", "position",
                "submitted_at", "seconds",
            ),
            "standardized": ("z",), "tasks": ("task", "kind"),
            "item_rows": ("item", "segment", "system", "place"),
        },
        outputs=("judgments",),
        settings=("privacy",),
        code_version="2",
        work=gold.list_judgments,
        kinds=frozenset({"parquet", "pyarrow"}),
    ),
    Stage(
        "set_judgments_aside",
        "Lists judgments that count, but that a calculation could not take, with the reason.",
        inputs={
            "controlled": (), "tasks": (), "item_rows": (), "control_pairs": (),
            "known_answers": (), "judge_scores": (), "not_compared": (),
        },
        outputs=("set_aside",),
        settings=("privacy", "quality"),
        code_version="2",
        work=gold.set_judgments_aside,
        kinds=frozenset({"parquet", "duckdb"}),
    ),
    Stage(
        "add_up_costs",
        "Adds up what assignments were paid, by task, where exports carry rewards.",
        inputs={
            "controlled": (), "record_files": (), "labels": ("task", "item"),
            "scores": ("task", "item"), "segment_ranks": ("task", "item"),
        },
        outputs=("costs",),
        settings=(),
        code_version="3",
        work=gold.add_up_costs,
        kinds=frozenset({"parquet", "duckdb"}),
    ),
    Stage(
        "trace_lineage",
        "Says of every record which judgment it is, what became of it, and where it stands.",
        inputs={
            "controlled": (
                "public_id", "task", "item", "item_a", "item_b", "judge_id", "fate", "reason",
                "source_digest", "source_file", "source_row", "cell",
            ),
        },
        outputs=("lineage",),
        settings=(),
        code_version="3",  # digests of exports are keyed
        work=gold.trace_lineage,
        kinds=frozenset({"parquet", "pyarrow"}),
    ),
    Stage(
        "compare_releases",
        "Holds what judges said, and what came of it, against the newest release.",
        inputs={made: () for made, _ in compare.COMPARED.values()} | {"lineage": ()},
        outputs=(*compare.COMPARED, compare.VANISHED),
        settings=(),
        code_version="2",
        work=compare.compare_releases,
        remembered=False,  # the newest release is looked at anew each time
        kinds=frozenset({"parquet", "duckdb", "numpy"}),
    ),
)  # fmt: skip
"""In an order in which each finds its inputs."""

MAKER = {table: stage for stage in STAGES for table in stage.outputs}
"""Which stage makes a table."""


def stages_for(tables: Iterable[str]) -> tuple[Stage, ...]:
    """The stages that make some tables, and all that they are made of, in order."""
    needed = {MAKER[table].name for table in tables}
    for stage in reversed(STAGES):
        if stage.name in needed:
            needed |= {MAKER[table].name for table in stage.inputs}
    return tuple(stage for stage in STAGES if stage.name in needed)


GOLD_MADE = tuple(name for name in GOLD if name in MAKER)
"""Gold tables that a stage makes; the others are released empty."""
