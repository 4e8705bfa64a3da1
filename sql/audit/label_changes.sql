-- One row is a task: items that this build and the newest release both label, those of them that
-- have another label now, and the first five of these; how many are certain now, and were.
-- Inputs: labels (of this build), released (labels of the newest release, or empty).
SELECT
    n.task,
    count(*) AS items,
    count_if(n.label <> r.label)::BIGINT AS changed,
    coalesce(min(CASE WHEN n.label <> r.label THEN n.item END, 5), []) AS first_changed,
    count_if(n.certain)::BIGINT AS certain,
    count_if(r.certain)::BIGINT AS certain_before
FROM labels AS n
JOIN released AS r ON n.task = r.task AND n.item = r.item
GROUP BY n.task
ORDER BY n.task
