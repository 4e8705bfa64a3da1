"""The last build: its tables, if they are those of today's exports, settings and code."""

from __future__ import annotations

from annot_pipeline.errors import AnnotError, Problem, StoreError, first_of
from annot_pipeline.stages.build import STAGES, Build, StageRun, stages_for
from annot_pipeline.stages.build_state import build_state
from annot_pipeline.stages.ingest.present_exports import present_exports
from annot_pipeline.storage.keys import no_key, present_key
from annot_pipeline.storage.store import StageResult
from annot_pipeline.storage.tables import StoredTable, read_verified

GONE, CHANGED = "is gone", "has changed"


def last_build(build: Build, *table_names: str, command: str) -> dict[str, StoredTable]:
    """Return the tables of the last build, up to those that are needed.

    Parameters
    ----------
    build
        Of the campaign as it is now.
    table_names
        Tables that must be there and up to date.
    command
        What to type again after a new build, for messages.

    Raises
    ------
    StoreError
        There is no such build, or it stopped half way, or its key is missing.
    """
    stages = stages_for(table_names)
    results: dict[str, StageResult] = {}
    for stage in stages:
        try:
            results[stage.name] = build.store.recorded(build.run, stage.name)
        except StoreError:
            what = f"the store has no result of {stage.name}"
            raise _stale("nothing is built yet", what, build, command) from None
    tables = {name: table for r in results.values() for name, table in r.tables.items()}
    _check_exports(build, tables["exports"], command)
    privacy = build.campaign.settings.privacy
    if present_key(build.campaign.settings, build.store.root) is None:
        missing = no_key(privacy)
        title = "the key of the judges' names is missing"
        raise _stale(title, missing.what, build, command, do=missing.do)
    for stage in stages:
        inputs = {name: tables[name].sha256 for name in stage.inputs}
        fingerprint = results[stage.name].fingerprint
        if dict(fingerprint.inputs) != inputs:
            what = f"the last build stopped before {stage.name}"
            raise _stale("the last build is incomplete", what, build, command)
        if fingerprint != build.fingerprint(stage, inputs):
            what = f"{stage.name} was made with other settings, another key or other code"
            raise _stale("the last build was another one", what, build, command)
    return tables


def failing_gates(build: Build) -> list[Problem]:
    """Return gates that would fail again, as nothing has changed since the last build.

    Of stages that would be made again nothing is said. Writes nothing; without a key, none.
    """
    settings = build.campaign.settings
    try:
        if present_key(settings, build.store.root) is None:
            return []
    except StoreError:
        return []
    runs: list[StageRun] = []
    tables: dict[str, StoredTable] = {}
    try:
        for stage in STAGES:
            run = build.recorded(stage)
            if stage.name == "archive_exports":
                _check_exports(build, run.result.tables["exports"], "")
            inputs = {name: tables[name].sha256 for name in stage.inputs}
            if run.result.fingerprint != build.fingerprint(stage, inputs):
                break
            runs.append(run)
            tables |= run.result.tables
    except AnnotError:  # a stage has not run, or exports are others now
        if not tables:
            return []
    error = build.failed(runs)
    return list(error.problems) if error else []


def failed_build_advice(build: Build) -> tuple[str, ...]:
    """Return what the last build said to do, where it failed and would fail again.

    Empty where it did not fail, or settings, exports or key are not those that it failed with.
    """
    failure = build.store.last_failure()
    if failure is None or failure.state != build_state(build.campaign):
        return ()
    return failure.advice


def changed_exports(build: Build, exports: StoredTable) -> dict[str, list[str]]:
    """Return the exports that have arrived, are gone, or have changed since a build read them."""
    n_sources = len(build.campaign.settings.sources)
    before = {
        (row["source_order"] + n_sources * (row["kind"] == "items"), row["source_file"]):
            row["source_sha256"]
        for row in read_verified(exports).to_pylist()
    }  # fmt: skip
    now = {(n, name): sha256 for n, name, sha256 in present_exports(build.campaign)}
    news = {
        "has arrived": now.keys() - before.keys(),
        GONE: before.keys() - now.keys(),
        CHANGED: {key for key in now.keys() & before.keys() if now[key] != before[key]},
    }
    return {what: sorted({name for _, name in keys}) for what, keys in news.items() if keys}


def _check_exports(build: Build, exports: StoredTable, command: str) -> None:
    news = changed_exports(build, exports)
    if changes := [f"{what}: {first_of(names)}" for what, names in news.items()]:
        raise _stale("exports changed since the last build", "; ".join(changes), build, command)


def _stale(title: str, what: str, build: Build, command: str, do: str = "") -> StoreError:
    outcome = (build.store.last_outcome() or {}).get("outcome", "")
    if outcome:
        what += f" (its outcome: {outcome.splitlines()[0]})"
    return StoreError(title, [Problem("", what, do=do or f"annot build, then {command}")])
