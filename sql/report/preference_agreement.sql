-- One row is a judge of a task who prefers one of two items: in how many pairs others who judged them
-- prefer one, too (by majority, ties left out), in which share the judge says the same, and in which
-- share all judges together do.
-- Inputs: judgments.
WITH preferences AS (
    SELECT
        task, judge, least(item_a, item_b) AS first_item, greatest(item_a, item_b) AS second_item,
        CASE
            WHEN coalesce(preference, CASE WHEN rank_a < rank_b THEN 'a' ELSE 'b' END) = 'a' THEN 1
            ELSE -1
        END * CASE WHEN item_a < item_b THEN 1 ELSE -1 END AS vote
    FROM judgments
    WHERE fate = 'used' AND item_a IS NOT NULL AND (preference IN ('a', 'b') OR rank_a <> rank_b)
),
compared AS (
    SELECT
        task, judge, vote,
        sum(vote) OVER (PARTITION BY task, first_item, second_item)
        - sum(vote) OVER (PARTITION BY task, first_item, second_item, judge) AS others
    FROM preferences
),
by_judge AS (
    SELECT task, judge, count(*) AS n_compared, count(*) FILTER (sign(others) = vote) AS n_alike
    FROM compared
    WHERE others <> 0
    GROUP BY task, judge
)
SELECT
    task, judge, n_compared, n_alike / n_compared AS preference_agreement,
    sum(n_alike) OVER of_task / sum(n_compared) OVER of_task AS typical_agreement
FROM by_judge
WINDOW of_task AS (PARTITION BY task)
ORDER BY task, judge
