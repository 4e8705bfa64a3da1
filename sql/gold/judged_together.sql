-- One row is an ordinary score whose judge scored another item beside it: in the same ranking, or HIT
-- where there is none, and segment. HITs of more items than are compared without a segment are left
-- out (gold/crowded_hits).
-- Inputs: standardized (of one task); $most_items.
--
-- What was seen together is told by hashes, so that no text is held a judgment. Where two hashes
-- happen to be equal, a row too many comes along, and finds no other item beside it.
WITH ordinary AS (
    SELECT
        *, hash(judge, ranking, CASE WHEN ranking IS NULL THEN hit END, segment) AS together
    FROM standardized
    WHERE control = 'none' AND (hit IS NOT NULL OR ranking IS NOT NULL)
),
cells AS (
    SELECT together, hash(item) AS item_hash, bool_or(segment IS NULL AND ranking IS NULL) AS is_loose
    FROM ordinary
    GROUP BY together, item_hash
),
several AS (
    SELECT together
    FROM cells
    GROUP BY together
    HAVING count(*) > 1 AND NOT (bool_or(is_loose) AND count(*) > $most_items)
)
SELECT * EXCLUDE (together)
FROM ordinary
SEMI JOIN several USING (together)
ORDER BY judgment_id
