"""What a report is made from, and counts that several sections need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from fnmatch import fnmatchcase
from functools import cached_property, reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.contracts import TEXT, is_measured
from annot_pipeline.methods.numerics.shares import wilson_interval

Document = Mapping[str, Any]

HEADLINES = {
    "categorical": ("alpha_nominal", "fleiss_kappa", "percent_agreement"),
    "ordinal": ("alpha_ordinal", "alpha_nominal", "percent_agreement"),
    "scalar": ("alpha_interval", "alpha_ordinal"),
    "pairwise": ("inter_kappa_ternary", "cohen_kappa_ternary", "consistency"),
    "ranking": ("inter_kappa_ternary", "cohen_kappa_ternary", "consistency"),
}
"""By kind of task: the statistic of agreement that is told first, if it has a value."""
STATISTICS = {
    "alpha": "Krippendorff's alpha", "fleiss": "Fleiss' kappa", "percent": "share of equal answers",
    "inter": "kappa of preferences", "cohen": "Cohen's kappa of preferences",
    "consistency": "share of outputs without contradictions",
}  # fmt: skip
"""What those are, by the starts of their names."""


@dataclass(frozen=True)
class Labelled:
    """Labels of a task, or of several, by whose they are.

    Parameters
    ----------
    n
        All of them.
    certain
        Of the model, and certain.
    decided, against
        Decided by an expert; of these, the model says otherwise.
    """

    n: int = 0
    certain: int = 0
    decided: int = 0
    against: int = 0

    @property
    def usable(self) -> float | None:
        """Return the share that is certain or decided; None without labels."""
        return (self.certain + self.decided) / self.n if self.n else None

    @property
    def n_open(self) -> int:
        """Return how many are neither certain nor decided."""
        return self.n - self.certain - self.decided


@dataclass(frozen=True)
class Contents:
    """What the sections read.

    Parameters
    ----------
    manifest
        Of the release, without ``files``.
    tables, internal
        Of the release, and of the store.
    previous, previous_manifest
        Tables and manifest of the parent, if there is one.
    campaign
        Its file as commands take it in its folder: a release names no folder of a machine.
    """

    manifest: Document
    tables: Mapping[str, pa.Table]
    internal: Mapping[str, pa.Table]
    previous: Mapping[str, pa.Table] | None = None
    previous_manifest: Document | None = None
    campaign: str = "campaign.yaml"

    @property
    def facts(self) -> Document:
        """Return what the build counted."""
        facts: Document = self.manifest["facts"]
        return facts

    @property
    def settings(self) -> Document:
        """Return the settings as published."""
        settings: Document = self.manifest["settings"]
        return settings

    @property
    def about(self) -> Document:
        """Return what the campaign says of itself; only what it does say."""
        return {key: value for key, value in (self.settings.get("about") or {}).items() if value}

    @cached_property
    def rows(self) -> Mapping[str, int]:
        """Return rows of every gold table."""
        return {table["name"]: table["rows"] for table in self.manifest["tables"]}

    @cached_property
    def label_counts(self) -> list[dict[str, Any]]:
        """Return how many labels are alike, as sql/report/label_counts.sql tells them."""
        rows: list[dict[str, Any]] = self.tables["label_counts"].to_pylist()
        return rows

    @property
    def certain_at(self) -> float:
        """Return the probability from which a label is certain."""
        return float(self.settings["labels"]["certain_at"])

    @cached_property
    def labelled(self) -> Mapping[str, Labelled]:
        """Count the labels of each task: all, certain, decided by experts, against the model."""
        by_task: dict[str, Labelled] = {}
        for row in self.label_counts:
            so_far = by_task.get(row["task"], Labelled())
            n, decided = row["n"], row["adjudicated"]
            by_task[row["task"]] = Labelled(
                so_far.n + n,
                so_far.certain + n * (row["certain"] and not decided),
                so_far.decided + n * decided,
                so_far.against + n * (decided and row["as_model"] is False),
            )
        return by_task

    @property
    def labelled_in_all(self) -> Labelled:
        """Count the labels of all tasks together."""
        every = self.labelled.values()
        return Labelled(
            *(sum(getattr(counts, f.name) for counts in every) for f in fields(Labelled))
        )

    @cached_property
    def judgments_by_task(self) -> Mapping[tuple[Any, ...], int]:
        """Return judgments, by task and fate."""
        rows = self.tables["judgments"].to_pylist()
        return {(row["task"], row["fate"]): row["n"] for row in rows}

    @property
    def anonymous_votes(self) -> Mapping[str, int]:
        """Return the votes that come as counts, by task; releases of older code have none."""
        votes: Mapping[str, int] = self.facts["anonymous_votes"]
        return votes

    @cached_property
    def n_judged(self) -> int:
        """Return the number of judgments of named judges that count."""
        by_fate = self.judgments_by_task.items()
        return sum(n for (_, fate), n in by_fate if fate == "used")

    @cached_property
    def n_scores(self) -> int:
        """Return the number of items with a score."""
        rows = self.tables["scores"].to_pylist()
        return sum(row["n"] for row in rows if row["n_judgments"])

    @cached_property
    def judges(self) -> list[dict[str, Any]]:
        """Return rows of the gold table, with agreement in preferences, and who looks random.

        Those whom the gates name; where no test says anything of a judge, by `looks_random`.
        """
        rows: list[dict[str, Any]] = self.tables["judges"].to_pylist()
        preferences = self.tables["preference_agreement"].to_pylist()
        agreement = {(row["task"], row["judge"]): row for row in preferences}
        checks = self.manifest["checks"]
        n = next((int(c["value"] or 0) for c in checks if c["name"] == "inconsistent_judges"), 0)
        inconsistent = self.facts.get("inconsistent_judges", ())[:n]  # fewer items come later
        named = {*inconsistent}.union(*self.facts["careless_judges"].values())
        for row in rows:
            row |= agreement.get((row["task"], row["judge"]), {})
            is_named = not named.isdisjoint({row["judge"], f"{row['task']} {row['judge']}"})
            looks = is_named or (row["verdict"] == "untested" and looks_random(row))
            row["random"] = None if row["dropped"] or row["verdict"] == "failed" else looks
        return rows

    @cached_property
    def used_judges(self) -> list[dict[str, Any]]:
        """Return the judges with judgments whose kind their task uses."""
        used = self.facts["used_judges"]
        return [row for row in self.judges if row["n_judgments"] and not is_measured(row, used)]

    @cached_property
    def agreement(self) -> Mapping[str, Mapping[str, dict[str, Any]]]:
        """Return the rows of the gold table by task and statistic."""
        by_task: dict[str, dict[str, dict[str, Any]]] = {}
        for row in self.tables["agreement"].to_pylist():
            by_task.setdefault(row["task"], {})[row["statistic"]] = row
        return by_task

    def task_settings(self, task: str) -> Document:
        """Return the settings of the first pattern that matches the task's name; else none."""
        every = self.settings.get("tasks", ())
        return next((s for s in every if fnmatchcase(task, s["name"])), {})

    def references(self, task: str) -> Sequence[str]:
        """Return the systems of a task that are references: they do not compete."""
        return self.task_settings(task).get("references") or ()

    def headline(self, task: str) -> dict[str, Any] | None:
        """Return the row of the main agreement statistic, in words; None if it has no value."""
        kind = self.facts["kinds"].get(task, "categorical")
        if kind == "categorical" and self.task_settings(task).get("ordinal"):
            kind = "ordinal"
        by_statistic = self.agreement.get(task, {})
        rows = (by_statistic.get(name) for name in HEADLINES[kind])
        row = next((row for row in rows if row and row["value"] is not None), None)
        return row and row | {"words": STATISTICS[row["statistic"].partition("_")[0]]}


def looks_random(row: Document) -> bool:
    """Return whether a judge is known to be nearer to answers at random than to others.

    By the accuracy of labels, whose best is 1, or by the agreement of preferences with those of
    others, whose best is that of all judges together.
    """
    if row["below_chance"]:
        return True
    if row["accuracy"] is not None and row["chance_accuracy"] is not None:
        share, n, chance, best = row["accuracy"], row["n_judgments"], row["chance_accuracy"], 1.0
    elif row.get("preference_agreement") is not None:
        share, n, chance = row["preference_agreement"], row["n_compared"], 0.5
        best = row["typical_agreement"]
    else:
        return False
    low, high = (float(end[0]) for end in wilson_interval([share * n], [n]))
    return bool(low <= chance and high < (best + chance) / 2)


def plain(table: pa.Table) -> pa.Table:
    """Return the table with names as texts, not as codes."""
    return table.cast(pa.schema(
        [(f.name, TEXT if pa.types.is_dictionary(f.type) else f.type) for f in table.schema]
    ))  # fmt: skip


def rows_where(table: pa.Table, **texts: str) -> pa.Table:
    """Return the rows that have these texts in these columns."""
    masks = (pc.equal(table[name].cast(TEXT), text) for name, text in texts.items())
    return table.filter(reduce(pc.and_, masks))


def count_tasks(table: pa.Table) -> int:
    """Return how many tasks have rows in a table."""
    n: int = pc.count_distinct(table["task"].cast(TEXT)).as_py()
    return n


def of_every_task(table: pa.Table, most: int) -> pa.Table:
    """Return the first rows of every task: each task's share of the rows that a page shows."""
    tasks = pc.unique(table["task"].cast(TEXT)).to_pylist()
    quota = max(most // max(len(tasks), 1), 1)
    if table.num_rows <= most:
        return table
    first_rows = [rows_where(table, task=task).slice(0, quota) for task in tasks[:most]]
    return pa.concat_tables(first_rows)
