-- One row is what moved in an export beyond twice its interval: the scores that the same judges give to the same
-- systems, as a share of the range of scores, or the mean of a system against all, as a share of the systems'
-- range. The export is compared with judgments of the newest release or, without one, with the task's largest
-- export. Of a system scores count from the judge's mean; a preference counts for one system and against the other.
-- Judges and segments repeat: the variance of a mean is that of judges' means plus that of segments' means. Each
-- side needs five of both.
-- Inputs: lineage, judgments (of this build), released (judgments of the newest release), released_exports.
WITH tasks AS (
    SELECT n.task
    FROM lineage AS n
    LEFT JOIN released_exports AS e ON n.source_digest = e.source_digest
    WHERE n.fate = 'used'
    GROUP BY n.task
    HAVING bool_or(e.source_digest IS NULL)
        AND (count(DISTINCT n.source_file) > 1 OR (SELECT count(*) FROM released_exports) > 0)
),
counted AS (
    SELECT
        j.*, n.source_file, r.judgment_id IS NOT NULL OR e.source_digest IS NOT NULL AS is_released,
        coalesce(j.segment, least(j.item_a, j.item_b), j.item) AS unit
    FROM (FROM judgments SEMI JOIN tasks USING (task)) AS j
    JOIN (FROM lineage SEMI JOIN tasks USING (task) WHERE fate = 'used') AS n ON j.judgment_id = n.judgment_id
    LEFT JOIN (SELECT judgment_id FROM released) AS r ON j.judgment_id = r.judgment_id
    LEFT JOIN released_exports AS e ON n.source_digest = e.source_digest
    WHERE j.fate = 'used' AND j.judge IS NOT NULL AND coalesce(j.preference, CAST(j.score AS VARCHAR)) IS NOT NULL
),
largest AS (
    SELECT task, arg_max(source_file, (n, source_file)) AS source_file
    FROM (SELECT task, source_file, count(*) AS n FROM counted GROUP BY ALL)
    GROUP BY task
    HAVING NOT bool_or(task IN (SELECT task FROM counted WHERE is_released))
),
parts AS (
    SELECT c.*, if(is_released OR l.source_file IS NOT NULL, NULL, c.source_file) AS export
    FROM counted AS c
    LEFT JOIN largest AS l ON c.task = l.task AND c.source_file = l.source_file
),
scores AS (
    SELECT
        task, export, judge, unit, system, score,
        avg(score) OVER (PARTITION BY task, export, judge, criterion) AS mean,
        avg(score) FILTER (WHERE export IS NULL) OVER (PARTITION BY task, system, criterion) AS usual,
        max(score) OVER (PARTITION BY task) - min(score) OVER (PARTITION BY task) AS span
    FROM parts
    WHERE score IS NOT NULL
),
answers AS (
    SELECT task, export, judge, unit, system, score - mean AS value FROM scores WHERE system IS NOT NULL
    UNION ALL
    SELECT
        task, export, judge, unit, unnest([system_a, system_b]),
        unnest([1, -1]) * CASE preference WHEN 'a' THEN 0.5 WHEN 'b' THEN -0.5 ELSE 0 END
    FROM parts
    WHERE preference IS NOT NULL AND system_a IS NOT NULL
    UNION ALL
    SELECT task, export, judge, unit, NULL, (score - usual) / span FROM scores
    SEMI JOIN (
        SELECT task, judge FROM scores GROUP BY ALL HAVING count(DISTINCT coalesce(export, '')) > 1
    ) USING (task, judge)
    WHERE span > 0 AND usual IS NOT NULL
),
means AS (
    SELECT
        task, export, system, grouping(judge) AS by_unit, coalesce(judge, unit) AS name, count(*) AS n,
        avg(value) AS mean
    FROM answers
    GROUP BY GROUPING SETS ((task, export, system, judge), (task, export, system, unit))
),
sides AS (
    SELECT
        task, export, system, sum(n) // 2 AS n, avg(mean) FILTER (by_unit = 0) AS mean,
        coalesce(var_samp(mean) FILTER (by_unit = 0) / count(*) FILTER (by_unit = 0), 0)
            + coalesce(var_samp(mean) FILTER (by_unit = 1) / count(*) FILTER (by_unit = 1), 0) AS variance
    FROM means
    GROUP BY ALL
    HAVING least(count(*) FILTER (by_unit = 0), count(*) FILTER (by_unit = 1)) >= 5
),
ranges AS (
    SELECT task, export, list_sort(list(system)) AS systems, max(mean) - min(mean) AS span
    FROM sides
    WHERE system IS NOT NULL
    GROUP BY task, export
),
moved AS (
    SELECT
        n.task, n.export, n.system, n.n, n.mean - o.mean AS change, 1.96 * sqrt(n.variance + o.variance) AS reach,
        if(n.system IS NULL, 1, s.span) AS span
    FROM sides AS n
    JOIN sides AS o ON n.task = o.task AND n.system IS NOT DISTINCT FROM o.system AND o.export IS NULL
    LEFT JOIN ranges AS r ON n.task = r.task AND n.export = r.export
    LEFT JOIN ranges AS s ON o.task = s.task AND s.export IS NULL AND r.systems = s.systems
    WHERE n.export IS NOT NULL
)
SELECT
    concat_ws(' ', task, export, system) AS name, system IS NOT NULL AS is_system, n::BIGINT AS items,
    round(change / span, 6) AS change, round((change - reach) / span, 6) AS low,
    round((change + reach) / span, 6) AS high
FROM moved
WHERE span > 0 AND abs(change) > 2 * reach
ORDER BY system IS NOT NULL, abs(change / span) DESC, task, export, system
