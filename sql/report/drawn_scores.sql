-- One row is the scores of an item, of the first tasks.
-- Inputs: scores. Parameters: most_tasks: how many tasks.
SELECT task, easl_score, ra_score
FROM scores
WHERE task IN (SELECT DISTINCT task FROM scores ORDER BY task LIMIT $most_tasks)
