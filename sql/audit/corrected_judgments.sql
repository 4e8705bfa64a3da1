-- One row is a task and an export that is new or changed: its judgments that the newest release has too,
-- and those of them that have another answer now. Votes of nobody are not looked at.
-- Inputs: lineage, judgments (of this build), released (judgments of the newest release), released_exports
-- (their digests).
WITH changed AS (
    SELECT judgment_id, source_file
    FROM lineage
    WHERE fate IN ('used', 'measured', 'control', 'judge_failed')
        AND source_digest NOT IN (SELECT source_digest FROM released_exports)
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
