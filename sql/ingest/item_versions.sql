-- One row is a text of an item of a task whose records carry several texts, by its digest: the name
-- of the item with this text, and what the ids of its judgments are told apart by (null: nothing).
-- A judgment that several files hold, alike in all but the text, is of the text in the first: later
-- ones repeat it with the text of their day.
-- The text of the latest judgment is current and has the item's name: the latest is the last by
-- submitted_at (blank ones first), then source, then path, then row, as in settle_judgments.sql. Another
-- has the name with @ and 8 digits of its digest, or 16 where an item or another text has that name.
-- The text of the first judgment leaves ids as they are: so they stay what they were when it was
-- the only one, and when it is not current any more. Decisions of experts and rejected assignments
-- come before all judgments: they make no text current.
-- Inputs: records (Parquet files with the columns of any_record), any_record (empty), record_files
-- (source_order, file_order, filename).
-- Parameters: drop_rejected: whether the judgments of a rejected assignment are rejected.
WITH all_records AS (
    SELECT * FROM any_record
    UNION ALL BY NAME
    SELECT * FROM records
),
texts AS (
    SELECT
        r.task, r.item, r.record, r.submitted_at, f.source_order, f.file_order,
        CASE WHEN r.native_id IS NULL AND r.submitted_at IS NULL THEN r.text_digest
            ELSE first_value(r.text_digest) OVER same_judgment END AS text_digest,
        coalesce(r.control, 'none') <> 'adjudication'
            AND NOT ($drop_rejected AND coalesce(regexp_full_match(r.status, '\s*rejected\s*', 'i'), false))
            AS is_judgment
    FROM all_records AS r
    JOIN record_files AS f ON parse_filename(r.filename) = f.filename
    SEMI JOIN (
        SELECT task, item FROM all_records WHERE reason IS NULL
        GROUP BY task, item HAVING min(text_digest) <> max(text_digest)
    ) AS c ON r.task = c.task AND r.item = c.item
    WHERE r.reason IS NULL AND r.text_digest IS NOT NULL
    WINDOW same_judgment AS (
        PARTITION BY r.task, r.item, r.judge, r.criterion, r.control, r.hit, r.native_id, r."position",
            r.submitted_at, r.label, r.score, r.votes
        ORDER BY f.source_order, f.file_order, r.record
    )
),
placed AS (
    SELECT
        *,
        row_number() OVER (
            PARTITION BY task, item
            ORDER BY is_judgment, submitted_at NULLS FIRST, source_order, file_order, record
        ) AS place
    FROM texts
),
versions AS (
    SELECT
        task, item, text_digest,
        item || '@' || left(text_digest, 8) AS short_name,
        max(place) = max(max(place)) OVER whole AS is_current,
        min(place) FILTER (is_judgment) IS NOT DISTINCT FROM
            min(min(place) FILTER (is_judgment)) OVER whole AS is_first
    FROM placed
    GROUP BY task, item, text_digest
    WINDOW whole AS (PARTITION BY task, item)
),
taken AS (
    SELECT DISTINCT r.task, r.item AS short_name
    FROM all_records AS r
    SEMI JOIN versions AS v ON r.task = v.task AND r.item = v.short_name
)
SELECT
    v.task,
    v.item,
    v.text_digest,
    CASE
        WHEN v.is_current THEN v.item
        WHEN t.task IS NOT NULL OR count(*) OVER (PARTITION BY v.task, v.short_name) > 1
            THEN v.item || '@' || left(v.text_digest, 16)
        ELSE v.short_name
    END AS name,
    CASE WHEN NOT v.is_first THEN '@' || v.text_digest END AS key_suffix,
    v.is_current
FROM versions AS v
LEFT JOIN taken AS t ON v.task = t.task AND v.short_name = t.short_name
ORDER BY v.task, v.item, v.text_digest
