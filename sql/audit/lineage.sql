-- One row is a record: which judgment it is, what became of it and why, and where it stands.
-- Inputs: judgments. Parameters: salt: hashed into published ids, so that nobody without the
-- key can test a guess of who judged; pseudonymize: whether to.
SELECT
    CASE WHEN $pseudonymize THEN left(sha256($salt || judgment_id), 32) ELSE judgment_id END
        AS judgment_id,
    task,
    coalesce(item, item_a || ' | ' || item_b) AS item,
    judge_id AS judge,
    fate,
    reason,
    source_sha256,
    source_file,
    source_row,
    cell
FROM judgments
ORDER BY task, item, judge, judgment_id, source_sha256, source_row, cell, source_file, fate
