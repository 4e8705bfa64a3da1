-- One row is a file whose answers counted, over another: how many of its judgments and decisions
-- differ, where nothing but the order of sources and files told which is the later answer.
-- Inputs: judgments.
WITH answers AS (
    SELECT
        CASE WHEN control = 'adjudication' THEN 'decision' ELSE judgment_id END AS id,
        CASE WHEN control = 'adjudication' THEN task END AS task,
        CASE WHEN control = 'adjudication' THEN item END AS item,
        fate, submitted_at, source_order, source_file
    FROM judgments
    WHERE judgment_id IS NOT NULL AND fate <> 'duplicate'
)
SELECT counts.source_file AS file, lost.source_file AS over, count(*) AS records
FROM answers AS counts
JOIN answers AS lost
    ON counts.id = lost.id
    AND counts.task IS NOT DISTINCT FROM lost.task
    AND counts.item IS NOT DISTINCT FROM lost.item
    AND counts.submitted_at IS NOT DISTINCT FROM lost.submitted_at
    AND (counts.source_order, counts.source_file) <> (lost.source_order, lost.source_file)
WHERE counts.fate <> 'superseded' AND lost.fate = 'superseded'
GROUP BY counts.source_file, lost.source_file
ORDER BY records DESC, file, over
