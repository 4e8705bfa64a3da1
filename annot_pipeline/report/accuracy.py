"""Labels held against the known answers of item tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from annot_pipeline.methods.numerics.shares import wilson_interval


@dataclass(frozen=True)
class Accuracy:
    """Labels of a task whose answer is known.

    Parameters
    ----------
    task
        Its name.
    which
        Which of its labels.
    n, right
        How many have a known answer, and of these, how many are it.
    """

    task: str
    which: str
    n: int
    right: int

    @property
    def share(self) -> float:
        """Return the share of labels that are right."""
        return self.right / self.n

    @property
    def interval(self) -> tuple[float, float]:
        """Return 95% of the share, after Wilson."""
        low, high = wilson_interval([self.right], [self.n])
        return float(low[0]), float(high[0])


def accuracies(label_counts: Sequence[Mapping[str, Any]]) -> list[Accuracy]:
    """Return how often labels are the truth of their item, by task: all labels, those to rely on.

    Parameters
    ----------
    label_counts
        Rows of sql/report/label_counts.sql.
    """
    n: Counter[tuple[str, str]] = Counter()
    right: Counter[tuple[str, str]] = Counter()
    for row in label_counts:
        if row["right"] is None:
            continue
        for which in ("all", *["certain or decided"] * (row["certain"] or row["adjudicated"])):
            n[row["task"], which] += row["n"]
            right[row["task"], which] += row["n"] * row["right"]
    return [Accuracy(*key, n[key], right[key]) for key in sorted(n)]
