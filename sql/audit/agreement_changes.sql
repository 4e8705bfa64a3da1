-- One row is a statistic of agreement that this build and the newest release both have.
-- Inputs: agreement (of this build), released (agreement of the newest release, or empty).
SELECT
    n.task,
    n.statistic,
    r.value AS released,
    n.value AS now,
    n.value - r.value AS change
FROM agreement AS n
JOIN released AS r ON n.task = r.task AND n.statistic = r.statistic
WHERE n.value IS NOT NULL AND r.value IS NOT NULL
ORDER BY n.task, n.statistic
