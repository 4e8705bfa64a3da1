"""Sums that are made of parts of the data, and added up."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, Self, TypeVar

T = TypeVar("T")


class Additive:
    """A dataclass whose fields are added one by one; the order of adding moves last digits."""

    def __add__(self, other: Self) -> Self:
        own: Any = self
        return type(self)(*(getattr(self, of.name) + getattr(other, of.name) for of in fields(own)))


class SumsByName(dict[str, T]):
    """Sums by name, the same names in all parts; they are added one by one."""

    def __add__(self, other: SumsByName[T]) -> SumsByName[T]:
        of: dict[str, Any] = self
        return SumsByName({name: of[name] + other[name] for name in of})
