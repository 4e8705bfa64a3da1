"""Failed builds: the sensor that tells somebody.

The sensor is of the campaign's job, whoever launched it; `annot build` tells the person who
waits for it. Runs that were killed from outside fail, and are reported, when Dagster's run
monitoring finds them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, TypeAlias

import dagster as dg

from annot_pipeline.config import LoadedCampaign
from annot_pipeline.config.signature import digest
from annot_pipeline.errors import ConfigError, Problem, StoreError
from annot_pipeline.gates import GATES
from annot_pipeline.storage.files import read_json, write_json
from annot_pipeline.storage.marked_folder import ALERT
from annot_pipeline.storage.store import Store
from assets_defs.automation import ATTENDED_TAG
from assets_defs.stage_assets import MISTYPED

if TYPE_CHECKING:
    from assets_defs.automation import NightlyJob

AnyJob: TypeAlias = "NightlyJob | dg.JobDefinition"
"""A job whose runs publish."""
AUTOMATIC_TAGS = {"dagster/schedule_name", "dagster/sensor_name"}
"""Tags of runs that Dagster launched; others a person, or a program of theirs."""


@dataclass(frozen=True)
class EndedBuild:
    """What hooks are told of a run.

    Parameters
    ----------
    campaign
        Name of the campaign.
    run_id, job
        The run, as Dagster knows it.
    message
        Of a build that failed what went wrong, where, what is allowed and what to do, text of
        several lines; of one that succeeds, which run had failed, and how this one ended.
    """

    campaign: str
    run_id: str
    job: str
    message: str


class FailedBuild(EndedBuild):
    """A build that failed."""


class RecoveredBuild(EndedBuild):
    """The first build that succeeds after an alert."""


OnFailure = Callable[[FailedBuild], object]
OnRecovery = Callable[[RecoveredBuild], object]


def resolved(
    name: str, hook: Callable[[Any], object] | str | None
) -> Callable[[Any], object] | None:
    """Return the function; import it if it is named as ``package.module:function``.

    ``name`` is that of the attribute, for messages.

    Raises
    ------
    ConfigError
        There is no such function.
    """
    if hook is None or callable(hook):
        return hook
    target, what = None, "no function of a module"
    try:
        target = resolve_name(hook) if ":" in str(hook).strip(":") else None
    except Exception as error:  # a user's module may raise anything when it is imported
        what = f"{type(error).__name__}: {error}"
    if not callable(target):
        do = "name a function that can be imported where Dagster runs"
        problem = Problem(name, what, "package.module:function", do)
        raise ConfigError(f"{name}: {hook} cannot be called", [problem])
    function: Callable[[Any], object] = target
    return function


def failure_sensor(
    campaign: LoadedCampaign, job: AnyJob, on_failure: OnFailure | None
) -> dg.SensorDefinition:
    """Return a sensor that calls ``on_failure`` for a failed run, or logs the message.

    Runs that fail by the same gates or error, with the same settings, are reported once until a
    run succeeds; one that a person launched with wrong settings is not.
    """
    name = campaign.settings.campaign

    @dg.run_failure_sensor(
        name=f"{name}_failed",
        monitored_jobs=[job],
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Alerts on failed builds: calls on_failure, or logs the message.",
    )
    def failed(context: dg.RunFailureSensorContext) -> dg.SkipReason:
        run = context.dagster_run
        if ATTENDED_TAG in run.tags:
            return dg.SkipReason("annot build has already shown the error")
        if _is_mistyped(context):
            return dg.SkipReason(f"run {run.run_id}: whoever launched it sees what is mistyped")
        build = FailedBuild(name, run.run_id, run.job_name, _message(context))
        failure = _failure(campaign, build.message)
        if _alert(campaign).get("failure") == failure:
            return dg.SkipReason(f"run {run.run_id} failed as an earlier run; already reported")
        context.log.error(f"{name}: {build.message}")
        with suppress(OSError):  # on a full disk the alert may be sent twice
            write_json(_alert_path(campaign), {"run": run.run_id, "failure": failure})
        return _called(context, "on_failure", on_failure, build, f"run {run.run_id} failed")

    return failed


def recovery_sensor(
    campaign: LoadedCampaign, jobs: Sequence[AnyJob], on_recovery: OnRecovery | None
) -> dg.SensorDefinition:
    """Return a sensor that calls ``on_recovery`` for the first run that succeeds after an alert."""
    name = campaign.settings.campaign

    @dg.run_status_sensor(
        run_status=dg.DagsterRunStatus.SUCCESS,
        name=f"{name}_recovered",
        monitored_jobs=jobs,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Says once that builds succeed again: calls on_recovery, or logs the message.",
    )
    def recovered(context: dg.RunStatusSensorContext) -> dg.SkipReason:
        run, alert = context.dagster_run, _alert(campaign)
        if not alert:
            return dg.SkipReason("no failed build was reported")
        _alert_path(campaign).unlink(missing_ok=True)
        outcome = (Store(campaign.store).last_outcome() or {}).get("outcome", "")
        message = f"builds succeed again after run {alert['run']} failed: {outcome}"
        build = RecoveredBuild(name, run.run_id, run.job_name, message)
        context.log.info(f"{name}: {message}")
        return _called(context, "on_recovery", on_recovery, build, f"run {run.run_id} succeeded")

    return recovered


def _called(
    context: dg.RunStatusSensorContext,
    hook: str,
    function: Callable[[Any], object] | None,
    build: EndedBuild,
    what: str,
) -> dg.SkipReason:
    """Call a hook; whatever it raises stops no sensor. Returns what the sensor shows."""
    if function is None:
        return dg.SkipReason(f"{what}; logged, for there is no {hook}")
    try:
        function(build)
    except Exception as error:
        context.log.exception(f"{hook} itself failed: {error}")
        return dg.SkipReason(f"{what}; {hook} failed too: {error}")
    return dg.SkipReason(f"{what}; {hook} was called")


def _is_mistyped(context: dg.RunFailureSensorContext) -> bool:
    """Return whether a run that a person launched failed by the settings in its own config."""
    failures = (e.step_failure_data.user_failure_data for e in context.get_step_failure_events())
    is_mistyped = any(failure and MISTYPED in failure.metadata for failure in failures)
    return is_mistyped and not AUTOMATIC_TAGS & context.dagster_run.tags.keys()


def _failure(campaign: LoadedCampaign, message: str) -> str:
    """Return a digest of what failed: settings, and the gates that a message names, or its title.

    Exports do not count: the next night brings some, and fails by the same gates.
    """
    title, *lines = message.splitlines()
    names = {line.partition(":")[0].strip() for line in lines}
    failed = [gate.name for gate in GATES if gate.name in names]
    return digest([campaign.settings.model_dump(mode="json"), title, failed])


def _alert_path(campaign: LoadedCampaign) -> Path:
    return campaign.store / ALERT


def _alert(campaign: LoadedCampaign) -> dict[str, Any]:
    """Return the last alert that no successful run has followed; empty if there is none."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        alert = read_json(_alert_path(campaign))
        return {name: str(alert[name]) for name in ("run", "failure")}
    return {}


def _message(context: dg.RunFailureSensorContext) -> str:
    """Return our message if a step failed with one, else Dagster's."""
    for event in context.get_step_failure_events():
        failure = event.step_failure_data
        if failure.user_failure_data and failure.user_failure_data.description:
            return failure.user_failure_data.description
        if failure.error:
            return failure.error.message.strip()
    do = "see the run's log; the last release stands, the next run goes on from finished stages"
    killed = Problem("", context.failure_event.message or "Dagster says no more", do=do)
    return str(StoreError("the run was ended from outside", [killed]))
