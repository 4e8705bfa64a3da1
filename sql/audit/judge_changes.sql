-- One row is a task: its judgments, those by judges whom the newest release has in no task, and how
-- many such judges there are.
-- Inputs: judges (of this build), released (judges of the newest release, or empty).
SELECT
    n.task,
    sum(n.n_judgments)::BIGINT AS judgments,
    coalesce(sum(n.n_judgments) FILTER (seen.judge IS NULL), 0)::BIGINT AS unseen_judgments,
    count_if(seen.judge IS NULL)::BIGINT AS unseen_judges
FROM judges AS n
LEFT JOIN (SELECT DISTINCT judge FROM released) AS seen ON n.judge = seen.judge
GROUP BY n.task
ORDER BY n.task
