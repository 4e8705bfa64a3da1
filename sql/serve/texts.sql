-- One row is an item of the item tables: an item, or either of a pair.
-- Inputs: items. Parameters: names.
SELECT item, text, source, reference, segment, system FROM items
WHERE item IN (SELECT unnest($names))
ORDER BY item
