"""Files to upload: a plan of HITs as MTurk, Label Studio or a script wants it.

From low to high: ``plan`` (the table, task by task, HIT by HIT) and ``file_names``;
``spreadsheet_safe`` and ``mturk_layout``; a module a platform (``mturk_file``,
``label_studio_file``, ``jsonl_file``) over ``batch``, which writes all files or none;
``command``, which is `annot hits`.
What comes back is read by ``format: hits`` (annot_pipeline.exports.hits). What does not belong
here: which items are asked next, and in which HIT.
"""

from annot_pipeline.hits.batch import write_batch
from annot_pipeline.hits.jsonl_file import JSON_LINES
from annot_pipeline.hits.label_studio_file import LABEL_STUDIO
from annot_pipeline.hits.mturk_file import MTURK

PLATFORMS = {platform.name: platform for platform in (MTURK, LABEL_STUDIO, JSON_LINES)}
"""By name, as ``next_hits.upload`` says it."""

__all__ = ["PLATFORMS", "write_batch"]
