-- One row is a task and model whose version, prompt or temperature is another than in an older
-- release, with the names of its judges in both.
-- Inputs: judges (of the build or the newer release), released (judges of the older, or empty).
WITH now AS (
    SELECT task, model, judge FROM judges WHERE model IS NOT NULL
),
before AS (
    SELECT task, model, judge FROM released WHERE model IS NOT NULL
)
SELECT
    n.task,
    n.model,
    string_agg(DISTINCT n.judge, ', ' ORDER BY n.judge) AS judges,
    string_agg(DISTINCT b.judge, ', ' ORDER BY b.judge) AS released_judges
FROM now AS n
JOIN before AS b ON n.task = b.task AND n.model = b.model
ANTI JOIN before AS o ON n.task = o.task AND n.judge = o.judge
GROUP BY n.task, n.model
ORDER BY n.task, n.model
