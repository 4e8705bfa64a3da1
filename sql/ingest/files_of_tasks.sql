-- One row is a task (null: none named) and a file that holds records of it.
-- Inputs: records (Parquet files with the columns of any_record), any_record (empty).
SELECT DISTINCT task, parse_filename(filename) AS filename
FROM (
    SELECT * FROM any_record
    UNION ALL BY NAME
    SELECT * FROM records
)
ORDER BY task, filename
