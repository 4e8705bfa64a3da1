"""The bundled campaigns as one Dagster code location, and an asset that uses their gold."""

from pathlib import Path

import dagster as dg

from assets_defs import build_definitions
from examples.training import baseline

HERE = Path(__file__).parent

defs = dg.Definitions.merge(
    build_definitions(HERE / "anaesthetists"),
    build_definitions(HERE / "simulated"),
    build_definitions(HERE / "direct_assessment"),
    build_definitions(HERE / "preferences"),
    dg.Definitions(assets=[baseline]),
)
