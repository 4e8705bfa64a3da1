-- One row is a record: which judgment it is, what became of it and why, and where it stands.
-- Inputs: controlled, exports (source_order, file_order, source_file, source_sha256, kind).
-- Parameters: salt: hashed into published ids, so that nobody without the
-- key can test a guess of who judged; pseudonymize: whether to.
SELECT
    CASE WHEN $pseudonymize THEN left(sha256($salt || judgment_id), 32) ELSE judgment_id END
        AS judgment_id,
    task,
    coalesce(item, item_a || ' | ' || item_b) AS item,
    judge_id AS judge,
    fate,
    reason,
    e.source_sha256,
    e.source_file,
    source_row,
    cell
FROM controlled AS j
JOIN exports AS e
    ON j.source_order = e.source_order AND j.file_order = e.file_order AND e.kind = 'judgments'
ORDER BY 2, 3, 4, 1, 7, 9, 10, 8, 5
