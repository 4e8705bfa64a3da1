-- One row is a task of which answers to an audit are others than in the newest release: corrected, superseded or
-- withdrawn. Named with how many of how many.
-- Inputs: judgments (of this build), released (judgments of the newest release).
WITH answers AS (
    SELECT o.task, n.fate IS DISTINCT FROM 'control' OR n.label IS DISTINCT FROM o.label AS changed
    FROM released AS o
    LEFT JOIN judgments AS n USING (judgment_id)
    WHERE o.control = 'audit' AND o.fate = 'control'
)
SELECT task || ' ' || count_if(changed) || ' of ' || count(*) || ' answers' AS name
FROM answers
GROUP BY task
HAVING count_if(changed) > 0
ORDER BY task
