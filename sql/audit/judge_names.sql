-- One row is a judge, by the raw name.
-- Inputs: settled.
SELECT DISTINCT judge
FROM settled
WHERE judge IS NOT NULL
ORDER BY judge
