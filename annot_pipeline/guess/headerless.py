"""Columns of exports without a header line that their contents give away."""

from __future__ import annotations

from annot_pipeline.guess.columns import Sheet


def by_contents(sheet: Sheet) -> dict[str, str]:
    """Recognize judge, item and answer in columns without names; {} if it is not clear.

    A judge answers an item once, so judge and item together tell the rows apart better than
    either does with the answer; and judges are fewer than items.
    """
    columns = [sheet[name] for name in sheet.names]
    repeating = [c for c in columns if c.n_distinct > 1 and 2 * c.n_distinct <= len(sheet)]
    if len(repeating) != 3 or any(c.n_blank for c in repeating):
        return {}
    n_combinations = {
        answer.name: sheet.combinations(*(c.name for c in repeating if c is not answer))
        for answer in repeating
    }
    best, second, _ = sorted(n_combinations, key=n_combinations.__getitem__, reverse=True)
    judge, item = sorted(
        (c for c in repeating if c.name != best), key=lambda column: column.n_distinct
    )
    if n_combinations[best] < 0.9 * len(sheet) or n_combinations[best] == n_combinations[second]:
        return {}
    measured = any(not n.is_integer() for c in (judge, item) for n in c.numbers)
    if measured or judge.n_distinct == item.n_distinct:
        return {}
    return {"judge": judge.name, "item": item.name, "answer": best}
