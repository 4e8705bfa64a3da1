"""What the columns of a sample hold: how many values, which, numbers or not."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.contracts.answer_text import answer_text
from annot_pipeline.init import names
from annot_pipeline.stages.ingest.read_records import NUMBER

Codes = npt.NDArray[np.int64]
DATE = re.compile(r"\s*(\d{4}([-/.])\d\d?\2\d\d?|\d\d?([-/.])\d\d?\3\d{4})([T, ].*)?")


def value_counts(values: pa.ChunkedArray) -> dict[str, int]:
    """Return the value to how often it stands there; the most frequent first."""
    pairs = [(c["values"], c["counts"]) for c in pc.value_counts(values).to_pylist()]
    return dict(sorted(pairs, key=lambda pair: (-pair[1], pair[0])))


class Column:
    """One column of a sample.

    Parameters
    ----------
    name
        As the reader gives it.
    expression
        As campaign.yaml says it: the name, or a mapping for a value inside a cell.
    values
        ``(n,)`` strings.
    """

    def __init__(self, name: str, expression: Any, values: pa.ChunkedArray) -> None:
        self.name = name
        self.expression = expression
        blank = pc.fill_null(pc.equal(pc.utf8_trim_whitespace(values), ""), True)
        self.filled: pa.ChunkedArray = values.filter(pc.invert(blank))
        self.n_blank: int = len(values) - len(self.filled)

    @cached_property
    def counts(self) -> dict[str, int]:
        """Return the value to how often it stands there; the most frequent first."""
        return value_counts(self.filled)

    @cached_property
    def answers(self) -> dict[str, int]:
        """Return the values as answers (1.0 is 1) to how often they stand there."""
        answers: Counter[str] = Counter()
        for value, count in self.counts.items():
            answers[answer_text(value)] += count
        return dict(sorted(answers.items(), key=lambda pair: (-pair[1], pair[0])))

    @property
    def mapping(self) -> dict[str, Any]:
        """Return the expression as a mapping, to which more can be added."""
        is_mapping = isinstance(self.expression, dict)
        return self.expression if is_mapping else {"column": self.expression}

    def line(self, field: str, more: str = "") -> tuple[str, Any, str]:
        """Return the line that maps a field to it, with how many values there are."""
        return field, self.expression, f"{self.n_distinct:,} different{more}"

    @cached_property
    def words(self) -> frozenset[str]:
        """Return the words of its name."""
        return frozenset(names.words(self.name))

    @property
    def n_distinct(self) -> int:
        """Return how many different values there are."""
        return len(self.counts)

    @property
    def is_unique(self) -> bool:
        """Return whether every row has another value, and none is blank."""
        return self.n_blank == 0 and self.n_distinct == len(self.filled) > 0

    @cached_property
    def numbers(self) -> dict[float, int]:
        """Return the values that are numbers, with their counts."""
        counts: dict[float, int] = {}
        for value, count in self.counts.items():
            if NUMBER.fullmatch(value):
                number = float(value.strip())
                counts[number] = counts.get(number, 0) + count
        return counts

    @cached_property
    def numeric_share(self) -> float:
        """Return the share of the values there are that are numbers."""
        return sum(self.numbers.values()) / max(len(self.filled), 1)

    @property
    def is_whole(self) -> bool:
        """Return whether there are numbers only, and all of them whole."""
        return self.numeric_share == 1 and all(number.is_integer() for number in self.numbers)

    @property
    def low(self) -> float:
        """Return the smallest number."""
        return min(self.numbers)

    @property
    def high(self) -> float:
        """Return the largest number."""
        return max(self.numbers)

    @property
    def are_dates(self) -> bool:
        """Return whether each value is a date, maybe with a time: 2026-11-27, 27.11.2026 14:05."""
        return self.n_distinct > 0 and all(map(DATE.fullmatch, self.counts))

    @property
    def is_row_number(self) -> bool:
        """Return whether the values are 0, 1, 2... or 1, 2, 3....

        Such values give only the place.
        """
        starts = self.is_unique and self.is_whole and self.low in (0, 1)
        return starts and self.high - self.low + 1 == self.n_distinct

    @property
    def ascends(self) -> bool:
        """Return whether whole numbers, more than a scale has, grow from row to row."""
        if not self.is_whole or self.n_distinct <= 101:
            return False
        numbers = pc.cast(pc.utf8_trim_whitespace(self.filled), pa.float64()).to_numpy()
        return bool((np.diff(numbers) > 0).all())

    @cached_property
    def mean_length(self) -> float:
        """Return characters a value has on average."""
        return float(pc.mean(pc.utf8_length(self.filled)).as_py() or 0)


class Sheet:
    """The sampled rows of files with the same columns.

    Parameters
    ----------
    parts
        One table of strings a file.
    expressions
        Column name to how campaign.yaml says it, where that is not the name.
    """

    def __init__(
        self, parts: Sequence[pa.Table], expressions: Mapping[str, Any] | None = None
    ) -> None:
        self.parts = list(parts)
        self.table: pa.Table = pa.concat_tables(parts, promote_options="default")
        self.names: list[str] = self.table.column_names
        self.expressions = dict(expressions or {})
        self._columns: dict[str, Column] = {}
        self._codes: dict[tuple[str, ...], Codes] = {}

    def __len__(self) -> int:
        return int(self.table.num_rows)

    @cached_property
    def n_different(self) -> int:
        """Return how many rows there are that are no copies of others."""
        return int(self.table.group_by(self.names).aggregate([]).num_rows)

    def __getitem__(self, name: str) -> Column:
        if name not in self._columns:
            expression = self.expressions.get(name, name)
            self._columns[name] = Column(name, expression, self.table.column(name))
        return self._columns[name]

    def part(self, position: int) -> Sheet:
        """Return the rows of one file."""
        return Sheet([self.parts[position]], self.expressions)

    def is_unique(self, name: str) -> bool:
        """Return whether no value stands twice in one file."""
        return all(Column(name, name, part.column(name)).is_unique for part in self.parts)

    def codes(self, *columns: str) -> Codes:
        """Return a number for each row by the values of some columns; -1 where one is blank."""
        names = tuple(dict.fromkeys(columns))
        if names not in self._codes:
            if len(names) == 1:
                cells = self.table.column(names[0]).combine_chunks().cast(pa.string())
                is_blank = pc.equal(pc.utf8_trim_whitespace(cells), "")
                encoded = pc.if_else(is_blank, None, cells).dictionary_encode()
                codes = encoded.indices.fill_null(-1).to_numpy().astype(np.int64)
            else:
                head, last = self.codes(*names[:-1]), self.codes(names[-1])
                both = head * (last.max(initial=0) + 1) + last
                both[(head < 0) | (last < 0)] = -1
                codes = np.unique(both, return_inverse=True)[1] - int((both < 0).any())
            self._codes[names] = codes
        return self._codes[names]

    def numbers(self, name: str) -> npt.NDArray[np.float64]:
        """Return the cells of a column as numbers; NaN where a cell holds none."""
        cells = self.table.column(name).to_pylist()
        return np.array([float(c) if c and NUMBER.fullmatch(c) else np.nan for c in cells])

    def n_filled(self, *columns: str) -> int:
        """Return how many rows have a value in all of some columns."""
        return int((self.codes(*columns) >= 0).sum())

    def combinations(self, *columns: str) -> int:
        """Return how many different rows there are of some columns, blanks left out."""
        codes = self.codes(*columns)
        return int(np.unique(codes[codes >= 0]).size)

    def joined(self, *columns: str) -> list[str]:
        """Return the different rows of some columns, their values joined by hyphens, sorted."""
        rows = self.table.select(columns).drop_null().group_by([*columns]).aggregate([])
        return sorted(map("-".join, zip(*rows.to_pydict().values(), strict=True)))

    def determines(self, column: str, other: str) -> bool:
        """Return whether a value of a column always comes with the same value of another."""
        return self.combinations(column, other) <= self.combinations(column)

    def differing(self, group: Sequence[str], name: str) -> float:
        """Return the share of groups of several rows in which a column differs; 0 without any."""
        groups, values = self.codes(*group), self.codes(name)
        is_there = (groups >= 0) & (values >= 0)
        groups, values = groups[is_there], values[is_there]
        if not len(groups):
            return 0.0
        pairs = np.unique(groups * (values.max() + 1) + values) // (values.max() + 1)
        several = np.bincount(groups) > 1
        n_values = np.bincount(pairs, minlength=len(several))
        return float((n_values[several] > 1).mean()) if several.any() else 0.0

    def met_by_several(self, thing: Sequence[str], other: str) -> float:
        """Return the share of things that come with several values of a column."""
        n_things = self.combinations(*thing)
        both = self.codes(*thing, other)
        first = np.unique(both, return_index=True)[1]
        of_thing = self.codes(*thing)[first][both[first] >= 0]
        return float((np.bincount(of_thing) > 1).sum() / n_things) if n_things else 0.0


class Choice:
    """The columns of a sheet that nothing is mapped to yet.

    Parameters
    ----------
    sheet
        The sheet.
    left
        Names of these columns; shared with `among`.
    """

    def __init__(
        self,
        sheet: Sheet,
        remaining: list[str] | None = None,
        offers: Callable[[str], bool] | None = None,
    ) -> None:
        self.sheet = sheet
        self.remaining = list(sheet.names) if remaining is None else remaining
        self._offers = offers

    def among(self, offers: Callable[[str], bool]) -> Choice:
        """Return the same choice, restricted to columns of certain names."""
        return Choice(self.sheet, self.remaining, offers)

    def offered(self) -> list[Column]:
        """Return all columns that can be chosen, in the order of the file."""
        return [self.sheet[n] for n in self.remaining if not self._offers or self._offers(n)]

    def with_role(self, role: str) -> list[Column]:
        """Return columns whose name suggests a role, likeliest first, without mostly blank ones."""
        named = [c for c in self.offered() if role in names.roles(c.name)]
        named.sort(key=lambda column: names.roles(column.name)[role])
        return [c for c in named if len(c.filled) > c.n_blank]

    def take(self, role: str, fits: Callable[[Column], bool] | None = None) -> Column | None:
        """Claim and return the likeliest column of a role that fits; None if there is none."""
        column = next((c for c in self.with_role(role) if not fits or fits(c)), None)
        return self.claim(column) if column else None

    def claim(self, column: Column) -> Column:
        """Take a column, so that it is not offered again; it may have been taken before."""
        self.remaining[:] = [name for name in self.remaining if name != column.name]
        return column


def rounded(number: float) -> str:
    """Return a mean as comments show it."""
    return f"{number:,.1f}".removesuffix(".0")
