"""`annot review`: what judge control says of MTurk's assignments, in the file that MTurk takes.

Nothing is sent anywhere: a person looks at the files, changes them, and uploads them. Doubt
leaves a row blank (MTurk decides nothing of such a row): undetermined and untested judges, judges
who fail but whose effect may be as large as the required one, rows that could not be read, and rows
that MTurk, or a person, has decided already. What does not belong here: the verdicts themselves
(stages.judges.control_judges).

``command`` calls, in this order: ``last_build`` (its tables, if they are still to be trusted, and
its batches), ``folder`` (what must not be written over), ``found_rows`` (what the pipeline found
of each row), ``upload`` (the batch with both columns filled, by way of ``batch_file``, its text,
and ``assignments``, what to do about each), ``sheet`` (the same for people).
"""

from annot_pipeline.review.command import FOLDER, review

__all__ = ["FOLDER", "review"]
