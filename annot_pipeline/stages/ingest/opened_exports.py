"""Exports and item tables as their readers give them, held against what is mapped."""

from __future__ import annotations

import difflib
import json
import unicodedata
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from annot_pipeline.config import EachColumn, ItemSource, Limits, Source
from annot_pipeline.errors import ConfigError, Problem, counted, first_of, shorten
from annot_pipeline.exports import PIECES, READERS, Export, Opening, Piece
from annot_pipeline.exports.json_document import KEY
from annot_pipeline.stages.ingest.read_records import (
    columns_by_field,
    columns_of,
    reads_all_columns,
)
from annot_pipeline.stages.ingest.record_cells import matching_columns

NO_TEXT = "column not found; the header of the export is not text, and is not shown"
CHECK_ENCODING = "check that the file is the export, or set options.encoding to its encoding"
BLANK = "\t\r\n\f\v"
ODD_SHARE = 5
"""With more than one in so many characters of a header that no text holds, it is none."""


def open_export(
    source: Source | ItemSource,
    path: Path,
    name: str,
    piece: Piece | None = None,
    *,
    limits: Limits,
    whole: bool = False,
) -> Export:
    """Open an export, or a piece of it, with the reader of its format.

    ``whole``: with all columns, not only those that the mapping reads.
    """
    opening = replace(_opening(source, path, name), piece=piece, limits=limits)
    if whole:
        opening = replace(opening, used_columns=None)
    return READERS[source.format](opening)


def pieces_of(source: Source, path: Path, name: str, piece_bytes: int) -> list[Piece]:
    """Return the pieces in which jobs read an export; none where one job reads it."""
    if source.format not in PIECES or path.stat().st_size <= piece_bytes:
        return []
    pieces = PIECES[source.format](_opening(source, path, name), piece_bytes)
    return pieces if len(pieces) > 1 else []


def _opening(source: Source | ItemSource, path: Path, name: str) -> Opening:
    judge = source.fields.get("judge") if isinstance(source, Source) else None
    return Opening.with_options(
        path,
        name,
        source.options,
        used_columns=None if reads_all_columns(source) else frozenset(columns_of(source)),
        records=source.records,
        hides_keys=judge is not None and KEY in judge.model_dump_json(),
    )


def check_columns(
    source: Source | ItemSource, columns: Sequence[str], name: str, where: str
) -> None:
    """Refuse a mapping (at ``where`` in campaign.yaml) that names columns which are not there.

    Columns of judgments may be named after judges, or be the cells of the first row of a file
    without a header: they are shown where the error is revealed (`Problem.revealed`).

    Raises
    ------
    ConfigError
        With the columns that there are.
    """
    if isinstance(source, Source) and columns:
        _check_patterns(source, columns, name, where)
    missing = [c for c in columns_of(source) if c not in columns]
    if not missing or not columns:
        return
    by_field = columns_by_field(source)
    fields = [field for field, names in by_field.items() if set(names) & set(missing)]
    is_text = _is_text("".join(columns))
    what = _not_found(missing) if is_text else NO_TEXT
    allowed = first_of(list(map(shorten, columns)), 40) if is_text else ""
    do = _how_to_name(missing, columns) if is_text else CHECK_ENCODING
    if isinstance(source, Source) and _names_judges(source):
        used = by_field[fields[0]]
        places = [str(n) for n, column in enumerate(used, start=1) if column in missing]
        what = (
            f"the export lacks {len(missing)} of the columns that it names; its entries "
            f"{first_of(places)} of {len(used)} (not shown: `each` names columns after judges)"
        )
        missing, allowed, do = [], "", "compare `each` with the header"
    setting = f"{where} ({', '.join(fields)})"
    if len(fields) == 1:
        is_field = fields[0] in source.fields
        setting = f"{where if is_field else where.removesuffix('.fields')}.{fields[0]}"
    problem = Problem(setting, what, allowed=allowed, do=do, values=tuple(missing))
    if isinstance(source, Source) and allowed:
        hidden = f"the {counted(len(columns), 'column')} of the export, which annot validate shows"
        problem = replace(problem, allowed=hidden, do=_how_to_look(source, columns, do))
        problem = replace(problem, revealed=Problem(setting, what, allowed, do, tuple(missing)))
    raise ConfigError(f"{name}: unknown column", [problem])


def _check_patterns(source: Source, columns: Sequence[str], name: str, where: str) -> None:
    """Refuse a pattern of ``each`` that matches no column.

    Raises
    ------
    ConfigError
        With the pattern.
    """
    for key, each in source.each.items():
        if isinstance(each, EachColumn) and not matching_columns(each, list(columns)):
            setting = f"{where.removesuffix('.fields')}.each.{key}.columns"
            what = f"no column matches {each.columns}"
            do = "compare it with the header; * stands for any text"
            raise ConfigError(f"{name}: no column matches", [Problem(setting, what, do=do)])


def _how_to_look(source: Source, columns: Sequence[str], do: str) -> str:
    """Return what to do where columns are not shown."""
    if len(columns) > 1 and not set(columns_of(source)).intersection(columns):
        return "name columns that the export has, and see whether its first row is its header"
    return "name a column that the export has" if do.startswith("did you mean") else do


def _names_judges(source: Source) -> bool:
    """Return whether columns are named after judges: ``each`` runs over both."""
    if "judge" not in source.fields:
        return False
    judge = json.dumps(source.fields["judge"].model_dump(mode="json"))
    return any(f"{{{name}}}" in judge or f"{{{name}.index}}" in judge for name in source.each)


def _is_text(header: str) -> bool:
    """Return whether a header is text: few control characters, and few that were not decoded."""
    odd = [
        c for c in header if c == "\ufffd" or (unicodedata.category(c) == "Cc" and c not in BLANK)
    ]
    return ODD_SHARE * len(odd) <= len(header)


def _not_found(missing: Sequence[str]) -> str:
    columns = "column" if len(missing) == 1 else "columns"
    return f"{columns} {first_of(list(map(shorten, missing)))} not found"


def _how_to_name(missing: Sequence[str], columns: Sequence[str]) -> str:
    repeated = [c for c in columns if any(c.startswith(f"{m}#") for m in missing)]
    likely = difflib.get_close_matches(missing[0], columns, 1)
    if repeated:
        return f"several columns have this name; name one by its position, such as {repeated[0]}"
    if len(columns) == 1:
        return 'set options.delimiter to the character between the columns ("\\t" for a tab)'
    if any("\ufffd" in column for column in columns):
        return "set options.encoding to the file's encoding"
    return f"did you mean {likely[0]}?" if likely else "name a column that the export has"
