"""What all sections of campaign.yaml have in common."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

TAG = "~"
"""Marks the parts of pydantic's error paths that do not stand in the file."""
LARGEST = 1e15
"""Scores beyond could not be summed exactly."""


class Section(BaseModel):
    """A mapping of the file: no unknown keys, no coercion, no change after reading."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, populate_by_name=False, allow_inf_nan=False
    )
