-- One row is a task, model judge and currency: what its judgments cost, of those that say so.
-- Inputs: controlled, rewards (reward as written, amount, currency).
SELECT
    c.task,
    c.judge_id AS judge,
    r.currency,
    count(*)::BIGINT AS n_paid,
    CAST(sum(CAST(r.amount AS DECIMAL(28, 9))) AS DOUBLE) AS paid
FROM controlled AS c
JOIN rewards AS r ON c.reward = r.reward
WHERE c.judge_kind = 'model' AND c.fate IN ('used', 'measured', 'control', 'judge_failed')
GROUP BY c.task, c.judge_id, r.currency
ORDER BY c.task, c.judge_id, r.currency
