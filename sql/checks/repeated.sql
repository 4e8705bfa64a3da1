-- One row says in how many rows the key is that of the row before or after, and where (from 0) five
-- of them are; rows stand in the order of the key. Equal nulls are equal.
-- Inputs: rows. Parameters: columns (of the key), shown.
WITH keys AS (
    SELECT row(*COLUMNS($columns)) AS key, row_number() OVER () - 1 AS place_of_row FROM rows
),
near AS (
    SELECT
        place_of_row,
        coalesce(key = lag(key) OVER (), FALSE) OR coalesce(key = lead(key) OVER (), FALSE) AS again
    FROM keys
)
SELECT
    'key' AS column_name,
    {'rows': count_if(again)::BIGINT, 'places': min(CASE WHEN again THEN place_of_row END, $shown)} AS found
FROM near
