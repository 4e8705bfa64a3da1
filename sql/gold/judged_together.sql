-- One row is an ordinary score whose judge scored another item beside it: in the same ranking, or HIT
-- where there is none, and segment.
-- Inputs: standardized (of one task).
--
-- What was seen together is told by hashes, so that no text is held a judgment. Where two hashes
-- happen to be equal, a row too many comes along, and finds no other item beside it.
WITH ordinary AS (
    SELECT
        *, hash(judge, ranking, CASE WHEN ranking IS NULL THEN hit END, segment) AS together
    FROM standardized
    WHERE control = 'none' AND (hit IS NOT NULL OR ranking IS NOT NULL)
),
several AS (
    SELECT together FROM ordinary GROUP BY together HAVING min(hash(item)) <> max(hash(item))
)
SELECT * EXCLUDE (together)
FROM ordinary
SEMI JOIN several USING (together)
ORDER BY judgment_id
