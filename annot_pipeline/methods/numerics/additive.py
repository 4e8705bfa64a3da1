"""Sums that are made of parts of the data, and added up."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, Self, TypeVar

T = TypeVar("T")


class Additive:
    """A dataclass whose fields are added one by one; the order of adding moves last digits."""

    def __add__(self, other: Self) -> Self:
        own: Any = self
        return type(self)(
            *(getattr(self, field.name) + getattr(other, field.name) for field in fields(own))
        )


class SumsByName(dict[str, T]):
    """Sums by name; two of them hold the same names and are added name by name."""

    def __add__(self, second: SumsByName[T]) -> SumsByName[T]:
        first: dict[str, Any] = self
        return SumsByName({name: first[name] + second[name] for name in first})
