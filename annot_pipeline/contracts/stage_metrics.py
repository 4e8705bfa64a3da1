"""What a stage reports of its result beside its tables: the figures that gates and reports read.

Each stage declares a frozen dataclass in ``stages/SUBJECT/metrics.py``. Values are plain JSON
types, as they are stored with the result and published in the manifest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self, TypeAlias

from pydantic import TypeAdapter, ValidationError
from typing_extensions import TypedDict

TaskMetrics: TypeAlias = dict[str, dict[str, Any]]
"""Metrics by name and task."""


class AnsweredShares(TypedDict):
    """The systems or judges of a task with the lowest and the highest share of answers that count.

    ``p_value``: of equal shares of all. ``bounds``: the least and the largest difference of the
    means of two systems, first minus second, whatever the missing scores are.
    """

    names: list[str]
    n_asked: list[int]
    n_answered: list[int]
    difference: float
    p_value: float
    bounds: list[float] | None


class MetricsError(Exception):
    """A stored result lacks a metric, or has one of another type: another version wrote it."""


@dataclass(frozen=True)
class StageMetrics:
    """Base of all metrics; a stage that has nothing to report returns this one.

    Attributes
    ----------
    stage
        Name of the stage that reports them.
    """

    stage: ClassVar[str] = ""

    def document(self) -> dict[str, Any]:
        """Return the metrics as they are stored."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def by_task_names(cls) -> list[str]:
        """Return the names of metrics that are mappings: of stages by task, by task."""
        return [field.name for field in fields(cls) if str(field.type).startswith("dict[")]

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> Self:
        """Return the metrics that a stored document holds, with their types checked.

        Raises
        ------
        MetricsError
            One is missing or has another type.
        """
        try:
            metrics: Self = _adapter(cls).validate_python(document)
        except ValidationError as error:
            field = ".".join(map(str, error.errors()[0]["loc"]))
            raise MetricsError(f"{cls.__name__}: {field}") from None
        return metrics


_ADAPTERS: dict[type[StageMetrics], TypeAdapter[Any]] = {}


def _adapter(metrics: type[StageMetrics]) -> TypeAdapter[Any]:
    if metrics not in _ADAPTERS:
        _ADAPTERS[metrics] = TypeAdapter(metrics)
    return _ADAPTERS[metrics]


@dataclass(frozen=True)
class TableMetrics(StageMetrics):
    """What every stage reports of its tables.

    Parameters
    ----------
    rows_made
        Rows by table.
    contracts
        Of each gold table, the violations of its contract, ``broken``, and what is ``doubtful``.
    """

    rows_made: dict[str, int]
    contracts: dict[str, dict[str, list[str]]]
