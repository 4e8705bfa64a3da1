-- One row is an item of a task whose judgments carry its text, with the digest of it.
-- Inputs: records (Parquet files with the columns of any_record), any_record (empty), versions (as
-- item_versions.sql gives them).
-- A text that no judgment is of, as item_versions.sql has it, is none of the item.
-- Texts that differ in blanks alone have one digest; the first by code point stands for them.
SELECT
    r.task,
    coalesce(v.name, r.item) AS item,
    left(r.text_digest, 8) AS item_version,
    min(r."text") AS "text"
FROM (
    SELECT * FROM any_record
    UNION ALL BY NAME
    SELECT * FROM records
) AS r
LEFT JOIN versions AS v
    ON r.task = v.task AND r.item = v.item AND r.text_digest = v.text_digest
LEFT JOIN (SELECT DISTINCT task, item FROM versions) AS c ON r.task = c.task AND r.item = c.item
WHERE r.reason IS NULL AND r.item IS NOT NULL AND r.text_digest IS NOT NULL
    AND (v.item IS NOT NULL OR c.item IS NULL)
GROUP BY ALL
ORDER BY ALL
