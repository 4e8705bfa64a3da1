-- One row is what records of one task judge (null: nothing told), with how many records do, in
-- the order in which settled records stand.
-- Inputs: records (Parquet files with the columns of any_record; of that task), any_record (empty).
SELECT coalesce(item, item_a || ' | ' || item_b) AS name, count(*) AS records
FROM (
    SELECT * FROM any_record
    UNION ALL BY NAME
    SELECT * FROM records
)
GROUP BY name
ORDER BY name
