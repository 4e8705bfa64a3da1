-- One row is a rule of judge control that judges break: a test that they failed, or, where their
-- judgments do not count, an undetermined verdict or a suspicion. names: of all of them; removed, judgments: of those who do not count.
-- Inputs: judges (the gold table).
-- Parameters: by_task: whether judges are tested in each task, which their names then say.
SELECT
    CASE WHEN verdict = 'failed' THEN coalesce(test, 'judge_control')
        WHEN suspected THEN 'suspected'
        ELSE 'undetermined' END AS rule,
    list(DISTINCT name ORDER BY name) AS names,
    bool_or(verdict = 'failed') AS fails,
    count(DISTINCT judge) FILTER (dropped) AS removed,
    coalesce(sum(n_judgments) FILTER (dropped), 0)::BIGINT AS judgments
FROM (SELECT *, CASE WHEN $by_task THEN task || ' ' || judge ELSE judge END AS name FROM judges)
WHERE dropped OR verdict = 'failed'
GROUP BY rule
ORDER BY rule
