-- One row is a label of two releases that is other now, or somebody else's; n_changed: all such. Then how
-- many of the item's answers are new, gone, other, or count no more or again since; null: not matched.
-- Inputs: old_labels, new_labels, old_judgments, new_judgments.
-- Parameters: same_names: whether judges are named alike in both; most: how many.
WITH changed AS (
    SELECT
        n.task, n.item, o.label AS label_old, n.label, o.adjudicated AS adjudicated_old, n.adjudicated,
        o.adjudicator AS adjudicator_old, n.adjudicator, n.probability,
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
    SELECT task, item, judgment_id, label, fate = 'used' AS counts
    FROM old_judgments SEMI JOIN changed USING (task, item)
),
now AS (
    SELECT task, item, judgment_id, label, fate = 'used' AS counts
    FROM new_judgments SEMI JOIN changed USING (task, item)
),
answers AS (
    SELECT
        task, item,
        count_if(n.counts AND b.counts IS NULL) AS n_new,
        count_if(b.counts AND n.counts IS NULL) AS n_gone,
        count_if(n.counts AND b.counts AND n.label IS DISTINCT FROM b.label) AS n_other,
        count_if(b.counts AND NOT n.counts) AS n_no_more,
        count_if(n.counts AND NOT b.counts) AS n_again
    FROM now AS n
    FULL JOIN before AS b USING (task, item, judgment_id)
    WHERE $same_names
    GROUP BY task, item
)
SELECT c.*, a.* EXCLUDE (task, item)
FROM changed AS c
LEFT JOIN answers AS a USING (task, item)
ORDER BY c.task, c.item
