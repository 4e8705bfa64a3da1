"""Dawid-Skene under its public name; the code is in `methods.labels.dawid_skene`."""

from annot_pipeline.methods.labels.dawid_skene import (
    DawidSkeneParams,
    DawidSkeneResult,
    dawid_skene,
    dawid_skene_batch,
)
