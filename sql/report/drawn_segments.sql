-- One row is an output of a segment whose graph is worth drawing: those of a good size, first (place)
-- such with a contradiction that does not hold all outputs, then the largest; of the first tasks.
-- Inputs: segment_ranks. Parameters: fewest, most: outputs of a segment; most_tasks: how many tasks;
-- most_tried: segments of a task.
WITH sizes AS (
    SELECT task, segment, count(*) AS outputs, count_if(in_contradiction) AS contradict
    FROM segment_ranks
    WHERE task IN (SELECT DISTINCT task FROM segment_ranks ORDER BY task LIMIT $most_tasks)
    GROUP BY task, segment
    HAVING outputs BETWEEN $fewest AND $most
),
places AS (
    SELECT
        task,
        segment,
        row_number() OVER (
            PARTITION BY task
            ORDER BY contradict > 0 AND contradict < outputs DESC, outputs DESC, segment
        ) AS place
    FROM sizes
    QUALIFY place <= $most_tried
)
SELECT
    r.task, p.place, r.segment, r.item, r.system, r.component, r.n_comparisons
FROM segment_ranks AS r
INNER JOIN places AS p USING (task, segment)
ORDER BY r.task, p.place, r.item
