-- One row is a task, judge and kind of control that the judge met there, in judgments that count so far.
-- Inputs: judgments (with fates so far).
SELECT task, judge_id, control
FROM judgments
WHERE fate IN ('used', 'control')
GROUP BY task, judge_id, control
ORDER BY task, judge_id, control
