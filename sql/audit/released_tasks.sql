-- One row is a task of the newest release that has judgments, or votes alone, and the number of its judgments.
-- Inputs: released, released_labels (judgments and labels of the newest release).
SELECT task, sum(n)::BIGINT AS judgments
FROM (
    SELECT task, count(*) AS n FROM released GROUP BY task
    UNION ALL
    SELECT DISTINCT task, 0 FROM released_labels WHERE n_judges = 0 AND n_judgments > 0
)
GROUP BY task
ORDER BY task
