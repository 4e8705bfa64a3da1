"""Tables of a campaign, built in a temporary folder: its own store and releases are not touched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from annot_pipeline.config import LoadedCampaign
from annot_pipeline.gates import GateResult
from annot_pipeline.stages.build import Build, Progress, stages_for
from annot_pipeline.storage.tables import read_table
from annot_pipeline.storage.temporary import temporary_store


def temporary_build(
    campaign: LoadedCampaign, columns_by_table: Mapping[str, Sequence[str]], progress: Progress
) -> tuple[dict[str, pa.Table], list[GateResult]]:
    """Run the stages that some tables need.

    Parameters
    ----------
    campaign
        What to build.
    columns_by_table
        Names of tables, and the columns wanted of each; none means all.
    progress
        Called with a sentence on what is going on.

    Returns
    -------
    tables, gates
        The tables, whole in memory; and the results of the gates of these stages.

    Raises
    ------
    AnnotError
        An export is missing or cannot be read.
    StoreError
        The temporary folder cannot be written.
    """
    with temporary_store(campaign, campaign.settings, continues_previous=False) as temporary:
        build = Build(temporary, progress=progress)
        runs = [build.run_stage(stage) for stage in stages_for(columns_by_table)]
        files = {name: file for run in runs for name, file in run.result.tables.items()}
        gates = [gate for run in runs for gate in run.gates]
        tables = {
            name: read_table(files[name], columns or None).combine_chunks()
            for name, columns in columns_by_table.items()
        }
    return tables, gates
