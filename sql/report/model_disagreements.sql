-- One row is an item on which models and people differ (differ), or which no person judged and on
-- which models differ among themselves (ask): there a person's answer would tell most.
-- Inputs: judgments.
-- Parameters: most: how many of each kind and task.
-- degree: of labels and comparisons the share of pairs of a model and a person, or of two models,
-- that differ; of scores the distance of their means, or the range of the models' scores.
WITH answers AS (
    SELECT
        task, judge, kind, criterion, score,
        CASE WHEN item_a IS NULL THEN item
            ELSE least(item_a, item_b) || ' | ' || greatest(item_a, item_b) END AS item,
        coalesce(label, CASE WHEN item_a > item_b AND preference = 'a' THEN 'b'
            WHEN item_a > item_b AND preference = 'b' THEN 'a' ELSE preference END) AS answer
    FROM judgments
    WHERE kind IS NOT NULL AND control = 'none' AND fate IN ('used', 'measured')
),
votes AS (
    SELECT
        task, item, answer,
        count(*) FILTER (kind = 'human') AS people,
        count(*) FILTER (kind = 'model') AS models
    FROM answers
    WHERE answer IS NOT NULL
    GROUP BY task, item, answer
),
labelled AS (
    SELECT
        task, item,
        sum(people)::BIGINT AS people,
        sum(models)::BIGINT AS models,
        sum(people * models)::BIGINT AS equal,
        sum(models * (models - 1))::BIGINT AS equal_models,
        string_agg(answer || ' (' || people || ')', ', ' ORDER BY people DESC, answer)
            FILTER (people > 0) AS said_people,
        string_agg(answer || ' (' || models || ')', ', ' ORDER BY models DESC, answer)
            FILTER (models > 0) AS said_models
    FROM votes
    GROUP BY task, item
),
scored AS (
    SELECT
        task, item, criterion,
        count(*) FILTER (kind = 'human') AS people,
        CAST(sum(CAST(score AS DECIMAL(28, 6))) FILTER (kind = 'human') AS DOUBLE)
            / nullif(count(*) FILTER (kind = 'human'), 0) AS mean_people,
        CAST(sum(CAST(score AS DECIMAL(28, 6))) FILTER (kind = 'model') AS DOUBLE)
            / nullif(count(*) FILTER (kind = 'model'), 0) AS mean_models,
        max(score) FILTER (kind = 'model') - min(score) FILTER (kind = 'model') AS width
    FROM answers
    WHERE score IS NOT NULL
    GROUP BY task, item, criterion
),
rows_of_items AS (
    SELECT 'differ' AS kind, task, item, 1 - equal / (people * models) AS degree,
        said_people, said_models
    FROM labelled WHERE people > 0 AND models > 0
    UNION ALL
    SELECT 'ask', task, item, 1 - equal_models / (models * (models - 1)), NULL, said_models
    FROM labelled WHERE people = 0 AND models > 1
    UNION ALL
    SELECT 'differ', task, item, abs(mean_people - mean_models),
        format('{:.2f}', mean_people), format('{:.2f}', mean_models)
    FROM scored WHERE people > 0 AND mean_models IS NOT NULL
    UNION ALL
    SELECT 'ask', task, item, width, NULL, format('{:.2f}', mean_models)
    FROM scored WHERE people = 0 AND width > 0
)
SELECT kind, task, item, degree, said_people, said_models
FROM rows_of_items
WHERE degree > 0
QUALIFY row_number() OVER (
    PARTITION BY kind, task ORDER BY degree DESC, item, said_models
) <= $most
ORDER BY kind, task, degree DESC, item, said_models
