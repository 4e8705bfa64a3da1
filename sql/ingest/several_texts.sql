-- One row is an item of a task whose records carry several texts.
-- Inputs: records (Parquet files with the columns of any_record), any_record (empty).
SELECT task, item
FROM (
    SELECT * FROM any_record
    UNION ALL BY NAME
    SELECT * FROM records
)
WHERE reason IS NULL AND item IS NOT NULL
GROUP BY task, item
HAVING min(text_digest) <> max(text_digest)
