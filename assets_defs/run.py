"""Runs a campaign's job in this process: what `annot build --dagster` does."""

from __future__ import annotations

import os
import uuid

import dagster as dg

from annot_pipeline.commands.publish import Publication
from annot_pipeline.config import LoadedCampaign
from annot_pipeline.errors import ConfigError, Problem, StoreError
from annot_pipeline.stages.build import Build, Progress
from annot_pipeline.storage.releases import Releases
from assets_defs.automation import ATTENDED_TAG
from assets_defs.definitions import definitions_of


def run_in_process(campaign: LoadedCampaign, progress: Progress) -> tuple[Publication, Build]:
    """Run the nightly job here and now; the instance of DAGSTER_HOME records it as any other run.

    Raises
    ------
    AnnotError
        DAGSTER_HOME is not set; or whatever stopped the build, in words for the user.
    KeyboardInterrupt
        The user did.
    """
    definitions = definitions_of(campaign, progress=progress)
    job = definitions.resolve_job_def(f"{campaign.settings.campaign}_nightly")
    build = Build(campaign, str(uuid.uuid4()), progress)
    if not os.environ.get("DAGSTER_HOME"):
        do = "export DAGSTER_HOME=FOLDER, or build without --dagster"
        problem = Problem("--dagster", "DAGSTER_HOME is not set", do=do)
        raise ConfigError("the run cannot be recorded", [problem])
    with dg.DagsterInstance.get() as instance:
        try:
            result = job.execute_in_process(
                instance=instance,
                run_id=build.run,
                tags={ATTENDED_TAG: "true"},
                run_config={"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}},
            )
        except dg.Failure as failure:
            raise failure.__cause__ or failure from None
        except dg.DagsterExecutionInterruptedError:
            raise KeyboardInterrupt from None
    release = Releases.for_campaign(campaign).latest()
    if release is None:
        raise StoreError(f"{campaign.gold_url or campaign.gold}: the release is gone")
    events = result.asset_materializations_for_node(f"{campaign.settings.campaign}__release")
    published = any(event.metadata["published"].value for event in events)
    return Publication(release, published), build
