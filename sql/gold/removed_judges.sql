-- One row is a rule of judge control by which judges do not count: a test that they failed,
-- undetermined verdicts, or a suspicion (one answer throughout where no other judge can tell).
-- Inputs: judges (the gold table).
SELECT
    CASE WHEN verdict = 'failed' THEN coalesce(test, 'judge_control')
        WHEN coalesce(test, 'chance') = 'chance' THEN 'suspected'
        ELSE 'undetermined' END AS rule,
    count(DISTINCT judge) AS judges,
    sum(n_judgments)::BIGINT AS judgments
FROM judges
WHERE dropped
GROUP BY rule
ORDER BY rule
