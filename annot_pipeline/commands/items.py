"""`annot items`: labelled items by what makes them doubtful, to look at or to judge again."""

from __future__ import annotations

import pyarrow as pa

from annot_pipeline.config import LoadedCampaign
from annot_pipeline.errors import ConfigError, Problem
from annot_pipeline.storage.queries import Queries
from annot_pipeline.storage.releases import Releases

REASONS = ("uncertain", "one judge", "split votes", "against the votes", "expert against model")
"""Reasons to doubt a label, as sql/audit/items.sql gives them."""
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
    """Return labelled items of a release, the least probable label first.

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
        ``votes``, ``n_judges``, ``reasons``, ``text``; nulls where the release has none.

    Raises
    ------
    ConfigError
        There is no such reason.
    StoreError
        There is no such release, or it is not as it was published.
    """
    if reason is not None and reason not in REASONS:
        problem = Problem("--reason", f"{reason} is none", ", ".join(REASONS))
        raise ConfigError("items cannot be chosen so", [problem])
    chosen = Releases.for_campaign(campaign).get_or_candidate(release)
    names = ("labels", "label_distributions", "items", "judgments")
    parameters = {
        "uncertain": uncertain, "task": task, "label": label, "judge": judge, "reason": reason,
        "least_share": SPLIT,
    }  # fmt: skip
    queries = Queries(campaign.settings.resources, campaign.spill)
    return queries.table("audit/items", {name: chosen.stored(name) for name in names}, parameters)
