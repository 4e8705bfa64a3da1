"""Messages and pages use plain technical English: none of these phrases comes back.

`RECORDED` are texts in tables whose values tests/frozen records: reword them when it is recorded
again.
"""

from __future__ import annotations

import argparse
import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from annot_pipeline.cli import build_parser
from annot_pipeline.contracts import GOLD
from annot_pipeline.gates import GATES
from annot_pipeline.stages.registry import STAGES

ROOT = Path(__file__).parents[1]
PAGES = [
    *(ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
RECORDED = {
    "one side always gives the same label: kappa is 0 whatever the other answers",
    " questions that tell of it",
    "no two systems stand in both orders: side and system cannot be told apart",
}
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)

BANNED = {
    # old: what to write instead
    r"breaks its contract, or is doubtful": "N schema violations",
    r"campaigns \(1: this one\)": "campaigns without usable judgments",
    r"somebody else's": "name who",
    r"paths tell who": "judge names in the file path",
    r"no longer mean their name": "class names cannot be trusted",
    r"the answer is another": "the label changes",
    r"(drawing|draw|draws|drawn) (\w+ )?anew": "bootstrap over items, resample, draw again",
    r"hangs? on (no|the|their|its|who)\b": "depend on",
    r"stands? so\b": "the export contains invalid values",
    r"mend(s|ed|ing)?\b": "fix, correct, restore",
    r"nothing is made of": "ignored",
    r"(tells?|told) of\b": "alerts on, reports",
    r"one row is\b": "one row per",
    r"^farthest|\*farthest": "largest disagreements",
    r"the export has no such column": "column not found",
    r"nothing to do \(after warnings\)": "N warnings to resolve",
    r"\banew\b": "again",
    r"at hand\b": "present, available",
    r"nobody\b": "no judge, no one, unknown",
    r"somebody\b": "someone, a judge, a user",
    r"everybody\b": "all judges",
    r"whoever\b": "anyone who, users who",
    r"(became|becomes) of\b": "fate, what happens to",
    r"(is|are|was|were) told\b": "is shown, is reported",
    r"(tells?|told) (\w+ )?apart\b": "distinguish, separate",
    r"kept apart\b": "separate",
    r"gave way\b": "superseded",
    r"all the same\b": "still, too",
    r"look whether\b": "check whether",
    r"struck off|strike (it )?off": "remove from the list",
    r"(, |; )?but for (those|the|names|its|case|tasks)\b": "except",
    r"for attention\b": "warned, failed",
    r"held against\b": "compared with",
    r"goes on (with|from)\b": "continues from",
    r"in vain\b": "lost",
    r"(hardly )?anybody\b": "a judge, a user",
    r"lies? (in|within|among) (the|a|each|store|gold)\b": "is in",
    r"stands? (in|twice|beside|alone|apart|among|elsewhere)\b": "is in, occurs, next to",
    r"whatever\b": "any",
    r"(nothing|which|it) tells\b": "shows",
}
REFERS_BACK = re.compile(
    r"^(The same|Of|As|Its)\b|\bthe same (of|over|interval|test)\b|(?i:of these,)"
)
PHRASES = [re.compile(rf"(?i)(?<!\w){old}") for old in BANNED]


def phrases_in(text: str) -> list[str]:
    """The banned phrases in a text, with the words to use."""
    one_line = re.sub(r"\s+", " ", text)
    return [
        f"{match[0]!r}: write {instead!r}"
        for phrase, instead in zip(PHRASES, BANNED.values(), strict=True)
        if (match := phrase.search(one_line))
    ]


def messages(path: Path) -> Iterator[tuple[int, str]]:
    """String constants of a module that are no docstrings, with their lines."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    docstrings = {
        id(statement.value)
        for node in ast.walk(tree)
        if isinstance(node, DOCUMENTED)
        for statement in node.body
        if isinstance(statement, ast.Expr)
    }
    for node in ast.walk(tree):
        is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
        if is_text and id(node) not in docstrings and " " in node.value.strip():
            yield node.lineno, node.value


def modules() -> list[Path]:
    """Modules whose messages people read."""
    package = ROOT / "annot_pipeline"
    return [
        *sorted(package.rglob("*.py")),
        *sorted((ROOT / "assets_defs").rglob("*.py")),
    ]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_page_is_plain(path):
    assert phrases_in(path.read_text(encoding="utf-8")) == []


def test_messages_are_plain():
    actual = [
        f"{path.relative_to(ROOT)}:{line}: {phrase}"
        for path in modules()
        for line, text in messages(path)
        if text not in RECORDED
        for phrase in phrases_in(text)
    ]
    assert actual == []


def test_gates_are_plain():
    actual = [
        f"{gate.name}: {phrase}"
        for gate in GATES
        for phrase in phrases_in(f"{gate.question}. {gate.do}")
    ]
    assert actual == []


def test_stages_are_plain():
    assert [phrase for stage in STAGES for phrase in phrases_in(stage.description)] == []


def test_descriptions_can_be_read_alone():
    """No description of a column refers to the column before it."""
    actual = [
        f"{table.name}.{column.name}: {match[0]!r}"
        for table in GOLD.values()
        for column in table.columns
        if (match := REFERS_BACK.search(column.description))
    ]
    assert actual == []


def test_rows_follow_one_row_per():
    assert [table.row for table in GOLD.values() if table.row.startswith("one ")] == []


def texts_of(parser: argparse.ArgumentParser) -> Iterator[str]:
    """Descriptions and help of a parser and of its commands."""
    yield parser.description or ""
    yield parser.epilog or ""
    for action in parser._actions:
        yield "" if action.help is argparse.SUPPRESS else action.help or ""
        if isinstance(action, argparse._SubParsersAction):
            yield from (choice.help or "" for choice in action._choices_actions)
            for command in action.choices.values():
                yield from texts_of(command)


def test_help_is_plain():
    texts = list(texts_of(build_parser()))
    assert len(texts) > 50
    assert [phrase for text in texts for phrase in phrases_in(text)] == []


@pytest.mark.parametrize(
    "text",
    [
        "mend what the gate says", "Labels that are other, or somebody else's: 93",
        "95%, by drawing items anew", "judges, which hang on no other judge", "Farthest",
        "what is doubtful stands so in the exports", "what became\n of it",
        "Tells of builds that failed",
    ],
)  # fmt: skip
def test_a_banned_phrase_is_found(text):
    assert phrases_in(text) != []


def test_plain_words_are_allowed():
    assert phrases_in("The command depends on it, recommends a fix and amends nothing.") == []
