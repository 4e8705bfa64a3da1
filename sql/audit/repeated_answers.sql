-- One row is a judge and item with several answers that count, in a task that does not declare
-- `repeats`: the first three of each task, with the number of such pairs in the task.
-- Controls and rankings are exempt.
-- Inputs: judgments, tasks (task, kind, repeats).
WITH answers AS (
    SELECT
        task, item, item_a, item_b, judge_id, criterion, judgment_id, source_order, source_file,
        source_row
    FROM judgments
    SEMI JOIN (SELECT task FROM tasks WHERE repeats IS NULL AND kind <> 'ranking') USING (task)
    WHERE fate = 'used' AND control = 'none' AND votes IS NULL
),
repeated AS (
    SELECT hash(task, judge_id, item, item_a, item_b, criterion) AS answer
    FROM answers
    GROUP BY answer
    HAVING count(*) > 1
),
pairs AS (
    SELECT
        task,
        coalesce(item, item_a || ' and ' || item_b) AS item,
        judge_id,
        count(*) AS answers,
        min(struct_pack(source_order, source_file, source_row)) AS place
    FROM answers
    WHERE hash(task, judge_id, item, item_a, item_b, criterion) IN (SELECT answer FROM repeated)
    GROUP BY task, item, item_a, item_b, judge_id, criterion
    HAVING count(*) > 1
)
SELECT
    task, item, judge_id, answers, place.source_order, place.source_file, place.source_row,
    count(*) OVER (PARTITION BY task) AS pairs
FROM pairs
QUALIFY row_number() OVER (PARTITION BY task ORDER BY place, item, judge_id) <= 3
ORDER BY task, place, item, judge_id
