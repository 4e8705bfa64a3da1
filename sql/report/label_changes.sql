-- One row is a label of two releases that is other now, or somebody else's; n_changed: all such.
-- Inputs: old_labels, new_labels.
-- Parameters: same_names: whether experts are named alike in both; most: how many.
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
