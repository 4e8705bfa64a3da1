-- One row is an item of a release, the most doubtful first: label, probability, runner-up, votes, text.
-- Inputs: labels, label_distributions, items, judgments.
-- Parameters: task, label, judge, words (null: any; words is a part of name or text), uncertain (not null:
-- only labels that are not certain), most, skipped (how many rows, after how many).
WITH texts AS (
    SELECT item, any_value(text ORDER BY text) AS text FROM items WHERE text IS NOT NULL GROUP BY item
),
chosen AS (
    SELECT l.*, t.text, count(*) OVER () AS n_items
    FROM labels AS l
    LEFT JOIN texts AS t ON l.item = t.item
    WHERE
        ($task IS NULL OR l.task = $task)
        AND ($label IS NULL OR l.label = $label)
        AND ($uncertain IS NULL OR NOT l.certain)
        AND ($words IS NULL OR contains(lower(concat_ws(' ', l.item, t.text)), lower($words)))
        AND (
            $judge IS NULL
            OR EXISTS (
                SELECT 1 FROM judgments AS j
                WHERE j.judge = $judge AND j.task = l.task AND j.item = l.item
            )
        )
    ORDER BY coalesce(l.probability, l.majority_share), l.task, l.item
    LIMIT $most OFFSET $skipped
),
votes AS (
    SELECT
        d.task,
        d.item,
        string_agg(d.label || ' x' || d.votes, ', ' ORDER BY d.votes DESC, d.label)
            FILTER (d.votes > 0) AS votes,
        arg_max(d.label, (d.probability, d.label)) FILTER (d.label <> c.label) AS runner_up
    FROM label_distributions AS d
    INNER JOIN chosen AS c ON d.task = c.task AND d.item = c.item
    GROUP BY d.task, d.item
)
SELECT
    c.task, c.item, c.label, c.probability, c.certain, c.adjudicated, c.text, v.votes, v.runner_up,
    c.n_items
FROM chosen AS c
LEFT JOIN votes AS v ON c.task = v.task AND c.item = v.item
ORDER BY coalesce(c.probability, c.majority_share), c.task, c.item
