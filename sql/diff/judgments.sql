-- One row is a judgment that counts, or is measured, in one of two releases and not alike in both;
-- decisions of experts first, then what was corrected, withdrawn, new, restated.
-- Inputs: old, new (as settle_judgments.sql gives them), old_lineage, new_lineage (of the releases:
-- published names and fates).
-- change: new, withdrawn: in one alone; corrected: in both, with another answer; restated: with the
-- same answer, but other particulars. Where a judgment stands in its export, and what it was paid,
-- is none of them. particulars: which.
WITH counting AS (
    SELECT 'old' AS age, * FROM old WHERE fate IN ('used', 'measured', 'control', 'adjudication')
    UNION ALL BY NAME
    SELECT 'new' AS age, * FROM new WHERE fate IN ('used', 'measured', 'control', 'adjudication')
),
answered AS (
    SELECT
        *,
        coalesce(
            label || ' (votes: ' || votes || ')', label, CAST(score AS VARCHAR), 'rank ' || rank,
            'ranks ' || rank_a || ' and ' || rank_b,
            CASE preference WHEN 'a' THEN item_a || ' is better'
                WHEN 'b' THEN item_b || ' is better' ELSE 'a tie' END
        ) AS answer
    FROM counting
),
compared AS (
    SELECT
        o, n,
        coalesce(n.fate, o.fate) = 'adjudication' AS is_adjudication,
        list_filter([
            CASE WHEN o.item IS DISTINCT FROM n.item THEN 'item' END,
            CASE WHEN (o.fate = 'measured') <> (n.fate = 'measured') THEN 'use' END,
            CASE WHEN (o.fate = 'control') <> (n.fate = 'control') OR o.control IS DISTINCT FROM n.control
                OR o.control_of IS DISTINCT FROM n.control_of THEN 'control' END,
            CASE WHEN o.truth IS DISTINCT FROM n.truth THEN 'truth' END,
            CASE WHEN o.why IS DISTINCT FROM n.why THEN 'why' END,
            CASE WHEN o.submitted_at IS DISTINCT FROM n.submitted_at THEN 'submitted_at' END,
            CASE WHEN o.seconds IS DISTINCT FROM n.seconds
                OR o.hit_seconds IS DISTINCT FROM n.hit_seconds THEN 'seconds' END,
            CASE WHEN o.status IS DISTINCT FROM n.status THEN 'status' END,
            CASE WHEN o.system IS DISTINCT FROM n.system OR o.system_a IS DISTINCT FROM n.system_a
                OR o.system_b IS DISTINCT FROM n.system_b THEN 'system' END,
            CASE WHEN o.segment IS DISTINCT FROM n.segment THEN 'segment' END,
            CASE WHEN o.document IS DISTINCT FROM n.document THEN 'document' END,
            CASE WHEN o.hit IS DISTINCT FROM n.hit OR o.ranking IS DISTINCT FROM n.ranking
                OR o."position" IS DISTINCT FROM n."position" THEN 'hit' END
        ], lambda x: x IS NOT NULL) AS particulars,
        CASE
            WHEN o.judgment_id IS NULL THEN 'new'
            WHEN n.judgment_id IS NULL THEN 'withdrawn'
            WHEN struct_pack(o.label, o.votes, o.score, o.preference, o.rank, o.rank_a, o.rank_b)
                IS DISTINCT FROM
                struct_pack(n.label, n.votes, n.score, n.preference, n.rank, n.rank_a, n.rank_b)
                THEN 'corrected'
            WHEN len(particulars) > 0 THEN 'restated'
        END AS change
    FROM (FROM answered WHERE age = 'old') AS o
    FULL JOIN (FROM answered WHERE age = 'new') AS n ON o.judgment_id = n.judgment_id
),
differing AS (
    SELECT * FROM compared WHERE change IS NOT NULL
),
published AS (
    SELECT age, source_file, source_row, cell, any_value(fate) AS fate, any_value(judge) AS judge
    FROM (
        SELECT 'old' AS age, * FROM old_lineage
        UNION ALL BY NAME
        SELECT 'new' AS age, * FROM new_lineage
    )
    WHERE fate IN ('used', 'measured', 'control', 'adjudication', 'judge_failed')
    GROUP BY age, source_file, source_row, cell
    HAVING count(*) = 1  -- two sources can read one file
)
SELECT
    d.change,
    d.is_adjudication,
    coalesce(d.n.task, d.o.task) AS task,
    coalesce(d.n.item, d.o.item, d.n.item_a || ' | ' || d.n.item_b, d.o.item_a || ' | ' || d.o.item_b)
        AS item,
    coalesce(n.judge, o.judge) AS judge,
    coalesce(d.n.criterion, d.o.criterion) AS criterion,
    d.o.answer AS old_answer,
    d.n.answer AS new_answer,
    CASE WHEN d.change IN ('corrected', 'restated') THEN d.particulars ELSE [] END AS particulars,
    o.fate AS old_fate,
    n.fate AS new_fate,
    d.o.source_file AS old_file,
    d.o.source_row AS old_row,
    d.o.cell AS old_cell,
    d.n.source_file AS new_file,
    d.n.source_row AS new_row,
    d.n.cell AS new_cell
FROM differing AS d
LEFT JOIN published AS o
    ON o.age = 'old' AND d.o.source_file = o.source_file AND d.o.source_row = o.source_row
    AND d.o.cell IS NOT DISTINCT FROM o.cell
LEFT JOIN published AS n
    ON n.age = 'new' AND d.n.source_file = n.source_file AND d.n.source_row = n.source_row
    AND d.n.cell IS NOT DISTINCT FROM n.cell
ORDER BY
    d.is_adjudication DESC, list_position(['corrected', 'withdrawn', 'new', 'restated'], d.change),
    task, item, judge, criterion, new_file, new_row, new_cell, old_file, old_row, old_cell
