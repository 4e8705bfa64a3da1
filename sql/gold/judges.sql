-- One row is a task and judge: how much they judged, and what the label model says of them.
-- Inputs: judgments, judge_figures. Seconds are summed as decimals: the same on any threads.
WITH counted AS (
    SELECT
        task,
        judge_id AS judge,
        count(*) AS n_judgments,
        count(*) FILTER (control = 'ask_again') AS n_ask_again,
        count(*) FILTER (control = 'bad_reference') AS n_bad_reference,
        CAST(sum(CAST(seconds AS DECIMAL(18, 3))) / count(seconds) AS DOUBLE)
            AS seconds_per_judgment
    FROM judgments
    WHERE fate IN ('used', 'control')
    GROUP BY task, judge_id
)
SELECT
    c.task,
    c.judge,
    c.n_judgments,
    'untested' AS verdict,
    c.n_ask_again,
    c.n_bad_reference,
    c.seconds_per_judgment,
    f.accuracy,
    f.mean_class_accuracy,
    f.mean_met_class_accuracy,
    f.chance_accuracy,
    f.accuracy < f.chance_accuracy AS below_chance,
    f.bias_label,
    f.bias
FROM counted AS c
LEFT JOIN judge_figures AS f ON c.task = f.task AND c.judge = f.judge
ORDER BY c.task, c.judge
