-- One row is a control judgment (ask_again, bad_reference, good_reference) with the ordinary
-- judgment that it is compared with, or the reason why it has none.
-- Inputs: judgments (with fates so far; of all judges, or some), all_judgments (of all judges), tasks
-- (task, kind).
--
-- It pairs with the ordinary judgment of the same judge, HIT, criterion, and system and segment
-- (item, where these are not known). control_of names another item, or the native id of a
-- judgment; there the same HIT is preferred, not required. Where two controls or two ordinary
-- judgments fit, or control_of names an item and another judgment, neither is guessed.
-- Where the text of an item changed, its texts are items NAME and NAME#DIGEST, and exports name each
-- NAME. Of several that the judge answered, a control belongs to that of its own item, else of its
-- HIT, else to the latest until then, else to the first.
WITH counted AS (
    SELECT
        j.judgment_id, j.task, j.judge, j.judge_id, j.hit, j.item, j.criterion, j.control,
        j.control_of, j.native_id, j.score, j.submitted_at, j.source_order, j.source_file, j.source_row,
        CASE WHEN j.segment IS NOT NULL AND j.system IS NOT NULL
            THEN CAST(to_json([j.segment, j.system]) AS VARCHAR) ELSE j.item END AS output,
        regexp_extract(j.item, '^(.+)#[0-9a-f]{8}([0-9a-f]{8})?$', 1) AS plain_name  -- '': none
    FROM judgments AS j
    JOIN tasks AS t ON j.task = t.task AND t.kind = 'scalar'
    WHERE j.fate IN ('used', 'control')
),
-- by what controls call the output of a judge who answered an earlier text
texts AS (
    SELECT DISTINCT task, judge, plain_name
    FROM counted
    WHERE control = 'none' AND plain_name <> ''
),
answered AS (
    SELECT c.*, t.plain_name AS named_item
    FROM counted AS c
    JOIN texts AS t
        ON c.task = t.task AND c.judge = t.judge
        AND (CASE c.plain_name WHEN '' THEN c.item ELSE c.plain_name END) = t.plain_name
    WHERE c.control = 'none'
),
called AS (
    SELECT * FROM counted WHERE control IN ('ask_again', 'bad_reference', 'good_reference')
),
meant AS (
    SELECT
        c.judgment_id, a.item,
        (
            coalesce(a.submitted_at, '-infinity'), a.source_order, a.source_file, a.source_row, a.judgment_id
        ) AS place,
        place < (
            coalesce(c.submitted_at, '-infinity'), c.source_order, c.source_file, c.source_row, c.judgment_id
        ) AS is_before
    FROM called AS c
    JOIN answered AS a
        ON c.task = a.task AND c.judge = a.judge AND c.criterion IS NOT DISTINCT FROM a.criterion
        AND CASE WHEN c.control_of IS NULL THEN c.output = a.output AND c.hit IS NOT DISTINCT FROM a.hit
            ELSE c.control_of = a.named_item END
    QUALIFY row_number() OVER (
        PARTITION BY c.judgment_id
        ORDER BY
            a.item = c.item DESC,
            coalesce(a.hit = c.hit, false) DESC,
            is_before DESC,
            CASE WHEN is_before THEN place END DESC,
            place
    ) = 1
),
controls AS (
    SELECT
        c.* REPLACE (
            CASE WHEN c.control_of IS NOT NULL THEN coalesce(m.item, c.control_of) END AS control_of,
            CASE WHEN c.control_of IS NULL AND m.item IS NOT NULL THEN c.output || chr(31) || m.item
                ELSE c.output END AS output
        ),
        c.control_of AS called
    FROM called AS c
    LEFT JOIN meant AS m ON c.judgment_id = m.judgment_id
),
alike AS (
    SELECT task, judge, hit, criterion, control, coalesce(control_of, output) AS shown, count(*) AS n
    FROM controls
    GROUP BY ALL
),
-- what an ordinary judgment can be found by, in the order of preference
named AS (
    SELECT 1 AS preference, task, judge, hit, criterion, output AS name, judgment_id, score
    FROM counted WHERE control = 'none'
    UNION ALL
    SELECT 1, task, judge, hit, criterion, output || chr(31) || item, judgment_id, score
    FROM answered
    UNION ALL
    SELECT 2, task, judge, hit, criterion, item, judgment_id, score
    FROM counted WHERE control = 'none' AND item IS NOT NULL
    UNION ALL
    SELECT 3, task, judge, NULL, criterion, item, judgment_id, score
    FROM counted WHERE control = 'none' AND item IS NOT NULL
    UNION ALL
    SELECT 4, task, judge, NULL, criterion, native_id, judgment_id, score
    FROM counted WHERE control = 'none' AND native_id IS NOT NULL
),
wanted AS (
    SELECT judgment_id, 1 AS preference, task, judge, hit, criterion, output AS name
    FROM controls WHERE control_of IS NULL
    UNION ALL
    SELECT judgment_id, p.preference, task, judge, CASE WHEN p.preference = 2 THEN hit END,
        criterion, CASE WHEN p.preference = 4 THEN called ELSE control_of END
    FROM controls, (VALUES (2), (3), (4)) AS p(preference) WHERE control_of IS NOT NULL
),
ordinary AS (
    SELECT
        preference, task, judge, hit, criterion, name,
        count(*) AS n_ordinary,
        min(score) AS score,
        min(judgment_id) AS judgment_id
    FROM (SELECT * FROM named SEMI JOIN (SELECT DISTINCT preference, task, judge, name FROM wanted)
        USING (preference, task, judge, name))
    GROUP BY preference, task, judge, hit, criterion, name
),
matched AS (
    SELECT w.judgment_id, w.preference, o.n_ordinary, o.score, o.judgment_id AS ordinary_id
    FROM wanted AS w
    JOIN ordinary AS o
        ON w.preference = o.preference AND w.task = o.task AND w.judge = o.judge
        AND w.name = o.name AND w.hit IS NOT DISTINCT FROM o.hit
        AND w.criterion IS NOT DISTINCT FROM o.criterion
),
found AS (
    SELECT
        judgment_id,
        arg_min(n_ordinary, preference) AS n_ordinary,
        arg_min(score, preference) AS score,
        arg_min(ordinary_id, preference) AS ordinary_id,
        -- its native id (preference 4) says another judgment than its item does
        max(CASE WHEN preference = 4 THEN ordinary_id END) <> arg_min(ordinary_id, preference)
            AS is_ambiguous
    FROM matched
    GROUP BY judgment_id
),
-- controls of one kind that belong to one judgment are alike, however they name it
belonging AS (
    SELECT f.ordinary_id, c.control, count(*) AS n
    FROM controls AS c
    JOIN found AS f USING (judgment_id)
    GROUP BY f.ordinary_id, c.control
),
-- who judged what controls without their own judgment ask for: whether anybody else did
by_anybody AS (
    SELECT
        p.preference, j.task, j.judge,
        CASE WHEN p.preference <= 2 THEN j.hit END AS hit,
        CASE p.preference
            WHEN 1 THEN CASE WHEN j.segment IS NOT NULL AND j.system IS NOT NULL
                THEN CAST(to_json([j.segment, j.system]) AS VARCHAR) ELSE j.item END
            WHEN 4 THEN j.native_id
            ELSE j.item
        END AS name
    FROM all_judgments AS j
    JOIN tasks AS t ON j.task = t.task AND t.kind = 'scalar',
        (VALUES (1), (2), (3), (4)) AS p(preference)
    WHERE j.fate IN ('used', 'control') AND j.control = 'none'
),
judged AS (
    SELECT n.preference, n.task, n.name, n.hit, min(n.judge) AS first_judge, max(n.judge) AS last_judge
    FROM by_anybody AS n
    SEMI JOIN (SELECT w.* FROM wanted AS w ANTI JOIN found USING (judgment_id)) AS w
        ON n.preference = w.preference AND n.task = w.task AND n.name = w.name
    GROUP BY n.preference, n.task, n.name, n.hit
),
by_others AS (
    SELECT DISTINCT w.judgment_id
    FROM (SELECT w.* FROM wanted AS w ANTI JOIN found USING (judgment_id)) AS w
    JOIN judged AS n
        ON w.preference = n.preference AND w.task = n.task AND w.name = n.name
        AND w.hit IS NOT DISTINCT FROM n.hit
        AND (w.judge <> n.first_judge OR w.judge <> n.last_judge)
),
paired AS (
    SELECT
        c.*,
        greatest(a.n, g.n) AS n_alike,
        f.judgment_id IS NOT NULL AS is_found,
        f.n_ordinary,
        coalesce(f.is_ambiguous, false) AS is_ambiguous,
        f.score AS found_score,
        f.ordinary_id AS found_id,
        b.judgment_id IS NOT NULL AS is_by_another
    FROM controls AS c
    JOIN alike AS a
        ON c.task = a.task AND c.judge = a.judge AND c.hit IS NOT DISTINCT FROM a.hit
        AND c.criterion IS NOT DISTINCT FROM a.criterion AND c.control = a.control
        AND coalesce(c.control_of, c.output) IS NOT DISTINCT FROM a.shown
    LEFT JOIN found AS f ON c.judgment_id = f.judgment_id
    LEFT JOIN belonging AS g ON f.ordinary_id = g.ordinary_id AND c.control = g.control
    LEFT JOIN by_others AS b ON c.judgment_id = b.judgment_id
)
SELECT
    task, judge_id, item, hit, control, criterion, judgment_id, score,
    CASE WHEN n_alike = 1 AND n_ordinary = 1 AND NOT is_ambiguous THEN found_score END AS ordinary_score,
    CASE WHEN n_alike = 1 AND n_ordinary = 1 AND NOT is_ambiguous THEN found_id END AS ordinary_id,
    CASE
        WHEN n_alike > 1
            THEN n_alike || ' ' || control || ' judgments of the same output by the same judge'
        WHEN is_ambiguous THEN 'control_of is an item, and the native id of another judgment'
        WHEN n_ordinary > 1
            THEN n_ordinary || ' ordinary judgments of the same output by the same judge'
        WHEN is_by_another THEN 'the ordinary judgment of the same output is by another judge'
        WHEN NOT is_found THEN 'no ordinary judgment of the same output'
    END AS reason
FROM paired
ORDER BY task, judge, judgment_id
