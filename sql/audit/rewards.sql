-- One row is a reward that records name.
-- Inputs: controlled.
SELECT DISTINCT reward
FROM controlled
WHERE reward IS NOT NULL
ORDER BY reward
