-- One row is a fate of records that are no judgments, with their number and the first of them.
-- Inputs: lineage.
-- Parameters: task, item, judge, fate (null: any), most, skipped.
WITH first_rows AS (
    SELECT
        fate,
        count(*) AS n_records,
        min(
            {
                'file': source_file, 'row': source_row, 'digest': coalesce(source_digest, ''),
                'reason': reason
            }
        ) AS first
    FROM lineage
    WHERE
        fate IN ('filtered', 'not_asked', 'unscored', 'rejected', 'duplicate', 'superseded')
        AND ($task IS NULL OR task = $task)
        AND ($item IS NULL OR item = $item)
        AND ($judge IS NULL OR judge = $judge)
        AND ($fate IS NULL OR fate = $fate)
    GROUP BY fate
)
SELECT
    fate,
    n_records,
    first.reason AS reason,
    first.file AS source_file,
    first.row AS source_row,
    first.digest AS source_digest
FROM first_rows
ORDER BY n_records DESC, fate
LIMIT $most OFFSET $skipped
