"""Failed builds: the sensor that tells somebody.

The sensor is of the campaign's job, whoever launched it; `annot build` tells the person who
waits for it. Runs that were killed from outside fail, and are told of, when Dagster's run
monitoring finds them.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import dagster as dg

from annot_pipeline.config import LoadedCampaign
from annot_pipeline.errors import ConfigError, Problem, StoreError
from annot_pipeline.storage.store import Store
from assets_defs.automation import ATTENDED_TAG

if TYPE_CHECKING:
    from assets_defs.automation import NightlyJob


@dataclass(frozen=True)
class FailedBuild:
    """What is known of a build that failed.

    Parameters
    ----------
    campaign
        Name of the campaign.
    run_id, job
        The run, as Dagster knows it.
    message
        What went wrong, where, what is allowed and what to do: text of several lines.
    """

    campaign: str
    run_id: str
    job: str
    message: str


GATE_FAILED = "DagsterAssetCheckFailedError"
"""What Dagster fails a step with whose check blocks; which gates, the build has noted."""

OnFailure = Callable[[FailedBuild], object]


def resolved(on_failure: OnFailure | str | None) -> OnFailure | None:
    """Return the function; import it if it is named as ``package.module:function``.

    Raises
    ------
    ConfigError
        There is no such function.
    """
    if not isinstance(on_failure, str):
        return on_failure
    module, _, name = on_failure.partition(":")
    what = ""
    try:
        target = getattr(importlib.import_module(module), name) if module and name else None
    except Exception as error:  # a user's module may raise anything when it is imported
        target, what = None, f"{type(error).__name__}: {error}"
    if not callable(target):
        raise ConfigError(
            f"on_failure: {on_failure} cannot be called",
            [
                Problem(
                    "on_failure",
                    what or "no function of a module",
                    "package.module:function",
                    "name a function that can be imported where Dagster runs",
                )
            ],
        )
    function: OnFailure = target
    return function


def failure_sensor(
    campaign: LoadedCampaign, job: NightlyJob, on_failure: OnFailure | None
) -> dg.SensorDefinition:
    """Return a sensor that calls ``on_failure`` for each failed run, or logs the message."""
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
        build = FailedBuild(name, run.run_id, run.job_name, _message(campaign, context))
        context.log.error(f"{name}: {build.message}")
        if on_failure is None:
            return dg.SkipReason(f"run {run.run_id} failed; logged, for there is no on_failure")
        try:
            on_failure(build)
        except Exception as error:
            context.log.exception(f"on_failure itself failed: {error}")
            return dg.SkipReason(f"run {run.run_id} failed; on_failure failed too: {error}")
        return dg.SkipReason(f"run {run.run_id} failed; on_failure was called")

    return failed


def _message(campaign: LoadedCampaign, context: dg.RunFailureSensorContext) -> str:
    """Return our message if a step failed with one or by a gate, else Dagster's."""
    noted = Store(campaign.store).last_outcome() or {}
    is_noted = noted.get("run") == context.dagster_run.run_id
    for event in context.get_step_failure_events():
        failure = event.step_failure_data
        if failure.user_failure_data and failure.user_failure_data.description:
            return failure.user_failure_data.description
        if failure.error and failure.error.cls_name == GATE_FAILED and is_noted:
            return noted["outcome"]
        if failure.error:
            return failure.error.message.strip()
    killed = Problem(
        "",
        context.failure_event.message or "Dagster says no more",
        do="see the run's log; the last release stands, and the next run continues from the "
        "finished stages",
    )
    return str(StoreError("the run was ended from outside", [killed]))
