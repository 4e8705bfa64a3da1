-- One row is a task and judge: how much they judged, what judge control says of them, how they
-- used the scale, and what the label model says.
-- Inputs: controlled, tasks (task, kind), judge_tests, judge_scores, judge_figures, judge_contradictions (by the
-- judge's own name).
-- Seconds are summed as decimals: the same on any threads. Where judgments have none, those of
-- the assignment are shared out evenly over its judgments, also those that were rejected. An
-- assignment is one judge's work on a HIT; a native id that repeats within a HIT tells two apart.
-- Seconds of a ranking stand in the record of each of its outputs: they share them.
WITH timed AS (
    SELECT
        j.task, judge_id, control, fate, hit_seconds, hit,
        seconds / CASE WHEN ranking IS NOT NULL THEN count(*) OVER ranked
            WHEN t.kind = 'ranking' AND item_a IS NULL THEN count(*) OVER worked
            ELSE 1 END AS seconds,
        CASE
            WHEN hit IS NULL OR count(*) OVER native > 1 THEN native_id
        END AS assignment
    FROM controlled AS j
    LEFT JOIN tasks AS t ON j.task = t.task
    WHERE fate NOT IN ('duplicate', 'superseded')
    WINDOW
        native AS (PARTITION BY judge_id, hit, native_id),
        ranked AS (PARTITION BY j.task, judge_id, segment, ranking),
        worked AS (PARTITION BY j.task, judge_id, segment, hit)
),
counted AS (
    SELECT * FROM timed WHERE fate IN ('used', 'control', 'judge_failed')
),
hits AS (
    SELECT judge_id, hit, assignment, count(*) AS n_in_hit
    FROM timed
    WHERE hit_seconds IS NOT NULL AND coalesce(hit, assignment) IS NOT NULL
    GROUP BY judge_id, hit, assignment
),
counts AS (
    SELECT
        c.task,
        c.judge_id,
        count(*) AS n_judgments,
        count(*) FILTER (c.control = 'ask_again') AS n_ask_again,
        count(*) FILTER (c.control = 'bad_reference') AS n_bad_reference,
        count(*) FILTER (c.control = 'good_reference') AS n_good_reference,
        sum(CAST(coalesce(c.seconds, c.hit_seconds / h.n_in_hit) AS DECIMAL(24, 6))) AS seconds,
        count(coalesce(c.seconds, c.hit_seconds / h.n_in_hit)) AS n_timed
    FROM counted AS c
    LEFT JOIN hits AS h
        ON c.judge_id = h.judge_id AND c.hit IS NOT DISTINCT FROM h.hit
        AND c.assignment IS NOT DISTINCT FROM h.assignment AND c.seconds IS NULL
    GROUP BY c.task, c.judge_id
),
judge_ids AS (
    SELECT DISTINCT judge, judge_id FROM controlled WHERE judge IS NOT NULL
)
SELECT
    c.task,
    c.judge_id AS judge,
    c.n_judgments,
    t.verdict, t.verdict_reason, t.dropped, t.test, t.contrast, t.statistic, t.effect,
    t.p_value, t.p_adjusted, t.n_pairs,
    c.n_ask_again, c.n_bad_reference, c.n_good_reference,
    t.n_known_answers, t.known_answer_accuracy, t.known_answer_low, t.known_answer_high,
    s.mean, s.sd, s.mean_ordinary, s.mean_good_reference, s.mean_bad_reference, s.no_z_reason,
    CAST(c.seconds AS DOUBLE) / nullif(c.n_timed, 0) AS seconds_per_judgment,
    s.longest_constant_run, s.share_at_ends,
    g.n_graphs, g.n_graphs_with_contradictions AS n_graphs_in_contradiction, g.consistency,
    f.accuracy,
    f.mean_class_accuracy,
    f.mean_met_class_accuracy,
    f.chance_accuracy,
    f.accuracy < f.chance_accuracy AS below_chance,
    f.bias_label,
    f.bias
FROM counts AS c
JOIN judge_tests AS t ON c.task = t.task AND c.judge_id = t.judge
LEFT JOIN judge_scores AS s ON c.task = s.task AND c.judge_id = s.judge
LEFT JOIN judge_figures AS f ON c.task = f.task AND c.judge_id = f.judge
LEFT JOIN judge_ids AS i ON c.judge_id = i.judge_id
LEFT JOIN judge_contradictions AS g ON c.task = g.task AND i.judge = g.judge
ORDER BY c.task, c.judge_id
