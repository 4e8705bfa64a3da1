"""`annot build`: all stages and the release, one after another in this process."""

from __future__ import annotations

import uuid

from annot_pipeline.commands.publish import Publication, publish
from annot_pipeline.config import LoadedCampaign
from annot_pipeline.errors import AnnotError
from annot_pipeline.stages.build import STAGES, Build, Progress, StageRun


def build_release(
    campaign: LoadedCampaign, progress: Progress, *, candidate: bool = False, keep: bool = False
) -> tuple[Publication, Build]:
    """Run the stages and publish, as the job of the Dagster assets does.

    All stages run though gates fail: a person sees all that is wrong, and the candidate.

    Parameters
    ----------
    campaign, progress
        As of `Build`.
    candidate, keep
        As of `publish`.

    Raises
    ------
    AnnotError
        Whatever stopped the build; of gates, those that failed.
    """
    build = Build(campaign, str(uuid.uuid4()), progress)
    runs: list[StageRun] = []
    with build.record_errors():
        for stage in STAGES:
            try:
                runs.append(build.run_stage(stage))
            except AnnotError as error:
                if failed := build.failed(runs):
                    raise failed from error
                raise
    return publish(build, candidate=candidate, keep=keep), build
