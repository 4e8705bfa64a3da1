-- One row is an item of a task of labels, the most doubtful first: its label and runner-up, votes by
-- label, the text, and reasons to doubt it. Items of which no judgment counts have no label.
-- Inputs: labels, label_distributions, items, judgments, lineage (of the release).
-- Parameters: categorical (tasks), uncertain (whether only labels that are not certain), task, label, judge, reason (null:
-- any), least_share (of votes, for a reason).
WITH votes AS (
    SELECT
        task,
        item,
        string_agg(label || ' ' || votes, ', ' ORDER BY votes DESC, label) FILTER (votes > 0) AS votes
    FROM label_distributions
    GROUP BY task, item
),
runner_ups AS (
    SELECT
        d.task,
        d.item,
        arg_max(d.label, (d.probability, d.label)) AS runner_up,
        max(d.probability) AS runner_up_probability
    FROM label_distributions AS d
    INNER JOIN labels AS l ON d.task = l.task AND d.item = l.item AND d.label <> l.label
    WHERE d.probability IS NOT NULL
    GROUP BY d.task, d.item
),
uncounted AS (
    SELECT task, item
    FROM lineage
    WHERE item IS NOT NULL AND list_contains($categorical, task)
    GROUP BY task, item
    HAVING
        bool_or(fate IN ('judge_failed', 'rejected'))
        AND NOT bool_or(fate IN ('used', 'measured', 'control', 'adjudication'))
),
listed AS (
    SELECT * FROM labels
    UNION ALL BY NAME
    SELECT *, false AS certain, 0 AS n_judges FROM uncounted
),
texts AS (
    SELECT item, any_value(text ORDER BY text) AS text FROM items WHERE text IS NOT NULL GROUP BY item
),
doubts AS (
    SELECT
        task,
        item,
        list_filter(
            [
                CASE WHEN n_judges = 0 AND label IS NULL THEN 'no judgment counts' END,
                CASE WHEN NOT certain AND label IS NOT NULL THEN 'uncertain' END,
                CASE WHEN n_judges < 2 AND NOT adjudicated THEN 'one judge' END,
                CASE WHEN majority_share < $least_share AND NOT adjudicated THEN 'split votes' END,
                CASE WHEN label <> majority_label THEN 'against the votes' END,
                CASE WHEN adjudicated AND label <> model_label THEN 'expert against model' END
            ],
            lambda x: x IS NOT NULL
        ) AS reasons
    FROM listed
)
SELECT
    l.task,
    l.item,
    l.label,
    l.probability,
    r.runner_up,
    r.runner_up_probability,
    v.votes,
    l.n_judges,
    array_to_string(d.reasons, ', ') AS reasons,
    t.text
FROM listed AS l
INNER JOIN doubts AS d ON l.task = d.task AND l.item = d.item
LEFT JOIN runner_ups AS r ON l.task = r.task AND l.item = r.item
LEFT JOIN votes AS v ON l.task = v.task AND l.item = v.item
LEFT JOIN texts AS t ON l.item = t.item
WHERE
    (NOT $uncertain OR NOT l.certain)
    AND ($task IS NULL OR l.task = $task)
    AND ($label IS NULL OR l.label = $label)
    AND ($reason IS NULL OR list_contains(d.reasons, $reason))
    AND (
        $judge IS NULL
        OR EXISTS (
            SELECT 1 FROM judgments AS j
            WHERE j.judge = $judge AND j.task = l.task AND j.item = l.item
        )
    )
ORDER BY coalesce(l.probability, l.majority_share, 0), l.task, l.item
