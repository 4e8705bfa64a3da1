"""Texts of numpy docstrings: what they say of a class, and of each of its parameters.

Settings and columns of tables are described in the docstrings of the classes that declare them.
"""

from __future__ import annotations

import inspect
import re

PARAMETERS_HEADING = re.compile(r"^Parameters\n-{3,}\n", re.MULTILINE)
PARAMETER = re.compile(r"^(?P<names>\w+(?:, \w+)*)\n(?P<text>(?:(?: {4}.*)?\n)+)", re.MULTILINE)


def summary(docstring: str | None) -> str:
    """Return what a docstring says before its parameters, as one paragraph."""
    text = PARAMETERS_HEADING.split(inspect.cleandoc(docstring or ""))[0]
    return _plain(text)


def parameter_descriptions(docstring: str | None) -> dict[str, str]:
    """Return the descriptions of a numpy docstring's parameters by name."""
    _, *sections = PARAMETERS_HEADING.split(inspect.cleandoc(docstring or ""))
    return {
        name: _plain(match["text"])
        for section in sections[:1]
        for match in PARAMETER.finditer(section + "\n")
        for name in match["names"].split(", ")
    }


def _plain(text: str) -> str:
    return " ".join(text.replace("``", "`").split())
