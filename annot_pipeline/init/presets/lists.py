"""Rows that hold the answers of several judges in a list."""

from __future__ import annotations

from typing import Any

from annot_pipeline.init import names
from annot_pipeline.init.answers import MOST_LABELS, NoJudgmentsError
from annot_pipeline.init.drafts import Draft
from annot_pipeline.init.objects import Line
from annot_pipeline.init.presets.facts import (
    Facts,
    answer_lines,
    by_question,
    is_number_word,
    steps,
)

PLACES = "who labelled is unknown: judges are places in the list, so do not measure them"
ITEMS = ("@key", "id", "item_id", "post_id", "pairID", "text_id")


def _item(facts: Facts, besides: tuple[str, ...]) -> str | None:
    """Return the column of ids of items, which no two rows share."""
    for name in ITEMS:
        if name in facts.names and facts.sheet.is_unique(name):
            return name
    named = [n for n in facts.names if {"item", "text"} & names.roles(n).keys()]
    return next((n for n in named if n not in besides and facts.sheet.is_unique(n)), None)


def _need_item(facts: Facts, title: str, besides: tuple[str, ...]) -> Line:
    item = _item(facts, besides)
    if item is None:
        raise NoJudgmentsError(f"{title}: which column is the id of the item? None is unique")
    return ("item", item, "")


def doccano(facts: Facts) -> Draft | None:
    """Map doccano: a list of labels a document, a file for each user."""
    if not facts.has("id", "label") or not ({"text", "data", "filename"} & {*facts.names}):
        return None
    if facts.with_role("judge"):
        return None
    cells = facts.cells("label")
    if not all(isinstance(cell, list) for cell in cells) or _are_labels(facts, "label"):
        return None
    if any(isinstance(one, list | dict) for cell in cells for one in cell):
        raise NoJudgmentsError(
            "doccano spans: label holds start, end and name of spans, which are no labels of an "
            "item; convert each span to a row"
        )
    judge = facts.judge_by_file()
    if judge is None:
        raise NoJudgmentsError(
            "doccano: nothing says who judged. Whose labels are these? doccano writes one file "
            "for each user: give init the folder with all of them, or write judge: {value: NAME}"
        )
    each, lines = answer_lines("label", "label", cells)
    where = [] if each else [{"column": "label", "not": ["[]"]}]
    return Draft("doccano", [judge, ("item", "id", ""), *lines], each=each, where=where)


def argilla(facts: Facts) -> list[Draft] | None:
    """Map Argilla's records: parallel lists of responses and users for each question."""
    stems = [n.removesuffix(".responses") for n in facts.names if n.endswith(".responses")]
    stems = [s for s in stems if f"{s}.responses.users" in facts.names]
    if not stems:
        return None
    return by_question({stem: _argilla_question(facts, f"{stem}.responses") for stem in stems})


def _argilla_question(facts: Facts, question: str) -> Draft:
    elements = [e for cell in facts.cells(question) for e in (cell or [])]
    lines: list[Line] = [
        _need_item(facts, "Argilla", (question,)), ("judge", "{a.value}", ""),
    ]  # fmt: skip
    if any(isinstance(e, list | dict) for e in elements):
        raise NoJudgmentsError(
            f"Argilla: {question} holds several answers of one user; which one should be a label?"
        )
    where = []
    if f"{question}.status" in facts.names:
        where = [steps(f"{question}.status", json="{a}") | {"in": ["submitted"]}]
    lines.append(("label", steps(question, json="{a}"), ""))
    each = {"a": {"list": f"{question}.users"}}
    return Draft("Argilla responses", lines, each=each, where=where)


def snli(facts: Facts) -> Draft | None:
    """Map SNLI and MultiNLI: the list annotator_labels."""
    if not facts.has("annotator_labels", "pairID"):
        return None
    return Draft(
        "SNLI annotator labels",
        [
            ("judge", {"value": "place {a}"}, "places in a list: no persons"),
            ("item", "pairID", ""), ("label", "{a.value}", ""),
        ],
        each={"a": {"list": "annotator_labels"}},
        notes=[PLACES],
    )  # fmt: skip


def parallel(facts: Facts) -> Draft | None:
    """Map two columns of lists of equal length, of judges and of answers (LeWiDi)."""
    judges = [n for n in facts.names if _is_plural(n, "judge")]
    answers = [n for n in facts.names if _is_plural(n, "answer") and n not in judges]
    for judge in judges:
        for answer in answers:
            for split in (None, ",", ";", "|"):
                if _are_parallel(facts, judge, answer, split):
                    split_key = {} if split is None else {"split": split}
                    line = _need_item(facts, "lists of judges and answers", (judge, answer))
                    label = {"column": answer, **split_key, "json": "{a}"}
                    return Draft(
                        "lists of judges and answers",
                        [line, ("judge", "{a.value}", ""), ("label", label, "")],
                        each={"a": {"list": judge, **split_key}},
                    )
    return None


def plain_labels(facts: Facts) -> Draft | None:
    """Map a list of the labels of several judges whom nobody names: their places in the list."""
    if facts.with_role("judge"):
        return None
    columns = [
        name
        for name in facts.names
        if ("answer" in names.roles(name) or _is_plural(name, "answer"))
        and _are_labels(facts, name)
    ]
    if len(columns) != 1:
        return None
    title = f"a list of labels in {columns[0]}"
    lines = [
        ("judge", {"value": "place {a}"}, "places in a list: no persons"),
        _need_item(facts, title, (columns[0],)), ("label", "{a.value}", ""),
    ]  # fmt: skip
    return Draft(title, lines, each={"a": {"list": columns[0]}}, notes=[PLACES])


def _are_labels(facts: Facts, name: str) -> bool:
    """Return whether cells are lists of labels, of which some hold one label several times.

    Lists in which no label repeats may as well be the several answers of one judge.
    """
    cells = facts.cells(name)
    if not cells or not all(isinstance(cell, list) for cell in cells):
        return False
    written = [[str(one) for one in cell] for cell in cells]
    labels = {one for cell in written for one in cell}
    is_plain = not any(isinstance(one, dict | list) for cell in cells for one in cell)
    repeats = any(len(set(cell)) < len(cell) for cell in written)
    return is_plain and repeats and len(labels) <= MOST_LABELS


def _is_plural(name: str, role: str) -> bool:
    singular = name.rstrip("s")
    return singular != name and role in names.roles(singular)


def _are_parallel(facts: Facts, judge: str, answer: str, split: str | None) -> bool:
    rows = zip(*(facts.sheet.table.column(n).to_pylist() for n in (judge, answer)), strict=True)
    lengths = [(_length(a, split), _length(b, split)) for a, b in rows if a and b]
    fits = all(a == b and a > 0 for a, b in lengths)
    return bool(lengths) and fits and any(a > 1 for a, _ in lengths)


def _length(cell: str, split: str | None) -> int:
    if split is not None:
        return len(cell.split(split)) if not cell.startswith("[") else 0
    from annot_pipeline.init.presets.facts import parsed

    value = parsed(cell)
    return len(value) if isinstance(value, list) else 0


def objects_in_list(facts: Facts) -> Draft | None:
    """Map a list of objects, each with a judge and an answer (HateXplain, doccano, SageMaker)."""
    for column in facts.names:
        cells = facts.cells(column)
        lists = [cell for cell in cells if isinstance(cell, list)]
        elements = [one for cell in lists for one in cell]
        if len(lists) < len(cells) or not elements:
            continue
        if not all(isinstance(one, dict) for one in elements):
            continue
        judges = _keys(elements, "judge")
        if not judges:
            continue
        answers = [k for k in _keys(elements, "answer") if k not in judges]
        answers = [k for k in answers if _is_plain(elements, k)]
        content = _sagemaker_answer(elements)
        lines = [
            _need_item(facts, f"a list of answers in {column}", (column,)),
            ("judge", steps("{a.value}", json=judges[0]), ""),
        ]
        each = {"a": {"list": column}}
        if content:
            lines.append(("label", content, "within annotationData.content"))
            return Draft("SageMaker worker responses", lines, each=each)
        if len(answers) != 1:
            keys = ", ".join(elements[0])
            raise NoJudgmentsError(
                f"{column} holds a list with judges ({judges[0]}); which key is the answer? "
                f"keys: {keys}"
            )
        lines.append(("label", steps("{a.value}", json=answers[0]), ""))
        return Draft(f"a list of answers in {column}", lines, each=each)
    return None


def _keys(elements: list[dict[str, Any]], role: str) -> list[str]:
    keys = [k for k in elements[0] if role in names.roles(k) and all(k in e for e in elements)]
    return sorted(keys, key=lambda key: names.roles(key)[role])


def _is_plain(elements: list[dict[str, Any]], key: str) -> bool:
    values = [element[key] for element in elements]
    few = len({str(value) for value in values}) <= max(20, len(values) // 2)
    return few and not any(isinstance(value, dict | list) for value in values)


def _sagemaker_answer(elements: list[dict[str, Any]]) -> Any:
    """Return the label within the text that SageMaker writes as a worker's content."""
    contents = [e.get("annotationData") for e in elements]
    texts = [c.get("content") for c in contents if isinstance(c, dict)]
    if len(texts) < len(elements) or not all('"label"' in (text or "") for text in texts):
        return None
    return steps("{a.value}", json="annotationData.content", match=r'"label"\s*:\s*"([^"]*)"')


def is_abstention_matrix(values: set[str]) -> bool:
    """Return whether -1 stands among classes from 0."""
    return "-1" in values and all(is_number_word(v) and float(v) >= -1 for v in values)
