-- One row is a judgment, once: what a judge answered. Records that are rejected, duplicate or
-- superseded are in lineage alone.
-- Inputs: controlled, standardized (judgment_id, z), item_rows (item, segment, system, place).
-- Parameters: salt: hashed into published ids, so that nobody without the key can test a guess of
-- who judged; pseudonymize: whether to.
WITH listed AS (
    SELECT item, segment, system FROM item_rows
    QUALIFY row_number() OVER (PARTITION BY item ORDER BY place) = 1
)
SELECT
    j.task,
    coalesce(j.item, j.item_a || ' | ' || j.item_b) AS item,
    j.judge_id AS judge,
    CASE WHEN $pseudonymize THEN left(sha256($salt || j.judgment_id), 32) ELSE j.judgment_id END
        AS judgment_id,
    j.fate,
    j.control,
    coalesce(l.segment, j.segment) AS segment,
    coalesce(l.system, j.system) AS system,
    j.criterion,
    j.label,
    j.score,
    s.z,
    j.item_a, j.item_b, j.system_a, j.system_b,
    j.preference, j.rank, j.rank_a, j.rank_b,
    CASE WHEN $pseudonymize THEN left(sha256($salt || 'ranking:' || j.ranking), 16)
        ELSE j.ranking END AS ranking,
    CASE WHEN $pseudonymize THEN left(sha256($salt || 'hit:' || j.hit), 16) ELSE j.hit END AS hit,
    j."position",
    j.submitted_at,
    j.seconds
FROM controlled AS j
LEFT JOIN standardized AS s ON j.judgment_id = s.judgment_id
LEFT JOIN listed AS l ON j.item = l.item
WHERE j.fate IN ('judge_failed', 'control', 'adjudication', 'used')
ORDER BY 1, 2, 3, 4
