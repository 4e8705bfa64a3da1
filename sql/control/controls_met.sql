-- One row is a task, judge and kind of control that the judge met there, in judgments that count so
-- far; votes have no judge.
-- Inputs: judgments (with fates so far).
SELECT task, judge_id, control
FROM judgments
WHERE fate IN ('used', 'control') AND votes IS NULL
GROUP BY task, judge_id, control
ORDER BY task, judge_id, control
