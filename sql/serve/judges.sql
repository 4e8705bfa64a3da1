-- One row is a judge of a task of a release, those of most concern first: dropped, failed, suspected, below
-- chance; then those with most judgments.
-- Inputs: judges.
-- Parameters: task, judge (a part of the name), verdict, dropped (null: any), most, skipped.
SELECT
    task, judge, n_judgments, verdict, verdict_reason, dropped, suspected, accuracy, chance_accuracy,
    count(*) OVER () AS n_judges
FROM judges
WHERE
    ($task IS NULL OR task = $task)
    AND ($judge IS NULL OR contains(lower(judge), lower($judge)))
    AND ($verdict IS NULL OR verdict = $verdict)
    AND ($dropped IS NULL OR dropped)
ORDER BY
    dropped DESC, verdict = 'failed' DESC, coalesce(suspected, false) DESC, coalesce(below_chance, false) DESC,
    n_judgments DESC, judge, task
LIMIT $most OFFSET $skipped
