-- One row is a distinct name that judgments use: of a task, a label, an item or a judge.
-- Inputs: judgments.
SELECT 'task' AS what, task AS name FROM judgments WHERE task IS NOT NULL GROUP BY task
UNION ALL
SELECT 'label', label FROM judgments WHERE label IS NOT NULL GROUP BY label
UNION ALL
SELECT 'item', item FROM judgments WHERE item IS NOT NULL GROUP BY item
UNION ALL
SELECT 'judge', judge FROM judgments WHERE judge IS NOT NULL GROUP BY judge
ORDER BY what, name
