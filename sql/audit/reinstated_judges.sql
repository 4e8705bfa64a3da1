-- One row is a judge who failed in the newest release and passes now, named with the number of
-- judgments; those with most come first.
-- Inputs: judges (of this build), released (judges of the newest release, or empty).
SELECT
    n.judge || ' (' || format('{:,}', sum(n.n_judgments)::BIGINT)
        || CASE WHEN sum(n.n_judgments) = 1 THEN ' judgment)' ELSE ' judgments)' END AS name
FROM judges AS n
JOIN released AS r ON n.task = r.task AND n.judge = r.judge
WHERE r.verdict = 'failed' AND n.verdict = 'passed'
GROUP BY n.judge
ORDER BY sum(n.n_judgments) DESC, n.judge
