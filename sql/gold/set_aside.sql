-- One row is a judgment that counts, but that a calculation could not take, and why.
-- Inputs: controlled, tasks (task, kind), item_rows (item, system, place), control_pairs,
-- known_answers, judge_scores, not_compared (task, item, judge_id, judgment_id, left_out_of,
-- reason).
-- Parameters: salt, pseudonymize: as in settle_judgments.sql; paired_controls: kinds of controls that
-- judge control compares with their ordinary judgments; without one they are left out of it.
WITH listed AS (
    SELECT item, system FROM item_rows
    QUALIFY row_number() OVER (PARTITION BY item ORDER BY place) = 1
),
counting AS NOT MATERIALIZED (
    SELECT
        j.judgment_id, j.task, j.judge_id, j.system, j.control, t.kind,
        coalesce(j.item, j.item_a || ' | ' || j.item_b) AS item
    FROM controlled AS j
    JOIN tasks AS t ON j.task = t.task
    WHERE j.fate IN ('used', 'control', 'judge_failed')
),
counted AS NOT MATERIALIZED (
    SELECT c.* REPLACE (coalesce(l.system, c.system) AS system)
    FROM counting AS c
    LEFT JOIN listed AS l ON c.item = l.item
    WHERE c.kind = 'scalar'
),
ranked AS (
    SELECT DISTINCT task FROM counted WHERE system IS NOT NULL AND control IN ('none', 'ask_again')
),
found AS (
    SELECT task, item, judge_id, judgment_id, 'judge_control' AS left_out_of, reason
    FROM control_pairs
    WHERE reason IS NOT NULL AND list_contains($paired_controls, control)
    UNION ALL
    SELECT task, item, judge_id, judgment_id, 'judge_control', reason
    FROM known_answers
    WHERE reason IS NOT NULL
    UNION ALL
    SELECT task, item, judge_id, judgment_id, 'judge_control',
        'no test of a ' || kind || ' task takes a ' || control
    FROM counting
    WHERE (control = 'known_answer' AND kind <> 'categorical')
        OR (control IN ('bad_reference', 'good_reference') AND kind <> 'scalar')
    UNION ALL
    SELECT c.task, c.item, c.judge_id, c.judgment_id, 'z_scores', s.no_z_reason
    FROM counted AS c
    JOIN judge_scores AS s
        ON c.task = s.task AND c.judge_id = s.judge AND s.no_z_reason IS NOT NULL
    UNION ALL
    SELECT task, item, judge_id, judgment_id, left_out_of, reason FROM not_compared
    UNION ALL
    SELECT task, item, judge_id, judgment_id, 'system_rankings', 'no system is named'
    FROM counted
    SEMI JOIN ranked USING (task)
    WHERE system IS NULL AND control IN ('none', 'ask_again')
)
SELECT
    task,
    item,
    judge_id AS judge,
    CASE WHEN $pseudonymize THEN left(sha256($salt || judgment_id), 32) ELSE judgment_id END
        AS judgment_id,
    left_out_of,
    reason
FROM found
ORDER BY 1, 2, 3, 4, 5
