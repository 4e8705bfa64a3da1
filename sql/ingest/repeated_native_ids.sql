-- One row is a native id of a parsed file under which a judge's answer on an item is repeated, where
-- the id names one judge and item: an id that is shared by several identifies no answer.
-- Inputs: records (Parquet files with the columns of any_record), any_record (empty).
WITH all_records AS (
    SELECT * FROM any_record
    UNION ALL BY NAME
    SELECT * FROM records
),
answers AS (
    SELECT * FROM all_records
    WHERE native_id IS NOT NULL AND reason IS NULL AND control IS DISTINCT FROM 'adjudication'
),
repeated AS (
    SELECT DISTINCT filename, native_id
    FROM (
        SELECT filename, native_id
        FROM answers
        GROUP BY filename, native_id, task, judge, item, item_a, item_b, criterion, control,
            ranking, hit, "position", label, score, preference, strength, rank, rank_a, rank_b
        HAVING count(*) > 1
    )
)
SELECT parse_filename(filename) AS filename, native_id
FROM answers
SEMI JOIN repeated USING (filename, native_id)
GROUP BY filename, native_id
HAVING count(DISTINCT struct_pack(judge, item, item_a, item_b)) = 1
ORDER BY filename, native_id
