-- One row is a reason why records cannot be read.
-- Inputs: records (Parquet files with the columns of any_record), any_record (empty).
WITH all_records AS (
    SELECT * FROM any_record
    UNION ALL BY NAME
    SELECT * FROM records
)
SELECT DISTINCT reason FROM all_records WHERE reason IS NOT NULL ORDER BY reason
