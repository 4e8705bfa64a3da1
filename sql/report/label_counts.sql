-- One row is labels of a task that the pages tell alike, with how many they are (n).
-- Inputs: labels, items. Parameters: bounds: of certainty, from low to high.
-- band: how many bounds the probability reaches, null without one; as_model: whether the label is
-- the model's, null where the model has none; right: whether it is the truth, null where that is
-- not known.
SELECT
    l.task,
    l.label,
    CASE
        WHEN l.probability IS NOT NULL
        THEN len(list_filter($bounds, lambda bound: bound <= l.probability))
    END AS band,
    l.certain,
    l.adjudicated,
    l.label = l.model_label AS as_model,
    l.label = i.truth AS right,
    count(*) AS n
FROM labels AS l
LEFT JOIN (SELECT item, truth FROM items WHERE truth IS NOT NULL) AS i USING (item)
GROUP BY ALL
ORDER BY ALL
