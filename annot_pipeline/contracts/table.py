"""Tables, columns, and the columns that several tables have."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import pyarrow as pa

from annot_pipeline.contracts.values import INT, JUDGE_KINDS, REAL, SCHEMA_VERSION, TEXT


@dataclass(frozen=True)
class Column:
    """One column: its Arrow type, a description (with its unit), and the allowed values.

    Values below ``doubtful_below`` are allowed, but a gate warns about them.
    """

    name: str
    type: pa.DataType
    description: str
    nullable: bool = False
    allowed: tuple[str, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    doubtful_below: float | None = None


@dataclass(frozen=True)
class Table:
    """One table: its columns, and the key that it is sorted by.

    ``row`` completes the sentence "One row per ...": "task and item".
    """

    name: str
    row: str
    key: tuple[str, ...]
    columns: tuple[Column, ...]
    unique: bool = True
    schema: pa.Schema = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        fields = [
            pa.field(c.name, c.type, c.nullable, {"description": c.description})
            for c in self.columns
        ]
        about = {"table": self.name, "row": self.row, "key": ",".join(self.key)}
        about["schema_version"] = str(SCHEMA_VERSION)
        object.__setattr__(self, "schema", pa.schema(fields, about))

    def empty(self) -> pa.Table:
        """Return the table without rows."""
        return self.schema.empty_table()

    def from_columns(self, columns: dict[str, pa.Array | Iterable[object]]) -> pa.Table:
        """Return the table of these columns, cast to the declared types and sorted by the key.

        A declared column that is nullable and not given is null throughout.
        """
        n_rows = len(next(iter(columns.values())))  # type: ignore[arg-type]
        arrays = []
        for c in self.columns:
            if c.name not in columns and c.nullable:
                arrays.append(pa.nulls(n_rows, c.type))
                continue
            values = columns[c.name]
            if not isinstance(values, pa.Array | pa.ChunkedArray):
                values = pa.array(values, c.type)
            arrays.append(values.cast(c.type))
        unknown = columns.keys() - {c.name for c in self.columns}
        if unknown:
            raise ValueError(f"{self.name} has no columns {sorted(unknown)}")
        table = pa.Table.from_arrays(arrays, schema=self.schema)
        return table.sort_by([(name, "ascending") for name in self.key]) if n_rows else table


def share(name: str, description: str, *, nullable: bool = False) -> Column:
    """Return a column of shares, 0 to 1."""
    return Column(name, REAL, description, nullable, minimum=0, maximum=1)


def count(name: str, description: str, *, nullable: bool = False) -> Column:
    """Return a column of whole numbers from 0."""
    return Column(name, INT, description, nullable, minimum=0)


def text(name: str, description: str, *, nullable: bool = False) -> Column:
    """Return a column of text."""
    return Column(name, TEXT, description, nullable)


def real(name: str, description: str, *, nullable: bool = True) -> Column:
    """Return a column of numbers."""
    return Column(name, REAL, description, nullable)


TASK = text("task", "Task (the question that judges answer); a campaign has one or more tasks")
ITEM = text("item", "Item that was judged; segment/system if the exports have no item field")
JUDGE = text("judge", "Judge; a pseudonym (HMAC-SHA256) unless privacy.pseudonymize is off")
KIND = Column(
    "kind",
    TEXT,
    "Kind of judge: a person or a model; null if campaign.yaml declares no judges",
    True,
    allowed=JUDGE_KINDS,
)
SEGMENT = text(
    "segment",
    "Segment of the item: an input that several systems processed; null if unknown",
    nullable=True,
)
DOCUMENT = text(
    "document",
    "Document that contains the segment; segments of one document are not "
    "independent; null if unknown",
    nullable=True,
)
SYSTEM = text("system", "System whose output the item is; null if unknown", nullable=True)
