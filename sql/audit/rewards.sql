-- One row is a reward that records name, with the first place of it.
-- Inputs: controlled.
SELECT
    reward,
    first(source_file || ' row ' || source_row ORDER BY source_order, source_file, source_row)
        AS place
FROM controlled
WHERE reward IS NOT NULL
GROUP BY reward
ORDER BY reward
