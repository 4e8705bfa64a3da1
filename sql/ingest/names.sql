-- One row is a task and judge (null: of votes) that records name, with how many do and what kinds of
-- answer there are, and the lowest and highest score. What experts decided, or answered to an audit,
-- says nothing of what judges were asked.
-- A judge has one version, prompt and temperature: they are parts of the name.
-- Inputs: records (Parquet files with the columns of any_record), any_record (empty).
WITH all_records AS (
    SELECT * FROM any_record
    UNION ALL BY NAME
    SELECT * FROM records
),
told AS (
    SELECT *, reason IS NULL AND coalesce(control, 'none') NOT IN ('adjudication', 'audit') AS is_answer
    FROM all_records
)
SELECT
    task,
    judge,
    min(judge_version) AS version,
    min(judge_prompt) AS prompt_hash,
    min(judge_temperature) AS temperature,
    count(*) AS records,
    count(label) FILTER (is_answer) AS labels,
    count(votes) FILTER (is_answer) AS votes,
    count(score) FILTER (is_answer) AS scores,
    count(preference) FILTER (is_answer)
        + count(rank_a) FILTER (is_answer) AS preferences,
    count(ranking) FILTER (is_answer) AS rankings,
    count(rank) FILTER (is_answer) AS ranks,
    min(score) FILTER (is_answer) AS lowest,
    max(score) FILTER (is_answer) AS highest
FROM told
GROUP BY task, judge
ORDER BY task, judge
