"""Tables, columns, what columns may hold, and the columns that several tables have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from types import NoneType
from typing import Annotated, Any, Literal, TypeAlias, get_args, get_origin, get_type_hints

import pyarrow as pa

from annot_pipeline.contracts.descriptions import parameter_descriptions
from annot_pipeline.errors import counted, first_of

SCHEMA_VERSION = 1
"""Raised, with a line in CHANGELOG.md, whenever a released table changes its columns."""

Fate = Literal[
    "filtered", "not_asked", "unscored", "rejected", "duplicate", "superseded", "measured",
    "judge_failed", "control", "adjudication", "used",
]  # fmt: skip
FATES: tuple[str, ...] = get_args(Fate)
"""What can become of a record; the first that applies."""

UNREAD_FATES = FATES[:4]
"""Fates of records that are no judgments."""

Control = Literal[
    "none", "ask_again", "bad_reference", "good_reference", "known_answer", "adjudication", "audit"
]  # fmt: skip
CONTROLS: tuple[str, ...] = get_args(Control)
ORDINARY = ("none", "ask_again")
"""Controls of judgments that are no checks of the judge: their first answers, and repeats."""
JudgeKind = Literal["human", "model"]
Verdict = Literal["passed", "failed", "undetermined", "untested"]
VERDICTS: tuple[str, ...] = get_args(Verdict)
Calculation = Literal[
    "judge_control", "z_scores", "comparisons", "segment_ranks", "system_rankings"
]  # fmt: skip
Preference = Literal["a", "b", "tie"]
PREFERENCES: tuple[str, ...] = get_args(Preference)
AdequacySource = Literal["asked", "reference", "spread", "unknown"]
ADEQUACY_SOURCES: tuple[str, ...] = get_args(AdequacySource)

NO_ROUNDS = "no interval: agreement.bootstrap is 0"
"""Why a statistic of agreement has none where a campaign asks for no bootstrap."""

CERTAINTY_BOUNDS = (0.5, 0.8, 0.95, 0.99)
"""Between the bands in which labels are counted; each band holds its lower end."""

TEXT, INT, REAL, FLAG = pa.string(), pa.int64(), pa.float64(), pa.bool_()
TIME = pa.timestamp("us", tz="UTC")


def share_text(share: float, digits: int = 1) -> str:
    """Return a percentage for people; 100% and 0% are all and none, not nearly so."""
    size, least = abs(share), 0.1**digits
    sign = "\u2212" if share < 0 else ""
    if 0 < size < least / 200:
        return f"{'>' if sign else '<'}{sign}{least:.{digits}f}%"
    if 1 - least / 200 <= size < 1:
        return f"{'<' if sign else '>'}{sign}{100 - least:.{digits}f}%"
    return f"{sign}{size:.{digits}%}"


def families_text(families: Mapping[str, int]) -> str:
    """Return the declared families with their numbers of judges as text; empty: none."""
    in_order = sorted(families, key=lambda family: (-families[family], family))
    return first_of([f"{name} ({counted(families[name], 'judge')})" for name in in_order])


def is_measured(judge: Mapping[str, object], used_judges: Mapping[str, str]) -> bool:
    """Return whether a row of ``judges`` is of a kind that its task does not use."""
    used = used_judges.get(str(judge["task"]), "all")
    return used != "all" and judge.get("kind") != used


def model_note(used_judges: Mapping[str, str]) -> str:
    """Return for whom intervals hold in tasks that models alone judge; empty: there are none."""
    tasks = sorted(task for task, used in used_judges.items() if used == "model")
    if not tasks:
        return ""
    where = "" if len(tasks) == len(used_judges) else f"In {first_of(tasks)}: "
    return f"{where}The judges are models: intervals hold for these models, over items."


def certificates(facts: Mapping[str, Any]) -> list[tuple[str, bool, str]]:
    """Return task, whether an audit certifies its labels, and what, or why not, as text."""
    return [
        (
            task,
            own["certified"],
            f"from a probability of {own['level']:g}: with 95% confidence at least "
            f"{share_text(own['certain_at'])} of these labels are right ({own['errors']:,} of "
            f"{own['n']:,} sampled from {own['release']} are wrong, so at most "
            f"{share_text(own['bound'])} are)"
            if own["certified"]
            else str(own["reason"]),
        )
        for task, own in sorted(facts.get("certificates", {}).items())
    ]


def votes_text(votes: Mapping[str, int]) -> str:
    """Return tasks with their numbers of anonymous votes as text; empty: none."""
    return first_of([f"{task} ({counted(n, 'anonymous vote')})" for task, n in votes.items()])


def fates_text(fates: Mapping[str, int]) -> str:
    """Return counts by fate as text: the important ones first, without those that are 0."""
    counts = [f"{fates[fate]:,} {fate}" for fate in reversed(FATES) if fates.get(fate)]
    return ", ".join(counts) or "none"


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

    def from_rows(self, rows: Sequence[Mapping[str, object]]) -> pa.Table:
        """Return the table of these rows; what a row lacks is null."""
        names = dict.fromkeys([*self.schema.names, *(name for row in rows for name in row)])
        return self.from_columns({name: [row.get(name) for row in rows] for name in names})


@dataclass(frozen=True)
class Bounds:
    """What a column of numbers may hold; values below ``doubtful_below`` get a warning."""

    minimum: float | None = None
    maximum: float | None = None
    doubtful_below: float | None = None


Share: TypeAlias = Annotated[float, Bounds(0, 1)]
Count: TypeAlias = Annotated[int, Bounds(0)]

ARROW_TYPES = {str: TEXT, int: INT, float: REAL, bool: FLAG, datetime: TIME}


class Described:
    """Describes columns that several tables have.

    Parameters
    ----------
    task
        Task (the question that judges answer); a campaign has one or more tasks
    item
        Item that was judged; segment/system if the exports have no item field
    judge
        Judge; a pseudonym (HMAC-SHA256) unless privacy.pseudonymize is off
    kind
        Kind of judge: a person or a model; null if campaign.yaml declares no judges
    segment
        Segment of the item: an input that several systems processed; null if unknown
    document
        Document that contains the segment; segments of one document are not independent; null if
        unknown
    system
        System whose output the item is; null if unknown
    """


def columns_of(declared: type) -> tuple[Column, ...]:
    """Return the columns that a class declares: types by its annotations, texts by its docstring.

    ``| None`` is a column that may be null; a `Literal` lists what it may hold; `Bounds` annotate
    numbers. What the docstring of the class leaves out is described by `Described`.

    Raises
    ------
    ValueError
        A column has no description, which releases publish.
    """
    texts = parameter_descriptions(Described.__doc__) | parameter_descriptions(declared.__doc__)
    hints = get_type_hints(declared, include_extras=True)
    if missing := hints.keys() - texts:
        raise ValueError(f"{declared.__name__}: {', '.join(sorted(missing))} not described")
    return tuple(_column(name, hint, texts[name]) for name, hint in hints.items())


def _column(name: str, hint: Any, description: str) -> Column:
    inner = [one for one in get_args(hint) if one is not NoneType]
    nullable = len(inner) < len(get_args(hint))
    declared = inner[0] if nullable else hint
    if get_origin(declared) is Literal:
        return Column(name, TEXT, description, nullable, allowed=get_args(declared))
    type_, bounds = get_args(declared) or (declared, Bounds())
    return Column(name, ARROW_TYPES[type_], description, nullable, **asdict(bounds))
