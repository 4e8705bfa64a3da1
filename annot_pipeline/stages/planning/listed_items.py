"""What item tables say of the items of each task."""

from __future__ import annotations

import fnmatch
import re
from collections import ChainMap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from annot_pipeline.config import Campaign, TaskSettings

Row = dict[str, Any]

PATTERN = re.compile(r"[*?[]")
"""In the name of an entry under tasks: it is for several tasks."""

NOWHERE = (
    "listed items left out, because there are several tasks and their table does not map task: {:,}"
)


@dataclass(frozen=True)
class Listed:
    """Rows of the item tables by item: those that name a task, and those that name none.

    The first row of an item wins. Where there is only one task, the latter are its own; a task
    that only says whether outputs of others are adequate is none of its own. ``n_homes`` counts
    the tasks that they could be of.
    """

    by_task: dict[str, dict[str, Row]]
    common: dict[str, Row]
    n_homes: int

    def rows(self, *tasks: str) -> Mapping[str, Row]:
        """Return the row of each item, of the first task that lists it, else of any."""
        own = [self.by_task[task] for task in tasks if task in self.by_task]
        return ChainMap[str, Row](*own, self.common)

    def labelled_in(self, task: str, settings: Campaign) -> list[str]:
        """Return the tasks whose outputs a task of adequacy labels."""
        labelling = labelled_by(self.by_task, settings)
        return [name for name, labelled_task in labelling.items() if labelled_task == task]

    def homeless(self) -> set[str]:
        """Return listed items that belong to no task unless judged, as there are several."""
        if self.n_homes < 2:
            return set()
        return self.common.keys() - {item for rows in self.by_task.values() for item in rows}


def listed_items(items: pa.Table, tasks: pa.Table, settings: Campaign) -> Listed:
    """Return the rows of the item tables by task and item.

    Parameters
    ----------
    items
        Rows of the item tables, in order of precedence.
    tasks
        As `resolve_tasks` gives it; without judgments those of the item tables are added.
    settings
        ``campaign``: the task of exports that map none; ``tasks``.
    """
    rows = items.to_pylist()
    judged = set(tasks["task"].to_pylist())
    named = {row["task"] for row in rows}
    declared_homes = _declared_homes(settings) if None in named and not judged else set()
    if len(declared_homes) == 1:
        named |= declared_homes
    by_task: dict[str, dict[str, Row]] = {task: {} for task in judged | named - {None}}
    common: dict[str, Row] = {}
    for row in rows:
        (common if row["task"] is None else by_task[row["task"]]).setdefault(row["item"], row)
    homes = (
        by_task.keys() - labelled_by(by_task, settings).values() or by_task.keys()
    ) | declared_homes
    if len(homes) == 1:
        only = by_task[next(iter(homes))]
        only |= {item: row for item, row in common.items() if item not in only}
    return Listed(by_task, common, len(homes))


def _declared_homes(settings: Campaign) -> set[str]:
    """Return the tasks that items without a task may belong to, before any judgment.

    Those that campaign.yaml names; among several the one that has the campaign's own name, as
    exports that map no task have. Patterns name none, and a task of adequacy has no items of its
    own. Where none is named, all is one task with the campaign's name.
    """
    labelling = {
        task_settings.adequacy.task for task_settings in settings.tasks if task_settings.adequacy
    }
    named = {
        task_settings.name
        for task_settings in settings.tasks
        if not PATTERN.search(task_settings.name)
    } - labelling
    return {settings.campaign} if settings.campaign in named or not named else named


def labelled_by(tasks: Iterable[str], settings: Campaign) -> dict[str, str]:
    """Return, for each task that declares adequacy, the task that labels its outputs."""
    adequacies = {name: declared(name, settings).adequacy for name in sorted(tasks)}
    return {
        name: adequacy.task
        for name, adequacy in adequacies.items()
        if adequacy and adequacy.task != name
    }


def declared(task: str, settings: Campaign) -> TaskSettings:
    """Return the settings of a task: the first pattern that matches its name."""
    none = TaskSettings(name=task)
    return next((s for s in settings.tasks if fnmatch.fnmatchcase(task, s.name)), none)
