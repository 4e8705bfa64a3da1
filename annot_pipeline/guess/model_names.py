"""Judges whose names are those of language models: entries of ``judges``."""

from __future__ import annotations

import glob
from collections.abc import Iterable, Iterator, Sequence

from annot_pipeline.bounded_json import JsonError, parse_bounded_json
from annot_pipeline.config.judges import model_families
from annot_pipeline.guess.samples import sheet_of
from annot_pipeline.guess.sources import SourceGuess

MOST_ENTRIES = 30


def model_entries(sources: Sequence[SourceGuess]) -> list[dict[str, str]]:
    """Return entries of ``judges`` for the judges of some sources whose names are of models."""
    names = {name for source in sources for name in _judges(source)}
    entries = []
    for name, family in sorted(model_families(names).items()):
        entry = {"name": glob.escape(name), "kind": "model"}
        entries.append(entry | ({"family": family} if family != "other" else {}))
    return entries[:MOST_ENTRIES]


def _judges(source: SourceGuess) -> Iterator[str]:
    """Yield the judges that a source names by a column, by a constant, or by keys of objects."""
    mapping, sheet = source.mapping, sheet_of(source.group.samples)
    expression = next((e for name, e, _ in mapping.lines if name == "judge"), None)
    if isinstance(expression, str) and expression in sheet.names:
        yield from sheet[expression].counts
    elif isinstance(expression, dict) and isinstance(constant := expression.get("value"), str):
        each = mapping.each.get(constant.strip("{}"), {}) if "{" in constant else None
        if each is None:
            yield constant
        elif isinstance(each, dict) and each.get("keys") in sheet.names:
            yield from _keys(sheet[each["keys"]].counts)


def _keys(cells: Iterable[str]) -> Iterator[str]:
    for cell in cells:
        try:
            document = parse_bounded_json(cell)
        except JsonError:
            continue
        if isinstance(document, dict):
            yield from document
