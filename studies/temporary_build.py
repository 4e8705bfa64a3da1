"""Tables of a campaign for studies, which draw nothing anew."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import pyarrow as pa

from annot_pipeline.config import LoadedCampaign
from annot_pipeline.stages import temporary_build as builds
from annot_pipeline.stages.build import Progress


def temporary_build(
    campaign: LoadedCampaign, columns_by_table: Mapping[str, Sequence[str]], progress: Progress
) -> tuple[dict[str, pa.Table], list[str]]:
    """Run the stages that some tables need; rankings have no bootstrap intervals.

    Parameters and errors are those of `stages.temporary_build.temporary_build`.

    Returns
    -------
    tables, failed
        The tables, whole in memory; and the gates of these stages that say error.
    """
    ranking = campaign.settings.ranking.model_copy(update={"bootstrap": 0, "online_rounds": 0})
    settings = campaign.settings.model_copy(update={"ranking": ranking})
    without_draws = dataclasses.replace(campaign, settings=settings)
    tables, gates = builds.temporary_build(without_draws, columns_by_table, progress)
    return tables, [str(gate) for gate in gates if gate.level == "error"]
