-- One row is a name of a judge that stands, as a whole, in a cell that a reason may quote: of a label
-- or criterion, before it is known whether the task declares it.
-- Inputs: records (Parquet files with the columns of any_record), any_record (empty), names (key:
-- without blanks around, in lower case).
WITH all_records AS (
    SELECT * FROM any_record
    UNION ALL BY NAME
    SELECT * FROM records
),
cells AS (
    SELECT label AS cell FROM all_records
    UNION ALL
    SELECT criterion FROM all_records
)
SELECT DISTINCT key
FROM (
    SELECT lower(nfc_normalize(regexp_replace(cell, '^[\s\pZ]+|[\s\pZ]+$', '', 'g'))) AS key
    FROM cells
    WHERE cell IS NOT NULL
)
SEMI JOIN names USING (key)
ORDER BY key
