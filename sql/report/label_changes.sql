-- One row is a label of two releases that is other now, or somebody else's; n_changed: all such. Then how
-- many of the item's answers are new, gone, other, or count no more or again since, and the first of them
-- with the file and row of now; null: not matched.
-- Inputs: old_labels, new_labels, old_judgments, new_judgments, new_lineage.
-- Parameters: same_names: whether judges are named alike in both; most: how many; most_answers: of each;
-- forgotten: judges of then who are named nowhere any more.
WITH changed AS (
    SELECT
        n.task, n.item, o.label AS label_old, n.label, o.adjudicated AS adjudicated_old, n.adjudicated,
        CASE WHEN NOT list_contains($forgotten::VARCHAR[], o.adjudicator) THEN o.adjudicator END AS adjudicator_old, n.adjudicator, n.probability,
        o.probability AS probability_old, count(*) OVER () AS n_changed
    FROM new_labels AS n
    INNER JOIN old_labels AS o USING (task, item)
    WHERE n.label IS DISTINCT FROM o.label
        OR n.adjudicated <> o.adjudicated
        OR ($same_names AND n.adjudicator IS DISTINCT FROM o.adjudicator)
    ORDER BY n.task, n.item
    LIMIT $most
),
before AS (
    SELECT task, item, judgment_id, judge, label, fate, fate = 'used' AS counts
    FROM old_judgments SEMI JOIN changed USING (task, item)
    WHERE judge IS NULL OR NOT list_contains($forgotten::VARCHAR[], judge)
),
now AS (
    SELECT task, item, judgment_id, judge, label, fate, fate = 'used' AS counts
    FROM new_judgments SEMI JOIN changed USING (task, item)
),
compared AS (
    SELECT
        task, item, judgment_id, coalesce(n.judge, b.judge) AS judge, n.fate, b.label AS label_old, n.label,
        CASE
            WHEN n.counts AND b.counts IS NULL THEN 'new'
            WHEN b.counts AND n.counts IS NULL THEN 'withdrawn'
            WHEN n.counts AND b.counts AND n.label IS DISTINCT FROM b.label THEN 'corrected'
            WHEN b.counts AND NOT n.counts THEN 'counts no more'
            WHEN n.counts AND NOT b.counts THEN 'counts again'
        END AS change
    FROM now AS n
    FULL JOIN before AS b USING (task, item, judgment_id)
    WHERE $same_names
),
differing AS (SELECT * FROM compared WHERE change IS NOT NULL),
places AS (
    SELECT l.judgment_id, l.fate, min({'source_file': l.source_file, 'source_row': l.source_row}) AS place
    FROM new_lineage AS l
    SEMI JOIN differing USING (judgment_id, fate)
    GROUP BY l.judgment_id, l.fate
),
answers AS (
    SELECT
        c.task, c.item,
        count(*) FILTER (WHERE c.change = 'new') AS n_new,
        count(*) FILTER (WHERE c.change = 'withdrawn') AS n_gone,
        count(*) FILTER (WHERE c.change = 'corrected') AS n_other,
        count(*) FILTER (WHERE c.change = 'counts no more') AS n_no_more,
        count(*) FILTER (WHERE c.change = 'counts again') AS n_again,
        list({
            'change': c.change, 'judge': c.judge, 'label_old': c.label_old, 'label': c.label,
            'source_file': p.place.source_file, 'source_row': p.place.source_row
        } ORDER BY c.change, c.judge, c.judgment_id)
            FILTER (WHERE c.change IS NOT NULL)[:$most_answers] AS answers
    FROM compared AS c
    LEFT JOIN places AS p ON c.judgment_id = p.judgment_id AND c.fate = p.fate
    GROUP BY c.task, c.item
)
SELECT c.*, a.* EXCLUDE (task, item)
FROM changed AS c
LEFT JOIN answers AS a USING (task, item)
ORDER BY c.task, c.item
