"""Files to upload: a plan of HITs as MTurk, Label Studio or a script wants it.

From low to high: ``plan`` (the table, task by task, HIT by HIT) and ``file_names``;
``spreadsheet_safe`` and ``mturk_layout``; a module a platform (``mturk_file``,
``label_studio_file``, ``jsonl_file``) over ``batch``, which writes all files or none;
``command``, which is `annot hits`.
What comes back is read by ``format: hits`` (annot_pipeline.exports.hits). What does not belong
here: which items are asked next, and in which HIT.
"""

from annot_pipeline.hits.jsonl_file import JSON_LINES, write_jsonl
from annot_pipeline.hits.label_studio_file import LABEL_STUDIO, write_label_studio
from annot_pipeline.hits.mturk_file import MTURK, write_mturk
from annot_pipeline.steps.hit_plan import Question

WRITERS = {
    "mturk": write_mturk,
    "label_studio": write_label_studio,
    "jsonl": write_jsonl,
}
"""Platform to what writes its files: ``(plan, questions, folder, *, force=False)``."""

PLATFORMS = {platform.name: platform for platform in (MTURK, LABEL_STUDIO, JSON_LINES)}

__all__ = ["PLATFORMS", "WRITERS", "Question", "write_jsonl", "write_label_studio", "write_mturk"]
