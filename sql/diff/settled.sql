-- One row is a judgment that counts, or is measured, in a state between two settled tables: some kinds of changes
-- are made, the others are not yet.
-- Inputs: old, new (as settle_judgments.sql gives them).
-- Parameters: new_judgments, corrected_judgments, withdrawn_judgments, adjudications: whether.
WITH counting_old AS (
    SELECT * FROM old WHERE fate IN ('used', 'measured', 'control', 'adjudication')
),
counting_new AS (
    SELECT * FROM new WHERE fate IN ('used', 'measured', 'control', 'adjudication')
),
stays AS (
    SELECT o.* FROM counting_old AS o
    LEFT JOIN (SELECT judgment_id FROM counting_new) AS n ON o.judgment_id = n.judgment_id
    WHERE CASE
        WHEN o.fate = 'adjudication' THEN NOT $adjudications
        WHEN n.judgment_id IS NULL THEN NOT $withdrawn_judgments
        ELSE NOT $corrected_judgments
    END
),
comes AS (
    SELECT n.* FROM counting_new AS n
    LEFT JOIN (SELECT judgment_id FROM counting_old) AS o ON n.judgment_id = o.judgment_id
    WHERE CASE
        WHEN n.fate = 'adjudication' THEN $adjudications
        WHEN o.judgment_id IS NULL THEN $new_judgments
        ELSE $corrected_judgments
    END
)
SELECT * FROM stays
UNION ALL BY NAME
SELECT * FROM comes
ORDER BY task, coalesce(item, item_a || ' | ' || item_b), judge_id, public_id
