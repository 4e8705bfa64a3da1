-- One row is a file whose answers counted, over another: how many of its judgments and decisions
-- differ, where nothing but the order of sources and files told which is the later answer.
-- Inputs: judgments, record_files (source_order, file_order, source_file).
WITH answers AS (
    SELECT
        CASE WHEN control = 'adjudication' THEN 'decision' ELSE judgment_id END AS id,
        CASE WHEN control = 'adjudication' THEN task END AS task,
        CASE WHEN control = 'adjudication' THEN item END AS item,
        fate, submitted_at, source_order, file_order
    FROM judgments
    WHERE judgment_id IS NOT NULL AND fate <> 'duplicate'
)
SELECT winning.source_file AS file, losing.source_file AS over, count(*) AS records
FROM answers AS counts
JOIN answers AS lost
    ON counts.id = lost.id
    AND counts.task IS NOT DISTINCT FROM lost.task
    AND counts.item IS NOT DISTINCT FROM lost.item
    AND counts.submitted_at IS NOT DISTINCT FROM lost.submitted_at
    AND (counts.source_order, counts.file_order) <> (lost.source_order, lost.file_order)
JOIN record_files AS winning
    ON counts.source_order = winning.source_order AND counts.file_order = winning.file_order
JOIN record_files AS losing
    ON lost.source_order = losing.source_order AND lost.file_order = losing.file_order
WHERE counts.fate <> 'superseded' AND lost.fate = 'superseded'
GROUP BY winning.source_file, losing.source_file
ORDER BY records DESC, file, over
