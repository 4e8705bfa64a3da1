-- One row is a class of an item, the most probable first; with what else than its probability is doubtful of
-- the label, in the words of audit/items, and with all labels of the task in their order.
-- Inputs: labels, label_distributions, prevalence.
-- Parameters: task, item.
SELECT
    l.label AS published, l.certain, l.adjudicated, l.model_label, l.adjudicator,
    l.adjudication_reason, d.label, d.probability, d.dawid_skene_probability, d.votes,
    concat_ws(
        ', ',
        CASE WHEN l.n_judges < 2 AND NOT l.adjudicated THEN 'one judge' END,
        CASE WHEN l.majority_share < 2.0 / 3 AND NOT l.adjudicated THEN 'split votes' END,
        CASE WHEN l.label <> l.majority_label AND NOT l.adjudicated THEN 'against the votes' END
    ) AS doubts,
    (SELECT list(p.label ORDER BY p.label_order) FROM prevalence AS p WHERE p.task = $task) AS labels
FROM labels AS l
LEFT JOIN label_distributions AS d ON l.task = d.task AND l.item = d.item
WHERE l.task = $task AND l.item = $item
ORDER BY d.probability DESC NULLS LAST, d.label
