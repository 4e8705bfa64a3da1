-- One row is a cell of `cells`, in their order, with what a state holds there; is_there: whether
-- the state has such a row.
-- Inputs: cells (cell, and what tells a cell, as diff_cells.sql gives it), state (as its old, new).
SELECT
    s.task IS NOT NULL AS is_there,
    s.text,
    s.number
FROM cells AS c
LEFT JOIN state AS s
    ON c."column" = s."column"
    AND c.task = s.task
    AND c.item IS NOT DISTINCT FROM s.item
    AND c.segment IS NOT DISTINCT FROM s.segment
    AND c.system IS NOT DISTINCT FROM s.system
    AND c.method IS NOT DISTINCT FROM s.method
    AND c.judge IS NOT DISTINCT FROM s.judge
    AND c.criterion IS NOT DISTINCT FROM s.criterion
    AND c.quantity IS NOT DISTINCT FROM s.quantity
    AND c.label IS NOT DISTINCT FROM s.label
    AND c.reference IS NOT DISTINCT FROM s.reference
ORDER BY c.cell
