-- One row is a record of an item of a task whose records carry several texts, with what its judgment
-- is known by and the digest of the text that it is of (null: it carries none).
-- A judgment that several files hold, alike in all but the text, is of the text in the first: later
-- ones repeat it with the text of their day.
-- Inputs: records (Parquet files with the columns of any_record), any_record (empty), record_files
-- (source_order, file_order, filename), several_texts (task, item: of these items).
SELECT
    f.source_order, f.file_order, r.record, r.reason,
    r.task, r.judge, r.item, r.item_a, r.item_b, r.criterion, r.control, r.ranking, r.hit, r.native_id,
    r."position", r.label, r.votes, r.status, r.submitted_at,
    CASE
        WHEN r.text_digest IS NULL OR r.reason IS NOT NULL OR r.native_id IS NULL AND r.submitted_at IS NULL
            THEN r.text_digest
        ELSE first_value(r.text_digest) OVER same_judgment
    END AS text_digest
FROM (
    SELECT * FROM any_record
    UNION ALL BY NAME
    SELECT * FROM records
) AS r
JOIN record_files AS f ON parse_filename(r.filename) = f.filename
SEMI JOIN several_texts AS s ON r.task = s.task AND r.item = s.item
WINDOW same_judgment AS (
    PARTITION BY r.task, r.item, r.judge, r.criterion, r.control, r.hit, r.native_id, r."position",
        r.submitted_at, r.label, r.score, r.votes, r.text_digest IS NULL, r.reason IS NULL
    ORDER BY f.source_order, f.file_order, r.record
)
