-- One row is a task and an export that has changed: its judgments that it gave the newest release, too, and
-- those of them that have another answer now. A file of corrections gave the release none of them.
-- Inputs: lineage, judgments (of this build), released, released_lineage (of the newest release),
-- released_exports (digests of its exports).
WITH changed AS (
    SELECT n.judgment_id, n.source_file
    FROM lineage AS n
    JOIN released_lineage AS r ON n.judgment_id = r.judgment_id AND n.source_file = r.source_file
    WHERE n.source_digest NOT IN (SELECT source_digest FROM released_exports)
        AND n.fate IN ('used', 'measured', 'control', 'judge_failed')
        AND r.fate IN ('used', 'measured', 'control', 'judge_failed')
)
SELECT
    n.task,
    c.source_file,
    count(*) AS judgments,
    count_if(
        (n.label, n.score, n.preference, n.rank, n.rank_a, n.rank_b) IS DISTINCT FROM
        (o.label, o.score, o.preference, o.rank, o.rank_a, o.rank_b)
    )::BIGINT AS corrected
FROM changed AS c
JOIN judgments AS n USING (judgment_id)
JOIN released AS o USING (judgment_id)
GROUP BY n.task, c.source_file
ORDER BY n.task, c.source_file
