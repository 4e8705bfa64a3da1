"""Builds: the stages of `stages.registry` run one by one, and their results are cached.

The Dagster assets run a stage each through `Build`; everything else runs them without Dagster.
What does not belong here: which stages there are (stages.registry), arithmetic (methods), how files
are written (storage).
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import TypeAlias, TypeVar

from annot_pipeline.config import LoadedCampaign
from annot_pipeline.config.signature import digest, settings_document
from annot_pipeline.contracts import GOLD
from annot_pipeline.contracts.stage_metrics import MetricsError, StageMetrics, TableMetrics
from annot_pipeline.errors import (
    AnnotError,
    EngineError,
    GateError,
    Passing,
    Problem,
    Step,
    StoreError,
)
from annot_pipeline.gates import (
    Decision,
    GateResult,
    check_gate_names,
    is_checked,
    run_gates,
    standing_decision,
)
from annot_pipeline.runtime.blas_threads import one_blas_thread
from annot_pipeline.runtime.context import StageContext, StageOutput
from annot_pipeline.runtime.executors import engine_of
from annot_pipeline.runtime.job_sizes import DEFAULT_SIZES, JobSizes
from annot_pipeline.runtime.stage import Stage
from annot_pipeline.stages.build_state import build_state
from annot_pipeline.stages.gold.check_tables import check_table
from annot_pipeline.stages.gold.name_mask import NameMask
from annot_pipeline.stages.registry import GOLD_MADE, MAKER, STAGES, stages_for
from annot_pipeline.storage.keys import derive, judge_key, published_digest
from annot_pipeline.storage.places import check_places
from annot_pipeline.storage.pointer import POINTER
from annot_pipeline.storage.queries import give_back_memory, sql_digest
from annot_pipeline.storage.releases import Releases
from annot_pipeline.storage.shortages import cannot_write, running
from annot_pipeline.storage.store import LastFailure, StageFingerprint, StageResult, Store
from annot_pipeline.storage.tables import StoredTable, TableFile, read_verified
from annot_pipeline.version import __version__, numeric_packages

__all__ = [
    "GOLD_MADE",
    "MAKER",
    "STAGES",
    "Build",
    "Planned",
    "Stage",
    "StageRun",
    "check_one_build",
    "failed_gates",
    "stages_for",
]

Progress = Callable[[str], None]
Work = Callable[[StageContext], StageOutput[StageMetrics]]
Planned: TypeAlias = Sequence[tuple[Path, Callable[[], TableFile]]]
"""The files of a table, with the callable that writes each (`tables.as_published`)."""

FAILED = "a gate failed: nothing was published"


M = TypeVar("M", bound=StageMetrics)


@dataclass(frozen=True)
class StageRun:
    """A stage's result in one build, and the results of its gates."""

    result: StageResult
    gates: tuple[GateResult, ...]

    def metrics(self, metrics_type: type[M]) -> M:
        """Return the metrics of the stage."""
        return metrics_type.read(self.result.document)


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
        Called with messages about the progress.
    overrides
        Work that replaces that of a stage, by stage, to recompute a release with a change.
    sizes
        How much work a job takes.
    decision
        What a person decided about its release: which gates to accept though they fail.
    """

    campaign: LoadedCampaign
    run: str = field(default_factory=lambda: uuid.uuid4().hex)
    progress: Progress = lambda _: None
    overrides: Mapping[str, Work] = field(default_factory=dict)
    sizes: JobSizes = DEFAULT_SIZES
    decision: Decision | None = None
    mask: NameMask | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        check_gate_names(self.campaign.settings.gates)
        self.store = Store(self.campaign.store)
        if self.campaign.settings.privacy.pseudonymize:
            self.mask = NameMask(self.store, self.run, self.campaign.settings.judges.declared)
            progress = self.progress
            self.progress = lambda text: progress(type(text)(self.mask_text(text)))

    @cached_property
    def key(self) -> bytes:
        """Return the key of the judges' pseudonyms."""
        return judge_key(self.campaign.settings, self.campaign.store)

    def mask_text(self, text: str) -> str:
        """Return a text without raw names of judges who have pseudonyms."""
        return self.mask(text) if self.mask else text

    def public_digest(self, sha256: str) -> str:
        """Return the digest of bytes that hold raw names, as it may be published."""
        return published_digest(self.campaign.settings, self.key, sha256)

    def published_version(self, table: str, sha256: str) -> str:
        """Return the data version of a table as it may be published; gold names no judge."""
        return sha256 if table in GOLD else self.public_digest(sha256)

    def run_stage(self, stage: Stage) -> StageRun:
        """Make a stage's tables, or reuse those of an earlier build.

        Raises
        ------
        AnnotError
            Bad exports or a store that cannot be written; nothing half done stays behind.
        """
        with self.record_errors():
            try:
                check_places(self.campaign)
                if stage is STAGES[0]:  # before hours of work
                    self._look_at_releases()
                self.store.prepare()
                names = [one.name for one in STAGES]
                number = f"[{names.index(stage.name) + 1}/{len(names)}]"
                self.progress(Step(f"{number} {stage.name.replace('_', ' ')}"))
                with self.store.shared_lock(self.say_waiting), running(f"stage {stage.name}"):
                    run = self._run_stage(stage)
            except OSError as error:
                raise cannot_write(self.store.root, error, "store") from error
        if gate_error := self.failed([run]):
            self._note_failure(gate_error)
        return run

    def _look_at_releases(self) -> None:
        """Make sure that gold is there, and tell what is wrong with the log of releases."""
        releases = Releases.for_campaign(self.campaign)
        releases.refuse_vanished()
        for problem in (releases.damaged_log(), releases.lost_number()):
            if problem:
                self.progress(f"{problem.where or POINTER}: {problem.what}")

    def failed(self, runs: Sequence[StageRun]) -> GateError | None:
        """Return the error that says which gates failed, if any did."""
        return self.failed_gates([gate for run in runs for gate in run.gates])

    def failed_gates(self, gates: Sequence[GateResult]) -> GateError | None:
        """Return the error that says which of some gates failed, if any did."""
        error = failed_gates(gates)
        if error and not self._may_have_release():
            error.title = f"{FAILED}; there is no release yet"
        return error

    def _may_have_release(self) -> bool:
        try:
            return bool(Releases.for_campaign(self.campaign).versions())
        except (AnnotError, OSError):
            return True

    def say_waiting(self) -> None:
        """Report that another process has locked the store."""
        self.progress(f"annot prune has locked the store; waiting{self.store.users()}")

    def write_tables(self, planned: Mapping[str, Planned]) -> dict[str, StoredTable]:
        """Return tables whose files the engine writes, in a folder that all machines reach."""
        engine = engine_of(self.campaign.settings, self.store.root, self.progress)
        jobs = [make for jobs_of_table in planned.values() for _, make in jobs_of_table]
        total = f"{len(jobs):,} gold files"
        files = iter(
            engine.run(jobs, done=lambda n: self.progress(Passing(f"wrote {n:,} of {total}")))
        )
        return {
            name: StoredTable(tuple(next(files) for _ in jobs_of_table))
            for name, jobs_of_table in planned.items()
        }

    @contextmanager
    def record_errors(self) -> Iterator[None]:
        """Note an error as the build's outcome, for `annot status`."""
        try:
            yield
        except AnnotError as error:
            if not self.campaign.settings.privacy.pseudonymize:
                error.reveal()
            self._mask_error(error)
            self._note_failure(error)
            raise
        except Exception as error:  # its words may hold anything: a name, a row
            defect = f"a bug in annot stopped it: {type(error).__name__}"
            self.store.note_outcome(self.run, defect)
            self._mask_error(error)
            raise

    def _note_failure(self, error: AnnotError) -> None:
        advice = tuple(dict.fromkeys(problem.do for problem in error.problems if problem.do))
        state = build_state(self.campaign)
        may_pass = error.may_pass or isinstance(error, StoreError | EngineError)
        self.store.note_outcome(self.run, str(error), LastFailure(advice, state, may_pass))

    def _mask_error(self, error: Exception) -> None:
        if self.mask:
            self.mask.error(error)

    def _run_stage(self, stage: Stage) -> StageRun:
        inputs = {
            table: self.store.recorded(self.run, MAKER[table].name).tables[table]
            for table in stage.inputs
        }
        fingerprint = self.fingerprint(
            stage, {name: table.sha256 for name, table in inputs.items()}
        )
        cached = stage.cached and stage.name not in self.overrides
        key = digest([stage.name, asdict(fingerprint), "" if cached else self.run])[:32]
        result = self.store.result(stage.name, key) if cached else None
        if result and not (
            result.is_intact and is_checked(stage.name, stage.outputs, result.document)
        ):
            self.store.discard(result)
            result = None
        if result is None:
            result = self._make(stage, key, fingerprint, inputs)
        else:
            result = replace(result, reused=True)
        self.store.record(self.run, result)
        gates = self.gates(stage, result)
        for gate in gates:
            if gate.level == "error":
                self.progress(self._failure(gate))
            elif gate.level == "warn":
                self.progress(f"warn: {gate.short}")
        return StageRun(result, tuple(gates))

    def _failure(self, gate: GateResult) -> str:
        """Return a gate that failed as a message; one accepted for the newest release says so."""
        with suppress(AnnotError):
            newest = Releases.for_campaign(self.campaign).latest()
            accepted = gate.decided(standing_decision(newest.manifest if newest else None))
            if newest and accepted.level != "error":
                text = replace(accepted, level="error").short
                return f"accepted for {newest.version}, with its exports alone: {text}"
        return f"error: {gate.short}"

    def recorded(self, stage: Stage, *, own: bool = False) -> StageRun:
        """Return a stage's result in this build or, unless ``own``, in the latest one."""
        result = self.store.recorded(self.run, stage.name, own=own)
        return StageRun(result, tuple(self.gates(stage, result)))

    def gates(self, stage: Stage, result: StageResult) -> list[GateResult]:
        """Return the results of a stage's gates at the levels of this campaign.

        Raises
        ------
        StoreError
            Other code made the result, without a metric that a gate needs.
        """
        levels = self.campaign.settings.gates
        try:
            gates = run_gates(stage.name, stage.outputs, result.document, levels)
        except MetricsError:
            raise StoreError(
                f"{stage.name} was made by another version of the code",
                [Problem("", "a metric that a gate needs is missing", do="run annot build")],
            ) from None
        return [
            replace(
                gate, detail=self.mask_text(gate.detail), unchecked=self.mask_text(gate.unchecked)
            ).decided(self.decision)
            for gate in gates
        ]

    def fingerprint(self, stage: Stage, inputs: Mapping[str, str]) -> StageFingerprint:
        """Return all that can change the stage's bytes, given the hashes of its input tables."""
        document = {
            "code": stage.code_version,
            "sql": sql_digest(),
            "contracts": [repr(GOLD[name]) for name in stage.outputs if name in GOLD],
            "packages": numeric_packages() | {"annot": __version__},
            "settings": settings_document(self.campaign.settings, stage.settings),
        }
        if "privacy" in stage.settings:
            document["judge_key"] = derive(self.key, "fingerprint")
        return StageFingerprint(stage.code_version, digest(document), dict(inputs))

    def _make(
        self,
        stage: Stage,
        key: str,
        fingerprint: StageFingerprint,
        inputs: Mapping[str, StoredTable],
    ) -> StageResult:
        latest = cache(lambda: self._latest(stage, fingerprint))
        with self.store.make(stage.name, key, fingerprint, self.run) as unfinished:
            context = StageContext(
                campaign=self.campaign,
                folder=unfinished.folder,
                store=self.store,
                judge_key=lambda: self.key,
                inputs=inputs,
                columns=stage.inputs,
                progress=self.progress,
                read=lambda name, *, tasks=None: read_verified(
                    inputs[name], stage.inputs[name], tasks
                ),
                latest=latest,
                sizes=self.sizes,
            )
            with one_blas_thread():
                output = self.overrides.get(stage.name, stage.work)(context)
            unfinished.tables = {
                name: output.write(name, unfinished.folder / f"{name}.parquet")
                for name in stage.outputs
            }
            contracts = {
                name: check_table(GOLD[name], table, _sound_files(latest(), name)).document()
                for name, table in unfinished.tables.items()
                if name in GOLD
            }
            rows = {name: table.rows for name, table in unfinished.tables.items()}
            unfinished.document = output.document() | TableMetrics(rows, contracts).document()
        if sum(rows.values()) + sum(t.rows for t in inputs.values()) > self.sizes.result_rows:
            give_back_memory()
        return self.store.stored(stage.name, key)

    def _latest(self, stage: Stage, fingerprint: StageFingerprint) -> StageResult | None:
        """Return the stage's latest result, if it is whole, of this code and these settings."""
        try:
            latest = self.store.recorded(self.run, stage.name)
        except StoreError:
            return None
        is_same = latest.fingerprint.settings == fingerprint.settings
        return latest if is_same and latest.is_intact else None


def _sound_files(latest: StageResult | None, name: str) -> list[str]:
    """Return digests of a table's files in a result, if nothing in it breaks the contract."""
    if latest is None or any(TableMetrics.read(latest.document).contracts[name].values()):
        return []
    return [file.sha256 for file in latest.tables[name].files]


def check_one_build(build: Build, runs: Mapping[str, StageRun]) -> None:
    """Refuse tables that do not belong together: of other inputs, settings or code.

    Raises
    ------
    StoreError
        Which stage has to run again; a selection of assets was materialized, not all.
    """
    tables = {name: table for run in runs.values() for name, table in run.result.tables.items()}
    stale = [
        stage.name
        for stage in STAGES
        if runs[stage.name].result.fingerprint
        != build.fingerprint(stage, {name: tables[name].sha256 for name in stage.inputs})
    ]
    if stale:
        title = "the tables come from different builds: nothing was published"
        what, do = "made from other inputs, settings or code", "run the whole job, or annot build"
        problem = Problem("", what, do=do, values=tuple(stale))
        raise StoreError(f"{title}, the last release stands", [problem])


def failed_gates(gates: Sequence[GateResult]) -> GateError | None:
    """Return the error that says which of some gates failed, if any did."""
    problems = [Problem("", str(gate), do=gate.do) for gate in gates if gate.level == "error"]
    if not problems:
        return None
    title = f"{FAILED}, the last release stands"
    return GateError(title, problems, [gate.document() for gate in gates])
