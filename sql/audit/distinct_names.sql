-- One row is a distinct name in judgments that are not rejected: of a task, label, item, judge.
-- Inputs: judgments.
SELECT 'task' AS what, task AS name FROM judgments
WHERE fate <> 'rejected' AND task IS NOT NULL GROUP BY task
UNION ALL
SELECT 'label', label FROM judgments
WHERE fate <> 'rejected' AND label IS NOT NULL GROUP BY label
UNION ALL
SELECT 'item', item FROM judgments
WHERE fate <> 'rejected' AND item IS NOT NULL GROUP BY item
UNION ALL
SELECT 'judge', judge FROM judgments
WHERE fate <> 'rejected' AND judge IS NOT NULL GROUP BY judge
ORDER BY what, name
