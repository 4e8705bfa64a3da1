-- One row is an item, the most doubtful first: its label and runner-up, votes by label, the text, and
-- reasons to doubt it. Items of which no judgment counts have no label. Then items without labels on which
-- judges differ, in their order in doubtful: votes are what judges say, and how many do.
-- Inputs: labels, label_distributions, items, judgments, lineage (of the release); doubtful
-- (report/doubtful_items).
-- Parameters: categorical (tasks), uncertain (whether only labels that are not certain), task, label, judge, reason (null:
-- any), least_share (of votes, for a reason).
WITH votes AS (
    SELECT
        task,
        item,
        string_agg(label || ' x' || votes, ', ' ORDER BY votes DESC, label) FILTER (votes > 0) AS votes
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
),
answers AS (
    SELECT
        j.task,
        coalesce(least(j.item_a, j.item_b) || ' | ' || greatest(j.item_a, j.item_b), j.item) AS item,
        j.judge,
        j.score,
        answer_text(j) AS answer
    FROM judgments AS j
    WHERE j.fate IN ('used', 'measured') AND j.label IS NULL
),
counted AS (
    SELECT a.task, a.item, a.answer, any_value(a.score) AS score, count(*) AS n
    FROM answers AS a
    SEMI JOIN doubtful AS o ON a.task = o.task AND a.item = o.item
    GROUP BY a.task, a.item, a.answer
),
said AS (
    SELECT
        task,
        item,
        string_agg(
            answer || CASE WHEN n > 1 THEN ' x' || n ELSE '' END, ', ' ORDER BY score, n DESC, answer
        ) AS votes
    FROM counted
    GROUP BY task, item
),
differing AS (
    SELECT
        o.task, o.item, s.votes, o.text, o.kind, o.place, o.reasons,
        (
            SELECT count(DISTINCT a.judge) FROM answers AS a WHERE a.task = o.task AND a.item = o.item
        ) AS n_judges
    FROM doubtful AS o
    LEFT JOIN said AS s ON o.task = s.task AND o.item = s.item
    WHERE o.kind <> 'label'
),
every AS (
    SELECT
        l.task, l.item, l.label, l.probability, r.runner_up, r.runner_up_probability, v.votes,
        l.n_judges, d.reasons, t.text, l.certain, '' AS kind, 0 AS place,
        coalesce(l.probability, l.majority_share, 0) AS degree
    FROM listed AS l
    INNER JOIN doubts AS d ON l.task = d.task AND l.item = d.item
    LEFT JOIN runner_ups AS r ON l.task = r.task AND l.item = r.item
    LEFT JOIN votes AS v ON l.task = v.task AND l.item = v.item
    LEFT JOIN texts AS t ON l.item = t.item
    UNION ALL BY NAME
    SELECT * REPLACE ([reasons] AS reasons) FROM differing
)
SELECT
    e.task, e.item, e.label, e.probability, e.runner_up, e.runner_up_probability, e.votes, e.n_judges,
    array_to_string(e.reasons, ', ') AS reasons, e.text
FROM every AS e
WHERE
    (NOT $uncertain OR NOT e.certain)
    AND ($task IS NULL OR e.task = $task)
    AND ($label IS NULL OR e.label = $label)
    AND ($reason IS NULL OR list_contains(e.reasons, $reason))
    AND (
        $judge IS NULL
        OR EXISTS (
            SELECT 1 FROM judgments AS j
            WHERE
                j.judge = $judge AND j.task = e.task
                AND e.item
                = coalesce(least(j.item_a, j.item_b) || ' | ' || greatest(j.item_a, j.item_b), j.item)
        )
    )
ORDER BY e.kind, e.place, e.degree, e.task, e.item
