-- One row: what changed between two releases; null: judgments have other ids, nothing matches them.
-- Inputs: old_lineage, new_lineage, old_labels, new_labels, old_judgments, new_judgments.
-- Parameters: same_names: whether judges and judgments are named alike in both.
WITH old_used AS (
    SELECT
        judgment_id,
        bool_or(fate = 'judge_failed') AS failed,
        bool_or(fate = 'measured') AS measured
    FROM old_lineage
    WHERE fate IN ('used', 'measured', 'control', 'judge_failed') GROUP BY judgment_id
),
new_used AS (
    SELECT
        judgment_id,
        bool_or(fate = 'judge_failed') AS failed,
        bool_or(fate = 'measured') AS measured
    FROM new_lineage
    WHERE fate IN ('used', 'measured', 'control', 'judge_failed') GROUP BY judgment_id
),
newly_superseded AS (
    SELECT judgment_id FROM new_lineage WHERE fate = 'superseded'
    EXCEPT
    SELECT judgment_id FROM old_lineage WHERE fate = 'superseded'
),
judgments AS (
    SELECT
        (SELECT count(*) FROM new_used ANTI JOIN old_used USING (judgment_id)) AS new,
        (SELECT count(*) FROM newly_superseded) AS superseded,
        (
            SELECT count(*)
            FROM new_judgments AS n
            JOIN old_judgments AS o USING (judgment_id)
            ANTI JOIN newly_superseded USING (judgment_id)
            WHERE n.fate <> 'adjudication'
                AND (n.label, n.score, n.preference, n.rank, n.rank_a, n.rank_b) IS DISTINCT FROM
                (o.label, o.score, o.preference, o.rank, o.rank_a, o.rank_b)
        ) + (
            -- votes are in lineage alone; their reason says how many
            SELECT count(*)
            FROM new_lineage AS n
            JOIN old_lineage AS o USING (judgment_id)
            WHERE n.judge IS NULL AND n.fate = 'used' AND o.fate = 'used' AND n.reason <> o.reason
        ) AS corrected,
        (
            SELECT count(*) FROM new_used AS n JOIN old_used AS o USING (judgment_id)
            WHERE n.failed AND NOT o.failed
        ) AS failing,
        (
            SELECT count(*) FROM new_used AS n JOIN old_used AS o USING (judgment_id)
            WHERE o.failed AND NOT n.failed
        ) AS passing,
        (
            SELECT count(*) FROM new_used AS n JOIN old_used AS o USING (judgment_id)
            WHERE n.measured AND NOT o.measured
        ) AS measured,
        (
            SELECT count(*) FROM new_used AS n JOIN old_used AS o USING (judgment_id)
            WHERE o.measured AND NOT n.measured
        ) AS counted,
        (SELECT count(*) FROM old_used ANTI JOIN new_used USING (judgment_id)) AS withdrawn
),
old_decided AS (SELECT * FROM old_labels WHERE adjudicated),
new_decided AS (SELECT * FROM new_labels WHERE adjudicated)
SELECT
    CASE WHEN $same_names THEN j.new END AS new_judgments,
    CASE WHEN $same_names THEN j.superseded END AS superseded_judgments,
    CASE WHEN $same_names THEN j.corrected END AS corrected_judgments,
    CASE WHEN $same_names THEN j.failing END AS judgments_of_judges_who_fail_now,
    CASE WHEN $same_names THEN j.passing END AS judgments_of_judges_who_pass_now,
    CASE WHEN $same_names THEN j.measured END AS judgments_of_models_measured_now,
    CASE WHEN $same_names THEN j.counted END AS judgments_of_models_counted_now,
    CASE WHEN $same_names THEN j.withdrawn END AS withdrawn_judgments,
    (SELECT count(*) FROM new_labels ANTI JOIN old_labels USING (task, item)) AS new_labels,
    (
        SELECT count(*)
        FROM new_labels AS n
        JOIN old_labels AS o ON n.task = o.task AND n.item = o.item AND n.label <> o.label
    ) AS changed_labels,
    (SELECT count(*) FROM old_labels ANTI JOIN new_labels USING (task, item)) AS removed_labels,
    (SELECT count(*) FROM new_decided ANTI JOIN old_decided USING (task, item)) AS new_decisions,
    (
        SELECT count(*) FROM new_decided AS n JOIN old_decided AS o USING (task, item)
        WHERE (n.label, n.adjudicated_at, n.adjudication_reason) IS DISTINCT FROM
            (o.label, o.adjudicated_at, o.adjudication_reason)
            OR ($same_names AND n.adjudicator IS DISTINCT FROM o.adjudicator)
    ) AS changed_decisions,
    (SELECT count(*) FROM old_decided ANTI JOIN new_decided USING (task, item))
        AS withdrawn_decisions
FROM judgments AS j
