-- One row is an input file: what it holds and what became of it.
-- Inputs: judgments, record_files (source_order, file_order, source_file, rows, records).
WITH fates AS (
    SELECT
        source_order, source_file,
        count(*) AS records,
        count(DISTINCT source_row) AS rows,
        count(*) FILTER (fate = 'rejected') AS rejected,
        count(*) FILTER (fate = 'rejected' AND starts_with(reason, 'assignment was rejected'))
            AS rejected_assignments,
        count(*) FILTER (fate = 'duplicate') AS duplicate,
        count(*) FILTER (fate = 'superseded') AS superseded,
        count(*) FILTER (fate = 'judge_failed') AS judge_failed,
        count(*) FILTER (fate = 'control') AS control,
        count(*) FILTER (fate = 'adjudication') AS adjudication,
        count(*) FILTER (fate = 'used') AS used
    FROM judgments
    GROUP BY source_order, source_file
)
SELECT
    f.source_order, f.file_order, f.source_file,
    f.rows AS rows_read,
    f.records AS records_read,
    coalesce(t.rows, 0) AS rows,
    coalesce(t.records, 0) AS records,
    coalesce(t.rejected, 0) AS rejected,
    coalesce(t.rejected_assignments, 0) AS rejected_assignments,
    coalesce(t.duplicate, 0) AS duplicate,
    coalesce(t.superseded, 0) AS superseded,
    coalesce(t.judge_failed, 0) AS judge_failed,
    coalesce(t.control, 0) AS control,
    coalesce(t.adjudication, 0) AS adjudication,
    coalesce(t.used, 0) AS used
FROM record_files AS f
LEFT JOIN fates AS t ON f.source_order = t.source_order AND f.source_file = t.source_file
ORDER BY f.source_order, f.file_order
