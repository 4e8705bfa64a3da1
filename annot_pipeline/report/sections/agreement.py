"""How judges agree, with intervals."""

from __future__ import annotations

from annot_pipeline.report.contents import Contents, of_every_task
from annot_pipeline.report.figures.agreement_intervals import agreement_svg
from annot_pipeline.report.markup import (
    Column,
    figures,
    interval,
    join,
    left_out,
    paragraph,
    table,
    without_rounding,
)
from annot_pipeline.report.release_figures import Drawn

MOST_ROWS = 400

MEANINGS = (
    ("percent_agreement", "share of pairs of judgments that are equal"),
    ("pooled_percent_agreement", "the same, each pair of judgments counted once"),
    ("cohen_kappa", "agreement of pairs of judges, less chance by each judge's own labels"),
    ("fleiss_kappa", "agreement of all judges, less chance by the labels of all"),
    ("gwet_ac1", "Gwet's AC1: does not fall where one class is frequent"),
    ("gwet_ac2", "Gwet's AC2: the same, with credit for near classes"),
    ("alpha_nominal", "Krippendorff's alpha: classes are equal or not"),
    ("alpha_ordinal", "Krippendorff's alpha: by the order of classes or scores"),
    ("alpha_interval", "Krippendorff's alpha: by distances of scores"),
    ("alpha_ratio", "Krippendorff's alpha: by ratios of scores"),
    ("inter_kappa", "kappa of different judges"),
    ("intra_kappa", "kappa of a judge with the same judge"),
    ("inter_percent", "share of pairs of answers of different judges that are equal"),
    ("intra_percent", "share of pairs of answers of a judge to the same question that are equal"),
    ("inter_pearson_ranks", "correlation of the ranks that two judges give the same outputs"),
    ("inter_spearman_ranks", "rank correlation of the ranks that two judges give the same outputs"),
    ("inter_spearman", "rank correlation of the scores of two judges"),
    ("inter_difference", "distance of the scores of different judges for the same, points"),
    ("intra_difference", "distance of the scores of a judge for the same, points"),
    ("majority_class_agreement", "share of pairs of outputs on which most judges decide alike"),
    ("majority_class_chance", "the same, if judges guessed"),
    ("consistency", "share of outputs outside of contradictions"),
    ("first_shown_win_share", "how often the output that was shown first won; 0.5 is fair"),
)
"""By the start of a statistic's name."""


def agreement(contents: Contents) -> str:
    """Return the section: one statistic per task as a figure, all of them as a table."""
    n_rows = contents.tables["agreement"].num_rows
    rows = of_every_task(contents.tables["agreement"], MOST_ROWS).to_pylist()
    if not rows:
        return ""
    headlines = [(task, contents.headline(task)) for task in sorted(contents.facts["kinds"])]
    defined = [(task, row) for task, row in headlines if row]
    value, low, high = (
        [without_rounding(row[name]) for _, row in defined]
        for name in ("value", "ci_low", "ci_high")
    )
    drawings = [Drawn("Agreement by task", agreement_svg(
        [task for task, _ in defined], [row["statistic"] for _, row in defined],
        value, low, high,
    ))] if defined else []  # fmt: skip
    columns = [
        Column("statistic", choose=True), Column("task", choose=True), Column("value", "real"),
        Column("95% interval"), Column("items", "count"), Column("judges", "count"),
        Column("what it is"), Column("note"),
    ]  # fmt: skip
    cells = (
        (
            row["statistic"], row["task"], without_rounding(row["value"]),
            interval(without_rounding(row["ci_low"]), without_rounding(row["ci_high"])),
            row["n_items"], row["n_judges"], _meaning(row["statistic"]), row["reason"] or "",
        )
        for row in rows
    )  # fmt: skip
    words = (
        "Agreement is 1 where all judges say the same, and 0 where they agree as often as by "
        "chance. It depends on judges and guidelines together. Intervals are 95% intervals: of "
        "labels over items and judges, of scores and preferences over items or segments."
    )
    return join([
        paragraph(words),
        figures(drawings),
        table("Agreement", columns, cells, sortable=True, search=True),
        left_out(n_rows, len(rows), "agreement.parquet"),
    ])  # fmt: skip


def _meaning(statistic: str) -> str:
    words = next((meaning for name, meaning in MEANINGS if statistic.startswith(name)), "")
    return words + ("; all judges, dropped ones too" if statistic.endswith("_unfiltered") else "")
