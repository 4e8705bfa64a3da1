-- One row is a record: a judgment cell of a raw row, with its id and its fate so far.
-- Inputs: records (Parquet files), any_record (empty, all columns), record_files (a row an
-- input file: source_order, file_order, source_file, source_sha256, filename), tasks (task,
-- kind, labels, scale_low, scale_high), judges (judge, judge_id).
--
-- id: 32 hex digits over who and what was asked, plus the ordinal among equal keys of one
-- file, ordered by answer, so that repeats within a file stay apart.
-- One id in several files: the latest counts (submitted_at, then source, then path); the
-- others are duplicates where they give the same answer, else superseded.
WITH all_records AS (
    SELECT * FROM any_record
    UNION ALL BY NAME
    SELECT * FROM records
),
located AS (
    SELECT r.* EXCLUDE (filename), f.* EXCLUDE (filename)
    FROM all_records AS r
    JOIN record_files AS f ON r.filename = f.filename
),
judged AS (
    SELECT
        l.* EXCLUDE (reason, control),
        t.kind,
        j.judge_id,
        coalesce(l.control, 'none') AS control,
        coalesce(
            l.reason,
            CASE
                WHEN t.kind = 'categorical' AND l.label IS NULL THEN 'label is blank'
                WHEN t.kind = 'categorical' AND t.labels IS NOT NULL
                    AND NOT list_contains(t.labels, l.label)
                    THEN 'label is not a declared class: ''' || left(l.label, 60) || ''''
                WHEN t.kind = 'scalar' AND l.score IS NULL THEN 'score is blank'
                WHEN t.kind = 'scalar' AND NOT l.score BETWEEN t.scale_low AND t.scale_high
                    THEN 'score is outside the scale: ' || l.score
            END
        ) AS reason
    FROM located AS l
    LEFT JOIN tasks AS t ON l.task = t.task
    LEFT JOIN judges AS j ON l.judge = j.judge
),
keyed AS (
    SELECT
        *,
        CASE WHEN reason IS NULL THEN sha256(to_json(struct_pack(
            task, judge, item, item_a, item_b, criterion, control, ranking, hit, native_id,
            "position"
        ))::VARCHAR) END AS key_hash
    FROM judged
),
numbered AS (
    SELECT
        *,
        row_number() OVER (
            PARTITION BY source_order, file_order, key_hash
            ORDER BY label NULLS FIRST, score NULLS FIRST, preference NULLS FIRST,
                rank NULLS FIRST, rank_a NULLS FIRST, rank_b NULLS FIRST,
                submitted_at NULLS FIRST, seconds NULLS FIRST, "row", cell NULLS FIRST
        ) - 1 AS ordinal
    FROM keyed
),
identified AS (
    SELECT
        *,
        left(CASE WHEN ordinal = 0 THEN key_hash ELSE sha256(key_hash || '#' || ordinal) END, 32)
            AS judgment_id
    FROM numbered
),
repeated AS (
    SELECT judgment_id
    FROM identified
    WHERE judgment_id IS NOT NULL
    GROUP BY judgment_id
    HAVING count(*) > 1
),
versions AS (
    SELECT
        i.judgment_id, i.source_order, i.file_order,
        row_number() OVER latest = 1 AS counts,
        struct_pack(i.label, i.score, i.preference, i.rank, i.rank_a, i.rank_b)
            IS NOT DISTINCT FROM first_value(
                struct_pack(i.label, i.score, i.preference, i.rank, i.rank_a, i.rank_b)
            ) OVER latest AS same_answer
    FROM identified AS i
    JOIN repeated AS r ON i.judgment_id = r.judgment_id
    WINDOW latest AS (
        PARTITION BY i.judgment_id
        ORDER BY i.submitted_at DESC NULLS LAST, i.source_order DESC, i.file_order DESC
    )
)
SELECT
    i.judgment_id,
    i.task, i.judge, i.judge_id, i.item, i.item_a, i.item_b, i.system, i.segment,
    i.system_a, i.system_b, i.criterion, i.label, i.score, i.preference, i.ranking, i.rank,
    i.rank_a, i.rank_b, i.hit, i."position", i.control, i.control_of, i.truth, i.native_id,
    i.status, i.submitted_at, i.seconds, i.hit_seconds,
    CASE
        WHEN i.reason IS NOT NULL THEN 'rejected'
        WHEN NOT v.counts AND v.same_answer THEN 'duplicate'
        WHEN NOT v.counts THEN 'superseded'
        WHEN i.control IN ('bad_reference', 'good_reference', 'known_answer') THEN 'control'
        ELSE 'used'
    END AS fate,
    CASE
        WHEN i.reason IS NOT NULL THEN i.reason
        WHEN NOT v.counts AND v.same_answer THEN 'the same answer stands in a later file'
        WHEN NOT v.counts THEN 'a later file holds another answer'
        WHEN i.control IN ('bad_reference', 'good_reference', 'known_answer')
            THEN 'control item: ' || i.control
    END AS reason,
    i.source_order, i.file_order, i.source_sha256, i.source_file, i."row" AS source_row, i.cell
FROM identified AS i
LEFT JOIN versions AS v
    ON i.judgment_id = v.judgment_id
    AND i.source_order = v.source_order
    AND i.file_order = v.file_order
ORDER BY
    i.task NULLS FIRST, i.item NULLS FIRST, i.judge NULLS FIRST, i.judgment_id NULLS FIRST,
    i.source_order, i.file_order, i."row", i.cell NULLS FIRST
