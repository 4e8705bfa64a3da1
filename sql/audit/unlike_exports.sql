-- One row is a task and an export with judgments that no export of the newest release held: their agreement
-- beyond chance, as a share of that on items without such judgments (released: 1). Where all judgments are new, exports
-- of several judges are held against all others. Of each the number of items with several judgments, and over items the
-- sum and the sum of squares. Labels and preferences differ or not, z-scores by the square. Sums are of whole numbers,
-- so that no order of rows shows.
-- Inputs: lineage, judgments (of this build), released (judgments of the newest release), released_exports
-- (digests of its exports).
WITH of_several_judges AS (
    SELECT task, source_file
    FROM lineage
    WHERE fate = 'used'
    GROUP BY task, source_file
    HAVING count(DISTINCT judge) > 1
    QUALIFY count(*) OVER (PARTITION BY task) > 1
),
arrived AS (
    SELECT n.task, n.judgment_id, n.source_file
    FROM lineage AS n
    ANTI JOIN released_exports USING (source_digest)
    LEFT JOIN of_several_judges AS s ON n.task = s.task AND n.source_file = s.source_file
    WHERE n.fate = 'used' AND (s.task IS NOT NULL OR EXISTS (FROM released_exports))
),
new_judgments AS (
    SELECT a.task, a.judgment_id, a.source_file
    FROM arrived AS a
    ANTI JOIN (SELECT judgment_id FROM released SEMI JOIN arrived USING (judgment_id))
        USING (judgment_id)
),
cells AS (
    SELECT
        j.task,
        coalesce(least(j.item_a, j.item_b) || ' | ' || greatest(j.item_a, j.item_b), j.item)
            || coalesce(' | ' || j.criterion, '') AS item,
        coalesce(j.label, CASE
            WHEN j.item_a > j.item_b AND j.preference <> 'tie' THEN translate(j.preference, 'ab', 'ba')
            ELSE j.preference
        END, '') AS answer,
        n.source_file,
        count(*) AS n,
        sum(round(1000 * j.z)::BIGINT)::BIGINT AS z,
        sum(round(1000 * j.z)::BIGINT * round(1000 * j.z)::BIGINT)::BIGINT AS squares
    FROM judgments AS j
    SEMI JOIN (SELECT DISTINCT task FROM new_judgments) AS t ON j.task = t.task
    LEFT JOIN new_judgments AS n ON j.judgment_id = n.judgment_id
    WHERE j.fate = 'used' AND coalesce(j.label, j.preference, CAST(j.z AS VARCHAR)) IS NOT NULL
    GROUP BY ALL
),
alike AS (SELECT task, item, answer, sum(n)::BIGINT AS n FROM cells GROUP BY ALL),
items AS (
    SELECT
        task, item, sum(n)::BIGINT AS n, sum(z)::BIGINT AS z, sum(squares)::BIGINT AS squares,
        count(source_file) > 0 AS is_new
    FROM cells
    GROUP BY ALL
),
expected AS (
    SELECT
        task,
        CASE WHEN bool_or(answer <> '') THEN 1 - sum(n * n) / (sum(n) * sum(n))
            ELSE 2 * (sum(squares) / sum(n) - sum(z) / sum(n) * sum(z) / sum(n)) END AS difference
    FROM (
        SELECT task, answer, sum(n)::BIGINT AS n, sum(z)::BIGINT AS z, sum(squares)::BIGINT AS squares
        FROM cells
        GROUP BY ALL
    )
    GROUP BY task
),
parts AS (
    SELECT
        c.task, c.source_file,
        CASE WHEN bool_or(c.answer <> '') THEN 1 - sum(c.n * (a.n - 1)) / sum(c.n * (i.n - 1))
            ELSE sum(i.n * c.squares - 2 * c.z * i.z + c.n * i.squares) / sum(c.n * (i.n - 1))
        END AS difference
    FROM cells AS c
    JOIN items AS i USING (task, item)
    JOIN alike AS a USING (task, item, answer)
    WHERE i.n > 1 AND (c.source_file IS NOT NULL OR NOT i.is_new)
    GROUP BY c.task, c.item, c.source_file
),
agreements AS (
    SELECT p.task, p.source_file, round(1e6 * (1 - p.difference / e.difference))::BIGINT AS agreement
    FROM parts AS p
    JOIN expected AS e USING (task)
    WHERE e.difference > 0
),
sums AS (
    SELECT
        task, source_file, count(*) AS items, sum(agreement) AS agreement,
        sum(agreement::HUGEINT * agreement) AS squares
    FROM agreements
    GROUP BY task, source_file
),
others AS (
    SELECT
        *, source_file IS NULL OR NOT bool_or(source_file IS NULL) OVER of_task AS is_other
    FROM sums
    WINDOW of_task AS (PARTITION BY task)
),
sides AS (
    SELECT
        task, source_file, items AS new_items, agreement AS new_agreement, squares AS new_sq,
        sum(items) FILTER (is_other) OVER of_task - if(is_other, items, 0) AS items,
        sum(agreement) FILTER (is_other) OVER of_task - if(is_other, agreement, 0) AS agreement,
        sum(squares) FILTER (is_other) OVER of_task - if(is_other, squares, 0) AS squares
    FROM others
    WINDOW of_task AS (PARTITION BY task)
)
SELECT
    task,
    source_file,
    items::BIGINT AS released_items,
    items::DOUBLE AS released_sum,
    squares / agreement * items / agreement * items AS released_squares,
    new_items,
    new_agreement / agreement * items AS new_sum,
    new_sq / agreement * items / agreement * items AS new_squares
FROM sides
WHERE source_file IS NOT NULL AND agreement > 0
ORDER BY task, source_file
