-- One row is a cell that differs between two releases: of a row of both, or of one that came or
-- went; of these the first column stands for the row, and others only where they hold a value.
-- Inputs: old, new (columns of the key, null where not of the table's; column, text, number: the
-- one that the column's type is).
-- Parameters: columns: the columns in order.
-- cell: its number; column by column, what moved most first.
WITH differing AS (
    SELECT
        coalesce(n.task, o.task) AS task,
        coalesce(n.item, o.item) AS item,
        coalesce(n.segment, o.segment) AS segment,
        coalesce(n.system, o.system) AS system,
        coalesce(n.method, o.method) AS method,
        coalesce(n.judge, o.judge) AS judge,
        coalesce(n.criterion, o.criterion) AS criterion,
        coalesce(n.quantity, o.quantity) AS quantity,
        coalesce(n.label, o.label) AS label,
        coalesce(n.reference, o.reference) AS reference,
        coalesce(n."column", o."column") AS "column",
        CASE WHEN o.task IS NULL THEN 'added' WHEN n.task IS NULL THEN 'removed' ELSE 'changed' END
            AS change,
        abs(n.number - o.number) AS moved
    FROM old AS o
    FULL JOIN new AS n
        ON o."column" = n."column"
        AND o.task = n.task
        AND o.item IS NOT DISTINCT FROM n.item
        AND o.segment IS NOT DISTINCT FROM n.segment
        AND o.system IS NOT DISTINCT FROM n.system
        AND o.method IS NOT DISTINCT FROM n.method
        AND o.judge IS NOT DISTINCT FROM n.judge
        AND o.criterion IS NOT DISTINCT FROM n.criterion
        AND o.quantity IS NOT DISTINCT FROM n.quantity
        AND o.label IS NOT DISTINCT FROM n.label
        AND o.reference IS NOT DISTINCT FROM n.reference
    WHERE o.text IS DISTINCT FROM n.text
        OR o.number IS DISTINCT FROM n.number
        OR ((o.task IS NULL OR n.task IS NULL) AND coalesce(n."column", o."column") = $columns[1])
)
SELECT
    row_number() OVER (
        ORDER BY list_position($columns, "column"), list_position(['changed', 'added'], change)
            NULLS LAST, moved DESC NULLS LAST, task, item, segment, system, method, judge,
            criterion, quantity, label, reference
    ) - 1 AS cell,
    * EXCLUDE (moved)
FROM differing
ORDER BY cell
