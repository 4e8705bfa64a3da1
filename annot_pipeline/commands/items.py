"""`annot items`: items by what makes them doubtful, to look at or to judge again."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv

from annot_pipeline.config import LoadedCampaign
from annot_pipeline.config.campaign_file import likely_name
from annot_pipeline.errors import ConfigError, Problem, first_of
from annot_pipeline.review.sheet import safe_cell
from annot_pipeline.storage.files import atomic_write
from annot_pipeline.storage.queries import Queries
from annot_pipeline.storage.releases import Releases
from annot_pipeline.storage.tables import read_table, write_table

REASONS = (
    "uncertain", "one judge", "split votes", "against the votes", "expert against model",
    "no judgment counts", "scores differ", "preferences differ", "models differ from people",
    "ranks differ",
)  # fmt: skip
"""Reasons to doubt an item, as sql/audit/items.sql and sql/report/doubtful_items.sql give them."""
OTHERS = {"most_labels": 0, "most_others": 2**62, "most_classes": 0}
"""Parameters of the items without labels: all of them."""
SPLIT = 2 / 3
"""Share of the votes below which they are split."""


def list_items(
    campaign: LoadedCampaign,
    *,
    release: str = "latest",
    uncertain: bool = False,
    task: str | None = None,
    label: str | None = None,
    judge: str | None = None,
    reason: str | None = None,
) -> pa.Table:
    """Return items of a release: the least probable label first, then those on which judges differ.

    Parameters
    ----------
    campaign
        Whose release.
    release
        Its version, ``latest``, or ``candidate``.
    uncertain
        Whether only labels that are not certain.
    task, label, judge, reason
        Only items of this task, with this label, judged by this judge (the published name), or with
        this of `REASONS`; None: all.

    Returns
    -------
    pyarrow.Table
        ``task``, ``item``, ``label``, ``probability``, ``runner_up``, ``runner_up_probability``,
        ``votes`` (without labels what judges say), ``n_judges``, ``reasons``, ``text``; nulls where
        the release has none.

    Raises
    ------
    ConfigError
        There is no such reason, task, judge or label.
    StoreError
        There is no such release, or it is not as it was published.
    """
    _refuse_unknown("reason", reason, REASONS)
    chosen = Releases.for_campaign(campaign).get_or_candidate(release)
    names = ("labels", "label_distributions", "items", "judgments", "lineage")
    kinds = chosen.manifest["facts"]["kinds"]
    parameters = {
        "categorical": [name for name, kind in kinds.items() if kind == "categorical"],
        "uncertain": uncertain, "task": task, "label": label, "judge": judge, "reason": reason,
        "least_share": SPLIT,
    }  # fmt: skip
    queries = Queries(campaign.settings.resources, campaign.spill)
    _refuse_unknown("task", task, kinds)
    _refuse_unknown("judge", judge, chosen.table("judges")["judge"].to_pylist())
    labels = read_table(chosen.stored("labels"), ["label"])["label"]
    _refuse_unknown("label", label, labels.unique().to_pylist())
    inputs: dict[str, Any] = {name: chosen.stored(name) for name in names}
    inputs["doubtful"] = queries.table("report/doubtful_items", inputs, OTHERS)
    return queries.table("audit/items", inputs, parameters)


def _refuse_unknown(kind: str, name: str | None, allowed_names: Iterable[str]) -> None:
    names = sorted({*allowed_names})
    if name is not None and name not in names:
        allowed, do = first_of(names, 10), likely_name(name, names)
        problem = Problem(f"--{kind}", f"no such {kind}", allowed, do, (name,))
        raise ConfigError(f"an unknown {kind}", [problem])


def write_items(items: pa.Table, path: Path) -> None:
    """Write one row per item as csv, safe in a spreadsheet, or as Parquet, in one step."""
    with atomic_write(path) as temporary:
        if path.suffix == ".csv":
            cells = [pa.array(map(safe_cell, c.to_pylist()), c.type) for c in items.columns]
            pa_csv.write_csv(pa.table(cells, [*map(safe_cell, items.column_names)]), temporary)
        else:
            write_table(temporary, items)
