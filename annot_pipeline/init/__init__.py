"""Writes a campaign.yaml from real exports, or asks what the cells do not say: `annot init`.

From low to high: ``names`` (what columns are called) and ``table`` (what they hold); ``groups``
and ``sniff`` (opening files without knowing how, and which belong together); ``views`` (the shapes
of rows, each made long); ``roles`` (every column scored for every role); ``answers``,
``comparisons`` and ``rankings``; ``who``, ``what``, ``alike``, ``answer_columns`` and ``readings``
(who judged what, and how); ``matrix`` (columns that are judges, or questions) and ``shapes`` (the
view that is complete); ``presets`` (known tools, as data); ``trial`` (what a build would make of
it); ``sources`` (their tasks, and tables of items); ``document`` (the text); ``questions`` and
``conversation`` (what is left to ask).
"""

from annot_pipeline.init.campaign import Guess, OpenError, guess, guess_campaign

__all__ = ["Guess", "OpenError", "guess", "guess_campaign"]
