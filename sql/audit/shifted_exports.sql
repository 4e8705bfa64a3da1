-- One row is what moved in an export beyond twice its interval, by kind. Scores: the mean that the same judges give
-- to the same systems, as a share of the range of scores. Systems: the mean of a system against all, as a share of
-- the systems' range. Labels: the share of labels that the same judges give to other classes; named is the class that
-- moved most, with both shares. The export is compared with judgments of the newest release or, without one, with the
-- task's largest export. Of a system scores count from the judge's mean; a preference counts for one system and
-- against the other. A label counts from the share of its class that the judge gives in the others; only classes
-- whose share differs by .05 between exports are looked at, which saves time.
-- Judges and segments (or items) repeat: the variance of a mean is that of judges' means plus that of segments'
-- means. Each side needs five of both.
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
    WHERE
        j.fate = 'used' AND j.judge IS NOT NULL
        AND coalesce(j.label, j.preference, CAST(j.score AS VARCHAR)) IS NOT NULL
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
classes AS (
    SELECT task, label
    FROM (
        SELECT
            task, label, count(*) / sum(count(*)) OVER (PARTITION BY task, export) AS share,
            count(DISTINCT coalesce(export, '')) OVER (PARTITION BY task) AS exports
        FROM parts
        WHERE label IS NOT NULL
        GROUP BY task, export, label
    )
    GROUP BY task, label
    HAVING max(share) - if(count(*) < any_value(exports), 0, min(share)) >= 0.05
),
own AS (
    SELECT p.task, p.judge, c.label, count(*) FILTER (p.label = c.label) / count(*) AS share
    FROM (FROM parts WHERE export IS NULL AND label IS NOT NULL) AS p
    JOIN classes AS c ON p.task = c.task
    GROUP BY p.task, p.judge, c.label
),
answers AS (
    SELECT
        'systems' AS kind, task, export, judge, unit, system AS name, score - mean AS value, NULL AS usual
    FROM scores
    WHERE system IS NOT NULL
    UNION ALL
    SELECT
        'systems', task, export, judge, unit, unnest([system_a, system_b]),
        unnest([1, -1]) * CASE preference WHEN 'a' THEN 0.5 WHEN 'b' THEN -0.5 ELSE 0 END, NULL
    FROM parts
    WHERE preference IS NOT NULL AND system_a IS NOT NULL
    UNION ALL
    SELECT 'scores', task, export, judge, unit, NULL, (score - usual) / span, NULL FROM scores
    SEMI JOIN (
        SELECT task, judge FROM scores GROUP BY ALL HAVING count(DISTINCT coalesce(export, '')) > 1
    ) USING (task, judge)
    WHERE span > 0 AND usual IS NOT NULL
    UNION ALL
    SELECT
        'labels', p.task, p.export, p.judge, p.unit, o.label, (p.label = o.label)::INT - o.share, o.share
    FROM (FROM parts WHERE label IS NOT NULL) AS p
    JOIN own AS o ON p.task = o.task AND p.judge = o.judge
),
means AS (
    SELECT
        kind, task, export, name, grouping(judge) AS by_unit, coalesce(judge, unit) AS cluster, count(*) AS n,
        avg(value) AS mean, avg(usual) AS usual
    FROM answers
    GROUP BY GROUPING SETS ((kind, task, export, name, judge), (kind, task, export, name, unit))
),
sides AS (
    SELECT
        kind, task, export, name, sum(n) // 2 AS n, avg(mean) FILTER (by_unit = 0) AS mean,
        avg(usual) FILTER (by_unit = 0) AS usual,
        coalesce(var_samp(mean) FILTER (by_unit = 0) / count(*) FILTER (by_unit = 0), 0)
            + coalesce(var_samp(mean) FILTER (by_unit = 1) / count(*) FILTER (by_unit = 1), 0) AS variance
    FROM means
    GROUP BY ALL
    HAVING least(count(*) FILTER (by_unit = 0), count(*) FILTER (by_unit = 1)) >= 5
),
ranges AS (
    SELECT task, export, list_sort(list(name)) AS systems, max(mean) - min(mean) AS span
    FROM sides
    WHERE kind = 'systems'
    GROUP BY task, export
),
moved AS (
    SELECT
        n.kind, n.task, n.export, n.n, n.mean - o.mean AS difference,
        1.96 * sqrt(n.variance + o.variance) AS reach, if(n.kind = 'systems', s.span, 1) AS span,
        n.name || coalesce(format(' {:.0f}% to {:.0f}%', 100 * n.usual, 100 * (n.usual + difference)), '') AS name
    FROM sides AS n
    JOIN sides AS o
        ON n.kind = o.kind AND n.task = o.task AND n.name IS NOT DISTINCT FROM o.name AND o.export IS NULL
    LEFT JOIN ranges AS r ON n.task = r.task AND n.export = r.export
    LEFT JOIN ranges AS s ON o.task = s.task AND s.export IS NULL AND r.systems = s.systems
    WHERE n.export IS NOT NULL
),
clear AS (
    SELECT
        kind, task, export, arg_max(name, (abs(difference), name)) AS name, any_value(n)::BIGINT AS items,
        sum(difference / span) AS change, sqrt(sum((reach / span) ^ 2)) AS reach
    FROM moved
    WHERE span > 0 AND abs(difference) > 2 * reach
    GROUP BY kind, task, export, if(kind = 'labels', NULL, name), sign(difference)
)
SELECT
    kind, concat_ws(' ', task, export, name) AS name, items, round(change, 6) AS change,
    round(change - reach, 6) AS low, round(change + reach, 6) AS high
FROM clear
QUALIFY kind <> 'labels' OR row_number() OVER (PARTITION BY kind, task, export ORDER BY -abs(change), -change) = 1
ORDER BY kind, abs(change) DESC, task, export, name
