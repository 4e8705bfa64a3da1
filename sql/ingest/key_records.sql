-- One row is a record with all its fields, the reason why it is rejected (null: it is not),
-- and the key that says who judged what: 128 bits over the fields that make a judgment's id. Votes
-- are of nobody, and of one label: their key names it. Rows of one file that count other votes of
-- one item and label contradict each other, and none of them is taken.
-- Inputs: records (Parquet files), any_record (empty, all columns), record_files (a row an
-- input file: source_order, file_order, filename), tasks (task, kind, labels, scale_low,
-- scale_high, criteria, used_judges), judges (judge, judge_id, kind), record_versions (as
-- record_versions.sql gives them).
-- The item of a record has the name of its version from here on, as if it were another item.
WITH all_records AS (
    SELECT * FROM any_record
    UNION ALL BY NAME
    SELECT * FROM records
),
judged AS (
    SELECT
        r.* EXCLUDE (filename, reason, control, judge_cells, "text", text_digest)
            REPLACE (coalesce(v.name, r.item) AS item),
        r.item AS named_item,
        v.key_suffix,
        f.source_order,
        f.file_order,
        j.judge_id,
        j.kind AS judge_kind,
        -- decisions of people, and their answers to an audit, count whoever judges
        coalesce(t.used_judges <> 'all' AND j.kind <> t.used_judges
            AND NOT (coalesce(r.control, 'none') IN ('adjudication', 'audit') AND j.kind = 'human'), false)
            AS is_measured,
        coalesce(r.control, 'none') AS control,
        coalesce(
            r.reason,
            CASE
                WHEN r.control IN ('adjudication', 'audit') AND t.kind <> 'categorical'
                    THEN 'an ' || r.control || ' needs a label: the task is ' || t.kind
                WHEN r.votes IS NOT NULL AND t.kind <> 'categorical'
                    THEN 'votes count labels: the task is ' || t.kind
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
    LEFT JOIN record_versions AS v
        ON f.source_order = v.source_order AND f.file_order = v.file_order AND r.record = v.record
),
keyed AS (
    SELECT
        * EXCLUDE (named_item, key_suffix),
        CASE WHEN reason IS NULL THEN CAST(left(sha256(concat(
            CAST(to_json(struct_pack(
                task, judge, item := named_item, item_a, item_b, criterion, control, ranking, hit, native_id,
                "position"
            )) AS VARCHAR),
            CASE WHEN votes IS NOT NULL THEN label END,
            key_suffix
        )), 32) AS UUID) END AS judgment_key
    FROM judged
),
contradictory AS (
    SELECT source_order, file_order, judgment_key, submitted_at
    FROM keyed
    WHERE reason IS NULL AND votes IS NOT NULL  -- the key is hashed for these alone
    GROUP BY ALL
    HAVING min(votes) <> max(votes)
)
SELECT
    k.* REPLACE (
        CASE WHEN c.judgment_key IS NULL THEN k.judgment_key END AS judgment_key,
        CASE WHEN c.judgment_key IS NULL THEN k.reason
            ELSE 'another row of the file counts other votes of this item and label: ' || k.votes
        END AS reason
    )
FROM keyed AS k
LEFT JOIN contradictory AS c
    ON k.source_order = c.source_order AND k.file_order = c.file_order
    AND k.judgment_key = c.judgment_key AND k.submitted_at IS NOT DISTINCT FROM c.submitted_at
