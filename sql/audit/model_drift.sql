-- One row is a task and model judge: how its answers agree with people's, those that the newest
-- release has and those that are new. Of labels and comparisons it is the share of an item's people
-- who give the model's answer; of scores minus the distance from their mean, points.
-- Inputs: judgments (of this build), released (judgments of the newest release, or empty).
-- Sums are of decimals: the same on any threads.
WITH answers AS (
    SELECT
        task, judge, kind, judgment_id, score, coalesce(criterion, '') AS criterion,
        CASE WHEN item_a IS NULL THEN item
            ELSE least(item_a, item_b) || ' | ' || greatest(item_a, item_b) END AS item,
        coalesce(label, CASE WHEN item_a > item_b AND preference = 'a' THEN 'b'
            WHEN item_a > item_b AND preference = 'b' THEN 'a' ELSE preference END) AS answer
    FROM judgments
    WHERE kind IS NOT NULL AND control = 'none' AND fate IN ('used', 'measured')
),
people AS (
    SELECT task, item, criterion, answer, score FROM answers WHERE kind = 'human'
),
compared AS (
    SELECT
        m.task, m.judge, m.judgment_id,
        CASE WHEN any_value(m.score) IS NULL
            THEN count(*) FILTER (p.answer = m.answer) / count(*)
            ELSE -abs(any_value(m.score) - CAST(sum(CAST(p.score AS DECIMAL(28, 8))) AS DOUBLE) / count(*))
        END AS agreement
    FROM answers AS m
    JOIN people AS p USING (task, item, criterion)
    WHERE m.kind = 'model'
    GROUP BY m.task, m.judge, m.judgment_id
),
aged AS (
    SELECT
        c.task, c.judge, r.judgment_id IS NULL AS is_new,
        CAST(c.agreement AS DECIMAL(28, 8)) AS agreement,
        CAST(c.agreement * c.agreement AS DECIMAL(38, 8)) AS square
    FROM compared AS c
    LEFT JOIN (SELECT DISTINCT task, judgment_id FROM released) AS r
        ON c.task = r.task AND c.judgment_id = r.judgment_id
)
SELECT
    task,
    judge,
    count_if(NOT is_new)::BIGINT AS released_items,
    CAST(sum(agreement) FILTER (NOT is_new) AS DOUBLE) AS released_sum,
    CAST(sum(square) FILTER (NOT is_new) AS DOUBLE) AS released_squares,
    count_if(is_new)::BIGINT AS new_items,
    CAST(sum(agreement) FILTER (is_new) AS DOUBLE) AS new_sum,
    CAST(sum(square) FILTER (is_new) AS DOUBLE) AS new_squares
FROM aged
GROUP BY task, judge
ORDER BY task, judge
