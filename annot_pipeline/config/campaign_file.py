"""Reads campaign.yaml (YAML 1.2) and says what is wrong with it, path by path."""

from __future__ import annotations

import difflib
import json
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias, get_args

from pydantic import BaseModel, ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.constructor import DuplicateKeyError
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, ScalarNode, SequenceNode
from ruamel.yaml.reader import ReaderError

from annot_pipeline.bounded_json import JsonError, parse_bounded_json
from annot_pipeline.config import TAG, Campaign, FieldName, ItemFieldName, LoadedCampaign
from annot_pipeline.config.expressions import TAGS
from annot_pipeline.config.judges import Judges, with_judge_table
from annot_pipeline.errors import ConfigError, Problem, shorten

FILE_NAME = "campaign.yaml"
DEEPEST = 30
MOST_VALUES = 200_000
"""Keys and values of a campaign, those that aliases repeat counted as often as they stand."""
LARGEST_FILE = 4 << 20
"""Bytes of a campaign file; to parse 1 MB of YAML takes seconds."""
JUDGE_SETTING = tuple(f"judges.{name}=" for name in (*Judges.model_fields, "table"))
"""Settings beside those of entries: a list of entries becomes a section that has them."""
MISSING, MEANT = "is missing", "did you mean "
SHAPES = {
    "tuple_type": "is not a list",
    "dict_type": "is not a mapping of settings",
    "model_type": "is not a mapping of settings",
    "too_short": "is empty",
}
"""What kinds of pydantic's errors say to somebody who writes YAML."""


HALVES = r"write the character itself, or both of its halves, as \ud83d\ude00"


def load_campaign(
    path: Path | str, *, sets: Iterable[str] = (), overrides: Mapping[str, Any] | None = None
) -> LoadedCampaign:
    """Read a campaign.yaml, or the one in a folder.

    Parameters
    ----------
    path
        The file, or the folder that holds it.
    sets
        ``a.b=c`` settings, the value read as YAML; they win over the file.
    overrides
        Top-level keys that replace the file's.

    Raises
    ------
    ConfigError
        All problems at once, each with its dotted path.
    """
    file = Path(path)
    if file.is_dir():
        file = file / FILE_NAME
    if not file.is_file():
        raise ConfigError(f"{path}: no campaign file", [_no_file(file)])
    text = _text(file)
    data = _parse(text, str(file))
    if not isinstance(data, dict):
        what, do = "settings look like `campaign: NAME`", "annot init EXPORT... writes them"
        lack = "is empty" if data is None else "holds no settings"
        raise ConfigError(f"{file} {lack}", [Problem("", what, do=do)])
    _refuse_many(data, str(file))
    _refuse_open(data, file, text)
    data.update(overrides or {})
    assignments = tuple(sets)
    for assignment in assignments:
        if assignment.startswith(JUDGE_SETTING) and isinstance(data.get("judges"), list):
            data["judges"] = {"declared": data["judges"]}
        _set(data, assignment)
    if "judges" in data:
        data["judges"] = with_judge_table(data["judges"], file.parent)
    settings = _validated(data, str(file), text)
    return LoadedCampaign(settings, file.resolve(), assignments)


def _refuse_open(data: dict[Any, Any], file: Path, text: str) -> None:
    """Name the places of a draft that `annot init` left open.

    Raises
    ------
    ConfigError
        There are some.
    """
    sources = data.get("sources")
    fields = {
        f"sources.{n}.fields.{name}": expression
        for n, source in enumerate(sources if isinstance(sources, list) else [])
        if isinstance(source, dict) and isinstance(source.get("fields"), dict)
        for name, expression in source["fields"].items()
    }
    unanswered = [name for name, expression in fields.items() if expression == "?"]
    commands = re.findall(r"^#   (annot init .*)$", text, re.MULTILINE)
    do = commands[0] if commands else "write a column of the export, or {value: NAME}"
    problems = [Problem(name, "is open (?)", do=do) for name in unanswered]
    if problems:
        raise ConfigError(f"{file} is a draft: {len(unanswered)} open", problems)


def kept_text(settings: Campaign) -> str:
    """Return settings as the store keeps them, whole."""
    return settings.model_dump_json(by_alias=True, indent=1)


def kept_settings(text: str, name: str) -> Campaign:
    """Return what `kept_text` wrote.

    Raises
    ------
    ConfigError
        It is damaged, or an annot-pipeline with other settings wrote it.
    """
    try:
        stored = parse_bounded_json(text)
    except JsonError as error:
        stored, what = None, str(error)
    else:
        what = "it holds no settings"
    if not isinstance(stored, dict):
        do = "restore the store from a backup"
        raise ConfigError(f"{name}: damaged", [Problem("", what, do=do)])
    return _validated(stored, name)


def _refuse_many(data: Any, name: str) -> None:
    """Refuse a few lines whose aliases stand for millions of values, before all are looked at.

    Raises
    ------
    ConfigError
        There are too many.
    """
    n_values, pending = 0, [(data, 0)]
    while pending:
        value, depth = pending.pop()
        inner = [*value.values()] if isinstance(value, dict) else value
        if not isinstance(inner, list) or depth > DEEPEST:
            continue
        n_values += len(inner)
        if n_values > MOST_VALUES:
            what = f"more than {MOST_VALUES:,} values, including those repeated by aliases (*name)"
            do = "write fewer values; join a long mapping as a table beforehand"
            raise ConfigError(f"{name}: too large", [Problem("", what, do=do)])
        pending += [(child, depth + 1) for child in inner if isinstance(child, dict | list)]


def _no_file(file: Path) -> Problem:
    """Return what is wrong with a path that leads to no ordinary file; opens nothing."""
    do = "annot init EXPORT... writes one"
    if file.exists():
        what = f"{file} is not a regular file but a folder, named pipe, socket or device"
        return Problem("", what, do=f"move it away, or name another file; {do}")
    if file.is_symlink():
        what = f"{file} is a link to {os.readlink(file)}, which does not exist"
        return Problem("", what, do=f"fix the link; {do}")
    return Problem("", f"{file} does not exist", do=do)


def _text(file: Path) -> str:
    try:
        if file.stat().st_size > LARGEST_FILE:
            what = f"it has more than {LARGEST_FILE:,} bytes"
            raise ConfigError(f"{file} is not a campaign file", [Problem("", what)])
        return file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        problem = Problem(f"line {line}", "not text in UTF-8", do="save the file as UTF-8")
        raise ConfigError(f"{file} is not UTF-8", [problem]) from None
    except OSError as error:
        raise ConfigError(f"{file} cannot be read", [Problem("", str(error.strerror))]) from None


def _parse(text: str, name: str) -> Any:
    try:
        return YAML(typ="safe", pure=True).load(text)
    except (YAMLError, ValueError, LookupError, AttributeError, RecursionError) as error:
        raise ConfigError(f"{name} is not YAML", [_not_yaml(error, text)]) from None


def _not_yaml(error: Exception, text: str) -> Problem:
    """Return what the parser found, where, and what to do about the usual mistakes."""
    if isinstance(error, ReaderError):
        where = f"line {text.count(chr(10), 0, error.position) + 1}"
        return Problem(where, "a control character", do="delete it, or write it as an escape")
    if not isinstance(error, MarkedYAMLError):
        return Problem("", f"a value cannot be read ({error})", do="put it in quotes")
    mark, start = error.problem_mark or error.context_mark, error.context_mark
    where = f"line {mark.line + 1}" if mark else ""
    what = " ".join(str(error.problem or error.context).split())
    if isinstance(error, DuplicateKeyError):
        key = what.removeprefix("found duplicate key ").partition(" with value ")[0]
        lines = text.splitlines()
        line = lines[mark.line] if mark and mark.line < len(lines) else ""
        written = re.split(r"[:,}\s]", line[mark.column :] if mark else "", maxsplit=1)[0]
        if key.strip("\"'") != written.strip("\"'"):  # 1, 1.0 and true are one key to YAML
            do = f'put keys that are no words in quotes: "{written}"'
            return Problem(where, f"the key {written} means the same as another key", do=do)
        do = "join the two lists under one key" if ' "[]" ' in what else "keep one of the two"
        return Problem(where, f"the key {key} is given twice", do=do)
    if "'\\t'" in what:
        return Problem(where, "a tab where tabs are not allowed", do="indent with spaces")
    if start and mark and start.line != mark.line and error.context:
        what += f", {error.context} that starts in line {start.line + 1}"
    return Problem(where, what, do="check quotes, brackets and indentation up to this line")


def _set(data: dict[str, Any], assignment: str) -> None:
    """Apply ``a.b=c``; list elements by number."""
    path, equals, value = assignment.partition("=")
    if not equals:
        problem = Problem("", "write --set a.b=c, as in --set seed=3")
        raise ConfigError(f"--set {assignment}: no value", [problem])
    keys = path.split(".")
    target: Any = data
    for key in keys[:-1]:
        if isinstance(target, list) and key.isdigit() and int(key) < len(target):
            target = target[int(key)]
        elif isinstance(target, dict):
            target = target.setdefault(key, {})
        else:
            raise ConfigError(f"--set {assignment}: {key} has no settings below it")
    parsed = _parse(value, f"--set {assignment}")
    _refuse_many(parsed, f"--set {path}")
    if isinstance(target, list) and keys[-1].isdigit() and int(keys[-1]) < len(target):
        target[int(keys[-1])] = parsed
    elif isinstance(target, dict):
        target[keys[-1]] = parsed
    else:
        raise ConfigError(f"--set {assignment}: {path} does not exist")


def _validated(data: dict[str, Any], name: str, text: str = "") -> Campaign:
    """Return settings; ``text`` is the YAML that they come from, for messages."""
    problems = list(_not_plain(data, (), lambda: _spellings(text)))
    if not problems:
        try:
            return Campaign.model_validate(_frozen(data))
        except ValidationError as error:
            problems = _problems([dict(detail) for detail in error.errors()], _spellings(text))
            if isinstance(data.get("judges"), list):  # it stands for judges.declared
                problems = [
                    replace(p, where=p.where.replace("judges.declared.", "judges.", 1))
                    for p in problems
                ]
    count = f"{len(problems)} problem" + "s" * (len(problems) > 1)
    raise ConfigError(f"{name}: {count}", problems)


Keys: TypeAlias = tuple[str, ...]
KEY = "(key)"
"""Ends the path of a key itself."""


def _spellings(text: str) -> dict[Keys, str]:
    """Return keys and values that are no strings as YAML has them: 01, not 1. Values by path."""
    spellings: dict[Keys, str] = {}

    def walk(node: Any, value: Any, path: Keys) -> None:
        if isinstance(node, MappingNode) and isinstance(value, dict):
            if len(node.value) == len(value):  # else with keys of another mapping (<<)
                for (key_node, inner_node), (key, inner) in zip(
                    node.value, value.items(), strict=True
                ):
                    inner_path = (*path, str(key))
                    spellings[(*inner_path, KEY)] = str(key_node.value)
                    walk(inner_node, inner, inner_path)
        elif isinstance(node, SequenceNode) and isinstance(value, list):
            for position, (inner_node, inner) in enumerate(zip(node.value, value, strict=True)):
                walk(inner_node, inner, (*path, str(position)))
        elif isinstance(node, ScalarNode) and not isinstance(value, str):
            spellings[path] = str(node.value)

    if text:
        yaml = YAML(typ="safe", pure=True)
        walk(yaml.compose(text), yaml.load(text), ())
    return spellings


def _not_plain(
    value: Any, path: Keys, spellings: Callable[[], Mapping[Keys, str]]
) -> Iterable[Problem]:
    """Yield keys and values that YAML reads as something other than what was written."""
    if len(path) > DEEPEST:
        yield Problem(".".join(path[:3]), "is nested too deeply; does an alias contain itself?")
    elif isinstance(value, dict):
        for key, inner in value.items():
            if isinstance(key, str) and _joined(key) is None:
                yield Problem(".".join(path), "a key holds half a character", do=HALVES)
            elif not isinstance(key, str):
                written = spellings().get((*path, str(key), KEY), str(key))
                where = ".".join((*path, written))
                yield Problem(where, "a key must be a string", do=f'put it in quotes: "{written}"')
            else:
                yield from _not_plain(inner, (*path, key), spellings)
    elif isinstance(value, list):
        for position, inner in enumerate(value):
            yield from _not_plain(inner, (*path, str(position)), spellings)
    elif isinstance(value, str) and _joined(value) is None:
        yield Problem(".".join(path), "half a character", do=HALVES)
    elif not isinstance(value, str | int | float | bool | type(None)):
        yield Problem(".".join(path), f"{value} is a date here", do="put it in quotes")


def _joined(text: str) -> str | None:
    r"""Return the text with ``\ud83d\ude00``, as JSON writes it, as one character.

    None if half is missing.
    """
    try:
        return text.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError:
        return None


def _frozen(value: Any) -> Any:
    """Return lists as tuples, which is what the strict models hold."""
    if isinstance(value, dict):
        return {_joined(key): _frozen(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return tuple(_frozen(inner) for inner in value)
    return _joined(value) if isinstance(value, str) else value


def _problems(details: Sequence[dict[str, Any]], spellings: Mapping[Keys, str]) -> list[Problem]:
    """Return one problem a mistake: a list is not also too short because its elements are wrong."""
    words = {detail["loc"][:-1] for detail in details if _is_word(detail)}
    details = [d for d in details if _is_word(d) or d["loc"][:-1] not in words]
    paths = [detail["loc"] for detail in details]
    problems = [
        _problem(detail, spellings)
        for detail in details
        if detail["type"] != "too_short"
        or not any(p != detail["loc"] and p[: len(detail["loc"])] == detail["loc"] for p in paths)
    ]
    misspelt = {
        f"{p.where.rpartition('.')[0]}.{p.do.removeprefix(MEANT).rstrip('?')}".lstrip(".")
        for p in problems
        if p.do.startswith(MEANT)
    }
    return [p for p in problems if p.what != MISSING or p.where not in misspelt]


def _is_word(detail: Mapping[str, Any]) -> bool:
    """Return whether it is a word that is wrong where a number may stand too.

    Pydantic reports both.
    """
    return detail["type"] == "literal_error" and str(detail["loc"][-1]).startswith("literal[")


def _problem(detail: dict[str, Any], spellings: Mapping[Keys, str]) -> Problem:
    location = [str(part) for part in detail["loc"] if not str(part).startswith(TAG)]
    if _is_word(detail):
        location.pop()
    if location and location[-1] == "[key]":
        location.pop()
    where = ".".join(location)
    kind, value = detail["type"], detail.get("input")
    if kind in ("extra_forbidden", "unexpected_keyword_argument"):
        return _misplaced_key(detail, where) or _unknown_key(where, location)
    if kind == "literal_error":
        allowed = detail["ctx"]["expected"].replace("'", "").replace(" or ", ", ").split(", ")
        if "[key]" in detail["loc"]:
            return _unknown_key(where, location)
        return Problem(
            where,
            f"{shorten(value)} is not allowed",
            ", ".join(["a number"] * _is_word(detail) + allowed),
            likely_name(str(value), allowed),
        )
    if kind in SHAPES:
        return Problem(where, SHAPES[kind], values=(_literal(value),) if value else ())
    if kind == "missing":
        return Problem(where, MISSING)
    if kind in ("value_error", "assertion_error"):
        return Problem(where, str(detail["ctx"]["error"]))
    if kind == "string_type":
        literal = spellings.get(tuple(location), _literal(value))
        do = f'put it in quotes: "{literal}"' if not isinstance(value, dict | tuple) else ""
        return Problem(where, f"{literal[:60]} is not a string", do=do)
    message = detail["msg"][:1].lower() + detail["msg"][1:]
    suffix = "" if isinstance(value, dict | list) else f" (found {shorten(value)})"
    return Problem(where, message + suffix)


def _literal(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _misplaced_key(detail: Mapping[str, Any], where: str) -> Problem | None:
    """Return the problem of a key that other kinds of expressions have; None: it is none."""
    parent, key = (str(part) for part in (None, *detail["loc"])[-2:])
    kinds = {tag: _fields(model) for model, tag in TAGS.items()}
    if parent not in kinds or not any(key in fields for fields in kinds.values()):
        return None
    kind = parent.removeprefix(TAG)
    allowed = ", ".join(sorted(kinds[parent]))
    return Problem(where, f"{key} cannot be used with {kind}", f"{allowed} with {kind}")


def _unknown_key(where: str, location: Sequence[str]) -> Problem:
    allowed = _keys_at(location[:-1])
    return Problem(
        where, "unknown key", ", ".join(allowed), likely_name(location[-1], allowed, 0.5)
    )


def likely_name(name: str, names: Sequence[str], cutoff: float = 0.6) -> str:
    """Return the question whether a name like this one was meant; empty: none is like it."""
    return "".join(f"{MEANT}{n}?" for n in difflib.get_close_matches(name, names, 1, cutoff))


def _keys_at(location: Sequence[str]) -> list[str]:
    """Return the keys allowed at a path of the file, found by walking the models."""
    models: list[Any] = [Campaign]
    for part in location:
        if part.isdigit():
            continue
        inner_models: list[Any] = []
        for model in models:
            for name, info in _fields(model).items():
                if name == part:
                    inner_models += _models_in(info)
        models = inner_models or models
        if part == "fields":
            names = ItemFieldName if "items" in location else FieldName
            if location[-1] == "fields":
                return list(get_args(names))
    return sorted({name for model in models for name in _fields(model)})


def _fields(model: Any) -> dict[str, Any]:
    if isinstance(model, type) and issubclass(model, BaseModel):
        return {f.alias or n: f.annotation for n, f in model.model_fields.items()}
    return {}


def _models_in(annotation: Any) -> list[Any]:
    """Return the sections named in a type, however deep in unions, tuples and dicts."""
    if _fields(annotation):
        return [annotation]
    return [model for argument in get_args(annotation) for model in _models_in(argument)]
