-- One row is an item whose id is near to one that nobody knows, the nearest first.
-- Inputs: lineage, items, judgments.
-- Parameters: item; most: how many.
-- Of ids that share many letters in places alike those with the fewest edits a letter; ids are held
-- to their first 100 characters, since edits cost the product of the lengths. What shares less than
-- half of its letters, and does not begin alike, is not near.
WITH known AS (
    SELECT item FROM lineage WHERE item IS NOT NULL
    UNION
    SELECT item FROM items
    UNION
    SELECT item_a FROM judgments WHERE item_a IS NOT NULL
    UNION
    SELECT item_b FROM judgments WHERE item_b IS NOT NULL
),
alike AS (
    SELECT item, jaro_winkler_similarity(left(lower(item), 100), left(lower($item), 100)) AS alike
    FROM known
    ORDER BY alike DESC, item
    LIMIT 200
),
measured AS (
    SELECT
        item,
        alike,
        levenshtein(left(lower(item), 100), left(lower($item), 100))
        / greatest(length(left(item, 100)), length(left($item, 100)), 1) AS distance
    FROM alike
)
SELECT item
FROM measured
WHERE distance <= 0.5 OR alike >= 0.8
ORDER BY distance, item
LIMIT $most
