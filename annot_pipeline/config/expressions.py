"""Expressions: how a field is made from columns of an export, and several records of one row."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    Discriminator,
    Field,
    SerializerFunctionWrapHandler,
    Tag,
    field_validator,
    model_serializer,
    model_validator,
)

from annot_pipeline.config.strict_section import TAG, Section


class _Steps(Section):
    """Steps on the text of an expression: ``match``, ``map`` (with ``else``), ``time``.

    Parameters
    ----------
    match
        Regular expression: the value becomes its first group, or the whole match.
    map
        New values by old value, or by ~regex.
    otherwise
        Value if match or map has no result. Without it the record is rejected.
    time
        strptime pattern of a time, such as %d.%m.%Y.
    """

    match: str | None = None
    map: dict[str, str] | None = None
    otherwise: str | None = Field(default=None, alias="else")
    time: str | None = None

    @property
    def has_steps(self) -> bool:
        """Return whether any step follows the text."""
        return self.match is not None or self.map is not None or self.time is not None

    @model_validator(mode="after")
    def _regexes_compile(self) -> Self:
        for pattern in filter(None, [self.match, *(k[1:] for k in self.map or () if k[:1] == "~")]):
            compiles(pattern)
        if self.otherwise is not None and self.map is None and self.match is None:
            raise ValueError("else needs match or map: it is the value used when they find nothing")
        return self


class ColumnExpression(_Steps):
    """A column, then its other keys in their order here, then ``match``, ``map``, ``time``.

    Parameters
    ----------
    column
        Name of the column.
    split
        Separator: makes a list of the cell.
    json_path
        Dotted path within the cell, such as b.0.c.
    is_set
        Takes the list, or the text, as a set: sorted, each element once, as JSON.
    has
        The value is yes if the list holds this element, or the text equals it, else no.
    """

    column: str
    split: str | None = Field(default=None, min_length=1)
    json_path: str | None = Field(default=None, alias="json")
    is_set: Literal[True] | None = Field(default=None, alias="set")
    has: str | None = None

    @property
    def is_plain(self) -> bool:
        """Return whether the column is taken as written (but for ``time``)."""
        steps = (self.split, self.json_path, self.is_set, self.has, self.match, self.map)
        return all(step is None for step in steps)

    @model_validator(mode="after")
    def _split_needs_an_element(self) -> Self:
        if self.split is not None and {self.json_path, self.is_set, self.has} == {None}:
            raise ValueError(
                "split makes a list of the cell: add json (the element's number), set: true, or has"
            )
        if self.is_set and self.has is not None:
            raise ValueError("set takes the whole answer, has tests one element; write one of them")
        return self


class ConstantExpression(_Steps):
    """The same value for every record.

    Parameters
    ----------
    value
        Value of every record.
    """

    value: str


class RowExpression(_Steps):
    """The number of the row in the export, from 1, header not counted.

    Parameters
    ----------
    row
        true: the number of the row in the export, from 1, without the header.
    """

    row: Literal[True]


class CaptureExpression(_Steps):
    """A named group of a regex on the path relative to the campaign.

    Parameters
    ----------
    capture
        Regular expression on the path of the export, with a group named as the field.
    """

    capture: str

    @field_validator("capture")
    @classmethod
    def _has_a_named_group(cls, pattern: str) -> str:
        if not compiles(pattern).groupindex:
            raise ValueError("the regex has no named group; write (?P<field>...)")
        return pattern


class JoinExpression(_Steps):
    """Expressions joined by ``sep``.

    Parameters
    ----------
    join
        Expressions that are joined.
    sep
        Text between them.
    """

    join: Annotated[tuple[Expression, ...], Field(min_length=1)]
    sep: str = ""


def compiles(pattern: str) -> re.Pattern[str]:
    """Return a compiled regular expression; ValueError if it is none."""
    try:
        return re.compile(pattern)
    except re.error as error:
        raise ValueError(f"not a regular expression: {error}") from None


def _short_form(value: Any) -> Any:
    return {"column": value} if isinstance(value, str) else value


def _expression_kind(value: Any) -> str:
    if isinstance(value, Mapping):
        for kind in ("join", "capture", "value", "row"):
            if kind in value:
                return TAG + kind
    elif isinstance(value, BaseModel):
        return TAGS[type(value)]
    return TAG + "column"


TAGS: dict[type, str] = {
    ColumnExpression: "~column",
    ConstantExpression: "~value",
    RowExpression: "~row",
    CaptureExpression: "~capture",
    JoinExpression: "~join",
}

Expression = Annotated[
    Annotated[ColumnExpression, Tag("~column")]
    | Annotated[ConstantExpression, Tag("~value")]
    | Annotated[RowExpression, Tag("~row")]
    | Annotated[CaptureExpression, Tag("~capture")]
    | Annotated[JoinExpression, Tag("~join")],
    Discriminator(_expression_kind),
    BeforeValidator(_short_form),
]


class Condition(Section):
    """Which rows count: those whose value is among ``in``, not among ``not``, or that match.

    The value is an expression, written beside ``in`` and ``not``; a blank cell is the empty text.

    Parameters
    ----------
    value
        Expression, written beside in and not.
    among
        Values of rows that count.
    not_among
        Values of rows that do not count.
    """

    value: Expression = Field(alias="~value")
    among: tuple[str, ...] | None = Field(default=None, alias="in")
    not_among: tuple[str, ...] | None = Field(default=None, alias="not")

    @model_validator(mode="before")
    @classmethod
    def _expression_beside(cls, written: Any) -> Any:
        """Take ``{column: c, in: [..]}`` as ``{value: {column: c}, in: [..]}``."""
        if not isinstance(written, Mapping):
            return written
        lists = {key: written[key] for key in ("in", "not") if key in written}
        expression = {key: value for key, value in written.items() if key not in lists}
        return lists | {f"{TAG}value": expression}

    @model_serializer(mode="wrap")
    def _as_written(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Return the expression beside its lists, as campaign.yaml has them."""
        document = serialize(self)
        names = ("in", "not") if "in" in document else ("among", "not_among")
        lists = {key: document[name] for key, name in zip(("in", "not"), names, strict=True)}
        expression: dict[str, Any] = document["~value" if "~value" in document else "value"]
        return expression | {key: value for key, value in lists.items() if value is not None}

    @model_validator(mode="after")
    def _asks_something(self) -> Self:
        if self.among is None and self.not_among is None and self.value.match is None:
            raise ValueError("a condition needs in, not or match: which rows count")
        return self


JoinExpression.model_rebuild()
Condition.model_rebuild()


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
