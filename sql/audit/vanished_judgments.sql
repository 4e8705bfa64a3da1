-- One row is a task of the newest release: its judgments and items, how many of them no export holds
-- any more, and the first five of these items. What is rejected now is held no more. An item whose
-- judgments all are held has not vanished: where its text changed, they are of an item of another name.
-- Nor has an earlier text of an item that is held: it may be current now, and NAME#DIGEST be NAME.
-- Items that have votes alone, of judges whom nobody names, have a label and no judgment.
-- Nor has what stands only in exports that the campaign excludes now, in rows that its where leaves out
-- now, or what a forgotten person judged.
-- Inputs: lineage (of this build), released, released_labels (judgments and labels of the newest
-- release, or empty), excluded (its judgments in excluded exports, left out rows, and of forgotten people).
WITH released_items AS (
    SELECT judgment_id, task, item FROM released
    UNION ALL
    SELECT NULL, task, item FROM released_labels WHERE n_judges = 0 AND n_judgments > 0
),
held AS (
    SELECT judgment_id FROM lineage WHERE judgment_id IS NOT NULL
    UNION
    SELECT judgment_id FROM excluded WHERE judgment_id IS NOT NULL
),
held_items AS (
    SELECT task, item FROM lineage WHERE judgment_id IS NOT NULL
    UNION
    SELECT task, item FROM excluded WHERE judgment_id IS NOT NULL
),
items AS (
    SELECT
        r.task,
        r.item,
        count(r.judgment_id) AS judgments,
        count_if(r.judgment_id IS NOT NULL AND h.judgment_id IS NULL) AS vanished
    FROM released_items AS r
    LEFT JOIN held AS h ON r.judgment_id = h.judgment_id
    GROUP BY r.task, r.item
)
SELECT
    i.task,
    sum(i.judgments)::BIGINT AS judgments,
    sum(i.vanished)::BIGINT AS vanished,
    count(*) AS items,
    count_if(is_vanished)::BIGINT AS vanished_items,
    coalesce(min(CASE WHEN is_vanished THEN i.item END, 5), []) AS first_vanished
FROM (
    SELECT i.*, h.item IS NULL AND p.item IS NULL AND (i.vanished > 0 OR i.judgments = 0) AS is_vanished
    FROM items AS i
    LEFT JOIN held_items AS h ON i.task = h.task AND i.item = h.item
    LEFT JOIN held_items AS p
        ON i.task = p.task AND regexp_extract(i.item, '^(.+)#[0-9a-f]{8}([0-9a-f]{8})?$', 1) = p.item
) AS i
GROUP BY i.task
ORDER BY i.task
