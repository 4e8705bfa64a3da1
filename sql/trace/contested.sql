-- One row is an item that judges disagree about, the most contested of each kind of task first.
-- Inputs: labels, judgments.
-- Parameters: most: how many of each kind.
-- degree: of labels what probability lacks to 1; of scores the range of z-scores of one
-- criterion; of comparisons the votes of the losing side; of ranks their range. Ranges and counts
-- do not hang on the order of rows, so neither does the order of the items.
WITH used AS (
    SELECT
        task, item, judge, criterion, z, rank, item_a, item_b,
        coalesce(
            preference,
            CASE
                WHEN rank_a < rank_b THEN 'a' WHEN rank_b < rank_a THEN 'b'
                WHEN rank_a = rank_b THEN 'tie'
            END
        ) AS preference
    FROM judgments
    WHERE fate = 'used'
),
opinions AS (
    SELECT
        task,
        least(item_a, item_b) || ' | ' || greatest(item_a, item_b) AS item,
        CASE
            WHEN preference = 'tie' THEN 'tie'
            WHEN (preference = 'a') = (item_a < item_b) THEN 'first'
            ELSE 'second'
        END AS better
    FROM used
    WHERE item_a IS NOT NULL AND preference IS NOT NULL
),
ranges AS (
    SELECT task, item, criterion, max(z) - min(z) AS width
    FROM used
    WHERE z IS NOT NULL
    GROUP BY task, item, criterion
    HAVING min(judge) <> max(judge)
),
found AS (
    SELECT
        'label' AS kind, task, item, 1 - probability AS degree,
        adjudicated AND label <> model_label AS overruled
    FROM labels
    WHERE n_judges > 1 OR (adjudicated AND label <> model_label)
    UNION ALL
    SELECT 'score', task, item, max(width), false FROM ranges GROUP BY task, item
    UNION ALL
    SELECT
        'preference', task, item,
        least(
            count(*) FILTER (better = 'first'), count(*) FILTER (better = 'second')
        ),
        false
    FROM opinions
    GROUP BY task, item
    UNION ALL
    SELECT 'rank', task, item, max(rank) - min(rank), false
    FROM used
    WHERE rank IS NOT NULL AND item_a IS NULL
    GROUP BY task, item
    HAVING min(judge) <> max(judge)
)
SELECT kind, task, item, coalesce(overruled, false) AS overruled, CAST(degree AS DOUBLE) AS degree
FROM found
WHERE degree > 0 OR overruled
QUALIFY row_number() OVER (
    PARTITION BY kind ORDER BY overruled DESC, degree DESC, task, item
) <= $most
ORDER BY kind, overruled DESC, degree DESC, task, item
