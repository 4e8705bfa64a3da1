-- One row is an outcome of comparisons of two systems (null where an item has none), and how many
-- had it.
-- Inputs: comparisons.
SELECT task, kept, system_a, system_b, outcome, count(*) AS n
FROM comparisons
GROUP BY ALL
ORDER BY ALL
