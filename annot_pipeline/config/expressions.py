"""Expressions: how a field is made from the columns of an export."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import (
    BaseModel,
    BeforeValidator,
    Discriminator,
    Field,
    Tag,
    field_validator,
    model_validator,
)

from annot_pipeline.config.strict_section import TAG, Section


class ColumnExpression(Section):
    """A column, then ``json``, ``match``, ``map`` (with ``else``), ``time``, in that order."""

    column: str
    json_path: str | None = Field(default=None, alias="json")
    match: str | None = None
    map: dict[str, str] | None = None
    otherwise: str | None = Field(default=None, alias="else")
    time: str | None = None

    @property
    def is_plain(self) -> bool:
        """Whether the column is taken as written (but for ``time``)."""
        return self.json_path is None and self.match is None and self.map is None

    @model_validator(mode="after")
    def _regexes_compile(self) -> ColumnExpression:
        for pattern in filter(None, [self.match, *(k[1:] for k in self.map or () if k[:1] == "~")]):
            _compiles(pattern)
        if self.otherwise is not None and self.map is None and self.match is None:
            raise ValueError("else needs match or map: it is the value where those find nothing")
        return self


class ConstantExpression(Section):
    """The same value for every record."""

    value: str


class CaptureExpression(Section):
    """A named group of a regex on the path relative to the campaign."""

    capture: str

    @field_validator("capture")
    @classmethod
    def _has_a_named_group(cls, pattern: str) -> str:
        if not _compiles(pattern).groupindex:
            raise ValueError("the regex has no named group; write (?P<field>...)")
        return pattern


class JoinExpression(Section):
    """Expressions joined by ``sep``."""

    join: Annotated[tuple[Expression, ...], Field(min_length=1)]
    sep: str = ""


def _compiles(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except re.error as error:
        raise ValueError(f"not a regular expression: {error}") from None


def _short_form(value: Any) -> Any:
    return {"column": value} if isinstance(value, str) else value


def _expression_kind(value: Any) -> str:
    if isinstance(value, Mapping):
        for kind in ("join", "capture", "value"):
            if kind in value:
                return TAG + kind
    elif isinstance(value, BaseModel):
        return TAGS[type(value)]
    return TAG + "column"


TAGS: dict[type, str] = {
    ColumnExpression: "~column",
    ConstantExpression: "~value",
    CaptureExpression: "~capture",
    JoinExpression: "~join",
}

Expression = Annotated[
    Annotated[ColumnExpression, Tag("~column")]
    | Annotated[ConstantExpression, Tag("~value")]
    | Annotated[CaptureExpression, Tag("~capture")]
    | Annotated[JoinExpression, Tag("~join")],
    Discriminator(_expression_kind),
    BeforeValidator(_short_form),
]
JoinExpression.model_rebuild()
