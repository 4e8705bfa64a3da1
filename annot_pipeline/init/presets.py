"""Presets: mappings of well-known exports, as data in ``presets/*.yaml``; one interpreter.

A preset says by which columns an export is known, and either the roles of columns (the engine does
the rest) or all fields. Keys of a preset:

- ``columns`` must be there, ``a|b`` one of them; ``absent`` must not; ``format``; ``loose``
  compares names without case and underscores; ``cells: {column: object | list}``; of ``values:
  {column: regex}`` some cell matches;
- ``roles: {role: column or [first that is there]}`` for the engine; ``answers: {like: glob, not:
  [globs], prefix: text}`` are the columns that may hold answers; ``survey: {not: [columns],
  person: [columns], asked: text of the last header of questions}`` takes a row as a person and a
  column as a question;
- ``fields``, ``each``, ``options``, ``strength``, ``kind``, ``scale``, ``repeats``, ``notes``,
  ``where``, ``abstain`` as campaign.yaml has them. ``answer: EXPRESSION`` is a label or a score by
  its values. In fields, ``{first: [a, b]}`` is the first column that is there, ``{varying: [a,
  b]}`` joins a with those of the others that vary, ``{if_varying: a, column: b}`` is b if a varies,
  ``{value: a, unless_model: b}`` is a if it is the name of a model,
  ``{path: p}`` in ``json`` counts only where cells are objects;
- ``for_each: glob`` makes a source of each matching column, ``for_keys: column`` of each key of its
  objects: ``{q}`` is what the star, or the key, stands for; ``alike`` is the preset of one source
  where all keys hold answers to one question;
- ``option_columns: separator`` reads ``question:::option`` columns; ``single_answers`` keeps the
  tasks of a list that have one answer; ``skip_header: text`` skips header rows that contain it;
- ``ask: text`` where a role has no column; ``refuse: text``, with ``repeated: [roles]`` only where
  rows repeat, ``unless_range: [column, low, high]`` or ``spans: column``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import filter as matching
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from annot_pipeline.config.judges import MODEL_NAME
from annot_pipeline.errors import ConfigError, Problem, first_of
from annot_pipeline.init import names
from annot_pipeline.init.alike import together
from annot_pipeline.init.answers import MOST_LABELS, answer_as, kind_of, scale_of
from annot_pipeline.init.groups import Group
from annot_pipeline.init.matrix import is_few, is_of_person, question_lines
from annot_pipeline.init.optional_fields import read_times
from annot_pipeline.init.questions import Line, NoJudgmentsError, Reading
from annot_pipeline.init.readings import is_unmapped_note, read_view
from annot_pipeline.init.table import Column, Sheet
from annot_pipeline.init.trial import try_reading
from annot_pipeline.init.views import numbered_views, parsed, rows_view

FOLDER = Path(__file__).parent / "presets"
FORMATS = ("csv", "json", "jsonl", "parquet")
LONGEST_NAME = 60
CELLS = {"object": dict, "list": list}
NESTED = "left out, since answers are spans or rankings:"
Preset = Mapping[str, Any]


@cache
def presets() -> dict[str, list[Preset]]:
    """Return all presets by name: the variants of each, in the order in which they are tried."""
    files = sorted(FOLDER.glob("*.yaml"))
    loaded = {file.stem: YAML(typ="safe").load(file.read_text("utf-8")) for file in files}
    return {name: p if isinstance(p, list) else [p] for name, p in loaded.items()}


def preset_readings(sheet: Sheet, group: Group, name: str | None = None) -> list[Reading]:
    """Return the readings of the preset that fits the files; [] if none does.

    Raises
    ------
    ConfigError
        There is no preset of that name.
    NoJudgmentsError
        The preset that was named does not fit, or one recognises what it cannot map.
    """
    if name is not None and name not in presets():
        problem = Problem("--preset", f"no preset {name}", allowed=", ".join(presets()))
        raise ConfigError("no such preset", [problem])
    if group.first.format not in FORMATS:
        return []
    for variants in [presets()[name]] if name else presets().values():
        for preset in variants:
            readings = _Interpreter(preset, sheet, group).readings()
            if readings:
                return readings
    if name is not None:
        about = presets()[name][0]
        raise NoJudgmentsError(
            f"preset {name} does not fit these columns. {about['title']} has "
            f"{', '.join(about.get('columns', about.get('columns_like', ())))}"
        )
    return []


def _is_single(value: Any) -> bool:
    """Return whether a value is no drawing, and no list of several."""
    one = value[0] if isinstance(value, list) and len(value) == 1 else value
    return isinstance(one, str | int | float | None)


class _Interpreter:
    """One preset on the rows of some files."""

    def __init__(self, preset: Preset, sheet: Sheet, group: Group) -> None:
        self.preset, self.sheet, self.group = preset, sheet, group
        known = {_loose(n): n for n in sheet.names} if preset.get("loose") else {}
        self.alias = {**known, **{n: n for n in sheet.names}}

    def find(self, name: str) -> str | None:
        """Return a column as the file spells it, if it is there and not blank."""
        name = self.alias.get(_loose(name) if self.preset.get("loose") else name, "")
        return name if name in self.sheet.names else None

    def first(self, columns: str | Sequence[str]) -> str | None:
        """Return the first column that is there and not mostly blank."""
        names_ = [columns] if isinstance(columns, str) else columns
        there = [self.sheet[found] for name in names_ if (found := self.find(name))]
        return next((c.name for c in there if len(c.filled) > c.n_blank), None)

    def cells(self, name: str) -> list[Any]:
        return [parsed(cell) for cell in self.sheet[name].filled[:5000].to_pylist()]

    def _lacks(self) -> bool:
        """Return whether a column is missing, or one is there that others have."""
        preset, named = self.preset, self.sheet.names
        needed = (any(map(self.find, n.split("|"))) for n in preset.get("columns", ()))
        likes = (any(fnmatchcase(n, g) for n in named) for g in preset.get("columns_like", ()))
        return (
            not all(needed)
            or not all(likes)
            or any(map(self.find, preset.get("absent", ())))
            or preset.get("format", self.group.first.format) != self.group.first.format
        )

    def _conditions(self) -> Iterator[bool]:
        """Yield whether cells, and how columns stand, are as the preset says."""
        preset, sheet = self.preset, self.sheet
        for columns, pattern in preset.get("values", {}).items():
            counts = sheet[name].counts if (name := self.first(columns.split("|"))) else ()
            yield any(re.search(pattern, value.lower()) for value in counts)
        for name, kind in preset.get("cells", {}).items():
            cells = self.cells(self.find(name) or "")
            yield bool(cells) and all(isinstance(c, CELLS[kind]) for c in cells)
        if preset.get("skip_when_numbered"):
            parts = [p for view in numbered_views(sheet) for p in view.parts]
            yield not any({"system", "item"} & names.roles(p).keys() for p in parts)
        if held := preset.get("contains"):
            likely = [n for n in sheet.names if fnmatchcase(n, held["column"])]
            texts = [cell for n in likely for cell in sheet[n].filled[:20].to_pylist()]
            yield any(f'"{held["text"]}"' in text for text in texts)
        yield len(sheet.names) >= preset.get("few_columns", 0)
        if name := preset.get("not_repeated"):
            lists = [cell for cell in self.cells(name) if isinstance(cell, list)]
            yield all(len({*map(str, cell)}) == len(cell) for cell in lists)
        yield sheet.names[0] in preset.get("first_columns", sheet.names)
        yield not (preset.get("no_judge") and any("judge" in names.roles(n) for n in sheet.names))

    def readings(self) -> list[Reading]:
        if self._lacks() or not all(self._conditions()):
            return []
        self._refuse()
        preset = self.preset
        if preset.get("only_refuse"):
            return []
        if "option_columns" in preset:
            found = self._option_columns(preset["option_columns"])
        elif "survey" in preset:
            found = self._survey(preset["survey"])
        elif "for_keys" in preset or "for_each" in preset:
            found = self._for_stems()
        elif "fields" in preset or "variants" in preset:
            found = [r for v in preset.get("variants", [{}]) if (r := self._whole({**preset, **v}))]
        else:
            found = self._by_roles()
        about = [f"mapped as {preset['title']}"], preset.get("notes", ())
        return [
            replace(
                r, title=preset["title"], is_preset=True, questions=[],
                notes=[*about[0], *(n for n in r.notes if not is_unmapped_note(n)), *about[1]],
            )
            for r in found
        ]  # fmt: skip

    def _refuse(self) -> None:
        preset = self.preset
        if "spans" in preset:
            column = self.find(preset["spans"]["column"])
            lacks = preset["spans"].get("unless")
            inner = [c for c in self.cells(column) if isinstance(c, list)] if column else []
            is_span = any(isinstance(one, list | dict) for cell in inner for one in cell)
            if is_span and not (lacks and self.find(lacks)):
                raise NoJudgmentsError(preset["spans"]["refuse"])
        if "ask" in preset:
            for role, text in preset["ask"].items():
                columns = preset.get("roles", {}).get(role, preset.get("fields", {}).get(role, ()))
                columns = columns.get("first", ()) if isinstance(columns, dict) else columns
                if len(self.group.paths) < 2 if columns == "file" else not self.first(columns):
                    raise NoJudgmentsError(text)
        if "unless_range" in preset:
            name, low, high = preset["unless_range"]
            numbers = self.sheet[self.find(name) or name].numbers
            if not numbers or min(numbers) < low or max(numbers) > high:
                raise NoJudgmentsError(preset["refuse"])
        elif "repeated" in preset:
            roles = {r: self._by_role(r) for r in preset["repeated"]}
            if all(roles.values()):
                columns = list(dict.fromkeys(v for v in roles.values() if v))
                if self.sheet.combinations(*columns) < len(self.sheet):
                    raise NoJudgmentsError(preset["refuse"].format(**roles))
        elif "refuse" in preset:
            raise NoJudgmentsError(preset["refuse"])

    def _by_role(self, role: str) -> str | None:
        ranked = [(names.likelihood(n, role), n) for n in self.sheet.names if self.sheet[n].counts]
        best = max(ranked, default=(0.0, None), key=lambda pair: pair[0])
        return best[1] if best[0] > 0 else None

    # --- by roles -----------------------------------------------------------------------------

    def _by_roles(self) -> list[Reading]:
        """Return what the engine makes of the rows, with the roles that are known."""
        preset, sheet = self.preset, self.sheet
        by_role: dict[str, tuple[str, ...]] = {}
        for role, columns in preset.get("roles", {}).items():
            if columns == "file":
                by_role[role] = ("file",)
            elif isinstance(columns, dict):
                by_role[role] = tuple(n for n in sheet.names if fnmatchcase(n, columns["like"]))
            elif found := self.first(columns):
                by_role[role] = (found,)
        answers = preset.get("answers", {})
        wanted = [n for n in sheet.names if fnmatchcase(n, answers.get("like", "*"))]
        wanted = [n for n in wanted if not any(fnmatchcase(n, g) for g in answers.get("not", ()))]
        if gold := answers.get("gold"):
            with_gold = [n for n in wanted if gold.replace("{q}", n) in sheet.names]
            wanted = with_gold or wanted
        if (times := by_role.pop("submitted_at", ())) and read_times(sheet[times[0]]):
            by_role["submitted_at"] = times
        named = [n for values in by_role.values() for n in values]
        by_role["all_answers"] = ()
        chosen = {*wanted, *named}
        part = Sheet([p.select([n for n in p.column_names if n in chosen]) for p in sheet.parts])
        rows = rows_view(part)
        readings = read_view(rows, self.group.first.format, by_role)
        if any(q.role in ("label", "item") for r in readings for q in r.questions):
            listed = ", ".join(n for n in wanted if n not in named)
            text = preset.get("no_answer", "which column is the answer: {}?")
            raise NoJudgmentsError(text.format(listed))
        prefix = answers.get("prefix", "")
        scores = preset.get("scores", "")
        readings = [_scored(r, rows.sheet, scores) if scores else r for r in readings]
        return [self._with_extras(_unprefixed(r, prefix), prefix) for r in readings]

    def _with_extras(self, reading: Reading, prefix: str) -> Reading:
        preset = self.preset
        answer = reading.columns[0] if reading.columns else ""
        lines = []
        truth = preset.get("answers", {}).get("truth", "")
        gold = truth.replace("{q}", answer.removeprefix(prefix))
        if gold in self.sheet.names and self.sheet[gold].counts and not reading.each:
            lines.append(("truth", gold, f"{len(self.sheet[gold].filled):,} filled"))
            if not preset.get("lines", {}).get("control") and self.sheet[gold].n_blank:
                control = {"column": gold, "map": {"~.": "known_answer"}, "else": "none"}
                lines.append(("control", control, "test questions"))
        for field, expression in preset.get("lines", {}).items():
            if field == "control" and not any(line[0] == "truth" for line in lines) and gold:
                continue
            if all(c in self.sheet.names for c in _columns(expression)):
                lines.append((field, expression, ""))
        where = [c for c in preset.get("where", ()) if self.find(c["column"])]
        if not reading.each:
            where += preset.get("where_single", [])
        if reading.each and reading.has("native_id"):
            reading = replace(reading, lines=[x for x in reading.lines if x[0] != "native_id"])
        if preset.get("question") and reading.each:
            task = reading.expression("task")
            value = task["value"].replace(f"{answer}:", f"{preset['question']}:")
            lines.append(("task", {"value": value}, "several answers in a cell: a task each"))
        return replace(reading.with_lines(*lines), where=where)

    # --- whole ----------------------------------------------------------------------------------

    def _whole(self, preset: Preset) -> Reading | None:
        """Return the reading of a preset that says all fields."""
        where = [*map(self._expression, preset.get("where", ()))]
        if self.find(preset.get("if_absent", "")):
            return None
        filled = [c for c in where if c.get("not") == [""] and "json" not in c]
        where = [c for c in where if c not in filled or self.sheet[c["column"]].n_blank]
        if only := preset.get("if_values"):
            column = self.find(only["column"])
            present = [v for v in only["in"] if column and v in self.sheet[column].counts]
            if not present:
                return None
            if len(self.sheet[column or ""].counts) > len(present):
                where.append({"column": column, "in": present})
        lines: list[Line] = []
        for field, written in preset["fields"].items():
            expression = self._expression(written)
            if expression is None:
                continue
            if field == "submitted_at":
                times = self.sheet[expression] if expression in self.sheet.names else None
                if times is None or not (read := read_times(times)):
                    continue
                expression = read[0]
            lines.append((field, expression, ""))
        each = self._expression(preset.get("each", {}))
        notes: list[str] = []
        if single := preset.get("single_answers"):
            where, notes = self._single_answers(single)
        reading = Reading(
            preset["title"], lines, preset.get("kind", "categorical"),
            tuple(preset["scale"]) if "scale" in preset else None,
            each=each, where=where, abstain=[*preset.get("abstain", ())],
            options=dict(preset.get("options", {})), notes=notes,
            strength=tuple(preset["strength"]) if "strength" in preset else None,
            repeats=preset.get("repeats") if any(x[0] == "submitted_at" for x in lines) else None,
        )  # fmt: skip
        if "answer" in preset:
            reading = self._with_answer(reading, self._expression(preset["answer"]))
        return reading

    def _with_answer(self, reading: Reading, expression: Any) -> Reading:
        """Return the reading with a label, or a score, by the values of an expression."""
        probe = reading.with_lines(("label", expression, ""))
        labels = try_reading(probe, self.group).used["label"]
        column = Column("answer", expression, labels.cast("string"))
        numbers = column.numbers.keys() - {0.0, 1.0}
        if (column.numeric_share == 1 and numbers) or kind_of(column, None) == "scalar":
            answer = answer_as(column, "scalar")
            reading = replace(reading, kind="scalar", scale=answer.scale)
            return reading.with_lines(("score", expression, answer.lines[0][2]))
        return replace(probe, kind="categorical")

    def _expression(self, written: Any) -> Any:
        """Return an expression with the columns that the file has; None where it lacks them."""
        if isinstance(written, str):
            return self.find(written) or (written if "{" in written or "." in written else None)
        if isinstance(written, list):
            return [self._expression(one) for one in written]
        if isinstance(written, dict) and "unless_model" in written:
            name = written["value"]
            return {"value": name if MODEL_NAME.search(name) else written["unless_model"]}
        if not isinstance(written, dict) or "value" in written:
            return written
        if "first" in written:
            return self.first(written["first"])
        if "varying" in written:
            head, *rest = [self._expression(one) for one in written["varying"]]
            more = [name for name in rest if self._varies(name)]
            return {"join": [head, *more], "sep": written.get("sep", ":")} if more else head
        changed = dict(written)
        if name := changed.pop("if_varying", None):
            return self.find(changed["column"]) if self._varies(name) else None
        if isinstance(changed.get("column"), str):
            changed["column"] = self.find(changed["column"]) or changed["column"]
            if changed["column"] not in self.sheet.names and "{" not in changed["column"]:
                return None
        if isinstance(keys := changed.get("json"), list):
            cells = " ".join(self.sheet[self.preset["contains"]["column"]].filled[:20].to_pylist())
            changed["json"] = next((key for key in keys if f'"{key}"' in cells), keys[0])
        if isinstance(path := changed.get("json"), dict):
            is_object = all(isinstance(c, dict) for c in self.cells(changed["column"]))
            inner = {"column": changed["column"], "json": path["path"]}
            changed = inner if is_object else changed["column"]
        if isinstance(changed, dict) and "join" in changed:
            changed["join"] = [e for e in map(self._expression, changed["join"]) if e is not None]
        return changed

    def _varies(self, name: str | None) -> bool:
        return name in self.sheet.names and self.sheet[name].n_distinct > 1

    def _single_answers(self, single: Mapping[str, str]) -> tuple[list[dict[str, Any]], list[str]]:
        """Return a condition for the tasks with one answer, and a note on the others."""
        answers: dict[str, list[Any]] = {}
        for cell in self.cells(single["list"]):
            for one in cell if isinstance(cell, list) else []:
                values = answers.setdefault(str(one.get(single["name"])), [])
                values.append(one.get(single["value"]))
        tasks = [task for task, values in answers.items() if all(map(_is_single, values))]
        if not tasks:
            raise NoJudgmentsError(single["refuse"].format(", ".join(answers)))
        if len(tasks) == len(answers):
            return [], []
        left = [f"{t} ({len(answers[t]):,} answers)" for t in answers if t not in tasks]
        where = {"column": "{a.value}", "json": single["name"], "in": tasks}
        return [where], [f"left out, since answers are lists or drawings: {', '.join(left[:20])}"]

    # --- other shapes ---------------------------------------------------------------------------

    def _stems(self) -> Iterable[str]:
        """Return what the star of ``for_each`` stands for, or the keys of ``for_keys``."""
        if column := self.preset.get("for_keys"):
            return dict.fromkeys(key for cell in self.cells(column) for key in cell)
        before, _, after = self.preset["for_each"].partition("*")
        named = [n for n in self.sheet.names if fnmatchcase(n, self.preset["for_each"])]
        return [name[len(before) : len(name) - len(after)] for name in named]

    def _for_stems(self) -> list[Reading]:
        """Return a reading for each stem, or one if all hold answers to one question."""
        readings: dict[str, Reading] = {}
        classes: list[Any] = []
        nested: list[str] = []
        for stem in self._stems():
            preset = _replaced(self.preset, "{q}", stem)
            where = [c for c in preset.get("where", ()) if c["column"] in self.sheet.names]
            reading = self._whole({**preset, "where": where})
            if reading is None or not {*preset.get("needs", ())} <= {*self.sheet.names}:
                continue
            counts = try_reading(reading, self.group).counts("label")
            if any('{"' in answer for answer in counts):
                nested.append(stem)
                continue
            if options := _options_of(counts):
                reading = _option_tasks(reading, stem, options)
            readings[stem] = reading
            classes.append(set(counts) if reading.kind == "categorical" else reading.scale)
        if not readings:
            raise NoJudgmentsError(f"{self.preset['title']}: {NESTED} {first_of(nested)}")
        alike = self.preset.get("alike")
        if alike and _are_of_one_question(classes, alike["classes"]):
            return [r for r in [self._whole({**self.preset, **alike})] if r]
        note = [f"{NESTED} {first_of(nested)}"] * bool(nested)
        return by_question({k: replace(r, notes=[*r.notes, *note]) for k, r in readings.items()})

    def _option_columns(self, mark: str) -> list[Reading]:
        """Return a reading for each question whose options are columns: question:::option."""
        questions: dict[str, list[str]] = {}
        for name in self.sheet.names:
            question, found, option = name.partition(mark)
            if found and self.sheet[name].counts:
                questions.setdefault(question, []).append(option)
        if not questions:
            return []
        mapped = {q: self._options(q, options, mark) for q, options in questions.items()}
        readings = {q: r for q, r in mapped.items() if r}
        if not readings:
            raise NoJudgmentsError(self.preset["no_answer"].format(", ".join(questions)))
        return by_question(readings)

    def _options(self, question: str, written: list[str], mark: str) -> Reading | None:
        lines: list[Line] = [(r, c, "") for r, c in self.preset["roles"].items()]
        title, sheet = self.preset["title"], self.sheet
        if len(written) == 1:
            values = sheet[f"{question}{mark}{written[0]}"]
            if values.n_distinct > 1:  # numbers of a slider, or texts
                if values.numeric_share < 1:
                    return None
                answer = answer_as(values, "scalar")
                return Reading(title, [*lines, *answer.lines], "scalar", answer.scale)
        options = [o for o in written if sheet[f"{question}{mark}{o}"].n_distinct == 1]
        if not options:
            return None
        cells = [sheet.table.column(f"{question}{mark}{o}").to_pylist() for o in options]
        most = max(sum(bool(c and c.strip()) for c in row) for row in zip(*cells, strict=True))
        column = f"{question}{mark}{{option}}"
        if most <= 1:
            label: Any = {"column": column, "map": {"~.": "{option}"}}
            lines += [("label", label, "the option whose column is filled")]
        else:
            label = {"join": [{"value": "="}, column], "map": {"=": "no", "~^=.": "yes"}}
            lines += [
                ("task", {"value": f"{question}:{{option}}"}, "several options can be chosen"),
                ("label", label, "yes where the cell is filled"),
            ]
        notes = [f"{question}{mark}{o} holds text: left out" for o in written if o not in options]
        return Reading(title, lines, each={"option": options}, notes=notes)

    def _survey(self, survey: Mapping[str, Any]) -> list[Reading]:
        """Return one row a person, one column a question; sliders are a source of their own."""
        sheet = self.sheet
        heads: list[Mapping[str, str | None]] = []
        if text := survey.get("skip_header"):
            rows = sheet.table.slice(0, 2).to_pylist()
            heads = [row for row in rows if text in (row[self.find(survey["key"]) or ""] or "")]
        skip = 2 * len(heads)
        named = [n for n in sheet.names if " ".join(names.words(n)) in survey.get("names", ())]
        besides = {n for p in survey["not"] for n in matching(sheet.names, p)} | {*named}
        asked = {n for head in heads for n in head if survey["asked"] in (head[n] or "")}
        besides |= {n for n in sheet.names if asked and n not in asked}  # of whoever built it

        def column_of(name: str) -> Column:
            return Column(name, name, sheet.table.column(name).slice(skip))

        offered = [n for n in sheet.names if n not in besides and not n.endswith("_TEXT")]
        every = {n: column_of(n) for n in offered}
        columns = [c for n, c in every.items() if not is_of_person(n)]
        few = [c for c in columns if is_few(c) and not _is_written(c)]
        varied = [c for c in few if c.n_distinct > 1 or len(c.filled) < 5]
        values = {value for c in varied for value in c.counts}  # all may give one of these alike
        questions = [c.name for c in few if c in varied or c.counts.keys() <= values]
        numbers = [c for c in every.values() if c.n_distinct > MOST_LABELS and c.is_whole]
        whole = [c for c in numbers if scale_of(c) == (c.low, c.high)]  # which an age hardly spans
        sliders = [c.name for c in numbers if scale_of(c) and (c in whole or c in columns)]
        sliders *= len(sliders) > 1
        questions = [n for n in questions if n not in sliders]
        if not questions and not sliders:
            raise NoJudgmentsError(f"{self.preset['title']}: no column holds answers of few values")
        person: Any = self.first(survey["person"]) or next(filter(self._is_person, named), None)
        notes = [f"questions: {first_of([*questions, *sliders], 5)}; remove what is none"]
        if person is None:
            person = {"join": [{"value": "respondent "}, {"row": True}]}
            notes.append("no column says who answered: each row is taken for another person")
        times: list[Line] = []
        for name in survey["times"]:
            column = column_of(name) if name in sheet.names else None
            if column is not None and column.counts and (read := read_times(column)):
                times = [("submitted_at", *read)]
                break
        return [
            Reading(
                self.preset["title"],
                [("judge", person, ""), *question_lines(some, are_scores), *times],
                "scalar" if are_scores else "categorical",
                scale_of(together(sheet, some)) if are_scores else None,
                each={"question": some}, notes=notes, options={"skip_rows": skip} if skip else {},
                where=[c for c in self.preset.get("where", ()) if self.find(c["column"])],
            )
            for are_scores, some in ((False, questions), (True, sliders)) if some
        ]  # fmt: skip

    def _is_person(self, name: str) -> bool:
        """Return whether a column holds another short text in every row."""
        column = self.sheet[name]
        is_text = column.numeric_share == 0 and column.mean_length <= LONGEST_NAME
        return is_text and self.sheet.is_unique(name)


def _is_written(column: Column) -> bool:
    """Return whether most of many different answers were given once, as texts of people are."""
    n_once = sum(n == 1 for n in column.counts.values())
    return column.n_distinct > MOST_LABELS and 2 * n_once > column.n_distinct


def _scored(reading: Reading, sheet: Sheet, pattern: str) -> Reading:
    """Return a reading with scores in place of labels where its column matches a pattern."""
    name = next((n for n in reading.columns if fnmatchcase(n, pattern)), None)
    if name is None or reading.kind == "scalar":
        return reading
    answer, question = answer_as(sheet[name], "scalar"), name.partition(".")[0]
    lines = [line for line in reading.lines if line[0] not in ("label", "task")]
    named = [("task", {"value": question}, "a question")] * reading.has("task")
    return replace(
        reading, lines=[*lines, *named, *answer.lines], kind="scalar", scale=answer.scale,
        labels={}, tasks=[question] * reading.has("task"),
    )  # fmt: skip


def _are_of_one_question(classes: Sequence[Any], usual: Sequence[str]) -> bool:
    """Return whether sets of labels all are of usual ones or share some, or scales are equal."""
    first = classes[0]
    if not all(isinstance(one, set) for one in classes):
        return all(one == first for one in classes)
    return all(one <= {*usual} for one in classes) or all(one & first for one in classes)


def _options_of(answers: Iterable[str]) -> list[str]:
    """Return what answers that are lists choose from; [] if some are none."""
    lists = [parsed(answer) for answer in answers]
    chosen = {str(one) for answer in lists if isinstance(answer, list) for one in answer}
    return sorted(chosen) if all(isinstance(answer, list) for answer in lists) else []


def _option_tasks(reading: Reading, question: str, options: Sequence[str]) -> Reading:
    """Return a reading of answers that choose several options: a task for each."""
    label = {**reading.expression("label"), "has": "{option}"}
    return replace(reading, each={**reading.each, "option": [*options]}).with_lines(
        ("task", {"value": f"{question}:{{option}}"}, "several answers in a cell: a task each"),
        ("label", label, "whether it was chosen"),
    )


def by_question(readings: Mapping[str, Reading]) -> list[Reading]:
    """Return readings by question; where there are several, each is of a task of its own."""
    if len(readings) == 1:
        return [*readings.values()]
    note = f"{len(readings)} questions, a source each: {', '.join(readings)}"
    return [
        replace(r if r.has("task") else r.with_lines(("task", {"value": q}, "a question")),
                notes=[*r.notes, note])
        for q, r in readings.items()
    ]  # fmt: skip


def _unprefixed(reading: Reading, prefix: str) -> Reading:
    """Return a reading whose tasks are called without what all names of answers start with."""
    task = reading.expression("task")
    if not prefix or not isinstance(task, dict) or "value" not in task:
        return reading
    if "question" in reading.each:
        each = [q.removeprefix(prefix) for q in reading.each["question"]]
        field = "score" if reading.kind == "scalar" else "label"
        reading = replace(reading, each={**reading.each, "question": each}, tasks=each)
        return reading.with_lines((field, prefix + "{question}", ""))
    return reading.with_lines(("task", {"value": task["value"].removeprefix(prefix)}, "a question"))


def _columns(expression: Any) -> list[str]:
    if isinstance(expression, str):
        return [expression]
    return [expression["column"]] if "column" in expression else []


def _replaced(value: Any, old: str, new: str) -> Any:
    if isinstance(value, str):
        return value.replace(old, new)
    if isinstance(value, Mapping):
        return {key: _replaced(inner, old, new) for key, inner in value.items()}
    return [_replaced(one, old, new) for one in value] if isinstance(value, list) else value


def _loose(name: str) -> str:
    return name.lower().replace("_", "")
