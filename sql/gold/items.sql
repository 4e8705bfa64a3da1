-- One row is an item that was judged or is listed in an item table.
-- Inputs: controlled, item_rows (item, segment, system, text, source, reference, truth, place).
-- What an item table says wins over what records say; its first row wins over later ones;
-- a truth on which tasks differ is null.
WITH judged AS (
    SELECT item, segment, system, truth FROM controlled
    WHERE judgment_id IS NOT NULL AND item IS NOT NULL
    UNION ALL
    SELECT item_a, segment, system_a, NULL FROM controlled
    WHERE judgment_id IS NOT NULL AND item_a IS NOT NULL
    UNION ALL
    SELECT item_b, segment, system_b, NULL FROM controlled
    WHERE judgment_id IS NOT NULL AND item_b IS NOT NULL
),
from_records AS (
    SELECT
        item,
        min(segment) AS segment,
        min(system) AS system,
        CASE WHEN count(DISTINCT truth) = 1 THEN min(truth) END AS truth
    FROM judged
    GROUP BY item
),
listed AS (
    SELECT
        *,
        count(DISTINCT task) OVER (PARTITION BY item) > 1
            AND count(DISTINCT truth) OVER (PARTITION BY item) > 1 AS tasks_differ
    FROM item_rows
    QUALIFY row_number() OVER (PARTITION BY item ORDER BY place) = 1
)
SELECT
    coalesce(l.item, r.item) AS item,
    coalesce(l.segment, r.segment) AS segment,
    coalesce(l.system, r.system) AS system,
    l."text",
    l."source",
    l.reference,
    CASE WHEN NOT coalesce(l.tasks_differ, false) THEN coalesce(l.truth, r.truth) END AS truth
FROM from_records AS r
FULL JOIN listed AS l ON r.item = l.item
ORDER BY 1
