-- One row is a statistic of agreement that this build and the newest release both have, with the
-- ends of its intervals (null where there is none, see the reason of this build) and the items that
-- both rest on.
-- Inputs: agreement (of this build), released (agreement of the newest release, or empty).
SELECT
    n.task,
    n.statistic,
    r.value AS released,
    r.ci_low AS released_low,
    r.ci_high AS released_high,
    n.value AS now,
    n.ci_low AS now_low,
    n.ci_high AS now_high,
    n.reason,
    least(n.n_items, r.n_items) AS items
FROM agreement AS n
JOIN released AS r ON n.task = r.task AND n.statistic = r.statistic
WHERE n.value IS NOT NULL AND r.value IS NOT NULL
ORDER BY n.task, n.statistic
