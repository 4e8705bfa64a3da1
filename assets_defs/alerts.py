"""Failed builds: the sensor that tells somebody.

The sensor is of the campaign's job, whoever launched it; `annot build` tells the person who
waits for it. Runs that were killed from outside fail, and are reported, when Dagster's run
monitoring finds them.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import dagster as dg

from annot_pipeline.config import LoadedCampaign
from annot_pipeline.errors import ConfigError, Problem, StoreError
from annot_pipeline.storage.files import read_json, write_json
from annot_pipeline.storage.marked_folder import ALERT
from annot_pipeline.storage.store import Store
from assets_defs.automation import ATTENDED_TAG

if TYPE_CHECKING:
    from assets_defs.automation import NightlyJob

AnyJob: TypeAlias = "NightlyJob | dg.JobDefinition"
"""A job whose failed runs are alerted."""


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
    if not isinstance(hook, str):
        return hook
    module, _, function_name = hook.partition(":")
    what, target = "", None
    try:
        target = (
            getattr(importlib.import_module(module), function_name)
            if module and function_name
            else None
        )
    except Exception as error:  # a user's module may raise anything when it is imported
        target, what = None, f"{type(error).__name__}: {error}"
    if not callable(target):
        do = "name a function that can be imported where Dagster runs"
        what = what or "no function of a module"
        problem = Problem(name, what, "package.module:function", do)
        raise ConfigError(f"{name}: {hook} cannot be called", [problem])
    function: Callable[[Any], object] = target
    return function


def failure_sensor(
    campaign: LoadedCampaign, jobs: Sequence[AnyJob], on_failure: OnFailure | None
) -> dg.SensorDefinition:
    """Return a sensor that calls ``on_failure`` for a failed run, or logs the message.

    Runs that fail with the same exports and settings are reported once.
    """
    name = campaign.settings.campaign

    @dg.run_failure_sensor(
        name=f"{name}_failed",
        monitored_jobs=jobs,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Alerts on failed builds: calls on_failure, or logs the message.",
    )
    def failed(context: dg.RunFailureSensorContext) -> dg.SkipReason:
        run = context.dagster_run
        if ATTENDED_TAG in run.tags:
            return dg.SkipReason("annot build has already shown the error")
        build = FailedBuild(name, run.run_id, run.job_name, _message(context))
        state = _state(campaign, run.run_id)
        if state and _alert(campaign).get("state") == state:
            return dg.SkipReason(f"run {run.run_id} failed as an earlier run; already reported")
        context.log.error(f"{name}: {build.message}")
        with suppress(OSError):  # on a full disk the alert may be sent twice
            if state or not _alert(campaign):
                write_json(_alert_path(campaign), {"run": run.run_id, "state": state})
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


def _state(campaign: LoadedCampaign, run: str) -> str:
    """Return the state of exports and settings that a run failed with; empty if unknown."""
    store = Store(campaign.store)
    failure = store.last_failure()
    is_of_run = (store.last_outcome() or {}).get("run") == run
    return failure.state if failure and is_of_run else ""


def _alert_path(campaign: LoadedCampaign) -> Path:
    return campaign.store / ALERT


def _alert(campaign: LoadedCampaign) -> dict[str, Any]:
    """Return the last alert that no successful run has followed; empty if there is none."""
    try:
        alert = read_json(_alert_path(campaign))
        return {name: str(alert[name]) for name in ("run", "state")}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def _message(context: dg.RunFailureSensorContext) -> str:
    """Return our message if a step failed with one, else Dagster's."""
    for event in context.get_step_failure_events():
        failure = event.step_failure_data
        if failure.user_failure_data and failure.user_failure_data.description:
            return failure.user_failure_data.description
        if failure.error:
            return failure.error.message.strip()
    killed = Problem(
        "",
        context.failure_event.message or "Dagster says no more",
        do="see the run's log; the last release stands, and the next run continues from the "
        "finished stages",
    )
    return str(StoreError("the run was ended from outside", [killed]))
