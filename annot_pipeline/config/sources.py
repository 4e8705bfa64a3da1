"""Sources: exports of one format, and what their columns mean."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal, get_args

from pydantic import Field, field_validator, model_validator

from annot_pipeline.config.expressions import (
    LARGEST_EACH,
    CaptureExpression,
    Condition,
    Each,
    Expression,
    JoinExpression,
    compiles,
    too_many_records,
)
from annot_pipeline.config.strict_section import Section

FieldName = Literal[
    "task", "judge", "item", "system", "segment", "document", "criterion", "label", "votes",
    "score", "item_a", "item_b", "system_a", "system_b", "preference", "winner", "strength",
    "ranking", "rank", "rank_a", "rank_b", "hit", "position", "control", "control_of", "truth",
    "native_id", "status", "submitted_at", "seconds", "hit_seconds", "why", "reward",
    "judge_version", "judge_prompt", "judge_temperature", "selection_probability", "text",
]  # fmt: skip
"""Canonical fields of a judgment."""

ItemFieldName = Literal[
    "task", "item", "segment", "document", "system", "text", "source", "reference", "truth",
    "selection_probability",
]  # fmt: skip
OF_SELECTION = frozenset({"task", "item", "selection_probability"})
"""Fields of item tables that say with which probability items were selected, and nothing else."""

Format = Literal[
    "csv", "json", "jsonl", "parquet", "mturk", "label_studio", "appraise", "hits", "wmt_ranking"
]  # fmt: skip

CANONICAL_FIELDS: tuple[str, ...] = get_args(FieldName)
HITS_FIELDS: tuple[FieldName, ...] = (
    "task", "judge", "item", "system", "segment", "criterion", "score", "label", "item_a",
    "item_b", "system_a", "system_b", "preference", "hit", "position", "control", "control_of",
    "native_id", "status", "submitted_at", "hit_seconds", "selection_probability",
)  # fmt: skip
"""What the reader of ``format: hits`` says by itself, each under its own name; which of them a
record has depends on what its HIT asks.
"""

OF_JUDGES: tuple[FieldName, ...] = ("judge_version", "judge_prompt", "judge_temperature")
"""Fields that say which version of a model judged; each is a part of the judge's name."""

VOTES_FIELDS: tuple[FieldName, ...] = (
    "task", "item", "system", "segment", "label", "votes", "truth", "native_id", "submitted_at",
    "text",
)  # fmt: skip
"""What a source of votes may map: counts of labels, of judges without names."""


ANONYMOUS = "anonymous"
"""As ``judge``: nobody is named, every row is another person's; a column of that name is
``{column: anonymous}``."""

NOT_OF_ONE_TEXT = frozenset({
    "item_a", "item_b", "system_a", "system_b", "preference", "winner", "strength", "ranking",
    "rank", "rank_a", "rank_b",
})  # fmt: skip
"""Fields of answers about several items, or outputs of one ranking: no text is that of the item."""


class ReadOptions(Section):
    """How the bytes of an export are read.

    Parameters
    ----------
    delimiter
        Character between cells. null: the one that splits the header most often.
    quote
        Quote character; empty if quotes are ordinary characters.
    escape
        csv, mturk, appraise: character that makes a quote, a delimiter or itself ordinary, such as
        the backslash of Spark. Empty: a quote within quotes is written twice.
    encoding
        Encoding of the text.
    columns
        Names of the columns, for a file without a header.
    multilabel
        Label Studio: a yes/no task for each choice, or set: the set of choices as one label.
    multiple
        Label Studio: choices of questions that allow several answers, by question.
    skip_rows
        csv, mturk: rows after the header that are no data.
    document_fields
        json: dotted paths of values outside the records that become columns.
    """

    delimiter: str | None = Field(default=None, min_length=1, max_length=1)
    quote: str = Field(default='"', max_length=1)
    escape: str = Field(default="", max_length=1)
    encoding: str = "utf-8"
    columns: tuple[str, ...] | None = None
    multilabel: Literal["yes_no", "set"] = "yes_no"
    multiple: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    skip_rows: int = Field(default=0, ge=0, le=1000)
    document_fields: tuple[str, ...] = ()

    @field_validator("delimiter", "quote", "escape")
    @classmethod
    def _one_byte(cls, character: str | None) -> str | None:
        if character and not character.isascii():
            raise ValueError(f"{character!r} is not ASCII; delimiter, quote and escape must be")
        if character in ("\r", "\n"):
            raise ValueError("a line end cannot be delimiter, quote or escape")
        return character

    @model_validator(mode="after")
    def _differ(self) -> ReadOptions:
        used = [c for c in (self.delimiter, self.quote, self.escape) if c]
        if len({*used}) < len(used):
            raise ValueError(
                "delimiter, quote and escape are different characters; a quote that is written "
                'twice needs no escape: leave it out (escape: "")'
            )
        return self

    @field_validator("encoding")
    @classmethod
    def _known_encoding(cls, name: str) -> str:
        try:
            if "a,\n".encode(name).decode(name) != "a,\n" or "é".encode(name, "replace") == b"":
                raise LookupError
        except (LookupError, UnicodeError, TypeError, AssertionError):
            raise ValueError(
                f"unknown encoding {name!r}; common: utf-8, latin-1, cp1252, utf-16"
            ) from None
        return name


def _check_document(records: str | None, options: ReadOptions, format_: str) -> None:
    if format_ == "json":
        return
    if records is not None:
        raise ValueError(f"records belongs to format: json, not {format_}")
    if options.document_fields:
        raise ValueError(f"options.document_fields belongs to format: json, not {format_}")


class ExcludedExport(Section):
    """An export that is not read, though a source matches it.

    Parameters
    ----------
    digest
        SHA-256 of the file, or its digest in a release, or at least the first 12 characters.
    because
        Why it is not read.
    """

    digest: str = Field(pattern="^[0-9a-f]{12,64}$")
    because: str = Field(min_length=1)

    @field_validator("because")
    @classmethod
    def _says_why(cls, because: str) -> str:
        if not any(map(str.isalnum, because)):
            raise ValueError('gives no reason: write why in place of "..."')
        return because

    def matches(self, digest: str) -> bool:
        """Return whether a digest is this one, or begins so."""
        return digest.startswith(self.digest)


class Source(Section):
    """Exports of one format, and how their columns become judgments.

    Parameters
    ----------
    path
        Path or glob of the exports, relative to campaign.yaml. Files that end in .gz are
        decompressed.
    format
        Format of the exports.
    files
        all: every file that matches. latest: only the last one by name.
    exclude
        Exports that are not read, by the digest of their bytes.
    options
        How the bytes of the exports are read.
    records
        json: dotted path of the list of records.
    where
        Conditions; a row counts if all of them hold.
    abstain
        Answers that stand for no answer, such as Unsure.
    failed
        Answers, or ~regex patterns of answers, that stand for a failed answer, such as ~^Error.
    failed_where
        Conditions; the answer of a row failed if any of them holds.
    strength
        Ends of the scale of fields.strength, [b, a]: values that say that b or a is better
        without doubt.
    each
        Several records per row: one for each value, list element, key or column, by variable.
    fields
        Expression of each field of a judgment.
    """

    path: str
    format: Format
    files: Literal["all", "latest"] = "all"
    exclude: tuple[ExcludedExport, ...] = ()
    options: ReadOptions = ReadOptions()
    records: str | None = Field(default=None, min_length=1)
    where: tuple[Condition, ...] = ()
    abstain: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    failed_where: tuple[Condition, ...] = ()
    strength: tuple[float, float] | None = None
    each: dict[str, Each] = Field(default_factory=dict)
    fields: dict[FieldName, Expression]

    @model_validator(mode="before")
    @classmethod
    def _hits_say_their_fields(cls, source: Any) -> Any:
        """Add `HITS_FIELDS` to sources of ``format: hits``, where they are not set."""
        if isinstance(source, dict) and source.get("format") == "hits":
            fields = source.get("fields", {})
            if isinstance(fields, dict):
                return {**source, "fields": {name: name for name in HITS_FIELDS} | fields}
        return source

    @model_validator(mode="before")
    @classmethod
    def _anonymous_rows(cls, source: Any) -> Any:
        """Take ``judge: anonymous`` as a person a row: one vote for a label, or a judge of its own.

        The answers of a row with ``each`` are one person's, so these have a judge, too.
        """
        if not isinstance(source, dict) or not isinstance(fields := source.get("fields"), dict):
            return source
        if fields.get("judge") != ANONYMOUS:
            return source
        more = {name: value for name, value in fields.items() if name != "judge"}
        if "label" in more and not source.get("each") and {*more} <= {*VOTES_FIELDS}:
            row = {"join": ({"capture": "(?P<native_id>.*)"}, {"row": True}), "sep": ":"}
            more = {**more, "votes": {"value": "1"}, "native_id": more.get("native_id", row)}
        else:
            row = {"join": ({"capture": "(?P<judge>.*)"}, {"row": True}), "sep": ":"}
            more["judge"] = row
        return {**source, "fields": more}

    @model_validator(mode="after")
    def _records_of_a_document(self) -> Source:
        _check_document(self.records, self.options, self.format)
        return self

    @model_validator(mode="after")
    def _strength_has_a_range(self) -> Source:
        if ("strength" in self.fields) != (self.strength is not None):
            raise ValueError(
                "fields.strength and strength go together: strength: [b, a], the values that mean "
                "that b, or a, is certainly better, such as [-3, 3]"
            )
        if self.strength is not None and self.strength[0] == self.strength[1]:
            raise ValueError("strength: both ends are the same; write [b, a], such as [-3, 3]")
        return self

    @model_validator(mode="after")
    def _skips_rows_of_tables(self) -> Source:
        if self.options.skip_rows and self.format not in ("csv", "mturk"):
            raise ValueError(
                f"options.skip_rows belongs to format: csv, not {self.format}; where: leaves out "
                "rows of other formats"
            )
        return self

    @field_validator("failed")
    @classmethod
    def _patterns_compile(cls, failed: tuple[str, ...]) -> tuple[str, ...]:
        for pattern in failed:
            if pattern.startswith("~"):
                compiles(pattern[1:])
        return failed

    @field_validator("each")
    @classmethod
    def _few_combinations(cls, each: dict[str, Each]) -> dict[str, Each]:
        n = math.prod(len(values) for values in each.values() if isinstance(values, tuple))
        if n > LARGEST_EACH:
            raise ValueError(too_many_records(n))
        return each

    @field_validator("fields")
    @classmethod
    def _captures_name_their_field(
        cls, fields: dict[FieldName, Expression]
    ) -> dict[FieldName, Expression]:
        for name, expression in fields.items():
            for capture in _captures(expression):
                groups = re.compile(capture.capture).groupindex
                if name not in groups:
                    raise ValueError(
                        f"{name}: the regex has no group named {name} "
                        f"(its groups: {', '.join(groups)})"
                    )
        return fields

    @model_validator(mode="after")
    def _says_who_and_what(self) -> Source:
        mapped = set(self.fields)
        if "votes" in mapped:
            _check_votes(self.fields)
        elif "judge" not in mapped:
            raise ValueError(
                "fields needs judge: who judged; or, where a row is a count of labels and names no "
                "judge, votes: how many gave the label"
            )
        answers = {"label", "score", "preference", "winner", "strength", "rank", "rank_a"}
        if not mapped & answers:
            raise ValueError(f"fields needs an answer: one of {', '.join(sorted(answers))}")
        single, pair = {"item", "segment"} & mapped, {"item_a", "system_a"} & mapped
        if not single and not pair:
            raise ValueError(
                "fields needs what was judged: item, segment with system, or a pair "
                "(item_a and item_b, or system_a and system_b)"
            )
        names = sorted({"label", "score", "rank"} & mapped)
        if names and not ("item" in mapped or {"segment", "system"} <= mapped):
            raise ValueError(
                f"{names[0]} is about one item: fields needs item, or segment and system"
            )
        several = sorted({"preference", "winner", "strength"} & mapped)
        if len(several) > 1:
            raise ValueError(f"{' and '.join(several)} say the same; map one of them")
        if several and not pair:
            raise ValueError(f"{several[0]} is about a pair: map item_a and item_b, or systems")
        if "text" in mapped and (names := sorted(mapped & NOT_OF_ONE_TEXT)):
            raise ValueError(
                f"text cannot be mapped with {', '.join(names)}: it is the text of the one item of "
                "a label, score or count of votes; map texts of pairs and of ranked outputs under "
                "items"
            )
        if "judge" not in mapped and (names := sorted(mapped & set(OF_JUDGES))):
            raise ValueError(f"{' and '.join(names)} belong to a judge: fields needs judge")
        for a, b in (("item_a", "item_b"), ("system_a", "system_b"), ("rank_a", "rank_b")):
            if (a in mapped) != (b in mapped):
                raise ValueError(f"{a} and {b} go together")
        return self


def _check_votes(fields: Mapping[FieldName, Expression]) -> None:
    """Raise where votes are mapped beside what only named judges, or other answers, have."""
    if "judge" in fields:
        raise ValueError(
            "fields maps judge and votes; map judge where a row is one judge's answer, or votes "
            "where a row counts the answers of judges without names"
        )
    if "label" not in fields:
        raise ValueError("votes counts labels: fields needs label, which label was counted")
    names = [name for name in fields if name not in VOTES_FIELDS]
    if names:
        raise ValueError(
            f"votes cannot be mapped with {', '.join(sorted(names))}; with votes, fields may map "
            f"{', '.join(sorted({*VOTES_FIELDS} - {'votes'}))}"
        )


def _captures(expression: Expression) -> Iterator[CaptureExpression]:
    if isinstance(expression, CaptureExpression):
        yield expression
    elif isinstance(expression, JoinExpression):
        for part in expression.join:
            yield from _captures(part)


class ItemSource(Section):
    """A table of what was judged.

    Parameters
    ----------
    path
        Path or glob of the tables, relative to campaign.yaml.
    format
        Format of the tables.
    options
        How the bytes of the tables are read.
    records
        json: dotted path of the list of records.
    fields
        Expression of each field of an item.
    """

    path: str
    format: Format
    options: ReadOptions = ReadOptions()
    records: str | None = Field(default=None, min_length=1)
    fields: dict[ItemFieldName, Expression]

    @property
    def describes_items(self) -> bool:
        """Return whether the table describes items, rather than how people's were selected."""
        return not {"selection_probability"} <= self.fields.keys() <= OF_SELECTION

    @model_validator(mode="after")
    def _records_of_a_document(self) -> ItemSource:
        _check_document(self.records, self.options, self.format)
        return self

    @model_validator(mode="after")
    def _says_which_item(self) -> ItemSource:
        if "item" not in self.fields and not {"segment", "system"} <= self.fields.keys():
            raise ValueError("fields needs item, or segment and system")
        return self
