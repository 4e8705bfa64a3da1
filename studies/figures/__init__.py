"""Figures of studies, in the manner of the report's (annot_pipeline.report.figures)."""
