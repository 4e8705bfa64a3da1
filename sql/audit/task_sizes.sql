-- One row is a task (null: none named), with the number of its records.
-- Inputs: judgments.
SELECT task, count(*) AS records
FROM judgments
GROUP BY task
ORDER BY task
