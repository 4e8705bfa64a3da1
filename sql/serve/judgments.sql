-- One row is a judgment of a release with the file and row that it comes from, by task, item and judge.
-- Inputs: judgments, lineage, labels.
-- Parameters: task, item, judge, fate, answer (null: any), most, skipped.
WITH chosen AS (
    SELECT
        j.*,
        coalesce(least(j.item_a, j.item_b) || ' | ' || greatest(j.item_a, j.item_b), j.item) AS about,
        answer_text(j) AS answer
    FROM judgments AS j
    WHERE
        ($task IS NULL OR j.task = $task)
        AND ($judge IS NULL OR j.judge = $judge)
        AND ($fate IS NULL OR j.fate = $fate)
        AND (
            $item IS NULL
            OR j.item = $item
            -- first what row groups cannot be: else all of them are read for an item that is no pair
            OR (
                contains($item, ' | ')
                AND $item = least(j.item_a, j.item_b) || ' | ' || greatest(j.item_a, j.item_b)
            )
        )
),
shown AS (
    SELECT *, count(*) OVER () AS n_judgments
    FROM chosen
    WHERE $answer IS NULL OR answer = $answer
    ORDER BY task, about, judge, judgment_id
    LIMIT $most OFFSET $skipped
),
places AS (
    SELECT
        l.judgment_id,
        min(
            {
                'file': l.source_file, 'row': l.source_row,
                'digest': coalesce(l.source_digest, '')
            }
        ) AS place
    FROM lineage AS l
    INNER JOIN shown AS s ON l.judgment_id = s.judgment_id AND l.fate = s.fate
    WHERE
        ($task IS NULL OR l.task = $task)
        AND ($item IS NULL OR l.item = $item OR contains($item, ' | '))
    GROUP BY l.judgment_id
)
SELECT
    s.task, s.about AS item, s.judge, s.answer, s.fate, s.submitted_at, s.seconds, s.n_judgments,
    b.label, s.label = b.label AS agrees,
    p.place.file AS source_file, p.place.row AS source_row, p.place.digest AS source_digest
FROM shown AS s
LEFT JOIN places AS p ON s.judgment_id = p.judgment_id
LEFT JOIN labels AS b ON s.task = b.task AND s.about = b.item
ORDER BY s.task, s.about, s.judge, s.judgment_id
