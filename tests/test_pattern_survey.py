"""All our regular expressions take steps in proportion to the text that they are applied to.

Those of DuckDB, of Arrow (``pc.*_regex``) and of pydantic run on linear engines.
"""

from __future__ import annotations

import ast
import importlib
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from annot_pipeline.exports.csv_rows import Dialect
from annot_pipeline.init.presets import presets
from tests.pattern_steps import worst_growth

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
FILES = sorted(
    file
    for top in ("annot_pipeline", "assets_defs")
    for file in (ROOT / top).rglob("*.py")
    if file.name != "__main__.py"  # to import it runs a command
)
OF_RE = {"compile", "search", "match", "fullmatch", "sub", "subn", "split", "findall", "finditer"}
WHOLE = {"match", "fullmatch"}
"""Methods that try one place of a text; others try all."""
LARGEST_GROWTH = 3.0
"""Steps for twice the text; 2 is linear, 4 is quadratic."""
BUILT = {
    "annot_pipeline/stages/gold/name_mask.py": "the escaped name of a judge, in quotes",
    "annot_pipeline/stages/shared/name_search.py": "the escaped names of judges",
    "annot_pipeline/serve/pages.py": "the escaped names of judges",
    "annot_pipeline/commands/forget.py": "the escaped name of a judge, or a digest",
    "annot_pipeline/errors.py": "the escaped path of the working directory",
    "annot_pipeline/init/written_numbers.py": "an escaped text and a number, at the start alone",
    "annot_pipeline/init/presets.py": "patterns of presets, which are surveyed",
    "annot_pipeline/exports/csv_rows.py": "patterns of dialects, which are surveyed",
    "annot_pipeline/storage/published_settings.py": "the escaped name of a judge",
    "annot_pipeline/exports/hits_from_mturk.py": "TEXT, which is surveyed, behind a fixed word",
    "annot_pipeline/config/expressions.py": "patterns of a campaign: compiled to be checked alone",
    "annot_pipeline/config/sources.py": "patterns of a campaign: compiled to be checked alone",
    "annot_pipeline/stages/ingest/expressions.py": "searched with a time limit",
}
"""Files with patterns that are no constant, and why none of them is slow."""
OWN_FIGURES = "numbers and paths of figures that matplotlib draws for us"
SHORT = {
    "annot_pipeline/report/figures/page_svg.py DECIMAL": OWN_FIGURES,
}
"""Patterns that may take more steps, and why no export or manifest reaches them."""


def trees() -> Iterator[tuple[str, ast.AST]]:
    for file in FILES:
        yield file.relative_to(ROOT).as_posix(), ast.parse(file.read_text(encoding="utf-8"))


def methods_by_name() -> dict[str, set[str]]:
    """Return what is called on each name, anywhere: ``X.search(...)``, ``module.X.search(...)``."""
    actual: dict[str, set[str]] = defaultdict(set)
    for _, tree in trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and node.attr in OF_RE:
                value = node.value
                name = getattr(value, "id", None) or getattr(value, "attr", "")
                actual[name].add(node.attr)
    return actual


def patterns_in(value: Any) -> Iterator[re.Pattern[str]]:
    if isinstance(value, re.Pattern) and isinstance(value.pattern, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from patterns_in(inner)
    elif isinstance(value, list | tuple | set | frozenset):
        for inner in value:
            yield from patterns_in(inner)


def compiled() -> dict[tuple[str, int, bool], str]:
    """Return the patterns that modules hold: text, flags, and whether they are searched for."""
    methods, actual = methods_by_name(), {}
    for place, _ in trees():
        module = importlib.import_module(
            place.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        )
        for name, value in vars(module).items():
            for pattern in patterns_in(value):
                anywhere = bool(methods[name] - WHOLE) and not isinstance(value, dict)
                actual[pattern.pattern, pattern.flags, anywhere] = f"{place} {name}"
    return actual


def inline() -> tuple[dict[tuple[str, int, bool], str], set[str]]:
    """Return constant patterns of calls as ``re.sub(...)``, and files with others."""
    actual: dict[tuple[str, int, bool], str] = {}
    built: set[str] = set()
    for place, tree in trees():
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            module, method = getattr(node.func.value, "id", ""), node.func.attr
            if module not in ("re", "regex") or method not in OF_RE or not node.args:
                continue
            is_used_here = method != "compile" or _is_in_function(tree, node)
            if isinstance(node.args[0], ast.Constant):
                flags = re.MULTILINE if "MULTILINE" in ast.unparse(node) else 0
                if is_used_here:
                    key = (node.args[0].value, flags, method not in WHOLE)
                    actual[key] = f"{place}:{node.lineno}"
            elif is_used_here:
                built.add(place)
    return actual, built


def _is_in_function(tree: ast.AST, node: ast.AST) -> bool:
    functions = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    return any(node is inner for function in functions for inner in ast.walk(function))


@pytest.fixture(scope="module")
def surveyed() -> dict[tuple[str, int, bool], str]:
    """Return where each pattern stands; to find them all takes seconds."""
    return {**compiled(), **inline()[0]}


@pytest.fixture(autouse=True)
def _deep() -> Iterator[None]:
    """Let the interpreter of patterns go a few frames deep for each character."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(50_000)
    yield
    sys.setrecursionlimit(before)


def test_the_survey_finds_patterns(surveyed):
    places = " ".join(surveyed.values())
    assert len(surveyed) > 70
    for name in (
        "AMOUNT",
        "exports/hits.py",
        "DURATION",
        "name_search",
        "UNDECODABLE",
        "MTURK_TIME",
    ):
        assert name in places


def test_patterns_that_are_built_are_known():
    assert inline()[1] == set(BUILT)


@pytest.mark.parametrize(
    ("pattern", "anywhere"),
    [(r"\s+$", True), (r"(a|aa)+$", True), (r"(a+)+b", False), (r"<[^>]*>", True),
     (r"\s*\d*\s*\d*x", False), (r"^\s*\{", True)],
)  # fmt: skip
def test_slow_patterns_are_noticed(pattern, anywhere):
    flags = re.MULTILINE if pattern.startswith("^") else 0
    assert worst_growth(pattern, flags, anywhere=anywhere)[0] > LARGEST_GROWTH


@pytest.mark.parametrize(
    "dialect", [Dialect(), Dialect("\t", ""), Dialect(";", "'", "\\"), Dialect("|", "", "\\")]
)
@pytest.mark.parametrize("name", ["row", "rows_of_a_line", "cell", "open_cell"])
def test_patterns_of_dialects_take_steps_in_proportion(dialect, name):
    pattern = getattr(dialect, name)
    growth, text = worst_growth(pattern.pattern.decode(), pattern.flags, anywhere=False)
    assert growth <= LARGEST_GROWTH, text


def test_patterns_of_presets_take_steps_in_proportion():
    texts = {
        pattern
        for readings in presets().values()
        for preset in readings
        for pattern in preset.get("values", {}).values()
    }
    assert texts
    for pattern in texts:
        assert worst_growth(pattern, 0, anywhere=True)[0] <= LARGEST_GROWTH, pattern


def test_steps_grow_with_the_text(surveyed):
    assert SHORT.keys() <= set(surveyed.values())
    slow = []
    for (pattern, flags, anywhere), place in surveyed.items():
        if place not in SHORT:
            growth, text = worst_growth(pattern, flags & ~re.UNICODE, anywhere=anywhere)
            if growth > LARGEST_GROWTH:
                slow.append(f"{place}: {pattern!r} takes {growth:.1f} times the steps on {text}")
    assert slow == []
