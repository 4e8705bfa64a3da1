-- One row is a judge of scores in a task, with a t interval of the bias.
-- The difference of a score from the mean of the others on the item is averaged over criteria, as
-- errors of one item may be alike; items are taken as independent, and the others as they are.
-- Inputs: judges, judgments, quantiles (of t, by degrees of freedom).
WITH scores AS (
    SELECT task, item, criterion, judge, avg(score) AS score
    FROM judgments
    WHERE fate = 'used' AND score IS NOT NULL
    GROUP BY task, item, criterion, judge
),
differences AS (
    SELECT
        task, item, judge,
        score - (sum(score) OVER unit - score) / (count(*) OVER unit - 1) AS difference
    FROM scores
    WINDOW unit AS (PARTITION BY task, item, criterion)
    QUALIFY count(*) OVER unit > 1
),
items AS (
    SELECT task, judge, item, avg(difference) AS difference
    FROM differences
    GROUP BY task, judge, item
),
errors AS (
    SELECT task, judge, count(*) - 1 AS freedom, stddev_samp(difference) / sqrt(count(*)) AS error
    FROM items
    GROUP BY task, judge
)
SELECT
    j.*, j.bias - q.quantile * e.error AS bias_low, j.bias + q.quantile * e.error AS bias_high
FROM judges AS j
LEFT JOIN errors AS e ON j.task = e.task AND j.judge = e.judge
LEFT JOIN quantiles AS q ON e.freedom = q.freedom
ORDER BY j.task, j.judge
