-- One row is a task and system: how many answers were asked for, how many of them count, and the
-- sum of their scores (null in tasks with criteria, and where there is no score).
-- Asked for are the answers that count, those that failed, and those that judges did not give; not
-- those of judges whom the task does not use or who failed judge control, nor those to controls.
-- What item tables say of an item comes before what its record says, as elsewhere. Scores are
-- summed as decimals: the same on any threads.
-- Inputs: controlled, tasks (task, used_judges, criteria), item_rows (item, system, place).
WITH listed AS (
    SELECT item, system
    FROM item_rows
    QUALIFY row_number() OVER (PARTITION BY item ORDER BY place) = 1
),
failed_judges AS (
    SELECT DISTINCT task, judge_id FROM controlled WHERE fate = 'judge_failed'
),
answers AS (
    SELECT
        c.task, c.fate, c.item, c.item_a, c.item_b, c.system, c.system_a, c.system_b,
        CASE WHEN coalesce(len(t.criteria), 0) = 0 AND c.fate = 'used'
            THEN CAST(c.score AS DECIMAL(38, 9)) END AS score
    FROM controlled AS c
    JOIN tasks AS t ON c.task = t.task
    WHERE c.fate IN ('used', 'not_asked', 'unscored')
        AND c.control IN ('none', 'ask_again')
        AND (c.fate = 'used' OR t.used_judges = 'all' OR c.judge_kind = t.used_judges)
        AND NOT EXISTS (
            SELECT 1 FROM failed_judges AS f WHERE f.task = c.task AND f.judge_id = c.judge_id
        )
),
judged AS (
    SELECT task, fate, score, item, system FROM answers
    UNION ALL
    SELECT task, fate, NULL, item_a, system_a FROM answers
    UNION ALL
    SELECT task, fate, NULL, item_b, system_b FROM answers
),
named AS (
    SELECT j.task, j.fate, j.score, coalesce(l.system, j.system) AS system
    FROM judged AS j
    LEFT JOIN listed AS l ON j.item = l.item
)
SELECT
    task, system,
    count(*) AS n_asked,
    count(*) FILTER (fate = 'used') AS n_answered,
    CAST(sum(score) AS DOUBLE) AS score_sum
FROM named
WHERE system IS NOT NULL
GROUP BY task, system
ORDER BY task, system
