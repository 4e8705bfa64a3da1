-- One row is an item that was judged or is listed in an item table.
-- Inputs: controlled, item_rows (item, segment, system, text, source, reference, truth, place),
-- item_texts (task, item, item_version, text: of judgments that carry the text of their item).
-- What an item table says wins over what records say; its first row wins over later ones;
-- a truth on which tasks differ is null. But judges saw the text that judgments carry: where it is
-- another than that of the item table, in more than blanks, it is published; where tasks differ in
-- it, no version is.
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
),
judged_texts AS (
    SELECT item, min(item_version) AS item_version, min("text") AS "text"
    FROM item_texts
    GROUP BY item
    HAVING count(DISTINCT item_version) = 1
)
SELECT
    coalesce(l.item, r.item) AS item,
    coalesce(l.segment, r.segment) AS segment,
    coalesce(l.system, r.system) AS system,
    CASE
        WHEN trim(regexp_replace(nfc_normalize(l."text"), '[\s\pZ]+', ' ', 'g'))
            = trim(regexp_replace(nfc_normalize(t."text"), '[\s\pZ]+', ' ', 'g'))
            THEN l."text"
        ELSE coalesce(t."text", l."text")
    END AS "text",
    t.item_version,
    l."source",
    l.reference,
    CASE WHEN NOT coalesce(l.tasks_differ, false) THEN coalesce(l.truth, r.truth) END AS truth
FROM from_records AS r
FULL JOIN listed AS l ON r.item = l.item
LEFT JOIN judged_texts AS t ON r.item = t.item
ORDER BY 1
