-- One row is a judge of a task of a release, those of most concern first: dropped, failed, suspected, below
-- chance; then those with most judgments. Of a judge of many tasks come a few, then those of others of concern.
-- Inputs: judges.
-- Parameters: task, judge (a part of the name), verdict, dropped (null: any), most, skipped.
SELECT
    task, judge, n_judgments, verdict, verdict_reason, dropped, suspected, accuracy, chance_accuracy,
    test, p_value, p_adjusted,
    count(*) OVER () AS n_judges
FROM judges
WHERE
    ($task IS NULL OR task = $task)
    AND ($judge IS NULL OR contains(lower(judge), lower($judge)))
    AND ($verdict IS NULL OR verdict = $verdict)
    AND ($dropped IS NULL OR dropped)
ORDER BY
    (dropped OR verdict = 'failed' OR coalesce(suspected OR below_chance, false)) DESC,
    row_number() OVER (PARTITION BY judge ORDER BY n_judgments DESC, task) > 3,
    dropped DESC, verdict = 'failed' DESC, coalesce(suspected, false) DESC, coalesce(below_chance, false) DESC,
    n_judgments DESC, judge, task
LIMIT $most OFFSET $skipped
