-- One row is a task with the number of its documents of which several segments have judgments of
-- systems that count.
-- Input: judgments.
WITH segments AS (
    SELECT task, document
    FROM judgments
    WHERE document IS NOT NULL AND system IS NOT NULL AND fate = 'used'
    GROUP BY task, document
    HAVING count(DISTINCT coalesce(segment, item)) > 1
)
SELECT task, count(*) AS documents
FROM segments
GROUP BY task
ORDER BY task
