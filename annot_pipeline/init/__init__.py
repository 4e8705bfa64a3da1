"""Guesses a campaign.yaml from real exports: what `annot init` writes.

From low to high: ``names`` (usual column names) and ``columns`` (what they hold); ``samples``,
``headerless``, ``json_shapes`` and ``sniff`` (opening a file without knowing how), ``nested`` (JSON
cells), ``drafts`` (mappings tried on the rows), ``presets`` (known tools), ``identity`` (one answer
a judge and item),
``planned`` (HITs that `annot hits` made, which say all themselves);
``answers`` and ``answer_columns``; ``rankings`` (what ranks); ``sides``, ``outcomes`` and
``comparisons`` (which of two is better); ``numbered`` (several side by side); ``objects``,
``optional_fields`` and ``row_shapes``, which make the ``mapping`` of ``fields``; ``groups`` and
``sources`` (files that belong together), ``task_names``, ``item_tables``; ``document`` (the text).
Nothing here decides anything for good: the text says what every line rests on, and people mend it.
"""

from annot_pipeline.init.campaign import guess_campaign

__all__ = ["guess_campaign"]
