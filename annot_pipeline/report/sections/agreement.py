"""How judges agree, with intervals."""

from __future__ import annotations

from typing import Any

from annot_pipeline.errors import counted
from annot_pipeline.report.contents import Contents, of_every_task
from annot_pipeline.report.figures.agreement_intervals import agreement_svg
from annot_pipeline.report.release_figures import Drawn
from annot_pipeline.report.render import interval, without_rounding

MOST_ROWS = 400


def agreement(contents: Contents) -> dict[str, Any]:
    """Return one statistic per task as a figure, all of them as rows."""
    rows = of_every_task(contents.tables["agreement"], MOST_ROWS).to_pylist()
    if not rows:
        return {}
    headlines = [(task, contents.headline(task)) for task in sorted(contents.facts["kinds"])]
    defined = [(task, row) for task, row in headlines if row]
    value, low, high = (
        [without_rounding(row[name]) for _, row in defined]
        for name in ("value", "ci_low", "ci_high")
    )
    statistics = [row["statistic"] for _, row in defined]
    n_tasks = counted(len(defined), "task")
    svg = agreement_svg([task for task, _ in defined], statistics, value, low, high)
    return {
        "drawings": [Drawn("Agreement by task", svg, n_tasks)] * bool(defined),
        "rows": [
            row | {
                "value": without_rounding(row["value"]), "meaning": row["statistic"],
                "interval": interval(*map(without_rounding, (row["ci_low"], row["ci_high"]))),
                "reason": row["reason"] or "",
            }
            for row in rows
        ],
        "n_rows": contents.tables["agreement"].num_rows,
    }  # fmt: skip
