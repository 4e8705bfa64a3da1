-- One row is an item on which experts decided differently, each by their latest decision, or one
-- expert twice with nothing to tell which decision is the later one.
-- Inputs: judgments, record_files (source_order, file_order, source_file).
WITH latest AS (
    SELECT task, item, label
    FROM judgments
    JOIN record_files USING (source_order, source_file)
    WHERE control = 'adjudication' AND judgment_id IS NOT NULL
    QUALIFY rank() OVER (
        PARTITION BY task, item, judge
        ORDER BY submitted_at DESC NULLS LAST, source_order DESC, file_order DESC
    ) = 1
)
SELECT task, item, list_sort(list(DISTINCT label)) AS labels
FROM latest
GROUP BY task, item
HAVING count(DISTINCT label) > 1
ORDER BY task, item
