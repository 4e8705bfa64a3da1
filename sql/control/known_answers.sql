-- One row is a judgment of a question whose answer is known.
-- Inputs: judgments (with fates so far), tasks (task, kind, labels), item_rows (item, truth, place).
-- The known answer is the record's truth, else that of the item tables; of a pair, a side or its name.
WITH listed AS (
    SELECT item, truth FROM item_rows
    QUALIFY row_number() OVER (PARTITION BY item ORDER BY place) = 1
),
asked AS (
    SELECT
        j.task, j.judge, j.judge_id, j.hit, j.judgment_id,
        coalesce(j.item, j.item_a || ' | ' || j.item_b) AS item,
        coalesce(j.label, j.preference) AS label,
        CASE
            WHEN t.kind <> 'pairwise' THEN coalesce(j.truth, l.truth)
            WHEN j.truth IN (j.system_a, j.item_a) THEN 'a'
            WHEN j.truth IN (j.system_b, j.item_b) THEN 'b'
            ELSE j.truth
        END AS truth
    FROM judgments AS j
    JOIN tasks AS t ON j.task = t.task AND t.kind IN ('categorical', 'pairwise')
    LEFT JOIN listed AS l ON j.item = l.item
    WHERE j.control = 'known_answer' AND j.fate IN ('used', 'control')
),
met AS (
    SELECT task, count(DISTINCT label) AS n
    FROM (
        SELECT task, coalesce(label, preference) AS label
        FROM judgments WHERE fate IN ('used', 'control')
        UNION ALL
        SELECT task, truth FROM asked
    )
    GROUP BY task
)
SELECT
    a.task, a.judge_id, a.item, a.hit, a.judgment_id, a.label, a.truth,
    coalesce(len(t.labels), m.n) AS n_classes,
    CASE
        WHEN a.truth IS NULL THEN 'no truth is given for this question'
        WHEN t.labels IS NOT NULL AND NOT list_contains(t.labels, a.truth)
            THEN 'the truth is not a declared class: ''' || left(a.truth, 60) || ''''
        WHEN t.kind = 'pairwise' AND a.truth NOT IN ('a', 'b', 'tie')
            THEN 'the truth is neither side and no tie: ''' || left(a.truth, 60) || ''''
    END AS reason
FROM asked AS a
JOIN tasks AS t ON a.task = t.task
LEFT JOIN met AS m ON a.task = m.task
ORDER BY a.task, a.judge, a.judgment_id
