-- One row is an answer to one of the items to doubt that come first: who gave it, what it says for the label against the
-- runner-up (log likelihood ratio, nats), and the file and row that it comes from.
-- Inputs: doubtful_items, judgments, lineage, judge_confusion.
-- Parameters: most_items (of a kind).
WITH chosen AS (
    SELECT task, item, any_value(label) AS label, any_value(runner_up) AS runner_up
    FROM doubtful_items
    WHERE place <= $most_items
    GROUP BY task, item
),
answers AS (
    SELECT
        c.task, c.item, j.judgment_id, j.judge, j.fate, j.label, c.label AS best, c.runner_up,
        answer_text(j) AS answer
    FROM judgments AS j
    INNER JOIN chosen AS c
        ON
            j.task = c.task
            AND c.item
            = coalesce(least(j.item_a, j.item_b) || ' | ' || greatest(j.item_a, j.item_b), j.item)
),
places AS (
    SELECT
        l.judgment_id,
        l.fate,
        min(
            {
                'source_file': l.source_file,
                'source_row': l.source_row,
                'source_digest': coalesce(l.source_digest, '')
            }
        ) AS place
    FROM lineage AS l
    SEMI JOIN answers AS a ON l.judgment_id = a.judgment_id AND l.fate = a.fate
    GROUP BY l.judgment_id, l.fate
)
SELECT
    a.task, a.item, a.judge, a.fate, a.answer, ln(nullif(yes.probability, 0) / nullif(no.probability, 0)) AS evidence,
    p.place.source_file AS source_file, p.place.source_row AS source_row,
    p.place.source_digest AS source_digest
FROM answers AS a
LEFT JOIN places AS p ON a.judgment_id = p.judgment_id AND a.fate = p.fate
LEFT JOIN judge_confusion AS yes
    ON
        a.task = yes.task AND a.judge = yes.judge AND a.fate = 'used'
        AND yes.true_label = a.best AND yes.observed_label = a.label
LEFT JOIN judge_confusion AS no
    ON
        a.task = no.task AND a.judge = no.judge
        AND no.true_label = a.runner_up AND no.observed_label = a.label
ORDER BY a.task, a.item, a.fate <> 'used', a.judge, p.place.source_file, p.place.source_row
