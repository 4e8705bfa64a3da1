-- One row is a task and judge that records name, with what kinds of answer there are, and the
-- lowest and highest score.
-- Inputs: records (Parquet files with the columns of any_record), any_record (empty).
WITH all_records AS (
    SELECT * FROM any_record
    UNION ALL BY NAME
    SELECT * FROM records
)
SELECT
    task,
    judge,
    count(label) FILTER (reason IS NULL) AS labels,
    count(score) FILTER (reason IS NULL) AS scores,
    count(preference) FILTER (reason IS NULL)
        + count(rank_a) FILTER (reason IS NULL) AS preferences,
    count(ranking) FILTER (reason IS NULL) AS rankings,
    count(rank) FILTER (reason IS NULL) AS ranks,
    min(score) FILTER (reason IS NULL) AS lowest,
    max(score) FILTER (reason IS NULL) AS highest
FROM all_records
GROUP BY task, judge
ORDER BY task, judge
