-- One row is a judge of both releases whose verdict, or whether judgments count, has changed.
-- Inputs: old, new (judges of both releases).
SELECT
    o.task,
    o.judge,
    o.verdict AS old_verdict,
    n.verdict AS new_verdict,
    o.dropped AS old_dropped,
    n.dropped AS new_dropped,
    o.p_value AS old_p_value,
    n.p_value AS new_p_value,
    o.p_adjusted AS old_p_adjusted,
    n.p_adjusted AS new_p_adjusted,
    o.n_pairs AS old_n_pairs,
    n.n_pairs AS new_n_pairs
FROM old AS o
JOIN new AS n USING (task, judge)
WHERE o.verdict IS DISTINCT FROM n.verdict OR o.dropped IS DISTINCT FROM n.dropped
ORDER BY o.task, o.judge
