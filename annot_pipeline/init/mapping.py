"""Which column is which canonical field: names say what is likely, contents whether it can be."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.config.judges import MODEL_NAME
from annot_pipeline.contracts.answer_text import answer_text
from annot_pipeline.init import names, row_shapes
from annot_pipeline.init.abstentions import as_written, without_abstentions, without_nan
from annot_pipeline.init.answers import Answer, NoJudgmentsError, answer_as
from annot_pipeline.init.columns import Choice, Column, Sheet
from annot_pipeline.init.comparisons import comparison
from annot_pipeline.init.fields import Mapping
from annot_pipeline.init.item_texts import with_item_text
from annot_pipeline.init.numbered import numbered_row
from annot_pipeline.init.optional_fields import optional_lines, reward_lines
from annot_pipeline.init.rankings import differs_within, long_ranking, rank_doubts

YES, NO = frozenset({"true", "1", "yes", "y", "t"}), frozenset({"false", "0", "no", "n", "f"})
FAILURE = frozenset({"error", "errors", "failed", "failure", "fail", "invalid"})
UNSCORED = frozenset({"unscored", "timeout", "unparsed", "unparsable", "unparseable"})
SUCCESS = frozenset({"valid", "parsed", "success", "succeeded"})
CALLS = frozenset({"parse", "parsing", "json", "api", "request", "call", "llm", "judge", "scoring"})
"""With a word of `FAILURE`: of how the answer was got, and no question about the item."""
FEWEST_MARKED = 3
"""Rows that tell that one answer stands for a failure."""


def with_failure_flags(choice: Choice, answer: Answer) -> tuple[Answer, list[dict[str, Any]]]:
    """Return the answer without the rows of failed ones, and a condition for each flag column.

    A flag column is claimed. Its name says what it is; where the name may be a question about the
    item (has_error), the answers do: in all rows that it marks they are blank, or one value that
    stands in hardly another row.
    """
    conditions = []
    table, name = choice.sheet.table, next(iter(answer.columns), "")
    if name not in table.column_names:
        return answer, []
    failed = pa.repeat(False, len(table))
    for column in list(choice.offered()):
        words = {*names.words(column.name)}
        marks = NO if words & SUCCESS else YES if words & (FAILURE | UNSCORED) else frozenset()
        flags = {answer_text(value).lower() for value in column.counts}
        marked = [value for value in column.counts if answer_text(value).lower() in marks]
        if not marked or not flags <= YES | NO or len(flags) > 2:
            continue
        is_marked = pc.fill_null(pc.is_in(table[column.name], pa.array(marked, pa.string())), False)
        is_sure = bool(words & UNSCORED or (words & FAILURE and words & CALLS))
        if is_sure or _is_one_answer(table[name], is_marked):
            choice.claim(column)
            failed = pc.or_(failed, is_marked)
            expression = column.expression
            value = expression if isinstance(expression, dict) else {"column": expression}
            conditions.append(value | {"in": sorted({answer_text(text) for text in marked})})
    rest = Column(name, answer.fields[0][1], table[name].filter(pc.invert(failed)))
    if not conditions or answer.kind not in ("scalar", "categorical") or not rest.counts:
        return answer, conditions
    if answer.kind == "scalar" and not without_abstentions(rest).numbers:
        return answer, conditions
    return replace(answer_as(rest, answer.kind), notes=answer.notes), conditions


def _is_one_answer(answers: pa.ChunkedArray, is_marked: pa.ChunkedArray) -> bool:
    """Return whether marked rows have no answer, or one that other rows hardly have."""
    marked = answers.filter(is_marked).drop_null()
    if len(pc.unique(marked)) > 1:
        return False
    if not len(marked):
        return True
    n_others = pc.sum(pc.equal(answers, marked[0])).as_py() - len(marked)
    return bool(len(marked) >= FEWEST_MARKED and n_others * FEWEST_MARKED <= len(marked))


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
