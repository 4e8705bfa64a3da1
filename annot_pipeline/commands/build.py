"""`annot build`: all stages and the release, one after another in this process."""

from __future__ import annotations

import uuid

from annot_pipeline.commands.publish import Publication, publish
from annot_pipeline.config import LoadedCampaign
from annot_pipeline.stages.build import STAGES, Build, Progress


def build_release(campaign: LoadedCampaign, progress: Progress) -> tuple[Publication, Build]:
    """Run the stages and publish, as the job of the Dagster assets does.

    A stage is left out if it needs a table of one whose gate failed: a person sees all gates that
    fail, and waits for nothing else.

    Raises
    ------
    AnnotError
        Whatever stopped the build; of gates, those that failed.
    """
    build = Build(campaign, str(uuid.uuid4()), progress)
    withheld: set[str] = set()
    for stage in STAGES:
        if withheld.intersection(stage.inputs) or build.failed([build.run_stage(stage)]):
            withheld.update(stage.outputs)
    return publish(build), build
