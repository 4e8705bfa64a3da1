-- One row is an item whose id is near to one that nobody knows, the nearest first.
-- Inputs: lineage, items, judgments.
-- Parameters: item; most: how many.
-- Of ids that share many letters in places alike those with the fewest edits a letter; ids are held
-- to their first 100 characters, since edits cost the product of the lengths.
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
    SELECT item
    FROM known
    ORDER BY jaro_winkler_similarity(left(lower(item), 100), left(lower($item), 100)) DESC, item
    LIMIT 200
)
SELECT item
FROM alike
ORDER BY
    levenshtein(left(lower(item), 100), left(lower($item), 100))
    / greatest(length(left(item, 100)), length(left($item, 100)), 1),
    item
LIMIT $most
