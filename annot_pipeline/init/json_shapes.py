"""Which reader a JSON text needs, and where in one document its records are."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from typing import Any

from annot_pipeline.bounded_json import JsonError, parse_bounded_json
from annot_pipeline.exports.json_bytes import JsonBytes
from annot_pipeline.exports.label_studio import task_of

RECORDS_LOOKED_AT = 20
DEEPEST = 4
"""Levels of a document that are searched for records."""

SHARED_KEYS = 0.5
"""Objects of which two share fewer of their keys are no records of one kind."""


def json_format(head: bytes) -> tuple[str, str | None]:
    """Return the format of a text that starts with a bracket, and the path of its records.

    Parameters
    ----------
    head
        The first bytes; a longer document may end within them.
    """
    lines = head.decode("utf-8-sig", "replace").lstrip().split("\n", 2)
    first = _parsed(lines[0])
    if isinstance(first, dict) and (len(lines) > 1 and lines[1].strip()):
        return "jsonl", None
    document = first if first is not None else _beginning(head)
    if isinstance(document, list):
        return ("label_studio" if is_label_studio(document) else "json"), None
    if not isinstance(document, dict):
        return "jsonl", None
    if ("result" in document or "annotations" in document) and is_label_studio([task_of(document)]):
        return "label_studio", None  # synchronized storage: a task, or an annotation
    if first is not None and not _is_records([*document.values()]) and not _paths(document):
        return "jsonl", None  # one record, in a line
    if _is_records([*document.values()]) and len(document) > 1:
        return "json", "*"
    paths = sorted(_paths(document), key=lambda pair: -pair[1])
    if paths:
        return "json", paths[0][0]
    return ("json", "*") if _is_records([*document.values()]) else ("jsonl", None)


def is_label_studio(document: list[Any]) -> bool:
    """Return whether a list holds tasks of Label Studio, each with its annotations."""
    tasks = document[:RECORDS_LOOKED_AT]
    return bool(tasks) and all(
        isinstance(task, dict)
        and isinstance(task.get("annotations"), list)
        and ("data" in task or "id" in task)
        and all(
            isinstance(annotation, dict)
            and ("result" in annotation or "was_cancelled" in annotation)
            for annotation in task["annotations"]
        )
        for task in tasks
    )


def _paths(document: dict[str, Any], path: str = "", depth: int = 1) -> list[tuple[str, int]]:
    """Return the dotted paths of lists and tables of objects, with their lengths."""
    paths: list[tuple[str, int]] = []
    for key, value in document.items():
        if "." in key or key == "*":
            continue
        inner = [*value.values()] if isinstance(value, dict) else value
        if isinstance(value, list) and _is_records(value):
            paths.append((path + key, len(value)))
        elif isinstance(value, dict) and len(value) > 1 and _is_records(inner):
            paths.append((f"{path}{key}.*", len(value)))
        elif isinstance(value, dict) and depth < DEEPEST:
            paths += _paths(value, f"{path}{key}.", depth + 1)
    return paths


def _is_records(values: list[Any]) -> bool:
    """Return whether values are objects that share most of their keys."""
    looked_at = values[:RECORDS_LOOKED_AT]
    if not looked_at or not all(isinstance(value, dict) and value for value in looked_at):
        return False
    first = looked_at[0].keys()
    return all(
        len(first & value.keys()) >= SHARED_KEYS * max(len(first), len(value))
        for value in looked_at
    )


def _parsed(text: str) -> Any:
    with contextlib.suppress(JsonError):
        return parse_bounded_json(text)
    return None


def _beginning(head: bytes) -> Any:
    """Return what the first bytes of a document say; what they cut off is missing."""
    import ijson

    stack: list[tuple[Any, str | None]] = []
    root: Any = None
    with contextlib.suppress(ijson.JSONError, ValueError):
        for kind, value in _events(head):
            if kind == "map_key":
                stack[-1] = (stack[-1][0], value)
                continue
            if kind in ("end_map", "end_array"):
                stack.pop()
                continue
            inner: Any = {"start_map": {}, "start_array": []}.get(kind, value)
            if not stack:
                root = inner
            elif isinstance(stack[-1][0], list):
                stack[-1][0].append(inner)
            else:
                stack[-1][0][stack[-1][1]] = inner
            if kind in ("start_map", "start_array"):
                stack.append((inner, None))
    return root


def _events(head: bytes) -> Iterator[tuple[str, Any]]:
    import ijson

    yield from ijson.basic_parse(JsonBytes(io.BytesIO(head), "utf-8"), use_float=True)
