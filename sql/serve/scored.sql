-- One row is an item with a score, the one on whose scores judges differ most first.
-- Inputs: scores, judgments, items.
-- Parameters: task, item, words (null: any), most, skipped.
WITH texts AS (
    SELECT item, any_value(text ORDER BY text) AS text FROM items WHERE text IS NOT NULL GROUP BY item
),
spreads AS (
    SELECT task, item, max(score) - min(score) AS spread
    FROM judgments
    WHERE fate = 'used' AND score IS NOT NULL
    GROUP BY task, item
)
SELECT
    s.task, s.item, s.n_judgments, s.raw_mean, s.z_mean, p.spread, t.text, count(*) OVER () AS n_items
FROM scores AS s
LEFT JOIN spreads AS p ON s.task = p.task AND s.item = p.item
LEFT JOIN texts AS t ON s.item = t.item
WHERE
    s.n_judgments > 0
    AND ($task IS NULL OR s.task = $task)
    AND ($item IS NULL OR s.item = $item)
    AND ($words IS NULL OR contains(lower(concat_ws(' ', s.item, t.text)), lower($words)))
ORDER BY p.spread DESC NULLS LAST, s.task, s.item
LIMIT $most OFFSET $skipped
