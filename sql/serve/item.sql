-- One row is a class of an item, the most probable first.
-- Inputs: labels, label_distributions, items.
-- Parameters: task, item.
SELECT
    l.label AS published, l.certain, l.adjudicated, l.model_label, l.adjudicator,
    l.adjudication_reason, d.label, d.probability, d.dawid_skene_probability, d.votes
FROM labels AS l
LEFT JOIN label_distributions AS d ON l.task = d.task AND l.item = d.item
WHERE l.task = $task AND l.item = $item
ORDER BY d.probability DESC NULLS LAST, d.label
