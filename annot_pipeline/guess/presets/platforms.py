"""Annotation tools and crowdsourcing platforms."""

from __future__ import annotations

import re
from typing import Any

from annot_pipeline.guess import names
from annot_pipeline.guess.answers import NoJudgmentsError
from annot_pipeline.guess.columns import Choice
from annot_pipeline.guess.drafts import Draft
from annot_pipeline.guess.numbered import numbered_row
from annot_pipeline.guess.objects import Line
from annot_pipeline.guess.presets.facts import (
    Facts,
    answer_lines,
    is_few,
    sorted_options,
    steps,
    time_line,
)

YES = {"true": "known_answer", "TRUE": "known_answer", "True": "known_answer"}


def _prodigy_judge(facts: Facts) -> str:
    judge = facts.first("_annotator_id", "_session_id")
    if judge is None:
        raise NoJudgmentsError(
            "Prodigy: no row says who judged (_annotator_id or _session_id). Who did? Start "
            "Prodigy with ?session=NAME, or write judge: {value: NAME}"
        )
    return judge


def _prodigy(facts: Facts, title: str, lines: list[Line], **more: Any) -> Draft:
    times = time_line(facts, "_timestamp")
    return Draft(
        title, [("judge", _prodigy_judge(facts), ""), ("item", "_input_hash", ""), *lines, *times],
        repeats="last" if times else None, **more,
    )  # fmt: skip


def prodigy_choice(facts: Facts) -> Draft | None:
    """Map Prodigy's choice interface: the chosen options stand in ``accept``."""
    if not facts.has("_input_hash", "accept", "answer"):
        return None
    each, lines = answer_lines("choice", "accept", facts.cells("accept"))
    where: list[dict[str, Any]] = [{"column": "answer", "in": ["accept"]}]
    if not each:
        where.append({"column": "accept", "not": ["[]"]})
    return _prodigy(facts, "Prodigy choice", lines, each=each, where=where)


def prodigy_textcat(facts: Facts) -> Draft | None:
    """Map Prodigy's yes/no questions: one label a row, and whether it was accepted."""
    if not facts.has("_input_hash", "answer") or facts.has("accept"):
        return None
    if "spans" in facts.names and any(facts.cells("spans")) and "label" not in facts.names:
        raise NoJudgmentsError(
            "Prodigy spans: which characters were marked is no label of an item; convert each "
            "span to a row with a label"
        )
    lines: list[Line] = [
        ("label", steps("answer", map={"accept": "yes", "reject": "no"}), "accept or reject")
    ]
    if facts.first("label"):
        lines.append(("task", "label", "a question for each label"))
    return _prodigy(facts, "Prodigy yes/no answers", lines, abstain=["ignore"])


def potato(facts: Facts) -> Draft | None:
    """Map Potato: a column ``question:::option`` for each option."""
    if not facts.has("user", "instance_id"):
        return None
    questions: dict[str, list[str]] = {}
    for name in facts.names:
        question, mark, option = name.partition(":::")
        if mark and facts.column(name).counts:
            questions.setdefault(question, []).append(option)
    if not questions:
        return None
    if len(questions) > 1:
        raise NoJudgmentsError(
            f"Potato: {len(questions)} questions ({', '.join(questions)}). Which one is this "
            "campaign about? Keep its columns, or write one source for each question"
        )
    [(question, options)] = questions.items()
    cells = [facts.sheet.table.column(f"{question}:::{o}").to_pylist() for o in options]
    most = max(sum(bool(c and c.strip()) for c in row) for row in zip(*cells, strict=True))
    lines: list[Line] = [("judge", "user", ""), ("item", "instance_id", "")]
    column = f"{question}:::{{option}}"
    if most <= 1:
        label = steps(column, map={"~.": "{option}"})
        lines += [("label", label, "the option whose column is filled")]
    else:
        chosen = {"join": [{"value": "="}, column], "map": {"=": "no", "~^=.": "yes"}}
        lines += [
            ("task", {"value": f"{question}:{{option}}"}, "several options can be chosen"),
            ("label", chosen, "yes where the cell is filled"),
        ]
    return Draft("Potato", lines, each={"option": options})


def zooniverse(facts: Facts) -> Draft | None:
    """Map Zooniverse classifications: a list of tasks and values in ``annotations``."""
    if not facts.has("classification_id", "user_name", "subject_ids", "annotations"):
        return None
    answers: dict[str, list[Any]] = {}
    for cell in facts.cells("annotations"):
        for one in cell if isinstance(cell, list) else []:
            answers.setdefault(str(one.get("task")), []).append(one.get("value"))
    questions = [
        task
        for task, values in answers.items()
        if all(isinstance(value, str | int | float | None) for value in values)
    ]
    if not questions:
        raise NoJudgmentsError(
            "Zooniverse: no task has one answer (drawings and several answers are lists); "
            f"tasks: {', '.join(answers)}. Which question should become labels?"
        )
    where = []
    if len(questions) < len(answers):
        where = [{"column": "{a.value}", "json": "task", "in": questions}]
    task = steps("{a.value}", json="task")
    return Draft(
        "Zooniverse classifications",
        [
            ("task", task, ""), ("judge", "user_name", ""), ("item", "subject_ids", ""),
            ("label", steps("{a.value}", json="value"), ""),
            ("native_id", {"join": ["classification_id", task], "sep": ":"}, ""),
            *time_line(facts, "created_at"),
        ],
        each={"a": {"list": "annotations"}}, where=where,
    )  # fmt: skip


def toloka(facts: Facts) -> Draft | None:
    """Map Toloka: INPUT, OUTPUT, GOLDEN and ASSIGNMENT columns."""
    outputs = [n for n in facts.names if n.startswith("OUTPUT:") and facts.column(n).counts]
    inputs = [n for n in facts.names if n.startswith("INPUT:") and facts.column(n).counts]
    if not outputs or not inputs or not facts.has("ASSIGNMENT:worker_id"):
        return None
    fitting = [name for name in outputs if is_few(facts.column(name))]
    if len(fitting) != 1:
        raise NoJudgmentsError(
            f"Toloka: which output is the answer: {', '.join(fitting or outputs)}? Write one "
            "source for each, with a task of its own"
        )
    [output] = fitting
    item: Any = inputs[0] if len(inputs) == 1 else {"join": inputs, "sep": " | "}
    lines: list[Line] = [
        ("judge", "ASSIGNMENT:worker_id", ""), ("item", item, ""), ("label", output, ""),
        *_golden("GOLDEN:" + output.removeprefix("OUTPUT:"), facts),
        *time_line(facts, "ASSIGNMENT:submitted", "ASSIGNMENT:started"),
    ]  # fmt: skip
    if facts.first("ASSIGNMENT:assignment_id"):
        lines.append(("hit", "ASSIGNMENT:assignment_id", ""))
    if facts.first("ASSIGNMENT:status"):
        status = steps("ASSIGNMENT:status", map={"REJECTED": "Rejected"}, otherwise="Approved")
        lines.append(("status", status, ""))
    return Draft("Toloka assignments", lines)


def _golden(gold: str, facts: Facts) -> list[Line]:
    """Return truth and control of a column that is filled for test questions alone."""
    if gold not in facts.names or not facts.column(gold).counts:
        return []
    n = len(facts.column(gold).filled)
    control = steps(gold, map={"~.": "known_answer"}, otherwise="none")
    return [("truth", gold, f"{n:,} filled"), ("control", control, f"{n:,} test questions")]


def figure_eight(facts: Facts) -> Draft | None:
    """Map the full report of Figure Eight (CrowdFlower, Appen): _unit_id, _worker_id, _golden."""
    if facts.has("_unit_id", "_unit_state") and not facts.has("_worker_id"):
        raise NoJudgmentsError(
            "Figure Eight: this is the aggregated report, one row a unit, without judges; "
            "download the full report"
        )
    if not facts.has("_unit_id", "_worker_id"):
        return None
    if numbered_row(facts.sheet, Choice(facts.sheet)):
        return None  # several judgments in a row, side by side
    own = [name for name in facts.names if not name.startswith("_")]
    varied = [
        name
        for name in own
        if not re.search(r"(_gold|_gold_reason|:confidence)$", name)
        and is_few(facts.column(name))
        and (f"{name}_gold" in own or not facts.sheet.determines("_unit_id", name))
    ]
    with_gold = [name for name in varied if f"{name}_gold" in own]
    answers = with_gold if len(varied) > 1 and len(with_gold) == 1 else varied
    if len(answers) != 1:
        raise NoJudgmentsError(
            f"Figure Eight: which column is the answer: {', '.join(answers or own)}? Write one "
            "source for each, with a task of its own"
        )
    [answer] = answers
    lines: list[Line] = [
        ("judge", "_worker_id", ""), ("item", "_unit_id", ""),
        *time_line(facts, "_created_at", "_started_at"),
    ]  # fmt: skip
    cells = facts.cells(answer)
    each: dict[str, Any] = {}
    if any(isinstance(cell, str) and "\n" in cell for cell in cells):
        options = sorted_options([str(cell).split("\n") for cell in cells])
        each = {"option": options}
        lines += [
            ("task", {"value": f"{answer}:{{option}}"}, "several answers in a cell: a task each"),
            ("label", steps(answer, split="\n", has="{option}"), "whether it was chosen"),
        ]
    else:
        lines.append(("label", answer, ""))
        gold = f"{answer}_gold"
        if gold in own and facts.column(gold).counts:
            lines.append(("truth", gold, f"{len(facts.column(gold).filled):,} filled"))
            if "_golden" in facts.names:
                control = steps("_golden", map=YES, otherwise="none")
                lines.append(("control", control, "test questions"))
            else:
                lines.append(_golden(gold, facts)[1])
    if "_id" in facts.names and facts.sheet.is_unique("_id"):
        native: Any = {"join": ["_id", {"value": "{option}"}], "sep": ":"} if each else "_id"
        lines.append(("native_id", native, ""))
    where = []
    if "_tainted" in facts.names:
        where = [{"column": "_tainted", "not": ["true", "TRUE", "True"]}]
    return Draft("Figure Eight, full report", lines, each=each, where=where)


LABEL_STUDIO = (
    "annotation_id", "annotator", "id", "created_at", "updated_at", "lead_time", "agreement",
    "project", "file_upload", "inner_id",
)  # fmt: skip


def label_studio_flat(facts: Facts) -> Draft | None:
    """Map Label Studio's JSON_MIN, CSV and TSV: one row an annotation, a column a question."""
    if not facts.has("annotation_id", "annotator", "id"):
        return None
    others = [n for n in facts.names if n not in LABEL_STUDIO and facts.column(n).counts]
    lists = {name: _chosen(facts.cells(name)) for name in others}
    fitting = [n for n in others if is_few(facts.column(n))]
    varied = [n for n in fitting if not facts.sheet.determines("id", n)]
    varied = varied or [n for n in fitting if "text" not in names.roles(n)]
    if len(varied) != 1:
        shown = ", ".join(varied or others)
        raise NoJudgmentsError(
            f"Label Studio: which column is the answer: {shown}? Write one source for each, with "
            "a task of its own; or export as JSON, which names the questions"
        )
    [answer] = varied
    times = time_line(facts, "updated_at", "created_at")
    lines: list[Line] = [
        ("judge", "annotator", ""), ("item", "id", ""), ("native_id", "annotation_id", ""), *times
    ]  # fmt: skip
    each: dict[str, Any] = {}
    if lists[answer]:
        options = sorted_options(lists[answer])
        each = {"option": options}
        del lines[2]
        keys = {'~(^|")({option})($|")': "yes"}
        lines += [
            ("task", {"value": f"{answer}:{{option}}"}, "several answers in a cell: a task each"),
            ("label", steps(answer, map=keys, otherwise="no"), "whether it was chosen"),
        ]
        if any(re.search(r"[^\w -]", option) for option in options):
            raise NoJudgmentsError(
                f"Label Studio: {answer} holds several answers with signs in their names; export "
                "as JSON instead"
            )
    else:
        lines.append(("label", answer, ""))
    repeats = "last" if times else None
    notes = ["this form of export leaves out which annotations were cancelled; JSON has them"]
    return Draft("Label Studio, flat", lines, each=each, repeats=repeats, notes=notes)


def _chosen(cells: list[Any]) -> list[Any]:
    """Return the choices of cells of which some hold several; [] where none does."""
    if not any(isinstance(cell, dict) and isinstance(cell.get("choices"), list) for cell in cells):
        return []
    return [cell["choices"] if isinstance(cell, dict) else [cell] for cell in cells]
