-- One row: how the judgments that count differ between two settled tables.
-- Inputs: old, new (as settle_judgments.sql gives them).
-- new, withdrawn: in one alone; corrected: in both, with another answer; restated: with the same
-- answer, but other particulars. Where a judgment stands in its export is none of them. Decisions
-- of experts are counted apart.
WITH counting_old AS (
    SELECT * EXCLUDE (source_order, file_order, source_row, cell) FROM old
    WHERE fate IN ('used', 'control', 'adjudication')
),
counting_new AS (
    SELECT * EXCLUDE (source_order, file_order, source_row, cell) FROM new
    WHERE fate IN ('used', 'control', 'adjudication')
),
compared AS (
    SELECT
        coalesce(n.fate, o.fate) = 'adjudication' AS is_adjudication,
        CASE
            WHEN o.judgment_id IS NULL THEN 'new'
            WHEN n.judgment_id IS NULL THEN 'withdrawn'
            WHEN struct_pack(o.label, o.score, o.preference, o.rank, o.rank_a, o.rank_b)
                IS DISTINCT FROM
                struct_pack(n.label, n.score, n.preference, n.rank, n.rank_a, n.rank_b)
                THEN 'corrected'
            WHEN o IS DISTINCT FROM n THEN 'restated'
        END AS change
    FROM counting_old AS o
    FULL JOIN counting_new AS n ON o.judgment_id = n.judgment_id
)
SELECT
    count(*) FILTER (change = 'new' AND NOT is_adjudication) AS new,
    count(*) FILTER (change = 'corrected' AND NOT is_adjudication) AS corrected,
    count(*) FILTER (change = 'restated' AND NOT is_adjudication) AS restated,
    count(*) FILTER (change = 'withdrawn' AND NOT is_adjudication) AS withdrawn,
    count(*) FILTER (change = 'new' AND is_adjudication) AS new_adjudications,
    count(*) FILTER (change IN ('corrected', 'restated') AND is_adjudication)
        AS corrected_adjudications,
    count(*) FILTER (change = 'withdrawn' AND is_adjudication) AS withdrawn_adjudications
FROM compared
