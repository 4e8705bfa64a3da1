-- One row is a row of a gold table that an answer about an item stands on: whose it is (asked),
-- of which table (of_table), and the row as JSON; of judge_confusion the probabilities of one answer
-- by true label.
-- Inputs: the gold tables by name.
-- Parameters: tasks, items: what is asked for, side by side; a task that is null: every task.
-- every_task: whether any is. paired: tasks whose judgments are about two items; lineage names both as `a | b`. An item of a
-- pair is asked for by its own id, or by that of the pair, in either order.
-- Large tables are first cut down by list_contains, which looks at each distinct value once; a
-- join would look at every row.
WITH wanted AS MATERIALIZED (
    SELECT
        unnest(CAST($tasks AS VARCHAR[])) AS task,
        unnest(CAST($items AS VARCHAR[])) AS item
),
near_answers AS MATERIALIZED (
    SELECT * FROM judgments
    WHERE ($every_task OR list_contains(CAST($tasks AS VARCHAR[]), task))
        AND (
            list_contains(CAST($items AS VARCHAR[]), item)
            OR item_a IS NOT NULL AND (
                list_contains(CAST($items AS VARCHAR[]), item_a)
                OR list_contains(CAST($items AS VARCHAR[]), item_b)
                OR list_contains(CAST($items AS VARCHAR[]), item_b || ' | ' || item_a)
            )
        )
),
near_records AS MATERIALIZED (
    SELECT * FROM lineage
    WHERE list_contains(CAST($items AS VARCHAR[]), item)
        AND ($every_task OR task IS NULL OR list_contains(CAST($tasks AS VARCHAR[]), task))
),
answers AS MATERIALIZED (
    SELECT w.item AS asked, j.*
    FROM near_answers AS j
    JOIN wanted AS w ON j.item = w.item AND (w.task IS NULL OR j.task = w.task)
    UNION ALL
    SELECT w.item, j.*
    FROM near_answers AS j
    JOIN wanted AS w ON j.item_a = w.item AND (w.task IS NULL OR j.task = w.task)
    WHERE j.item <> w.item
    UNION ALL
    SELECT w.item, j.*
    FROM near_answers AS j
    JOIN wanted AS w ON j.item_b = w.item AND (w.task IS NULL OR j.task = w.task)
    WHERE j.item <> w.item AND j.item_a <> w.item
    UNION ALL
    SELECT w.item, j.*
    FROM near_answers AS j
    JOIN wanted AS w
        ON j.item_b || ' | ' || j.item_a = w.item AND (w.task IS NULL OR j.task = w.task)
    WHERE j.item_a <> j.item_b AND w.item NOT IN (j.item, j.item_a, j.item_b)
),
pairs AS MATERIALIZED (
    SELECT DISTINCT
        asked, task, item, item_a, item_b, asked NOT IN (item_a, item_b) AS of_pair
    FROM answers
    WHERE item_a IS NOT NULL
),
records AS MATERIALIZED (
    SELECT w.item AS asked, l.*
    FROM near_records AS l
    JOIN wanted AS w ON l.item = w.item AND (w.task IS NULL OR l.task = w.task)
    WHERE l.task IS NOT NULL
    UNION ALL
    SELECT w.item, l.*
    FROM near_records AS l
    JOIN (SELECT DISTINCT item FROM wanted) AS w ON l.item = w.item
    WHERE l.task IS NULL
    UNION ALL
    SELECT p.asked, l.*
    FROM lineage AS l
    JOIN (SELECT DISTINCT asked, task, item FROM pairs) AS p
        ON l.task = p.task AND l.item = p.item
    WHERE p.asked <> p.item
    UNION ALL
    SELECT w.item, l.*
    FROM lineage AS l
    JOIN wanted AS w
        ON (starts_with(l.item, w.item || ' | ') OR ends_with(l.item, ' | ' || w.item))
        AND (w.task IS NULL OR l.task = w.task)
    WHERE list_contains(CAST($paired AS VARCHAR[]), l.task) AND l.judgment_id IS NULL
        AND NOT EXISTS (FROM pairs AS p WHERE p.asked = w.item AND p.item = l.item)
),
involved AS MATERIALIZED (
    SELECT DISTINCT asked, task, judge FROM answers
    UNION
    SELECT DISTINCT asked, task, judge FROM records WHERE task IS NOT NULL AND judge IS NOT NULL
),
outputs AS (
    SELECT w.item AS asked, w.task, w.item FROM wanted AS w
    UNION
    SELECT asked, task, item_a FROM pairs WHERE of_pair
    UNION
    SELECT asked, task, item_b FROM pairs WHERE of_pair
),
described AS MATERIALIZED (
    SELECT DISTINCT o.asked, i.*
    FROM items AS i
    JOIN outputs AS o ON i.item = o.item
    UNION
    SELECT w.item, i.*
    FROM items AS i
    JOIN (
        SELECT DISTINCT item, regexp_replace(item, '#[0-9a-f]{8,16}$', '') AS plain_name FROM wanted
    ) AS w ON i.item = w.plain_name OR starts_with(i.item, w.plain_name || '#')
    WHERE i.item_version IS NOT NULL  -- other texts
),
ranked AS MATERIALIZED (
    SELECT DISTINCT o.asked, r.*
    FROM segment_ranks AS r
    JOIN outputs AS o ON r.item = o.item AND (o.task IS NULL OR r.task = o.task)
),
scored AS MATERIALIZED (
    SELECT w.item AS asked, s.*
    FROM scores AS s
    JOIN wanted AS w ON s.item = w.item AND (w.task IS NULL OR s.task = w.task)
),
competing AS (
    SELECT asked, task, system FROM scored WHERE system IS NOT NULL
    UNION
    SELECT asked, task, system FROM ranked WHERE system IS NOT NULL
    UNION
    SELECT asked, task, system FROM answers WHERE system IS NOT NULL
),
labelled AS MATERIALIZED (
    SELECT w.item AS asked, l.*
    FROM labels AS l
    JOIN wanted AS w ON l.item = w.item AND (w.task IS NULL OR l.task = w.task)
    WHERE list_contains(CAST($items AS VARCHAR[]), l.item)
),
together AS (
    SELECT DISTINCT asked, judgment_id, task, judge, segment, ranking, hit
    FROM answers
    WHERE rank IS NOT NULL
)
SELECT asked, 'labels' AS of_table, to_json(t)::VARCHAR AS "row" FROM labelled AS t
UNION ALL
SELECT w.item, 'label_distributions', to_json(t)
FROM label_distributions AS t
JOIN wanted AS w ON t.item = w.item AND (w.task IS NULL OR t.task = w.task)
UNION ALL
SELECT a.asked, 'prevalence', to_json(t)
FROM prevalence AS t
JOIN (SELECT DISTINCT asked, task FROM labelled) AS a ON t.task = a.task
UNION ALL
SELECT a.asked, 'label_calibration', to_json(t)
FROM label_calibration AS t
JOIN (SELECT DISTINCT asked, task FROM labelled) AS a ON t.task = a.task
WHERE t.model = 'published' AND t.statistic = 'dependence'
UNION ALL
SELECT a.asked, 'judge_confusion', to_json(struct_pack(
    task := t.task, judge := t.judge, observed_label := t.observed_label,
    likelihoods := map(
        list(t.true_label ORDER BY t.true_label), list(t.probability ORDER BY t.true_label)
    )
))
FROM judge_confusion AS t
JOIN (
    SELECT DISTINCT asked, task, judge, label FROM answers WHERE fate = 'used'
) AS a
    ON t.task = a.task AND t.judge = a.judge AND t.observed_label = a.label
GROUP BY a.asked, t.task, t.judge, t.observed_label
UNION ALL
SELECT asked, 'scores', to_json(t) FROM scored AS t
UNION ALL
SELECT asked, 'segment_ranks', to_json(t) FROM ranked AS t
UNION ALL
SELECT c.asked, 'system_rankings', to_json(t)
FROM system_rankings AS t
JOIN competing AS c ON t.task = c.task AND t.system = c.system
UNION ALL
SELECT asked, 'items', to_json(t) FROM described AS t
UNION ALL
SELECT asked, 'judgments', to_json(t) FROM answers AS t
UNION ALL
SELECT asked, 'lineage', to_json(t) FROM records AS t
UNION ALL
SELECT a.asked, 'set_aside', to_json(t)
FROM set_aside AS t
JOIN (SELECT DISTINCT asked, judgment_id FROM answers) AS a ON t.judgment_id = a.judgment_id
UNION ALL
SELECT i.asked, 'judges', to_json(t)
FROM judges AS t
JOIN involved AS i ON t.task = i.task AND t.judge = i.judge
UNION ALL
SELECT DISTINCT o.asked, 'beside', to_json(struct_pack(
    task := o.task, judgment_id := o.judgment_id, item := t.item, system := t.system, rank := t.rank
))
FROM judgments AS t
JOIN together AS o
    ON t.task = o.task AND t.judge = o.judge
    AND t.segment IS NOT DISTINCT FROM o.segment
    AND t.ranking IS NOT DISTINCT FROM o.ranking
    AND (o.ranking IS NOT NULL OR t.hit IS NOT DISTINCT FROM o.hit)
WHERE t.rank IS NOT NULL
ORDER BY ALL
