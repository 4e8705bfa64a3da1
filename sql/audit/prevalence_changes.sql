-- One row is a class of a task of which this build and the newest release both have labels: its
-- share of the items, 0 where the class is new or gone, and how many items the share is of.
-- Inputs: prevalence (of this build), released (prevalence of the newest release, or empty).
WITH sizes AS (
    SELECT task, sum(n_items)::BIGINT AS items FROM prevalence GROUP BY task
),
released_sizes AS (
    SELECT task, sum(n_items)::BIGINT AS items FROM released GROUP BY task
)
SELECT
    task,
    label,
    coalesce(r.prevalence, 0) AS released,
    s.items AS released_items,
    coalesce(n.prevalence, 0) AS now,
    t.items AS now_items
FROM prevalence AS n
FULL JOIN released AS r USING (task, label)
JOIN sizes AS t USING (task)
JOIN released_sizes AS s USING (task)
WHERE t.items > 0 AND s.items > 0
ORDER BY task, label
