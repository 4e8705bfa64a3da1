-- One row is a task with items of which no judgment counts, since their judges failed or their answers
-- were rejected: how many there are, and the first of them.
-- Inputs: controlled.
WITH uncounted AS (
    SELECT task, item
    FROM controlled
    WHERE task IS NOT NULL AND item IS NOT NULL
    GROUP BY task, item
    HAVING
        bool_or(fate IN ('judge_failed', 'rejected'))
        AND NOT bool_or(fate IN ('used', 'measured', 'control', 'adjudication'))
)
SELECT task, count(*) AS items, min(item, 5) AS examples
FROM uncounted
GROUP BY task
ORDER BY task
