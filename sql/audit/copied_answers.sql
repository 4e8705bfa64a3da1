-- One row is a task and an export: judges whose scores or preferences are another's. Of 20 or more shared items the
-- two give equal answers to 98%, one of them in an export that the newest release did not read, and the answers of
-- others make that improbable (p below 1e-5): of an item by n of N judges with a prior, worth two answers, at the
-- share of the task's pairs that are equal. Good judges of few classes agree as well, but then with all good judges:
-- where a task has 20 values or fewer, three or more judges of the export have one such partner, and no other. Who
-- gives one answer to everything is careless, and copies nobody.
-- Copies of labels are found by judge control.
-- Inputs: lineage, judgments (of this build), released (judgments of the newest release), released_exports.
WITH arrived AS (
    SELECT n.judgment_id, n.source_file
    FROM lineage AS n
    ANTI JOIN released_exports USING (source_digest)
    ANTI JOIN released ON released.judgment_id = n.judgment_id
    WHERE n.fate = 'used'
),
answers AS (
    SELECT
        j.task, j.judge, n.source_file,
        concat_ws(' ', coalesce(least(j.item_a, j.item_b) || ' | ' || greatest(j.item_a, j.item_b), j.item), j.criterion)
            AS item,
        coalesce(
            CASE
                WHEN j.item_a > j.item_b AND j.preference <> 'tie' THEN translate(j.preference, 'ab', 'ba')
                ELSE j.preference
            END,
            CAST(j.score AS VARCHAR)
        ) AS answer
    FROM judgments AS j
    LEFT JOIN arrived AS n USING (judgment_id)
    WHERE j.fate = 'used' AND coalesce(j.preference, CAST(j.score AS VARCHAR)) IS NOT NULL
),
cells AS (
    SELECT task, item, judge, min(answer) AS answer, max(source_file) AS source_file
    FROM answers
    SEMI JOIN (SELECT task FROM answers WHERE source_file IS NOT NULL) AS t USING (task)
    GROUP BY task, item, judge
    HAVING min(answer) = max(answer)
),
alike AS (
    SELECT task, item, answer, count(*) AS n, sum(count(*)) OVER (PARTITION BY task, item) AS n_item
    FROM cells
    GROUP BY task, item, answer
),
tasks AS (
    SELECT task, count(DISTINCT answer) > 20 AS has_many, sum(n * (n - 1)) / sum(n * (n_item - 1)) AS equal
    FROM alike
    GROUP BY task
),
telling AS (
    SELECT c.*, ln((a.n - 2 + 2 * t.equal) / a.n_item) AS log_p
    FROM cells AS c
    JOIN alike AS a USING (task, item, answer)
    JOIN tasks AS t USING (task)
    WHERE a.n BETWEEN 2 AND 64
),
pairs AS (
    SELECT a.task, a.judge, b.judge AS twin, count(*) AS n
    FROM telling AS a
    JOIN telling AS b ON a.task = b.task AND a.item = b.item AND a.answer = b.answer AND a.judge <> b.judge
    GROUP BY ALL
    HAVING n >= 20 AND count(DISTINCT a.answer) > 1 AND sum(a.log_p) < ln(1e-5) AND count(coalesce(a.source_file, b.source_file)) > 0
),
twins AS (
    SELECT p.task, p.judge, p.twin
    FROM pairs AS p
    JOIN cells AS a ON p.task = a.task AND p.judge = a.judge
    JOIN cells AS b ON p.task = b.task AND p.twin = b.judge AND a.item = b.item
    GROUP BY p.task, p.judge, p.twin, p.n
    HAVING p.n >= 0.98 * count(*)
),
copies AS (
    SELECT t.task, t.judge, min(t.twin) AS twin, bool_or(k.has_many) AS has_many
    FROM twins AS t
    JOIN tasks AS k USING (task)
    GROUP BY t.task, t.judge
    HAVING bool_or(k.has_many) OR count(*) = 1
)
SELECT
    a.task || ' ' || a.source_file AS task,
    count(*) AS judgments,
    count(c.judge) AS copied,
    count(DISTINCT c.judge) AS judges,
    min(c.judge || ' as ' || c.twin) AS first
FROM answers AS a
LEFT JOIN copies AS c USING (task, judge)
WHERE a.source_file IS NOT NULL
GROUP BY a.task, a.source_file
HAVING judges > if(bool_or(c.has_many), 0, 2)
ORDER BY a.task, a.source_file
