-- One row is a comparison that counts, of a segment whose graph may be drawn. A task whose comparisons
-- name no segment is one, of its own name.
-- Inputs: comparisons, drawn_segments (as drawn_segments.sql gives it).
WITH tried AS (
    SELECT DISTINCT task, segment FROM drawn_segments
),
kept AS (
    SELECT c.* FROM comparisons AS c WHERE c.kept AND c.task IN (SELECT task FROM tried)
),
whole AS (
    SELECT task FROM kept GROUP BY task HAVING count(segment) = 0
)
SELECT k.task, t.segment, k.item_a, k.item_b, k.outcome
FROM kept AS k
LEFT JOIN whole AS w ON k.task = w.task
INNER JOIN tried AS t
    ON k.task = t.task AND CASE WHEN w.task IS NULL THEN k.segment ELSE k.task END = t.segment
ORDER BY k.task, t.segment, k.item_a, k.item_b, k.outcome
