"""Regular expressions of a campaign, each search within a time limit.

Python's own engine has none: a pattern such as ``(a|aa)+$`` takes longer than anybody waits on one
cell of sixty letters.
"""

from __future__ import annotations

from dataclasses import dataclass

import regex

from annot_pipeline.errors import ConfigError, Problem, shorten

LONGEST_SEARCH_S = 5.0
"""Seconds that one search may take; ordinary ones take microseconds."""


@dataclass(frozen=True)
class Pattern:
    """A compiled regular expression."""

    compiled: regex.Pattern[str]

    def search(self, text: str) -> regex.Match[str] | None:
        """Return the first match in a text.

        Raises
        ------
        ConfigError
            The search takes longer than `LONGEST_SEARCH_S`. The build stops, as no record may be
            rejected on a slow machine alone.
        """
        try:
            return self.compiled.search(text, timeout=LONGEST_SEARCH_S)
        except TimeoutError:
            what = f"{shorten(self.compiled.pattern)} takes more than {LONGEST_SEARCH_S:g} s"
            what += f" on a value of {len(text):,} characters"
            do = "write it without a repeat inside a repeat, as (a|aa)+, or anchor it with ^"
            title = "campaign.yaml: a regular expression takes too long"
            raise ConfigError(title, [Problem("", what, do=do)]) from None


def compile_pattern(pattern: str) -> Pattern:
    """Return a pattern, ready to search.

    Raises
    ------
    ConfigError
        It is no regular expression once ``each`` is filled in.
    """
    try:
        return Pattern(regex.compile(pattern))
    except regex.error as error:
        raise ConfigError(
            "campaign.yaml: not a regular expression once `each` is filled in",
            [Problem("", f"{shorten(pattern)}: {error}", do="escape what each puts there")],
        ) from None
