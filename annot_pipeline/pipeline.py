"""The stages, declared once: inputs, outputs, settings, code version, work.

The Dagster assets are made from `STAGES`; everything else runs them through `Build` without
Dagster. A new stage is one entry here, a new gold table one more output. What does not belong
here: arithmetic (methods), tables' contents (steps), how files are written (storage).
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

from annot_pipeline.config import LoadedCampaign
from annot_pipeline.contracts import GOLD
from annot_pipeline.errors import AnnotError, GateError, Problem, StoreError
from annot_pipeline.gates import GateResult, can_measure, check_gate_names, run_gates
from annot_pipeline.signature import digest, settings_document
from annot_pipeline.stages import control, exports, gold, judgments
from annot_pipeline.stages.context import Made, StageContext
from annot_pipeline.steps import (
    control_judges,
    infer_labels,
    measure_agreement,
    plan_hits,
    rank_systems,
    score_items,
    standardize_scores,
)
from annot_pipeline.steps.check_contract import violations
from annot_pipeline.storage.keys import derive, judge_key
from annot_pipeline.storage.queries import sql_digest
from annot_pipeline.storage.store import StageBasis, StageResult, Store, cannot_write
from annot_pipeline.storage.tables import TableFile, read_table
from annot_pipeline.version import __version__

Progress = Callable[[str], None]
NUMERIC_PACKAGES = ("numpy", "scipy", "pyarrow", "duckdb")
"""Packages whose version can change bytes."""


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
        code_version="1",
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
        code_version=exports.CODE_VERSION,
        work=exports.read_exports,
        remembered=False,  # each export is, on its own
        kinds=frozenset({"parquet", "pyarrow"}),
    ),
    Stage(
        "settle_judgments",
        "Gives every judgment an id and every record a fate; names tasks, kinds and judges.",
        inputs={"record_files": ()},
        outputs=("settled", "tasks"),
        settings=("campaign", "tasks", "privacy", "quality.rejected_assignments"),
        code_version="3",
        work=judgments.settle_judgments,
        kinds=frozenset({"parquet", "duckdb"}),
    ),
    Stage(
        "control_judges",
        "Tests every judge by controls; the judgments of those who fail count no more.",
        inputs={"settled": (), "tasks": (), "item_rows": (), "record_files": ()},
        outputs=("judgments", "judge_tests", "control_pairs", "known_answers"),
        settings=("quality",),
        code_version=control_judges.CODE_VERSION,
        work=control.control_judges_of_campaign,
        kinds=frozenset({"parquet", "duckdb", "numpy"}),
    ),
    Stage(
        "standardize_scores",
        "Turns reversed criteria, and standardises scores by judge and task.",
        inputs={
            "judgments": (
                *standardize_scores.NAMES, "score", "fate", "native_id", "position",
            ),
            "tasks": (),
            "item_rows": ("item", "segment", "system", "place"),
        },
        outputs=("standardized", "judge_scores"),
        settings=("standardize",),
        code_version=standardize_scores.CODE_VERSION,
        work=gold.standardize_judgments,
        kinds=frozenset({"parquet", "numpy"}),
    ),
    Stage(
        "score_items",
        "Scores items: means, raw and standardised; EASL; comparisons within HITs.",
        inputs={
            "standardized": (
                "task", "item", "segment", "system", "criterion", "judge", "control", "kept",
                "score", "z", "hit", "submitted_at", "judgment_id",
            ),
            "tasks": ("task", *SCALE),
        },
        outputs=("scores",),
        settings=(
            "easl.gamma", "easl.epsilon", "easl.margin", "easl.trueskill_mean",
            "easl.trueskill_sd",
        ),
        code_version=score_items.CODE_VERSION,
        work=gold.score_items_of_tasks,
        kinds=frozenset({"parquet", "numpy"}),
    ),
    Stage(
        "plan_hits",
        "Chooses the items of the next HITs, as next_hits says.",
        inputs={
            "scores": (
                "task", "item", "segment", "system", "n_judgments", "easl_alpha", "easl_beta",
            ),
            "tasks": (), "item_rows": (),
        },
        outputs=("next_hits",),
        settings=(
            "campaign", "tasks", "easl", "next_hits.design", "next_hits.within",
            "controlled_hits", "seed",
        ),
        code_version=plan_hits.CODE_VERSION,
        work=gold.plan_next_hits,
        kinds=frozenset({"parquet", "numpy"}),
    ),
    Stage(
        "rank_systems",
        "Ranks systems by raw, filtered and standardised means and EASL; tests pairs; clusters.",
        inputs={
            "standardized": (
                "task", "item", "segment", "system", "criterion", "judge", "control", "kept",
                "score", "z",
            ),
            "tasks": ("task", *SCALE),
        },
        outputs=("system_rankings", "system_comparisons"),
        settings=("ranking", "standardize", "seed"),
        code_version=rank_systems.CODE_VERSION,
        work=gold.rank_systems_of_tasks,
        kinds=frozenset({"parquet", "numpy"}),
    ),
    Stage(
        "infer_labels",
        "Counts votes and fits Dawid-Skene to all categorical tasks in one batch.",
        inputs={
            "judgments": ("task", "item", "judge", "judge_id", "label", "fate"),
            "tasks": ("task", "kind", "labels"),
        },
        outputs=(
            "labels", "label_distributions", "prevalence", "judge_confusion", "judge_figures",
            "label_fits",
        ),
        settings=("dawid_skene",),
        code_version=infer_labels.CODE_VERSION,
        work=gold.infer_label_tables,
        kinds=frozenset({"parquet", "numpy"}),
    ),
    Stage(
        "measure_agreement",
        "Agreement of judges: on labels, on scores cut into categories, with themselves.",
        inputs={
            "judgments": ("task", "item", "judge", "label", "control", "fate"),
            "standardized": (
                "task", "item", "criterion", "judge", "control", "kept", "score", "z",
            ),
            "control_pairs": (), "judge_tests": (), "judge_scores": (), "tasks": (),
        },
        outputs=("agreement",),
        settings=("agreement", "standardize.arithmetic", "seed"),
        code_version=measure_agreement.CODE_VERSION,
        work=gold.measure_agreement_of_tasks,
        kinds=frozenset({"parquet", "numpy"}),
    ),
    Stage(
        "compare_agreement",
        "Holds agreement against that of the newest release.",
        inputs={"agreement": ()},
        outputs=("agreement_changes",),
        settings=(),
        code_version="1",
        work=gold.compare_agreement,
        remembered=False,  # the newest release is looked at anew each time
        kinds=frozenset({"parquet", "duckdb"}),
    ),
    Stage(
        "describe_judges",
        "Lists the judges of each task with what is known of them.",
        inputs={"judgments": (), "judge_tests": (), "judge_scores": (), "judge_figures": ()},
        outputs=("judges",),
        settings=("quality",),
        code_version="2",
        work=gold.describe_judges,
        kinds=frozenset({"parquet", "duckdb"}),
    ),
    Stage(
        "describe_items",
        "Lists the items that were judged, with what item tables say of them.",
        inputs={"judgments": (), "item_rows": ()},
        outputs=("items",),
        settings=(),
        code_version="1",
        work=gold.describe_items,
        kinds=frozenset({"parquet", "duckdb"}),
    ),
    Stage(
        "set_judgments_aside",
        "Lists judgments that count, but that a calculation could not take, with the reason.",
        inputs={
            "judgments": (), "tasks": (), "item_rows": (), "control_pairs": (),
            "known_answers": (), "judge_scores": (),
        },
        outputs=("set_aside",),
        settings=("privacy", "quality"),
        code_version="1",
        work=gold.set_judgments_aside,
        kinds=frozenset({"parquet", "duckdb"}),
    ),
    Stage(
        "trace_lineage",
        "Says of every record which judgment it is, what became of it, and where it stands.",
        inputs={"judgments": (), "exports": ()},
        outputs=("lineage",),
        settings=("privacy",),
        code_version="1",
        work=gold.trace_lineage,
        kinds=frozenset({"parquet", "duckdb"}),
    ),
)  # fmt: skip
"""In an order in which each finds its inputs."""

MAKER = {table: stage for stage in STAGES for table in stage.outputs}
"""Which stage makes a table."""

GOLD_MADE = tuple(name for name in GOLD if name in MAKER)
"""Gold tables that a stage makes; the others are released empty."""


@dataclass(frozen=True)
class StageRun:
    """A stage's result in one build, and how its gates went."""

    result: StageResult
    gates: tuple[GateResult, ...]


@dataclass
class Build:
    """One build of a campaign: runs stages one by one, in this or in several processes.

    Parameters
    ----------
    campaign
        What to build.
    run
        Id of the build; processes of one build share it.
    progress
        Told, in a sentence, what is going on.
    """

    campaign: LoadedCampaign
    run: str = field(default_factory=lambda: uuid.uuid4().hex)
    progress: Progress = lambda _: None

    def __post_init__(self) -> None:
        check_gate_names(self.campaign.settings.gates)
        self.store = Store(self.campaign.store)

    @cached_property
    def key(self) -> bytes:
        """The key of the judges' pseudonyms."""
        return judge_key(self.campaign.settings.privacy, self.campaign.store)

    def run_stage(self, stage: Stage) -> StageRun:
        """Make a stage's tables, or find that they are made already.

        Raises
        ------
        AnnotError
            Bad exports or a store that cannot be written; nothing half done stays behind.
        """
        try:
            with self.noting():
                self.store.prepare()
                with self.store.in_use():
                    run = self._run_stage(stage)
        except OSError as error:
            raise cannot_write(self.store.root, error, "store") from error
        error_ = failed([run])
        if error_:
            self.store.note_outcome(self.run, str(error_))
        return run

    @contextmanager
    def noting(self) -> Iterator[None]:
        """Note an error as the build's outcome, for `annot status`."""
        try:
            yield
        except AnnotError as error:
            self.store.note_outcome(self.run, str(error))
            raise

    def _run_stage(self, stage: Stage) -> StageRun:
        inputs = {
            table: self.store.recorded(self.run, MAKER[table].name).tables[table]
            for table in stage.inputs
        }
        basis = self.basis(stage, {name: table.sha256 for name, table in inputs.items()})
        key = digest([stage.name, asdict(basis), "" if stage.remembered else self.run])[:32]
        result = self.store.result(stage.name, key) if stage.remembered else None
        if result and not can_measure(stage.name, stage.outputs, result.facts):
            self.store.discard(result)
            result = None
        if result is None:
            result = self._make(stage, key, basis, inputs)
        else:
            result = StageResult(**{**result.__dict__, "reused": True})
        self.store.record(self.run, result)
        gates = self.gates(stage, result)
        for gate in gates:
            if gate.level == "error" or (gate.level == "warn" and not result.reused):
                self.progress(f"{gate.level}: {gate.short}")
        return StageRun(result, tuple(gates))

    def recorded(self, stage: Stage, *, own: bool = False) -> StageRun:
        """A stage's result as this build (or, unless ``own``, the latest) made it."""
        result = self.store.recorded(self.run, stage.name, own=own)
        return StageRun(result, tuple(self.gates(stage, result)))

    def gates(self, stage: Stage, result: StageResult) -> list[GateResult]:
        """How the gates of a stage go with the levels of this campaign.

        Raises
        ------
        StoreError
            Other code made the result, without a fact that a gate looks at.
        """
        if not can_measure(stage.name, stage.outputs, result.facts):
            raise StoreError(
                f"{stage.name} was made by other code",
                [Problem("", "a gate finds nothing to look at", do="annot build makes it again")],
            )
        return run_gates(stage.name, stage.outputs, result.facts, self.campaign.settings.gates)

    def basis(self, stage: Stage, inputs: Mapping[str, str]) -> StageBasis:
        """All that can move the stage's bytes, given the hashes of its input tables."""
        document = {
            "code": stage.code_version,
            "sql": sql_digest(),
            "packages": {name: version(name) for name in NUMERIC_PACKAGES} | {"annot": __version__},
            "settings": settings_document(self.campaign.settings, stage.settings),
        }
        if "privacy" in stage.settings:
            document["judge_key"] = derive(self.key, "fingerprint")
        return StageBasis(stage.code_version, digest(document), dict(inputs))

    def _make(
        self, stage: Stage, key: str, basis: StageBasis, inputs: Mapping[str, TableFile]
    ) -> StageResult:
        def work(folder: Path) -> tuple[dict[str, TableFile], dict[str, Any]]:
            context = StageContext(
                campaign=self.campaign,
                folder=folder,
                store=self.store,
                judge_key=lambda: self.key,
                inputs=inputs,
                progress=self.progress,
                read=lambda name: read_table(inputs[name].path, stage.inputs[name] or None),
            )
            made = stage.work(context)
            tables: dict[str, TableFile] = {}
            broken: dict[str, list[str]] = {}
            for name in stage.outputs:
                tables[name] = made.write(name, folder / f"{name}.parquet")
                if name in GOLD:
                    broken[name] = violations(read_table(tables[name].path), GOLD[name])
            facts = made.facts | {"rows_made": {name: t.rows for name, t in tables.items()}}
            facts |= {"violations": broken} if broken else {}
            return tables, facts

        return self.store.make(stage.name, key, basis, self.run, work)


def check_one_build(build: Build, runs: Mapping[str, StageRun]) -> None:
    """Refuse tables that do not belong together: of other inputs, settings or code.

    Raises
    ------
    StoreError
        Which stage has to run again; a selection of assets was materialized, not all.
    """
    made = {name: table for run in runs.values() for name, table in run.result.tables.items()}
    stale = [
        stage.name
        for stage in STAGES
        if runs[stage.name].result.basis
        != build.basis(stage, {name: made[name].sha256 for name in stage.inputs})
    ]
    if stale:
        raise StoreError(
            "the tables are not of one build: nothing was published, the last release stands",
            [
                Problem(
                    "",
                    "made from other inputs, settings or code",
                    do="run the whole job, or annot build",
                    values=tuple(stale),
                )
            ],
        )


def failed(runs: list[StageRun]) -> GateError | None:
    """The error that says which gates failed, if any did."""
    problems = [
        Problem("", str(gate), do=gate.do)
        for run in runs
        for gate in run.gates
        if gate.level == "error"
    ]
    if not problems:
        return None
    return GateError("a gate failed: nothing was published, the last release stands", problems)
