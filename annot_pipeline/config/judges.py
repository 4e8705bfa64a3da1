"""The section ``judges`` of campaign.yaml and its table: who is a person or model, who counts."""

from __future__ import annotations

import csv
import glob
import hashlib
import io
import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import (
    Field,
    SerializerFunctionWrapHandler,
    field_validator,
    model_serializer,
    model_validator,
)

from annot_pipeline.config.strict_section import Section
from annot_pipeline.errors import ConfigError, Problem, shorten

Kind = Literal["human", "model"]
OF_MODELS = ("version", "prompt", "temperature")
"""Settings that models alone have; each is a part of a model's name."""
MODEL_NAME = re.compile(
    r"(?<![a-z])(?:(?P<openai>gpt[-_ ]?\d|chatgpt|o[134](?:-mini|-preview)|text-davinci)"
    r"|(?P<anthropic>claude[-_ ]?(?:v?\d|opus|sonnet|haiku|instant))"
    r"|(?P<google>gemini|gemma-?\d|palm-?2)|(?P<meta>llama)|(?P<mistral>mistral|mixtral)"
    r"|(?P<qwen>qwen)|(?P<deepseek>deepseek)|(?P<xai>grok-?\d)|(?P<cohere>command-r)"
    r"|(?P<microsoft>phi-?\d)|(?P<amazon>nova[-_ ](?:micro|lite|pro|premier))"
    r"|(?P<other>llm|model_graded|prometheus-|judgelm|auto[-_ ]?rater"
    r"|(?:claude|gpt|grok)[-_ ](?:as[-_ ]a[-_ ])?(?:judge|grader|rater|eval)))",
    re.IGNORECASE,
)
"""Names of model families, as evaluations write them."""
BARE_MODEL_NAME = re.compile(
    r"(?P<openai>(?:chat[-_ ]?)?gpt)|(?P<anthropic>claude)|(?P<google>gemma|bard|palm)"
    r"|(?P<xai>grok)|(?P<microsoft>phi)|(?P<amazon>nova)|(?P<cohere>command)",
    re.IGNORECASE,
)
"""Names of families without a version, which may be people's unless other judges are models."""
VERSION_SUFFIX = re.compile(r" \((?:version|prompt|temperature) [^()]*\)$")


def model_families(names: Iterable[str], *, has_models: bool = False) -> dict[str, str]:
    """Return the judges who are named like language models, with the families of their names.

    Parameters
    ----------
    names
        Of judges.
    has_models
        Whether the campaign declares models; a name like claude is then a model's, as it is where
        another judge has the name of a model, or where one of several such names is gpt.
    """
    models = {name: match for name in names if (match := MODEL_NAME.search(name))}
    bare = {name: match for name in names if (match := BARE_MODEL_NAME.fullmatch(name.strip()))}
    is_gpt = any(match.lastgroup == "openai" for match in bare.values())
    if models or has_models or (len(bare) > 1 and is_gpt):
        models = bare | models
    return {name: match.lastgroup or "other" for name, match in models.items()}


class JudgeSettings(Section):
    """Describes the judges whose names match ``name``; the first match applies.

    Judges of one family are related: their labels of an item count as one judge's. Each model has
    an effect of its own of the order in which it is shown two outputs. Another version, prompt or
    temperature is another judge.

    Parameters
    ----------
    name
        Glob on the judge's name as exports have it.
    kind
        human or model.
    family
        Family of related judges: their labels of an item count as one judge's.
    version
        Version of a model; part of its name.
    prompt
        Prompt of a model, or what identifies it; its hash is part of the model's name.
    temperature
        Temperature of a model; part of its name.
    """

    name: str
    kind: Kind = "human"
    family: str | None = Field(default=None, min_length=1)
    version: str | None = Field(default=None, min_length=1)
    prompt: str | None = Field(default=None, min_length=1)
    temperature: float | None = Field(default=None, ge=0)

    def matches(self, name: str) -> bool:
        """Return whether the entry is of a judge, with or without its version."""
        return fnmatchcase(name, self.name) or fnmatchcase(plain_name(name), self.name)

    @field_validator("version")
    @classmethod
    def _has_no_parentheses(cls, version: str | None) -> str | None:
        if version is not None and any(c in version for c in "()"):
            raise ValueError(f"{version!r} holds a parenthesis; write it without")
        return version

    @model_validator(mode="after")
    def _models_have_versions(self) -> Self:
        named = [name for name in OF_MODELS if getattr(self, name) is not None]
        if named and self.kind != "model":
            raise ValueError(f"{' and '.join(named)} belong to kind: model")
        return self


class Judges(Section):
    """Declares judges, and sets whose judgments count.

    A list stands for ``declared``.

    Parameters
    ----------
    use
        Whose judgments count. null: those of people in tasks that people judged, else those of
        models; all if no model is declared.
    declared
        Judges by name. The first entry whose name matches a judge applies; a judge whom none
        matches is a person.
    epsilon
        Advantage that a person may have in the alternative annotator test: 0.1 for a crowd,
        0.15 for trained judges, 0.2 for experts.
    people_items
        Whether the items that people judge are a random sample of those that models judge, or
        were chosen.
    """

    use: Literal["humans", "models", "all"] | None = None
    declared: tuple[JudgeSettings, ...] = ()
    epsilon: float = Field(default=0.1, ge=0, le=1)
    people_items: Literal["random", "chosen"] = "random"

    @model_validator(mode="before")
    @classmethod
    def _list_is_declared(cls, value: Any) -> Any:
        return {"declared": tuple(value)} if isinstance(value, list | tuple) else value

    @model_validator(mode="after")
    def _uses_what_is_declared(self) -> Self:
        if self.use == "models" and not self.has_models:
            raise ValueError("use: models needs an entry of declared with kind: model")
        return self

    @model_serializer(mode="wrap")
    def _as_list(self, handler: SerializerFunctionWrapHandler) -> Any:
        """Return the list alone where nothing else is set, as campaigns have always had it."""
        document = handler(self)
        document["declared"] = [
            {
                key: value
                for key, value in entry.items()
                if key not in OF_MODELS or value is not None
            }
            for entry in document["declared"]
        ]
        names = {name for name in self.model_fields_set if name != "declared"}
        is_plain = all(getattr(self, n) == type(self).model_fields[n].default for n in names)
        return document["declared"] if is_plain else document

    @property
    def has_models(self) -> bool:
        """Return whether any judges are declared to be models."""
        return any(entry.kind == "model" for entry in self.declared)


def entry_for(name: str, declared: Sequence[JudgeSettings]) -> JudgeSettings | None:
    """Return the first entry that matches a judge's name, with or without its version."""
    return next((entry for entry in declared if entry.matches(name)), None)


def is_model(name: str, declared: Sequence[JudgeSettings]) -> bool:
    """Return whether a judge is declared to be a model."""
    entry = entry_for(name, declared)
    return entry is not None and entry.kind == "model"


def plain_name(name: str) -> str:
    """Return a judge's name without version, prompt and temperature."""
    return VERSION_SUFFIX.sub("", name)


def versioned_name(
    name: str, version: str | None, prompt: str | None, temperature: str | None
) -> str:
    """Return a model's name with its version, the hash of its prompt, and its temperature."""
    parts = [
        f"{what} {value}"
        for what, value in (
            ("version", version), ("prompt", prompt), ("temperature", temperature)
        )
        if value
    ]  # fmt: skip
    return f"{name} ({', '.join(parts)})" if parts else name


def prompt_hash(prompt: str | None) -> str | None:
    """Return the first 12 hex digits of the SHA-256 of a prompt, or of what stands for it."""
    return None if prompt is None else hashlib.sha256(prompt.encode()).hexdigest()[:12]


COLUMNS = ("judge", "kind", "family", "version", "prompt", "temperature")
LARGEST_BYTES = 16 << 20
WHERE = "judges.table"


def with_judge_table(judges: Any, folder: Path) -> Any:
    """Return the section ``judges`` with the rows of its table as entries, after its own.

    A row names a judge as exports do, letter by letter.

    Parameters
    ----------
    judges
        As campaign.yaml has it.
    folder
        What the path of the table is relative to.

    Raises
    ------
    ConfigError
        The table cannot be read, or a column, judge or temperature is wrong; all problems at once.
    """
    if not isinstance(judges, dict) or "table" not in judges:
        return judges
    section = {key: value for key, value in judges.items() if key != "table"}
    name = judges["table"]
    if not isinstance(name, str):
        raise _error(f"{shorten(name)} is not a path", "write table: judges.csv")
    declared = section.get("declared") or []
    return section | {"declared": [*declared, *_entries(name, _text(name, folder / name))]}


def _text(name: str, path: Path) -> str:
    try:
        if not path.is_file():
            raise _error(f"{name} does not exist", "give the path relative to campaign.yaml")
        if path.stat().st_size > LARGEST_BYTES:
            raise _error(f"{name} has more than {LARGEST_BYTES:,} bytes")
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise _error(f"{name} is not text in UTF-8", "save the file as UTF-8") from None
    except OSError as error:
        raise _error(f"{name} cannot be read: {error.strerror}") from None


def _entries(name: str, text: str) -> list[dict[str, Any]]:
    first = text.partition("\n")[0]
    rows = csv.DictReader(io.StringIO(text), delimiter="\t" if "\t" in first else ",", strict=True)
    columns = [column.strip() for column in rows.fieldnames or ()]
    rows.fieldnames = columns
    unknown = [column for column in columns if column not in COLUMNS]
    if "judge" not in columns or unknown or len({*columns}) < len(columns):
        what = f"the header of {name} is {', '.join(map(shorten, columns)) or 'empty'}"
        raise _error(
            what, "judge is required, and each column may occur only once", ", ".join(COLUMNS)
        )
    entries: list[dict[str, Any]] = []
    problems: list[Problem] = []
    judges: set[str] = set()
    try:
        for row in rows:
            entry, problem = _entry(row, f"{name}, line {rows.line_num}", judges)
            entries += [entry] if problem is None else []
            problems += [problem] if problem is not None else []
    except csv.Error as error:
        raise _error(f"{name}, line {rows.line_num}: {error}") from None
    if problems:
        raise ConfigError(f"{name}: {len(problems)} wrong rows", problems)
    return entries


def _entry(
    row: dict[Any, Any], where: str, judges: set[str]
) -> tuple[dict[str, Any], Problem | None]:
    """Return a row as an entry of ``declared``, or what is wrong with it."""
    if None in row or None in row.values():
        return {}, Problem(where, "the row has more or fewer cells than the header")
    cells = {key: value.strip() for key, value in row.items() if value.strip()}
    judge = cells.pop("judge", "")
    if not judge:
        return {}, Problem(where, "judge is blank")
    if judge in judges:
        return {}, Problem(where, "the judge is already in an earlier row", do="keep one of them")
    judges.add(judge)
    if cells.get("kind", "human") not in ("human", "model"):
        return {}, Problem(where, f"kind is {shorten(cells['kind'])}", "human, model")
    entry: dict[str, Any] = {"name": glob.escape(judge), **cells}
    if "temperature" in cells:
        try:
            entry["temperature"] = float(cells["temperature"])
        except ValueError:
            what = f"temperature is not a number: {shorten(cells['temperature'])}"
            return {}, Problem(where, what)
    return entry, None


def _error(what: str, do: str = "", allowed: str = "") -> ConfigError:
    return ConfigError("judges.table cannot be read", [Problem(WHERE, what, allowed, do)])
