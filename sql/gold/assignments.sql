-- One row is an assignment, one judge's work on a HIT, of which only the whole time is known, and
-- how many judgments it holds, also those that were rejected. A native id that repeats within a HIT
-- tells two assignments apart; without a HIT, each native id is one.
-- Inputs: controlled.
WITH kept AS (
    SELECT judge_id, hit, native_id, hit_seconds FROM controlled
    WHERE fate NOT IN ('duplicate', 'superseded') AND control IS DISTINCT FROM 'audit'
        AND judge_id IS NOT NULL
),
repeated_natives AS (
    SELECT judge_id, hit, native_id
    FROM kept
    SEMI JOIN (SELECT DISTINCT judge_id, hit FROM kept WHERE hit_seconds IS NOT NULL)
        USING (judge_id, hit)
    GROUP BY judge_id, hit, native_id
    HAVING count(*) > 1
),
timed AS (
    SELECT
        k.judge_id, k.hit,
        CASE WHEN k.hit IS NULL OR n.native_id IS NOT NULL THEN k.native_id END AS native_id
    FROM kept AS k
    LEFT JOIN repeated_natives AS n
        ON k.judge_id = n.judge_id AND k.hit = n.hit AND k.native_id = n.native_id
    WHERE k.hit_seconds IS NOT NULL
)
SELECT judge_id, hit, native_id, count(*) AS n_judgments
FROM timed
WHERE coalesce(hit, native_id) IS NOT NULL
GROUP BY ALL
ORDER BY ALL
