"""annot-pipeline: from raw judgment exports to versioned gold datasets."""

__version__ = "0.1.0"
