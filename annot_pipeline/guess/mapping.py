"""Which column is which canonical field: names say what is likely, contents whether it can be."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from annot_pipeline.config.judges import MODEL_NAME
from annot_pipeline.guess import names, row_shapes
from annot_pipeline.guess.abstentions import as_written, without_nan
from annot_pipeline.guess.answers import NoJudgmentsError
from annot_pipeline.guess.columns import Choice, Column, Sheet
from annot_pipeline.guess.comparisons import comparison
from annot_pipeline.guess.failure_flags import with_failure_flags
from annot_pipeline.guess.fields import Mapping
from annot_pipeline.guess.headerless import by_contents
from annot_pipeline.guess.item_texts import with_item_text
from annot_pipeline.guess.numbered import numbered_row
from annot_pipeline.guess.optional_fields import optional_lines, reward_lines
from annot_pipeline.guess.rankings import differs_within, long_ranking, rank_doubts

SHOWN_COLUMNS = 40
ONE_JUDGE = "judge"
"""Stands for the judge of a file that names none; `sources` names it after the file."""


def guess_mapping(sheet: Sheet, format_: str) -> Mapping:
    """Map the columns of a sample.

    Raises
    ------
    NoJudgmentsError
        No column says who judged, what was judged, or what was answered.
    """
    choice = Choice(sheet)
    if format_ == "label_studio":
        return row_shapes.label_studio(choice)
    if format_ in OWN_COLUMNS:
        mapping = OWN_COLUMNS[format_](choice)
        mapping.notes += unmapped_note(choice.offered())
        return mapping
    meant = by_contents(sheet) if _is_nameless(sheet) else {}
    judge = choice.claim(sheet[meant["judge"]]) if meant else _judge(choice, format_)
    in_columns = not meant and format_ != "mturk" and not choice.with_role("answer")
    if compared := comparison(sheet, choice):
        mapping = row_shapes.compared(choice, judge, compared)
    elif meant:
        mapping = row_shapes.as_meant(choice, judge, meant)
    elif row := numbered_row(sheet, choice) if in_columns else None:
        mapping = row_shapes.numbered(choice, judge, row)
    elif ranks := long_ranking(sheet, choice, judge):
        mapping = row_shapes.ranked(choice, judge, *ranks)
    else:
        mapping = row_shapes.ordinary(choice, judge, format_)
    took = ["hit_seconds"] if mapping.each else ["seconds"]
    if format_ == "mturk":  # its time is the assignment's, which is a judgment's if it holds one
        took = list(dict.fromkeys([*took, "hit_seconds"]))
    labels = dict(mapping.answer.labels) if mapping.answer.kind == "categorical" else {}
    one_a_row = None if mapping.each else judge
    lines = optional_lines(
        choice, mapping.answer.kind, labels, mapping.item, one_a_row,
        is_place=lambda column: _is_place(choice, judge, mapping, column),
    )  # fmt: skip
    lines = [
        (name, expression, why)
        for field, expression, why in lines
        for name in (took if field == "seconds" else [field])
    ]
    lines += reward_lines(choice) if format_ == "mturk" else []
    mapping = with_item_text(mapping, choice)
    doubts = rank_doubts(sheet, mapping.answer)
    if not mapping.each:
        mapping.answer, mapping.failed_where = with_failure_flags(choice, mapping.answer)
    mapping.failed = dict(mapping.answer.failed)
    mapping.notes += [*mapping.answer.notes, *doubts, *unmapped_note(choice.offered())]
    mapping.abstained = without_nan(mapping.answer.abstained, format_)
    mapping.abstain = as_written(mapping.abstained)
    mapping.without_judge = judge.expression == {"value": ONE_JUDGE}
    return mapping.with_lines(row_shapes.judge_line(judge), *mapping.answer.fields, *lines)


OWN_COLUMNS = {"appraise": row_shapes.appraise, "wmt_ranking": row_shapes.wmt_ranking}
"""Formats whose columns are the reader's own."""


def _is_nameless(sheet: Sheet) -> bool:
    return all(name == f"c{position}" for position, name in enumerate(sheet.names, start=1))


def _judge(choice: Choice, format_: str) -> Column:
    """Return who judged.

    Comparisons that name nobody, as those of one model, have one judge.
    """
    judge = choice.take("judge", lambda c: not c.is_unique) or choice.take("judge")
    if judge is not None:
        return judge
    if not choice.with_role("text") and choice.with_role("answer"):
        named = choice.take("system", _are_models)  # answers of models, and no text of theirs
        if named is not None:
            return named
    if format_ == "mturk" or not comparison(choice.sheet, choice):
        raise NoJudgmentsError("no column says who judged", names.ROLES["judge"])
    rows = pa.chunked_array([pa.repeat(ONE_JUDGE, len(choice.sheet))])
    return Column("", {"value": ONE_JUDGE}, rows)


def _are_models(column: Column) -> bool:
    """Return whether most values of a column are names of language models."""
    counts = column.counts
    n_models = sum(n for name, n in counts.items() if MODEL_NAME.search(name))
    return not column.is_unique and n_models > len(column.filled) / 2


def _is_place(choice: Choice, judge: Column, mapping: Mapping, column: Column) -> bool:
    """Return whether a column can hold the position of each output.

    Records of one ranking that share a position are taken for one identical output, so what
    counts trials or HITs must not be taken for it.
    """
    if mapping.has("position"):
        return False  # the number of the column says it
    if mapping.answer.kind != "ranking":
        return True
    sheet = choice.sheet
    ranking = mapping.column(sheet, "ranking")
    group = (
        [ranking]
        if ranking
        else [judge, mapping.column(sheet, "segment"), *choice.with_role("hit")]
    )
    shared = [c.name for c in group if c]
    if not {"trial", "hit"} & {*names.words(column.name)} and differs_within(
        sheet, shared, column.name
    ):
        return True
    mapping.notes.append(
        f"{column.name} is no position: outputs of one ranking that share a position are taken "
        "for one identical output, and nothing says that these are"
    )
    return False


def unmapped_note(columns: Iterable[Column]) -> list[str]:
    """Return the note on columns that nothing is mapped to; [] if there are none."""
    unmapped = [
        f"{c.name} ({c.n_distinct:,} different)" if c.counts else f"{c.name} (blank)"
        for c in columns
    ]
    more = len(unmapped) - SHOWN_COLUMNS
    text = ", ".join(unmapped[:SHOWN_COLUMNS]) + (f" and {more} more" if more > 0 else "")
    return [f"not mapped: {text}"] if unmapped else []
