-- One row is a task of the newest release that has judgments.
-- Inputs: released (judgments of the newest release).
SELECT DISTINCT task FROM released ORDER BY task
