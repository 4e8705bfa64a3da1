"""The shapes of rows: each made long, so that one engine reads them all.

A view is a sheet with one judgment a row, the ``each`` that makes it of an export, and for every
column the expression that campaign.yaml has for it: rows as they are (with the values within JSON
cells as columns), numbered columns side by side, one column a judge or question, lists in cells,
lists side by side, and objects whose keys differ.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import TypeAdapter

from annot_pipeline.bounded_json import JsonError, parse_cell
from annot_pipeline.config import Source
from annot_pipeline.config.expressions import Expression
from annot_pipeline.exports.raw_rows import RawRows
from annot_pipeline.init import names
from annot_pipeline.init.table import Sheet
from annot_pipeline.init.written_numbers import NUMBER, number_in
from annot_pipeline.stages.ingest.expressions import evaluate
from annot_pipeline.stages.ingest.record_cells import RecordCells, record_cells

SIDE_WORDS: list[list[str]] = names.VOCABULARY["side_words"]
"""How the two sides are told apart; with another of the words too, they are no two."""

X_AND_Y = 4
"""Of `SIDE_WORDS`: taken last, since axes and embeddings are named so, too."""

SYSTEMS = names.WORDS["competitors"]
OUTPUTS = names.WORDS["outputs"]
NO_SYSTEMS = names.WORDS["no_systems"]
"""Words of a stem whose columns name no systems, whatever they hold."""

CONTENTS = 2
"""Place in the order of preference of pairs that are systems by what they hold."""

WON_AND_LOST: list[list[str]] = names.VOCABULARY["won_and_lost"]
"""Names of columns of which the first always won."""

_GLUED = re.compile(f"({'|'.join(names.VOCABULARY['glued'])})([abxy])")


class Pair(NamedTuple):
    """Two columns that say the same of the one side and of the other.

    Parameters
    ----------
    kind
        Place in `SIDE_WORDS`.
    stem
        What both names have in common; empty for ``left`` and ``right``.
    first, second
        The columns.
    """

    kind: int
    stem: str
    first: str
    second: str

    @property
    def is_rank(self) -> bool:
        """Return whether the columns hold ranks."""
        return "rank" in self.stem.split("_")

    @property
    def are_outputs(self) -> bool:
        """Return whether the columns hold outputs, or what they are called; no systems."""
        return self.stem.rpartition("_")[2] in OUTPUTS

    @property
    def are_systems(self) -> bool:
        """Return whether the stem says that the columns name systems."""
        return "system" in names.roles(self.stem) or self.stem.rpartition("_")[2] in SYSTEMS

    @property
    def may_be_systems(self) -> bool:
        """Return whether the columns can name systems although the stem does not say so."""
        is_known = bool(names.roles(self.stem)) or self.is_rank or self.are_outputs
        return not is_known and not NO_SYSTEMS & {*self.stem.split("_")}

    @property
    def likelihood(self) -> tuple[bool, int, int] | None:
        """Return what to prefer, the least first, among columns that name things.

        None for others.
        """
        roles = names.roles(self.stem)
        if self.is_rank:
            return None
        signs = {0: self.are_systems, 3: self.are_outputs, 1: "item" in roles, 2: not self.stem}
        position = next((number for number, sign in signs.items() if sign), None)
        if position is None:
            return None
        return self.kind == X_AND_Y, position, self.kind


def pairs_among(columns: Iterable[str]) -> list[Pair]:
    """Return all pairs, in the order of their first columns."""
    by_form: dict[tuple[int, str, str], dict[int, str]] = {}
    for name in columns:
        last = (names.words(name) or [""])[-1]
        end = last if last in names.ID_ENDINGS else ""  # an id and a number are no pair
        for kind, position, stem in _sides(name):
            by_form.setdefault((kind, stem, end), {}).setdefault(position, name)
    whole = [(*key[:2], sides) for key, sides in by_form.items() if sides.keys() == {0, 1}]
    return [Pair(kind, stem, sides[0], sides[1]) for kind, stem, sides in whole]


def _sides(name: str) -> list[tuple[int, int, str]]:
    """Return each reading of a name as a side: the kind, which side, and the rest of the name."""
    parts = names.without_id(names.words(name))
    if len(parts) == 1 and (glued := _GLUED.fullmatch(parts[0])):
        parts = [glued[1], glued[2]]
    readings = []
    for kind, words in enumerate(SIDE_WORDS):
        places = [n for n, part in enumerate(parts) if part in words]
        if len(places) == 1:
            [n] = places
            stem = "_".join([*parts[:n], *parts[n + 1 :]])
            readings.append((kind, words.index(parts[n]), stem))
    return readings


CELLS_LOOKED_AT = 200
MOSTLY = 0.9
VALUES_OFFERED = 60
"""Of one column; a cell with more is a document, not an answer."""
ROWS_UNFOLDED = 20_000
MOST_COLUMNS = 400
"""Columns of a file that are looked at for shapes; tables with more are matrices by name."""
RANKED, PLACE, ALMOST_ALL = "ranked system", "rank", 0.8
"""Columns of a view of places: what was ranked, and where; rows of different things, at least."""
OVER = "@of"
"""Column of a view: what ``each`` runs over, such as the names of columns or places in a list."""
ELEMENT = "@element"
"""Column of a view: objects with free keys, by which they are taken apart once more."""
DEEPEST = 3
"""Objects with free keys, one within another, of which each key is read."""
_NUMBERED = re.compile(r"(?:(\D|.*\D)(\d{1,3})|(\D+)(\d{1,3})(\D+))")
SPLITS = (None, ",", ";", "|")
BETWEEN = (" vs. ", " vs ", *SPLITS[1:], "/", "_")
"""What stands between two names in a cell, beside lists of JSON."""
ROWS_A_NAME, SHARED_NAMES = 3, 1 / 3
SIDES = {names.plain(text) for texts in names.VOCABULARY["sides"].values() for text in texts}
"""How cells say which of two is better."""


@dataclass(frozen=True)
class View:
    """One way to see rows as judgments.

    Parameters
    ----------
    shape
        ``rows``, ``numbered``, ``columns``, ``grid``, ``list``, ``parallel`` or ``keys``.
    base
        The rows of the file.
    columns
        Column of the view to its expression.
    each
        The source's ``each``.
    parts
        Columns that ``each`` makes.
    taken
        Columns of the file that they are made of.
    whole
        Of a grid: the name of a column, of ``{rater}`` and ``{question}``.
    """

    shape: str
    base: Sheet
    columns: Mapping[str, Any]
    each: dict[str, Any] = field(default_factory=dict)
    parts: tuple[str, ...] = ()
    taken: tuple[str, ...] = ()
    whole: str = ""

    @cached_property
    def sheet(self) -> Sheet:
        """Return one judgment a row, as a build makes them of the rows of the file."""
        if [*self.columns.items()] == [(name, name) for name in self.base.names]:
            return self.base
        return Sheet([self._long(part) for part in self.base.parts], self.columns)

    def _long(self, part: pa.Table) -> pa.Table:
        """Return a row for each value of ``each``; without those that have none."""
        each = {
            name: self.taken if isinstance(values, dict) and "columns" in values else values
            for name, values in self.each.items()
        }
        source = Source.model_validate(frozen({"path": "*", "format": "csv", "each": each} | ROWS))
        is_unfolded = any(isinstance(e, dict) for e in each.values())
        part = part.slice(0, ROWS_UNFOLDED if is_unfolded else None)
        tables = []
        for cells in record_cells(raw_rows(part), source):
            columns = {n: _evaluated(e, cells) for n, e in self.columns.items()}
            why_none = [cells.rows.problem, *[cells.not_asked] * (cells.not_asked is not None)]
            tables.append(pa.table(columns).filter(pc.is_null(pc.coalesce(*why_none))))
        return pa.concat_tables(tables)


ROWS = {"fields": {name: {"row": True} for name in ("judge", "item", "label")}}
"""Fields that say nothing, for a source that is not complete."""


def raw_rows(table: pa.Table) -> RawRows:
    """Return rows as a reader gives them."""
    columns = {name: table.column(name).combine_chunks() for name in table.column_names}
    places = np.arange(1, table.num_rows + 1)
    return RawRows(columns, places, pa.nulls(table.num_rows, pa.string()))


def frozen(value: Any) -> Any:
    """Return a document with tuples for lists, as settings have them."""
    if isinstance(value, dict):
        return {key: frozen(inner) for key, inner in value.items()}
    return tuple(map(frozen, value)) if isinstance(value, list | tuple) else value


_EXPRESSION: TypeAdapter[Expression] = TypeAdapter(Expression)


def _evaluated(expression: Any, cells: RecordCells) -> pa.Array:
    """Return the values of an expression; null where it is rejected."""
    column = expression["value"] if {*expression} == {"value"} else expression
    if isinstance(column, str) and column in cells.rows.columns:
        return cells.rows.columns[column]
    valid = _EXPRESSION.validate_python(frozen(expression))
    return evaluate(valid, cells, path="", field="cell").array


def parsed(cell: str | None) -> Any:
    """Return a cell's JSON, or its text."""
    if not cell or cell.lstrip()[:1] not in "[{":
        return cell
    try:
        return parse_cell(cell)
    except JsonError:
        return cell


def plain_view(sheet: Sheet) -> View:
    """Return the rows as they are."""
    return View("rows", sheet, {name: name for name in sheet.names})


def rows_view(sheet: Sheet) -> View:
    """Return the rows as they are, with a column for each value of JSON objects in cells."""
    expressions: dict[str, Any] = {}
    numbers: dict[str, Any] = {}
    for name in sheet.names:
        cells = [parsed(cell) for cell in sheet[name].filled.slice(0, CELLS_LOOKED_AT).to_pylist()]
        if cells and all(isinstance(cell, str) and NUMBER.fullmatch(cell) for cell in cells):
            numbers |= number_in(sheet[name])
        if not cells or not all(map(_is_record, cells)):
            continue
        paths = _paths_of(cells)
        if len(paths) <= VALUES_OFFERED:
            expressions |= {f"{name}.{path}": {"column": name, "json": path} for path in paths}
    expressions |= _pairs_in_cells(sheet) | _chosen_options(sheet)
    expressions = {n: e for n, e in expressions.items() if n not in sheet.names}
    taken = {n for e in expressions.values() for n in e.get("join", [e.get("column")])}
    rest = {name: numbers.get(name, name) for name in sheet.names if name not in taken}
    return View("rows", sheet, rest | expressions)


def _chosen_options(sheet: Sheet) -> dict[str, Any]:
    """Return a column for the flags of each question's options of which just one is set.

    So MTurk writes radio buttons: Answer.tone.good, Answer.tone.bad.
    """
    flags: dict[str, list[str]] = {}
    for name in sheet.names:
        if "." in name and set() < {*map(str.lower, sheet[name].counts)} <= {"true", "false"}:
            flags.setdefault(name.rpartition(".")[0], []).append(name)
    chosen: dict[str, Any] = {}
    for question, options in flags.items():
        bits = ["-".join(str(o == n).lower() for o in options) for n in options]
        rows = {*map(str.lower, sheet.joined(*options))}
        if len(options) > 1 and set() < rows <= {*bits}:
            pairs = zip(bits, options, strict=True)
            map_ = {f"~^(?i:{b})$": n.rpartition(".")[2] for b, n in pairs}
            chosen[question] = {"join": options, "sep": "-", "map": map_}
    return chosen


def _pairs_in_cells(sheet: Sheet) -> dict[str, Any]:
    """Return two columns for each one whose cells hold two systems, beside what came out.

    Names are few, others in each row, and most stand on both sides, unless another column names
    one of the two, or a tie; no columns name systems.
    """
    called = [n for n in sheet.names if names.WORDS["outcomes"] & {*names.words(n)}]
    outcomes = [n for n in sheet.names if n in called or says_sides(sheet[n].counts)]
    if any(pair.are_systems for pair in pairs_among(sheet.names)):
        return {}
    columns: dict[str, Any] = {}
    for name in sheet.names[:MOST_COLUMNS]:
        cells = sheet[name].filled.slice(0, CELLS_LOOKED_AT).to_pylist()
        for between in (None, *BETWEEN) if cells and name not in outcomes else ():
            both = [_elements(cell, between) for cell in cells]
            if not all(isinstance(two, list) and len(two) == 2 for two in both):
                continue
            first, second = ({str(two[side]) for two in both} for side in (0, 1))
            if ROWS_A_NAME * len(first | second) > len(cells):
                continue
            are_shared = SHARED_NAMES * len(first | second) <= len(first & second)
            others = [n for n in sheet.names[:MOST_COLUMNS] if n not in (name, *outcomes)]
            is_pair = bool(are_shared and outcomes)
            is_pair = is_pair or any(_names_one_of(sheet, name, between, n) for n in others)
            if is_pair and all(two[0] != two[1] for two in both):
                blank = r"\s+" if between and between != between.strip() else r"\s*"
                written = f"{blank}{re.escape((between or '').strip())}{blank}"
                sides = [{"match": f"^(.+?){written}"}, {"match": f"{written}(.+)$"}]
                parts = sides if between else [{"json": "0"}, {"json": "1"}]
                for side, part in zip("ab", parts, strict=True):
                    columns[f"{name} {side}"] = {"column": name} | part
                break
    return columns


def _names_one_of(sheet: Sheet, name: str, between: str | None, other: str) -> bool:
    """Return whether a column names one of the two in another's cell, now this one, now that."""
    if len(sheet[other].counts) > VALUES_OFFERED:
        return False
    cells = sheet.table.column(name).slice(0, CELLS_LOOKED_AT).to_pylist()
    named = sheet.table.column(other).slice(0, CELLS_LOOKED_AT).to_pylist()
    sides = [
        _elements(cell, between).index(value) if value in _elements(cell, between) else -1
        for cell, value in zip(cells, named, strict=True) if cell
    ]  # fmt: skip
    return {0, 1} <= {*sides} and 2 * sides.count(-1) <= len(sides)


def says_sides(values: Iterable[str]) -> bool:
    """Return whether values, of which it looks at some, say which of two is better, or neither."""
    spelled = {names.plain(value) for value in [*values][:MOST_COLUMNS]}
    return len(spelled) > 1 and spelled <= SIDES


def _is_record(value: Any) -> bool:
    """Return whether a value is an object, or a list of at most one."""
    if isinstance(value, list):
        return len(value) == 1 and isinstance(value[0], dict)
    return isinstance(value, dict)


def _paths_of(objects: Iterable[Any]) -> list[str]:
    """Return the paths of all objects; none into lists that have several elements elsewhere."""
    paths = dict.fromkeys(path for one in objects for path in _paths(one))
    return [path for path in paths if not any(path.startswith(f"{other}.0.") for other in paths)]


def _paths(node: Any, path: str = "") -> Iterator[str]:
    """Yield the dotted paths of the values in an object, as deep as they go."""
    if isinstance(node, list):
        node = {"0": node[0]} if len(node) == 1 and isinstance(node[0], dict) else {}
    for key, value in node.items():
        if not key:
            continue  # a path cannot name it
        key = key.replace("\\", "\\\\").replace(".", "\\.")
        if isinstance(value, dict) or (isinstance(value, list) and _is_record(value)):
            yield from _paths(value, f"{path}{key}.")
        else:
            yield f"{path}{key}"


# --- columns side by side ------------------------------------------------------------------


def _numbered(sheet: Sheet) -> dict[tuple[str, str], list[int]]:
    """Return the numbers of families of columns, by what stands before and behind them."""
    families: dict[tuple[str, str], list[int]] = {}
    for name in sheet.names[:MOST_COLUMNS]:
        match = _NUMBERED.fullmatch(name)
        if match is None or not sheet[name].counts:
            continue
        number = match[2] or match[4]
        is_of_system = bool(match[5] and names.roles(match[3]).keys() & {"system"})
        if number == str(int(number)) and not is_of_system:  # ranks stand beside systems, too
            stem = (match[1] or match[3], match[5] or "")
            families.setdefault(stem, []).append(int(number))
    return families


def _each_number(numbers: Sequence[int]) -> str | list[str]:
    first, *_, last = sorted(numbers)
    is_range = sorted(numbers) == [*range(first, last + 1)]
    return f"{first}..{last}" if is_range else [*map(str, sorted(numbers))]


def numbered_views(sheet: Sheet) -> Iterator[View]:
    """Yield the view of families of columns with the same numbers: sys1, sys2, score1, score2."""
    by_numbers: dict[tuple[int, ...], list[tuple[str, str]]] = {}
    for stem, own in _numbered(sheet).items():
        by_numbers.setdefault(tuple(sorted(own)), []).append(stem)
    for numbers, stems in by_numbers.items():
        if len(numbers) > 1 and len(stems) > 1:
            each = _each_number(numbers)
            taken = [f"{a}{n}{b}" for a, b in stems for n in numbers]
            columns = {a + b: f"{a}{{i}}{b}" for a, b in stems}
            yield _side_by_side("numbered", plain_view(sheet), {"i": each}, columns, taken)


def grid_view(sheet: Sheet, among: Sequence[str]) -> View | None:
    """Return the view of columns of each of some judges and questions, as rater1_fluency.

    The judges are the half that is called so, else the one that is not of criteria.
    """
    halves = _halves(among)
    if halves is None:
        return None
    first, between, second, end = halves
    words = [{word for part in parts for word in names.words(part)} for parts in (first, second)]
    is_judge = [any("judge" in names.roles(word) for word in half) for half in words]
    is_asked = [bool(names.WORDS["criteria"] & half) for half in words]
    is_second = (is_judge[1], is_asked[0]) > (is_judge[0], is_asked[1])
    judges, questions = (second, first) if is_second else (first, second)
    template = ("{question}", "{rater}") if is_second else ("{rater}", "{question}")
    whole = f"{template[0]}{between}{template[1]}{end}"
    columns = {question: whole.replace("{question}", question) for question in questions}
    return _side_by_side("grid", plain_view(sheet), {"rater": judges}, columns, among, whole)


_BETWEEN = re.compile(r"[\W_]+|(?<=\d)(?=[A-Za-z])")


def _halves(columns: Sequence[str]) -> tuple[list[str], str, list[str], str] | None:
    """Return both halves of names, and what is between and behind; None: they are not crossed."""
    end = re.sub(r".*\w", "", columns[0]) if columns else ""
    bare = [name.removesuffix(end) for name in columns]
    for nth_mark in (0, -1, 1, -2):
        cuts = [
            (name[: mark.start()], mark[0], name[mark.end() :])
            for name in bare for mark in [*_BETWEEN.finditer(name)][nth_mark:][:1]
        ]  # fmt: skip
        if not cuts or len(cuts) < len(bare):
            continue
        first, between, second = ([*dict.fromkeys(half)] for half in zip(*cuts, strict=True))
        is_crossed = len(first) * len(second) == len({*cuts}) == len(bare)
        are_named = min(len(first), len(second)) > 1 and not any(map(str.isdigit, first + second))
        if len(between) == 1 and is_crossed and are_named:
            return first, between[0], second, end
    return None


def columns_view(
    rows: View, names: Sequence[str], variable: str, pattern: str = "", answer: str = "@answer"
) -> View:
    """Return the view of columns of which each is a judge, or a question: one value a row."""
    matched = [name for name in rows.columns if fnmatchcase(name, pattern)]
    each: Any = {"columns": pattern} if pattern and matched == [*names] else [*names]
    return _side_by_side("columns", rows, {variable: each}, {answer: f"{{{variable}}}"}, names)


def places_view(sheet: Sheet) -> View | None:
    """Return the view of columns that are the places of a ranking, as rank_1, with what has it."""
    for (before, after), numbers in _numbered(sheet).items():
        columns = [f"{before}{n}{after}" for n in sorted(numbers)]
        rows = zip(*(sheet.table.column(name).to_pylist() for name in columns), strict=True)
        n_different = sum(len({*row} - {None, ""}) == len(row) for row in rows)
        are_ranks = "rank" in names.roles(before) and not any(sheet[n].numbers for n in columns)
        if are_ranks and len(columns) > 1 and n_different > ALMOST_ALL * len(sheet):
            parts = {RANKED: f"{before}{{i}}{after}", PLACE: {"value": "{i}"}}
            each = {"i": _each_number(numbers)}
            return _side_by_side("columns", plain_view(sheet), each, parts, columns)
    return None


def _side_by_side(
    shape: str,
    rows: View,
    each: dict[str, Any],
    columns: Mapping[str, Any],
    taken: Sequence[str],
    whole: str = "",
) -> View:
    """Return a view with a row for each of some columns."""
    parts = {OVER: {"value": f"{{{next(iter(each))}}}"}, **columns}
    rest = {n: e for n, e in rows.columns.items() if n not in taken and n not in parts}
    return View(shape, rows.base, rest | parts, each, tuple(parts), tuple(taken), whole)


# --- lists and objects in cells --------------------------------------------------------------


def cell_views(sheet: Sheet) -> Iterator[View]:
    """Yield the views of lists in cells, of lists side by side, and of objects with free keys."""
    lists: dict[str, tuple[str | None, list[Any]]] = {}
    keyed: list[str] = []
    pairs = {expression["column"] for expression in _pairs_in_cells(sheet).values()}
    for name in (n for n in sheet.names[:MOST_COLUMNS] if n not in pairs):
        cells = sheet[name].filled.slice(0, CELLS_LOOKED_AT).to_pylist()
        for split in SPLITS if cells else ():
            values = [_elements(cell, split) for cell in cells]
            several = [v for v in values if isinstance(v, list) and len(v) > 1]
            if all(isinstance(v, list) for v in values) and several:
                lists.setdefault(name, (split, values))
        objects = [parsed(cell) for cell in cells]
        if cells and all(isinstance(o, dict) for o in objects) and _has_free_keys(objects):
            keyed.append(name)
    by_length: dict[tuple[Any, ...], list[str]] = {}
    for name, (split, values) in lists.items():
        by_length.setdefault((split, *map(len, values)), []).append(name)
    rows = plain_view(sheet)
    for (split, *_), (first, *others) in by_length.items():
        if others:
            yield _taken_apart("parallel", rows, first, split, others)
    shapes = [("keys", name) for name in keyed]
    shapes += [("list", name) for name, (split, _) in lists.items() if split is None]
    for shape, name in shapes:
        view = _taken_apart(shape, rows, name)
        yield from _within(view)  # which has all that the view itself has
        yield view
    inner = rows_view(sheet)
    yield from _within(replace(inner, parts=tuple(inner.columns.keys() - {*sheet.names})))


def _within(view: View) -> Iterator[View]:
    """Yield the views of lists of objects that the elements of a list, or objects, hold.

    Where these are objects with free keys, each by its key, views are of what they hold.
    """
    for name in sorted(view.parts):
        cells = view.sheet[name].filled.slice(0, CELLS_LOOKED_AT).to_pylist()
        inner = [parsed(cell) for cell in cells]
        if inner and all(isinstance(i, list) and all(map(_is_record, i)) for i in inner):
            yield _taken_apart("list", view, name)
        elif name == ELEMENT and len(view.each) < DEEPEST:
            keys = _taken_apart("keys", view, name)
            yield from _within(keys)
            yield keys


def _elements(cell: str, split: str | None) -> Any:
    if split is None:
        return parsed(cell)
    is_list = cell[:1] not in "[{" and (split in cell or len(cell) <= 40)
    return [e.strip() for e in cell.split(split)] if is_list else None


def _has_free_keys(objects: Sequence[dict[str, Any]]) -> bool:
    """Return whether the values of objects are of one kind, as those of judges or labels are."""
    values = [value for one in objects for value in one.values()]
    kinds = {type(value) for value in values}
    if not values or len(kinds) > 1:
        return False
    if dict in kinds:
        keys = Counter(key for value in values for key in value)
        shared = {key for key, n in keys.items() if n > MOSTLY * len(values)}  # but for failures
        return bool(shared) and not shared & {key for one in objects for key in one}
    return max(map(len, objects)) > 1


def _taken_apart(
    shape: str, outer: View, name: str, split: str | None = None, beside: Sequence[str] = ()
) -> View:
    """Return the view with a row for each element of the lists, or key of the objects, of cells.

    ``outer``: the view with a row for each cell.
    """
    variable = next(v for v in ("kst" if shape == "keys" else "abc") if v not in outer.each)
    over, value = f"{{{variable}}}", f"{{{variable}.value}}"
    written = outer.columns[name]
    cell = written if isinstance(written, dict) else {"column": written}
    within_cell = {"json": cell["json"]} if "json" in cell else {}
    more = {"split": split} if split is not None else {}
    kind = "keys" if shape == "keys" else "list"
    each = {**outer.each, variable: {kind: cell["column"], **more, **within_cell}}
    columns = {n: e for n, e in outer.columns.items() if n not in (name, OVER, *beside)}
    if name == ELEMENT or len(outer.each) > 1:  # else the key is of a bundle of answers
        n_outer = len(outer.each)
        key = f"{_one(outer.taken[0])} key" if n_outer == 1 else f"key {n_outer}"
        columns[key] = outer.columns[OVER]
    values = View(shape, outer.base, {name: value}, each).sheet.table.column(name)
    elements = [parsed(element) for element in values.to_pylist()]
    objects = [element for element in elements if isinstance(element, dict)]
    parts: dict[str, Any] = {OVER: {"value": over}}
    if shape == "keys" and len(objects) == len(elements) and _has_free_keys(objects):
        parts[ELEMENT] = value
    elif objects:
        for path in _paths_of(objects[:2000])[:VALUES_OFFERED]:
            own = path if path not in (*columns, name) else f"{name}.{path}"
            parts[own] = {"column": value, "json": path}
    else:
        parts[_one(name)] = value
    parts |= {_one(other): {"column": other, **more, "json": over} for other in beside}
    rest = {n: e for n, e in columns.items() if n not in parts}
    outer_keys = [n for n, e in rest.items() if isinstance(e, dict) and {*e} == {"value"}]
    taken = outer.taken or (cell["column"], *beside)
    return View(shape, outer.base, rest | parts, each, (*parts, *outer_keys), taken)


def _one(name: str) -> str:
    """Return what one element of a list is called: annotators, annotator."""
    return re.sub(r"(?<!s)s$", "", name)
