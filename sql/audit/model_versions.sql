-- One row is a task and model whose version, prompt or temperature is another than in the newest
-- release, under names of both.
-- Inputs: judges (of this build), released (judges of the newest release, or empty).
WITH now AS (
    SELECT task, model, judge FROM judges WHERE model IS NOT NULL
),
before AS (
    SELECT task, model, judge
    FROM (  -- releases of earlier versions have no column of models
        SELECT * FROM released
        UNION ALL BY NAME
        SELECT * FROM judges WHERE false
    )
    WHERE model IS NOT NULL
)
SELECT n.task, n.model, string_agg(DISTINCT n.judge, ', ' ORDER BY n.judge) AS judges
FROM now AS n
SEMI JOIN before AS b ON n.task = b.task AND n.model = b.model
ANTI JOIN before AS o ON n.task = o.task AND n.judge = o.judge
GROUP BY n.task, n.model
ORDER BY n.task, n.model
