-- One row is a record with all its fields, the reason why it is rejected (null: it is not),
-- and the key that says who judged what: 128 bits over the fields that make a judgment's id.
-- Inputs: records (Parquet files), any_record (empty, all columns), record_files (a row an
-- input file: source_order, file_order, filename), tasks (task, kind, labels, scale_low,
-- scale_high, criteria), judges (judge, judge_id).
WITH all_records AS (
    SELECT * FROM any_record
    UNION ALL BY NAME
    SELECT * FROM records
),
judged AS (
    SELECT
        r.* EXCLUDE (filename, reason, control, judge_cells),
        f.source_order,
        f.file_order,
        j.judge_id,
        coalesce(r.control, 'none') AS control,
        coalesce(
            r.reason,
            CASE
                WHEN r.control = 'adjudication' AND t.kind <> 'categorical'
                    THEN 'an adjudication needs a label: the task is ' || t.kind
                WHEN t.kind = 'categorical' AND r.label IS NULL THEN 'label is blank'
                WHEN t.kind = 'categorical' AND t.labels IS NOT NULL
                    AND NOT list_contains(t.labels, r.label)
                    THEN 'label is not a declared class: ''' || left(r.label, 60) || ''''
                WHEN t.kind = 'scalar' AND r.score IS NULL THEN 'score is blank'
                WHEN t.kind = 'pairwise' AND r.preference IS NULL AND r.rank_a IS NULL
                    THEN 'preference is blank'
                WHEN t.kind = 'pairwise' AND r.item_a IS NULL
                    THEN 'item_a is blank: a preference is between two items'
                WHEN t.kind = 'ranking' AND r.rank IS NULL AND r.score IS NULL
                    AND r.preference IS NULL AND r.rank_a IS NULL
                    THEN 'rank is blank'
                WHEN r.item IS NULL
                    AND (t.kind IN ('categorical', 'scalar') OR t.kind = 'ranking' AND r.item_a IS NULL)
                    THEN 'item is blank'
                WHEN t.kind = 'scalar' AND NOT r.score BETWEEN t.scale_low AND t.scale_high
                    THEN 'score is outside the scale: ' || r.score
                WHEN t.kind = 'scalar' AND len(t.criteria) > 0 AND r.criterion IS NULL
                    THEN 'criterion is blank'
                WHEN t.kind = 'scalar' AND len(t.criteria) > 0
                    AND NOT list_contains(
                        list_transform(t.criteria, lambda c: c.criterion), r.criterion
                    )
                    THEN 'criterion is not declared: ''' || left(r.criterion, 60) || ''''
            END
        ) AS reason
    FROM all_records AS r
    JOIN record_files AS f ON parse_filename(r.filename) = f.filename
    LEFT JOIN tasks AS t ON r.task = t.task
    LEFT JOIN judges AS j ON r.judge = j.judge
)
SELECT
    *,
    CASE WHEN reason IS NULL THEN CAST(left(sha256(CAST(to_json(struct_pack(
        task, judge, item, item_a, item_b, criterion, control, ranking, hit, native_id,
        "position"
    )) AS VARCHAR)), 32) AS UUID) END AS judgment_key
FROM judged
