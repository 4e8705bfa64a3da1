-- One row is a HIT of a judge who scored more items in it, without a segment, than are compared.
-- Inputs: standardized (of one task); $most_items.
WITH cells AS (
    SELECT judge, hit, hash(item) AS item_hash
    FROM standardized
    WHERE control = 'none' AND hit IS NOT NULL AND segment IS NULL AND ranking IS NULL
    GROUP BY judge, hit, item_hash
)
SELECT judge, hit
FROM cells
GROUP BY judge, hit
HAVING count(*) > $most_items
ORDER BY judge, hit
