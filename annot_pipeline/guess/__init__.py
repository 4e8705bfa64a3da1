"""Guesses a campaign.yaml from real exports: what `annot init` writes.

From low to high: ``names`` (usual column names), ``columns`` (what a column holds), ``samples``
(format, encoding, header), ``nested`` and ``layouts`` (columns that are not plain), ``answers``,
``objects``, ``numbered`` and ``mapping`` (canonical fields), ``groups`` (files that belong
together), ``item_tables``, ``document`` (the text). Nothing here decides anything for good: the
text says what every line rests on, and people mend it.
"""

from annot_pipeline.guess.campaign import guess_campaign

__all__ = ["guess_campaign"]
