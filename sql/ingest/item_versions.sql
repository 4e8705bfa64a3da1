-- One row is a text of an item of a task whose records carry several texts, by its digest, with the
-- name of the item with this text.
-- The text of the latest judgment is current and has the item's name: the latest is the last by
-- submitted_at (blank ones first), then source, then path, then row, as in settle_judgments.sql. Another
-- has the name with # and 8 digits of its digest, or 16 where an item or another text has that name.
-- Decisions of experts and rejected assignments come before all judgments: they make no text current.
-- Inputs: records (Parquet files with the columns of any_record), any_record (empty), texts_of_records
-- (as texts_of_records.sql gives them).
-- Parameters: drop_rejected: whether the judgments of a rejected assignment are rejected.
WITH placed AS (
    SELECT
        task, item, text_digest,
        row_number() OVER (
            PARTITION BY task, item
            ORDER BY
                coalesce(control, 'none') <> 'adjudication' AND NOT (
                    $drop_rejected AND coalesce(regexp_full_match(status, '\s*rejected\s*', 'i'), false)
                ),
                submitted_at NULLS FIRST, source_order, file_order, record
        ) AS place
    FROM texts_of_records
    WHERE reason IS NULL AND text_digest IS NOT NULL
),
versions AS (
    SELECT
        task, item, text_digest,
        item || '#' || left(text_digest, 8) AS short_name,
        max(place) = max(max(place)) OVER (PARTITION BY task, item) AS is_current
    FROM placed
    GROUP BY task, item, text_digest
),
taken AS (
    SELECT DISTINCT r.task, r.item AS short_name
    FROM (
        SELECT * FROM any_record
        UNION ALL BY NAME
        SELECT * FROM records
    ) AS r
    SEMI JOIN versions AS v ON r.task = v.task AND r.item = v.short_name
)
SELECT
    v.task,
    v.item,
    v.text_digest,
    CASE
        WHEN v.is_current THEN v.item
        WHEN t.task IS NOT NULL OR count(*) OVER (PARTITION BY v.task, v.short_name) > 1
            THEN v.item || '#' || left(v.text_digest, 16)
        ELSE v.short_name
    END AS name,
    v.is_current
FROM versions AS v
LEFT JOIN taken AS t ON v.task = t.task AND v.short_name = t.short_name
ORDER BY v.task, v.item, v.text_digest
