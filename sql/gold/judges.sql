-- One row is a task and judge: how much they judged, what judge control says of them, how they
-- used the scale, and what the label model says. Judges whose answers all failed have a row, too;
-- experts who only answered an audit have none.
-- Inputs: controlled and, of the same tasks, tasks (task, kind), judge_tests, judge_scores,
-- judge_figures, judge_contradictions (by the judge's own name); of all, judge_kinds (judge_id,
-- kind, model, family, version, prompt_hash, temperature) and assignments.
-- Seconds are summed as decimals: the same on any threads. Where judgments have none, those of
-- the assignment are shared out evenly over its judgments. Seconds of a ranking stand in the
-- record of each of its outputs: they share them.
-- hurried: people's labels and scores that take less than a third of the typical time of their task, the
-- median over judges of their median time: judges who pass where 3 do, else all, so that a flood of hurried
-- judges does not set it. Where the task has no seconds, an answer takes the time since the judge's answer
-- before; undefined for items of one submitted_at, and beyond 30 minutes, a pause.
WITH kept AS NOT MATERIALIZED (
    SELECT j.*, t.kind
    FROM controlled AS j
    LEFT JOIN tasks AS t ON j.task = t.task
    WHERE fate NOT IN ('duplicate', 'superseded') AND control IS DISTINCT FROM 'audit'
),
-- numbers in place of names, since there are as many answers as judgments
numbered AS MATERIALIZED (
    SELECT task, judge_id, row_number() OVER (ORDER BY task, judge_id) AS number
    FROM (SELECT DISTINCT task, judge_id FROM kept WHERE judge_id IS NOT NULL)
),
rankings AS (
    SELECT task, judge_id, segment, ranking, count(*) AS size
    FROM kept
    WHERE ranking IS NOT NULL
    GROUP BY task, judge_id, segment, ranking
),
ranked_hits AS (
    SELECT task, judge_id, segment, hit, count(*) AS size
    FROM kept
    WHERE kind = 'ranking'
    GROUP BY task, judge_id, segment, hit
),
answered AS MATERIALIZED (
    SELECT
        m.number, j.control, hash(j.item) AS item, epoch_us(j.submitted_at) AS instant,
        j.kind IN ('categorical', 'scalar') AS has_pace,
        coalesce(
            j.seconds / CASE WHEN j.ranking IS NOT NULL THEN r.size
                WHEN j.kind = 'ranking' AND j.item_a IS NULL THEN w.size
                ELSE 1 END,
            j.hit_seconds / coalesce(n.n_judgments, h.n_judgments)
        ) AS seconds
    FROM kept AS j
    JOIN numbered AS m ON j.task = m.task AND j.judge_id = m.judge_id
    LEFT JOIN rankings AS r
        ON j.task = r.task AND j.judge_id = r.judge_id AND j.ranking = r.ranking
        AND j.segment IS NOT DISTINCT FROM r.segment
    LEFT JOIN ranked_hits AS w
        ON j.task = w.task AND j.judge_id = w.judge_id AND j.segment IS NOT DISTINCT FROM w.segment
        AND j.hit IS NOT DISTINCT FROM w.hit
    LEFT JOIN assignments AS n
        ON j.judge_id = n.judge_id AND j.hit IS NOT DISTINCT FROM n.hit AND j.native_id = n.native_id
    LEFT JOIN assignments AS h
        ON j.judge_id = h.judge_id AND j.hit = h.hit AND h.native_id IS NULL
    WHERE j.fate IN ('used', 'control', 'judge_failed', 'measured')
),
counts AS MATERIALIZED (
    SELECT
        m.task, m.judge_id, m.number, c.* EXCLUDE (number),
        sum(n_timed) OVER (PARTITION BY task) = 0 AS is_untimed
    FROM (
        SELECT
            number,
            count(*) AS n_judgments,
            count(*) FILTER (control = 'ask_again') AS n_ask_again,
            count(*) FILTER (control = 'bad_reference') AS n_bad_reference,
            count(*) FILTER (control = 'good_reference') AS n_good_reference,
            sum(CAST(seconds AS DECIMAL(24, 6))) AS seconds,
            count(seconds) AS n_timed
        FROM answered
        GROUP BY number
    ) AS c
    JOIN numbered AS m ON c.number = m.number
),
gaps AS (
    SELECT number, (instant - before) / 1e6 AS seconds
    FROM (
        SELECT
            number, instant, lag(instant) OVER by_instant AS before,
            min(item) OVER same_instant = max(item) OVER same_instant AS is_one_item
        FROM answered
        WHERE has_pace AND instant IS NOT NULL
            AND number IN (SELECT number FROM counts WHERE is_untimed)
        WINDOW
            by_instant AS (PARTITION BY number ORDER BY instant),
            same_instant AS (by_instant RANGE BETWEEN CURRENT ROW AND CURRENT ROW)
    )
    WHERE instant > before AND is_one_item
),
paces AS (
    SELECT number, seconds FROM answered WHERE has_pace AND seconds >= 0
    UNION ALL
    SELECT number, seconds FROM gaps WHERE seconds <= 1800
),
typical_paces AS (
    SELECT
        n.task, p.number, median(p.seconds) AS seconds,
        coalesce(any_value(t.verdict) = 'passed', false) AS passes
    FROM paces AS p
    JOIN numbered AS n ON p.number = n.number
    LEFT JOIN judge_kinds AS k ON n.judge_id = k.judge_id
    LEFT JOIN judge_tests AS t ON n.task = t.task AND n.judge_id = t.judge
    WHERE k.kind IS DISTINCT FROM 'model'
    GROUP BY n.task, p.number
    HAVING count(*) >= 20
),
levels AS (
    SELECT
        task,
        CASE WHEN count_if(passes) >= 3 THEN median(seconds) FILTER (passes)
            ELSE median(seconds) END / 3 AS seconds
    FROM typical_paces
    GROUP BY task
    HAVING count(*) >= 3
),
hurried AS (
    SELECT
        n.task, n.judge_id, count_if(p.seconds < l.seconds) / count(*) AS share,
        any_value(l.seconds) AS below
    FROM paces AS p
    SEMI JOIN typical_paces AS m ON p.number = m.number
    JOIN numbered AS n ON p.number = n.number
    JOIN levels AS l ON n.task = l.task
    GROUP BY n.task, n.judge_id
),
failed_answers AS (
    SELECT task, judge_id, count(*) AS n_unscored
    FROM controlled
    WHERE fate = 'unscored'
    GROUP BY task, judge_id
),
judged AS (
    SELECT task, judge_id FROM counts
    UNION
    SELECT task, judge_id FROM failed_answers WHERE task IS NOT NULL AND judge_id IS NOT NULL
),
judge_ids AS (
    SELECT DISTINCT judge, judge_id FROM controlled WHERE judge IS NOT NULL
)
SELECT
    b.task,
    b.judge_id AS judge,
    k.kind, k.model, k.family, k.version, k.prompt_hash, k.temperature,
    coalesce(c.n_judgments, 0) AS n_judgments, coalesce(u.n_unscored, 0) AS n_unscored,
    coalesce(c.n_judgments / (c.n_judgments + coalesce(u.n_unscored, 0)), 0) AS answered_share,
    coalesce(t.verdict, 'untested') AS verdict,
    CASE WHEN c.judge_id IS NULL THEN 'all answers failed (fate unscored)'
        WHEN t.verdict IS NULL THEN 'the task uses judgments of other judges: judges.use'
        ELSE t.verdict_reason END AS verdict_reason,
    coalesce(t.dropped, false) AS dropped,
    coalesce(t.suspected, false) AS suspected, t.test, t.contrast, t.statistic, t.effect,
    t.effect_low, t.effect_high, t.required_effect,
    t.p_value, t.p_adjusted, t.power, coalesce(t.n_pairs, 0) AS n_pairs, t.n_needed,
    coalesce(c.n_ask_again, 0) AS n_ask_again, coalesce(c.n_bad_reference, 0) AS n_bad_reference,
    coalesce(c.n_good_reference, 0) AS n_good_reference,
    coalesce(t.n_known_answers, 0) AS n_known_answers, t.known_answer_accuracy, t.known_answer_low, t.known_answer_high,
    s.mean, s.sd, s.mean_ordinary, s.mean_good_reference, s.mean_bad_reference, s.no_z_reason,
    CAST(c.seconds AS DOUBLE) / nullif(c.n_timed, 0) AS seconds_per_judgment,
    h.share AS hurried_share, h.below AS hurried_below,
    s.longest_constant_run, s.share_at_ends,
    g.n_graphs, g.n_graphs_with_contradictions AS n_graphs_in_contradiction, g.consistency,
    f.accuracy,
    f.mean_class_accuracy,
    f.mean_met_class_accuracy,
    f.chance_accuracy,
    f.accuracy < f.chance_accuracy AS below_chance,
    f.bias_label,
    coalesce(f.bias, t.bias) AS bias,
    t.spread, t.inconsistency, t.correlation, t.n_shared_items
FROM judged AS b
LEFT JOIN counts AS c ON b.task = c.task AND b.judge_id = c.judge_id
LEFT JOIN judge_tests AS t ON b.task = t.task AND b.judge_id = t.judge
LEFT JOIN judge_scores AS s ON b.task = s.task AND b.judge_id = s.judge
-- a model that suspected judges mislead would rank them best: they have no figures of it
LEFT JOIN judge_figures AS f
    ON b.task = f.task AND b.judge_id = f.judge AND NOT coalesce(t.suspected, false)
LEFT JOIN judge_kinds AS k ON b.judge_id = k.judge_id
LEFT JOIN failed_answers AS u ON b.task = u.task AND b.judge_id = u.judge_id
LEFT JOIN hurried AS h ON b.task = h.task AND b.judge_id = h.judge_id
LEFT JOIN judge_ids AS i ON b.judge_id = i.judge_id
LEFT JOIN judge_contradictions AS g ON b.task = g.task AND i.judge = g.judge
ORDER BY b.task, b.judge_id
