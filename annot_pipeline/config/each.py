"""``each``: several records of one row."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, Discriminator, Field, Tag

from annot_pipeline.config.strict_section import TAG, Section

_RANGE = re.compile(r"([0-9]{1,9})\.\.([0-9]{1,9})")
LARGEST_EACH = 100_000
"""Records that ``each`` may make of one row: all combinations together."""


def _each_values(value: Any) -> Any:
    if isinstance(value, str):
        match = _RANGE.fullmatch(value)
        if not match:
            raise ValueError(f"{value!r} is neither a range like 0..99 nor a list")
        first, last = int(match[1]), int(match[2])
        if last < first:
            raise ValueError(f"the range {value} is empty")
        if last - first >= LARGEST_EACH:
            raise ValueError(too_many_records(last - first + 1))
        return tuple(str(i) for i in range(first, last + 1))
    if isinstance(value, tuple) and len(set(value)) < len(value):
        raise ValueError("a value is listed twice; each value makes one record per row")
    return value


def too_many_records(n: int) -> str:
    """Return what is wrong with so many records of a row."""
    return f"makes {n:,} records of each row; {LARGEST_EACH:,} are allowed"


class EachElement(Section):
    """The elements of the list in a column: as many records as there are.

    Parameters
    ----------
    column
        Column that holds the list, or {a.value} for the list within an element of the each a above.
    split
        Separator of the elements, if the cell is text.
    json_path
        Dotted path of the list within the cell.
    """

    column: str = Field(alias="list")
    split: str | None = Field(default=None, min_length=1)
    json_path: str | None = Field(default=None, alias="json")


class EachKey(Section):
    """The keys of the JSON object in a column.

    Parameters
    ----------
    column
        Column that holds the JSON object, or {a.value} for the object within an element of the each
        a above.
    json_path
        Dotted path of the object within the cell.
    """

    column: str = Field(alias="keys")
    json_path: str | None = Field(default=None, alias="json")


class EachColumn(Section):
    """The columns whose names a glob matches.

    Parameters
    ----------
    columns
        Glob on the names of columns.
    """

    columns: str = Field(min_length=1)


class EachBestWorst(Section):
    """The items of a tuple of which a judge names the best and the worst (best-worst scaling).

    {t} is the item, {t.value} is 1 for the best, -1 for the worst and 0 for the others.

    Parameters
    ----------
    items
        Columns that hold the items shown together.
    best, worst
        Columns that name the best and the worst: the item, or the column that holds it.
    """

    items: tuple[str, ...] = Field(alias="tuple", min_length=3)
    best: str
    worst: str


EachOfCells = EachElement | EachKey | EachBestWorst
EachValues = Annotated[tuple[str, ...], BeforeValidator(_each_values), Field(min_length=1)]


def _each_kind(value: Any) -> str:
    if isinstance(value, Mapping):
        for kind in ("list", "keys", "columns", "tuple"):
            if kind in value:
                return TAG + kind
        return f"{TAG}list"
    kinds: dict[type, str] = {EachElement: "~list", EachKey: "~keys", EachColumn: "~columns"}
    kinds[EachBestWorst] = "~tuple"
    return kinds.get(type(value), "~values")


Each = Annotated[
    Annotated[EachValues, Tag("~values")]
    | Annotated[EachElement, Tag("~list")]
    | Annotated[EachKey, Tag("~keys")]
    | Annotated[EachColumn, Tag("~columns")]
    | Annotated[EachBestWorst, Tag("~tuple")],
    Discriminator(_each_kind),
]
