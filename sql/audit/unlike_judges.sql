-- One row per task, item and label: answers of people who are not in the newest release, of people who
-- are, and of suspected people. is_checked: the item is new, or new or suspected people answered it,
-- and no expert has decided it. Of the other items one in eight is here, to measure how the others
-- agree; tasks without new or suspected people are left out.
-- Inputs: judgments, judges, labels (of this build), released (judges of the newest release, or
-- empty), released_labels (its labels, or empty).
WITH people AS (
    SELECT n.task, n.judge, bool_or(n.suspected) AS is_suspected, NOT bool_or(r.judge IS NOT NULL) AS is_new
    FROM judges AS n
    LEFT JOIN (SELECT DISTINCT judge FROM released) AS r ON n.judge = r.judge
    WHERE coalesce(n.kind, 'human') = 'human'
    GROUP BY n.task, n.judge
),
answers AS (
    SELECT
        j.task, j.item, j.label,
        count_if(p.is_new)::BIGINT AS n_new,
        count_if(NOT p.is_new)::BIGINT AS n_others,
        count_if(p.is_suspected)::BIGINT AS n_suspected
    FROM judgments AS j
    JOIN people AS p ON j.task = p.task AND j.judge = p.judge
    SEMI JOIN (SELECT DISTINCT task FROM people WHERE is_new OR is_suspected) AS t ON j.task = t.task
    WHERE j.label IS NOT NULL AND j.fate = 'used' AND j.control = 'none'
    GROUP BY j.task, j.item, j.label
)
SELECT
    a.task, a.item, a.label, a.n_new, a.n_others, a.n_suspected,
    NOT coalesce(l.adjudicated, false) AND (
        r.item IS NULL OR sum(a.n_new + a.n_suspected) OVER (PARTITION BY a.task, a.item) > 0
    ) AS is_checked
FROM answers AS a
LEFT JOIN labels AS l ON a.task = l.task AND a.item = l.item
LEFT JOIN (SELECT DISTINCT task, item FROM released_labels) AS r
    ON a.task = r.task AND a.item = r.item
QUALIFY sum(a.n_new + a.n_suspected) OVER (PARTITION BY a.task, a.item) > 0
    OR r.item IS NULL OR md5_number_lower(a.item) % 8 = 0
ORDER BY a.task, a.item, a.label
