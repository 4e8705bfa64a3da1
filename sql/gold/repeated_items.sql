-- One row is an item that exports or item tables describe in different ways.
-- Inputs: controlled, item_rows (item, segment, system, text, source, reference, truth).
-- truths: where they differ, all of them; else null, and another column differs.
WITH item_truths AS (
    SELECT item, truth FROM controlled WHERE judgment_id IS NOT NULL AND item IS NOT NULL
    UNION ALL
    SELECT item, truth FROM item_rows
),
contradicted AS (
    SELECT item, list(DISTINCT truth ORDER BY truth) AS truths
    FROM item_truths
    WHERE truth IS NOT NULL
    GROUP BY item
    HAVING count(DISTINCT truth) > 1
),
listed AS (
    SELECT item
    FROM (SELECT DISTINCT item, segment, system, "text", "source", reference, truth FROM item_rows)
    GROUP BY item
    HAVING count(*) > 1
)
SELECT coalesce(c.item, l.item) AS item, c.truths
FROM contradicted AS c
FULL JOIN listed AS l ON c.item = l.item
ORDER BY 1
