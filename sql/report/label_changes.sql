-- One row is a label of two releases that is other now, or somebody else's; n_changed: all such.
-- Inputs: old_labels, new_labels.
-- Parameters: same_names: whether experts are named alike in both; most: how many.
-- Labels of releases of schema 1 do not say who decided: of them only the label is compared.
-- Of releases of schemas 3 and 4 the published probability is calibrated_probability.
WITH old AS (
    SELECT *, NULL::DOUBLE AS calibrated_probability FROM new_labels WHERE false
    UNION ALL BY NAME
    SELECT * FROM old_labels
)
SELECT
    n.task, n.item, o.label AS label_old, n.label, o.adjudicated AS adjudicated_old, n.adjudicated,
    o.adjudicator AS adjudicator_old, n.adjudicator, n.probability,
    coalesce(o.calibrated_probability, o.probability) AS probability_old, count(*) OVER () AS n_changed
FROM new_labels AS n
INNER JOIN old AS o USING (task, item)
WHERE n.label IS DISTINCT FROM o.label
    OR n.adjudicated <> o.adjudicated
    OR (
        $same_names AND o.adjudicated IS NOT NULL AND n.adjudicator IS DISTINCT FROM o.adjudicator
    )
ORDER BY n.task, n.item
LIMIT $most
