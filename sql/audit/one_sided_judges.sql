-- One row is a task and a judge with 20 or more preferences that all name one side, or are all ties: what the other
-- judges of the task answer makes that improbable (p below 1e-5). Named with the answer and how many there are.
-- Inputs: judgments (of this build).
WITH answers AS (
    SELECT task, judge, preference, count(*) AS n
    FROM judgments
    WHERE preference IS NOT NULL AND judge IS NOT NULL AND fate IN ('used', 'measured')
    GROUP BY ALL
),
judges AS (
    SELECT task, judge, min(preference) AS answer, sum(n) AS n
    FROM answers
    GROUP BY task, judge
    HAVING count(*) = 1 AND sum(n) >= 20
)
SELECT j.task || ' ' || j.judge || ' (' || CASE j.answer WHEN 'tie' THEN 'tie' ELSE 'item_' || j.answer END
    || ' in all ' || format('{:,}', j.n::BIGINT) || ' answers)' AS name
FROM judges AS j
JOIN answers AS a ON j.task = a.task AND j.judge <> a.judge
GROUP BY j.task, j.judge, j.answer, j.n
HAVING j.n * ln((coalesce(sum(a.n) FILTER (WHERE a.preference = j.answer), 0) + 1) / (sum(a.n) + 3)) < ln(1e-5)
ORDER BY j.n DESC, j.task, j.judge
