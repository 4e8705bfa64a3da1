"""Figures as SVG text: for the report, where they stand inside HTML, and for Dagster, as images.

A figure is one function from plain sequences or arrays (None and NaN are missing values) to a
text that starts at ``<svg``, the same bytes for the same input. It draws with plain matplotlib;
`plot` has the frame and the way out. What cannot be drawn gives a small figure that says so.

Inline, figures take the text colour of the page. As an image they cannot know the page, and
are mid-grey; cells of matrices are opaque everywhere.
"""

from annot_pipeline.report.figures.comparisons import comparison_matrix_svg
from annot_pipeline.report.figures.confusion import confusion_svg
from annot_pipeline.report.figures.effort_saved import effort_saved_svg
from annot_pipeline.report.figures.judge_accuracy import judge_accuracy_svg
from annot_pipeline.report.figures.judge_control import p_against_seconds_svg
from annot_pipeline.report.figures.judge_differences import judge_differences_svg
from annot_pipeline.report.figures.prevalence import prevalence_svg
from annot_pipeline.report.figures.ranking import ranking_svg
from annot_pipeline.report.figures.reliability import reliability_svg
from annot_pipeline.report.figures.score_histograms import score_histograms_svg
from annot_pipeline.report.figures.seconds_by_length import seconds_by_length_svg
from annot_pipeline.report.figures.segment_graph import segment_graph_svg
from annot_pipeline.report.figures.win_matrix import win_matrix_svg
