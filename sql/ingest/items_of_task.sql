-- One row is what records of one task judge, with how many judgments there are of it, in the order
-- in which settled records stand. Copies of an export count once, as in ids, and records that no
-- name tells do not count: where a task is cut must not hang on them.
-- Inputs: records (Parquet files with the columns of any_record; of that task), any_record (empty).
SELECT
    coalesce(item, item_a || ' | ' || item_b) AS name,
    count(DISTINCT hash(
        judge, item, item_a, item_b, criterion, control, ranking, hit, native_id, "position",
        CASE WHEN votes IS NOT NULL THEN label END
    )) AS judgments
FROM (
    SELECT * FROM any_record
    UNION ALL BY NAME
    SELECT * FROM records
)
WHERE reason IS NULL AND name IS NOT NULL
GROUP BY ALL
ORDER BY name
