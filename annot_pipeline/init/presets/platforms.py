"""Annotation tools and crowdsourcing platforms."""

from __future__ import annotations

import re
from typing import Any

from annot_pipeline.init import names
from annot_pipeline.init.answers import NoJudgmentsError, kind_of
from annot_pipeline.init.columns import Choice
from annot_pipeline.init.drafts import Draft, by_length
from annot_pipeline.init.numbered import numbered_row
from annot_pipeline.init.objects import Line
from annot_pipeline.init.presets.facts import (
    Facts,
    answer_line,
    answer_lines,
    by_question,
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


def potato(facts: Facts) -> list[Draft] | None:
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
    mapped = {
        question: _potato_question(facts, question, questions[question]) for question in questions
    }
    drafts = {question: draft for question, draft in mapped.items() if draft}
    if not drafts:
        raise NoJudgmentsError(
            f"Potato: {', '.join(questions)} hold free text. Which question should become labels?"
        )
    return by_question(drafts)


def _potato_question(facts: Facts, question: str, written: list[str]) -> Draft | None:
    """Return the mapping of a question; None for free text."""
    lines: list[Line] = [("judge", "user", ""), ("item", "instance_id", "")]
    if len(written) == 1:
        values = facts.column(f"{question}:::{written[0]}")
        if values.n_distinct > 1:  # numbers of a slider, or texts
            if values.numeric_share < 1:
                return None
            kind, scale, answer = answer_line(values, "scalar")
            return Draft("Potato", [*lines, answer], kind, scale=scale)
    options = [o for o in written if facts.column(f"{question}:::{o}").n_distinct == 1]
    if not options:
        return None
    cells = [facts.sheet.table.column(f"{question}:::{o}").to_pylist() for o in options]
    most = max(sum(bool(c and c.strip()) for c in row) for row in zip(*cells, strict=True))
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
    notes = [f"{question}:::{o} holds text: left out" for o in written if o not in options]
    return Draft("Potato", lines, each={"option": options}, notes=notes)


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
    where: list[dict[str, Any]] = []
    notes = []
    if len(questions) < len(answers):
        where = [{"column": "{a.value}", "json": "task", "in": questions}]
        tasks = [f"{t} ({len(answers[t]):,} answers)" for t in answers if t not in questions]
        notes = [f"left out, since answers are lists or drawings: {by_length(tasks, 20)}"]
    task = steps("{a.value}", json="task")
    return Draft(
        "Zooniverse classifications",
        [
            ("task", task, ""), ("judge", "user_name", ""), ("item", "subject_ids", ""),
            ("label", steps("{a.value}", json="value"), ""),
            ("native_id", {"join": ["classification_id", task], "sep": ":"}, ""),
            *time_line(facts, "created_at"),
        ],
        each={"a": {"list": "annotations"}}, where=where, notes=notes,
    )  # fmt: skip


def toloka(facts: Facts) -> list[Draft] | None:
    """Map Toloka: INPUT, OUTPUT, GOLDEN and ASSIGNMENT columns."""
    outputs = [n for n in facts.names if n.startswith("OUTPUT:") and facts.column(n).counts]
    inputs = [n for n in facts.names if n.startswith("INPUT:") and facts.column(n).counts]
    if not outputs or not inputs or not facts.has("ASSIGNMENT:worker_id"):
        return None
    fitting = _answers(facts, outputs)
    if not fitting:
        raise NoJudgmentsError(
            f"Toloka: which output is the answer: {', '.join(outputs)}? All look like free text"
        )
    return by_question(
        {n.removeprefix("OUTPUT:"): _toloka_question(facts, inputs, n) for n in fitting}
    )


def _toloka_question(facts: Facts, inputs: list[str], output: str) -> Draft:
    kind, scale, answer = answer_line(facts.column(output))
    item: Any = inputs[0] if len(inputs) == 1 else {"join": inputs, "sep": " | "}
    lines: list[Line] = [
        ("judge", "ASSIGNMENT:worker_id", ""), ("item", item, ""), answer,
        *_golden("GOLDEN:" + output.removeprefix("OUTPUT:"), facts),
        *time_line(facts, "ASSIGNMENT:submitted", "ASSIGNMENT:started"),
    ]  # fmt: skip
    if facts.first("ASSIGNMENT:assignment_id"):
        lines.append(("hit", "ASSIGNMENT:assignment_id", ""))
    if facts.first("ASSIGNMENT:status"):
        status = steps("ASSIGNMENT:status", map={"REJECTED": "Rejected"}, otherwise="Approved")
        lines.append(("status", status, ""))
    return Draft("Toloka assignments", lines, kind, scale=scale)


def _answers(facts: Facts, columns: list[str]) -> list[str]:
    """Return the columns that hold labels or scores: few values, and no times or durations."""
    return [
        name
        for name in columns
        if (is_few(facts.column(name)) or kind_of(facts.column(name), None) == "scalar")
        and not {"time", "seconds"} & names.roles(name).keys()
    ]


def _golden(gold: str, facts: Facts) -> list[Line]:
    """Return truth and control of a column that is filled for test questions alone."""
    if gold not in facts.names or not facts.column(gold).counts:
        return []
    n = len(facts.column(gold).filled)
    control = steps(gold, map={"~.": "known_answer"}, otherwise="none")
    return [("truth", gold, f"{n:,} filled"), ("control", control, f"{n:,} test questions")]


def figure_eight(facts: Facts) -> list[Draft] | None:
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
        for name in _answers(facts, own)
        if not re.search(r"(_gold|_gold_reason|:confidence)$", name)
        and (f"{name}_gold" in own or not facts.sheet.determines("_unit_id", name))
    ]
    answers = [name for name in varied if f"{name}_gold" in own] or varied
    if not answers:
        raise NoJudgmentsError(
            f"Figure Eight: which column is the answer: {', '.join(own)}? None has few values that "
            "differ between the judges of a unit"
        )
    return by_question({name: _figure_eight_question(facts, name) for name in answers})


def _figure_eight_question(facts: Facts, answer: str) -> Draft:
    own = [name for name in facts.names if not name.startswith("_")]
    kind, scale, answer_as_is = answer_line(facts.column(answer))
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
        kind, scale = "categorical", None
    else:
        lines.append(answer_as_is)
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
    return Draft("Figure Eight, full report", lines, kind, each=each, where=where, scale=scale)


def mqm(facts: Facts) -> None:
    """Refuse MQM: a row an error of a segment, with its category and severity."""
    rater, system = facts.with_role("judge"), facts.with_role("system")
    segment = facts.with_role("segment")
    if not (facts.has("category", "severity") and rater and system and segment):
        return
    names_of_answer = list(dict.fromkeys([rater, system, segment]))
    if facts.sheet.combinations(*names_of_answer) < len(facts.sheet):
        raise NoJudgmentsError(
            "MQM: a row is one error, and a judge has several for one segment; an error is no "
            "judgment of the segment. Which score should a segment have from a judge's errors? "
            "Sum their weights (in Freitag et al. 2021: 5 for major, 1 for minor) to a row for "
            f"each {rater}, {system} and {segment}, with 0 where there is none"
        )


LABEL_STUDIO = (
    "annotation_id", "annotator", "id", "created_at", "updated_at", "lead_time", "agreement",
    "project", "file_upload", "inner_id",
)  # fmt: skip


def label_studio_flat(facts: Facts) -> list[Draft] | None:
    """Map Label Studio's JSON_MIN, CSV and TSV: one row an annotation, a column a question."""
    if not facts.has("annotation_id", "annotator", "id"):
        return None
    fields = [n for n in facts.names if n not in LABEL_STUDIO and facts.column(n).counts]
    fitting = _answers(facts, fields)
    varied = [n for n in fitting if not facts.sheet.determines("id", n)]
    if not varied:
        varied = [n for n in fitting if "text" not in names.roles(n)]
        if len(varied) != 1:
            raise NoJudgmentsError(
                f"Label Studio: which column is the answer: {', '.join(varied or fields)}? Nothing "
                "differs between the annotations of a task; export as JSON, which names questions"
            )
    return by_question({name: _label_studio_question(facts, name) for name in varied})


def _label_studio_question(facts: Facts, answer: str) -> Draft:
    chosen = _chosen(facts.cells(answer))
    kind, scale, answer_as_is = answer_line(facts.column(answer))
    times = time_line(facts, "updated_at", "created_at")
    lines: list[Line] = [
        ("judge", "annotator", ""), ("item", "id", ""), ("native_id", "annotation_id", ""), *times
    ]  # fmt: skip
    each: dict[str, Any] = {}
    if chosen:
        kind, scale, options = "categorical", None, sorted_options(chosen)
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
        lines.append(answer_as_is)
    repeats = "last" if times else None
    notes = ["this form of export leaves out which annotations were cancelled; JSON has them"]
    return Draft(
        "Label Studio, flat", lines, kind, each=each, repeats=repeats, scale=scale, notes=notes
    )


def _chosen(cells: list[Any]) -> list[Any]:
    """Return the choices of cells of which some hold several; [] where none does."""
    if not any(isinstance(cell, dict) and isinstance(cell.get("choices"), list) for cell in cells):
        return []
    return [cell["choices"] if isinstance(cell, dict) else [cell] for cell in cells]
