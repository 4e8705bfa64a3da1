-- One row is a task and an export of the newest release that is gone or has other bytes: the judgments that it
-- gave, and how many of them no export holds any more. Nobody misses those that are excluded. Votes are no judgments.
-- Inputs: lineage (of this build), read_exports (digests of its exports), released, released_lineage (judgments and
-- lineage of the newest release),
-- excluded (its judgments in excluded exports, left out rows, and of forgotten people).
WITH given AS (
    SELECT r.task, r.source_file, r.judgment_id
    FROM released_lineage AS r
    ANTI JOIN read_exports AS n ON r.source_digest = n.source_digest
    SEMI JOIN released AS j ON r.judgment_id = j.judgment_id
    WHERE r.fate IN ('used', 'measured', 'control', 'judge_failed')
),
held AS (
    SELECT judgment_id FROM lineage SEMI JOIN given USING (judgment_id)
    UNION
    SELECT judgment_id FROM excluded SEMI JOIN given USING (judgment_id)
)
SELECT
    g.task,
    ' of ' || g.source_file AS of_export,
    count(*) AS judgments,
    count_if(h.judgment_id IS NULL)::BIGINT AS vanished
FROM given AS g
LEFT JOIN held AS h USING (judgment_id)
GROUP BY g.task, g.source_file
HAVING vanished > 0
ORDER BY g.task, g.source_file
