-- One row is a task and judge, of tasks in which answers failed: the judge's answers, and those of
-- them that did not fail.
-- Inputs: controlled.
SELECT
    task, judge_id AS judge,
    count(*) AS n_asked,
    count(*) FILTER (fate <> 'unscored') AS n_answered
FROM controlled
WHERE fate IN ('used', 'measured', 'control', 'judge_failed', 'unscored') AND judge_id IS NOT NULL
    AND task IN (SELECT task FROM controlled WHERE fate = 'unscored')
GROUP BY task, judge_id
ORDER BY task, judge_id
