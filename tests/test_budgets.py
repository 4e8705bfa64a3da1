"""The code lines of every room of the product stay within the budget of docs/architecture.md."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/architecture.md"
NO_CODE = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
    tokenize.ENDMARKER,
}  # fmt: skip
ROW = re.compile(r"^\| (?P<name>[^|]+) \| (?P<folders>[^|]+) \| (?P<most>[\d,]+) \|", re.MULTILINE)


def code_lines(source: str) -> int:
    """Return lines that are neither blank nor comment nor docstring."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in NO_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if first is not None and ast.get_docstring(node, clean=False) is not None:
                lines.difference_update(range(first.lineno, (first.end_lineno or 0) + 1))
    return len(lines)


def rooms() -> dict[str, tuple[list[str], int]]:
    """Return folders and the most code lines of each room, as the page has them."""
    return {
        row["name"]: (re.findall(r"`([^`]+)`", row["folders"]), int(row["most"].replace(",", "")))
        for row in ROW.finditer(PAGE.read_text("utf-8"))
    }


def lines_by_room() -> dict[str, int]:
    """Return the code lines of each room; a file belongs to the longest folder that has it."""
    folders = {folder: room for room, (named, _) in rooms().items() for folder in named}
    lines = dict.fromkeys(rooms(), 0)
    for product in ("annot_pipeline", "assets_defs"):
        for path in (ROOT / product).rglob("*.py"):
            name = path.relative_to(ROOT).as_posix()
            folder = max((f for f in folders if name.startswith(f"{f}/")), key=len)
            lines[folders[folder]] += code_lines(path.read_text("utf-8"))
    return lines


def test_lines_of_code_by_hand():
    parts = ['"""Doc."""', "# comment", "x = [\n    1,\n]"]
    parts += ['def f():\n    """Doc.\n\n    More.\n    """\n    return x\n']
    source = "\n\n".join(parts)
    assert code_lines(source) == 5


def test_every_room_is_within_its_budget():
    budgets = {room: most for room, (_, most) in rooms().items()}
    assert len(budgets) > 10
    too_large = {
        room: (lines, budgets[room])
        for room, lines in lines_by_room().items()
        if lines > budgets[room]
    }
    assert not too_large, "rooms with more code than docs/architecture.md allows"
