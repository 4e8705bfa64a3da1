-- One row: what changed between two releases.
-- Inputs: old_lineage, new_lineage, old_labels, new_labels.
WITH old_used AS (
    SELECT judgment_id, bool_or(fate = 'judge_failed') AS failed FROM old_lineage
    WHERE fate IN ('used', 'control', 'judge_failed') GROUP BY judgment_id
),
new_used AS (
    SELECT judgment_id, bool_or(fate = 'judge_failed') AS failed FROM new_lineage
    WHERE fate IN ('used', 'control', 'judge_failed') GROUP BY judgment_id
),
newly_superseded AS (
    SELECT judgment_id FROM new_lineage WHERE fate = 'superseded'
    EXCEPT
    SELECT judgment_id FROM old_lineage WHERE fate = 'superseded'
)
SELECT
    (SELECT count(*) FROM new_used ANTI JOIN old_used USING (judgment_id)) AS new_judgments,
    (SELECT count(*) FROM newly_superseded) AS superseded_judgments,
    (
        SELECT count(*) FROM new_used AS n JOIN old_used AS o USING (judgment_id)
        WHERE n.failed AND NOT o.failed
    ) AS judgments_of_judges_who_fail_now,
    (
        SELECT count(*) FROM new_used AS n JOIN old_used AS o USING (judgment_id)
        WHERE o.failed AND NOT n.failed
    ) AS judgments_of_judges_who_pass_now,
    (SELECT count(*) FROM old_used ANTI JOIN new_used USING (judgment_id))
        AS withdrawn_judgments,
    (SELECT count(*) FROM new_labels ANTI JOIN old_labels USING (task, item)) AS new_labels,
    (
        SELECT count(*)
        FROM new_labels AS n
        JOIN old_labels AS o ON n.task = o.task AND n.item = o.item AND n.label <> o.label
    ) AS changed_labels,
    (SELECT count(*) FROM old_labels ANTI JOIN new_labels USING (task, item)) AS removed_labels
