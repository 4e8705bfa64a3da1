"""A stage as it is declared: inputs, outputs, settings, code version, work."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from annot_pipeline.contracts.stage_metrics import StageMetrics
from annot_pipeline.runtime.context import StageContext, StageOutput


@dataclass(frozen=True)
class Stage:
    """Represents one stage of the pipeline.

    Parameters
    ----------
    name, description
        What it is called and what it does, for people.
    inputs
        Tables it reads, with the columns it needs of each (empty: all, or by its file).
    outputs
        Tables it makes.
    settings
        Sections of campaign.yaml that can move its result.
    code_version
        Raised whenever the same inputs would give another result.
    work
        Does it.
    cached
        Whether a result may be used again for the same inputs, settings and code.
    """

    name: str
    description: str
    inputs: Mapping[str, tuple[str, ...]]
    outputs: tuple[str, ...]
    settings: tuple[str, ...]
    code_version: str
    work: Callable[[StageContext], StageOutput[StageMetrics]]
    cached: bool = True
