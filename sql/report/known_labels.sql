-- One row is a label of the model whose truth is known, of the first tasks that have such.
-- Inputs: labels, items. Parameters: most_tasks: how many tasks.
SELECT
    l.task, l.probability, l.label = i.truth AS right,
    l.dawid_skene_probability, l.dawid_skene_label = i.truth AS dawid_skene_right
FROM labels AS l
INNER JOIN (SELECT item, truth FROM items WHERE truth IS NOT NULL) AS i USING (item)
WHERE NOT l.adjudicated
QUALIFY dense_rank() OVER (ORDER BY l.task) <= $most_tasks
ORDER BY l.task, l.item
