"""``python -m annot_pipeline.cli``."""

from annot_pipeline.cli import console

console()
