"""The code lines of every room of the product stay within the budget of docs/architecture.md."""

from __future__ import annotations

import ast
import io
import re
import subprocess
import sys
import tokenize
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/architecture.md"
PRODUCTS = ("annot_pipeline", "assets_defs")
NO_CODE = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
    tokenize.ENDMARKER,
}  # fmt: skip
ROW = re.compile(r"^\| (?P<name>[^|]+) \| (?P<folders>[^|]+) \| (?P<most>[\d,]+) \|", re.MULTILINE)


def write_formatted(folder: Path, sources: dict[str, str]) -> None:
    """Write sources as the formatter has them: neither packed nor spread out by hand."""
    for name, source in sources.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(re.sub(r" *# fmt: skip$", "", source, flags=re.MULTILINE), "utf-8")
    options = ["--config", str(ROOT / "pyproject.toml")]
    options += ["--config", "format.skip-magic-trailing-comma=true"]
    command = [sys.executable, "-m", "ruff", "format", "--quiet", "--no-cache", *options, folder]
    subprocess.run(command, check=True)


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


def lines_by_room(formatted: Path) -> dict[str, int]:
    """Return the code lines of each room; a file belongs to the longest folder that has it."""
    folders = {folder: room for room, (named, _) in rooms().items() for folder in named}
    lines = dict.fromkeys(rooms(), 0)
    products = [p for product in PRODUCTS for p in (ROOT / product).rglob("*.py")]
    sources = {p.relative_to(ROOT).as_posix(): p.read_text("utf-8") for p in products}
    write_formatted(formatted, sources)
    for name in sources:
        folder = max((f for f in folders if name.startswith(f"{f}/")), key=len)
        lines[folders[folder]] += code_lines((formatted / name).read_text("utf-8"))
    return lines


def test_lines_of_code_by_hand():
    parts = ['"""Doc."""', "# comment", "x = [\n    1,\n]"]
    parts += ['def f():\n    """Doc.\n\n    More.\n    """\n    return x\n']
    source = "\n\n".join(parts)
    assert code_lines(source) == 5


def test_code_that_is_packed_or_spread_out_by_hand_counts_as_formatted(tmp_path):
    long = [f"a_long_name_{n}" for n in range(9)]
    packed = f"x = [\n    {', '.join(long[:5])},\n    {', '.join(long[5:])},\n]  # fmt: skip\n"
    write_formatted(tmp_path, {"packed.py": packed, "spread.py": "x = [\n    1,\n    2,\n]\n"})
    lines = {path.stem: code_lines(path.read_text("utf-8")) for path in tmp_path.glob("*.py")}
    assert lines == {"packed": 11, "spread": 1}


def test_every_room_is_within_its_budget(tmp_path):
    budgets = {room: most for room, (_, most) in rooms().items()}
    assert len(budgets) > 10
    too_large = {
        room: (lines, budgets[room])
        for room, lines in lines_by_room(tmp_path).items()
        if lines > budgets[room]
    }
    assert not too_large, "rooms with more code than docs/architecture.md allows"
