-- One row is an item to doubt: a label that is not certain or that an expert decided against the model;
-- a score, preference or rank on which judges differ, or a preference of people that models contradict.
-- The most doubtful of each kind first: place.
-- Inputs: labels, label_distributions, judgments, items.
-- Parameters: most_labels, most_others (how many labels; of each other kind), most_classes (with
-- votes that are told of a label).
-- degree: of labels what probability (without one, the majority's share) lacks to 1; of scores the
-- range of z-scores of one criterion, or where it is more, that of scores in widths of the task's
-- central 90% (one huge score makes the z-scores of its judge small); of comparisons the votes of the losing side, of
-- those on which people agree the share of models that prefer the other (below 1); of ranks their range.
-- told: the figures behind it, as 58% probable, votes 3 to 2, or scores 3 to 97 (of the criterion that is
-- furthest apart); a share is rounded down, so that none that is too low reads like one that is enough.
-- Ranges and counts do not hang on the order of rows, so neither does the order of the items.
WITH stated AS NOT MATERIALIZED (
    SELECT
        task, item, judge, fate = 'measured' AS of_model, criterion, score, z, rank, item_a, item_b,
        coalesce(
            preference,
            CASE
                WHEN rank_a < rank_b THEN 'a' WHEN rank_b < rank_a THEN 'b'
                WHEN rank_a = rank_b THEN 'tie'
            END
        ) AS preference
    FROM judgments
    WHERE fate IN ('used', 'measured') AND label IS NULL
),
used AS NOT MATERIALIZED (
    SELECT * FROM stated WHERE NOT of_model
),
opinions AS (
    SELECT
        task, judge, of_model,
        least(item_a, item_b) || ' | ' || greatest(item_a, item_b) AS item,
        CASE
            WHEN preference = 'tie' THEN 'tie'
            WHEN (preference = 'a') = (item_a < item_b) THEN 'first'
            ELSE 'second'
        END AS better
    FROM stated
    WHERE item_a IS NOT NULL AND preference IS NOT NULL
),
sides AS (
    SELECT
        task, item,
        count(*) FILTER (NOT of_model AND better = 'first') AS people_first,
        count(*) FILTER (NOT of_model AND better = 'second') AS people_second,
        count(DISTINCT judge) FILTER (of_model AND better = 'first') AS models_first,
        count(DISTINCT judge) FILTER (of_model AND better = 'second') AS models_second
    FROM opinions
    GROUP BY task, item
),
central AS (
    SELECT task, criterion, quantile_disc(score, 0.95) - quantile_disc(score, 0.05) AS width
    FROM used
    WHERE score IS NOT NULL
    GROUP BY task, criterion
),
ranges AS (
    SELECT
        u.task, u.item, u.criterion,
        greatest(
            max(u.z) - min(u.z), (max(u.score) - min(u.score)) / nullif(any_value(c.width), 0)
        ) AS width,
        concat(
            coalesce(u.criterion || ' ', ''), 'scores ', format('{:.10g}', min(u.score)), ' to ',
            format('{:.10g}', max(u.score))
        ) AS told
    FROM used AS u
    INNER JOIN central AS c ON u.task = c.task AND u.criterion IS NOT DISTINCT FROM c.criterion
    WHERE u.z IS NOT NULL
    GROUP BY u.task, u.item, u.criterion
    HAVING min(u.judge) <> max(u.judge)
),
candidates AS (
    SELECT
        'label' AS kind, task, item, label, probability,
        1 - coalesce(probability, majority_share, 0) AS degree,
        coalesce(adjudicated AND label <> model_label, false) AS overruled,
        concat_ws(
            ', ',
            CASE WHEN adjudicated AND label <> model_label THEN 'expert against model' END,
            CASE WHEN NOT certain AND NOT adjudicated THEN 'uncertain' END,
            CASE WHEN n_judges < 2 AND NOT adjudicated THEN 'one judge' END,
            CASE WHEN majority_share < 2.0 / 3 AND NOT adjudicated THEN 'split votes' END,
            CASE WHEN label <> majority_label AND NOT adjudicated THEN 'against the votes' END
        ) AS reasons,
        NULL AS told
    FROM labels
    WHERE (NOT certain AND NOT adjudicated) OR (adjudicated AND label <> model_label)
    UNION ALL
    SELECT
        'score', task, item, NULL, NULL, max(width), false, 'scores differ',
        arg_max(told, (width, told))
    FROM ranges
    GROUP BY task, item
    UNION ALL
    SELECT
        'preference', task, item, NULL, NULL, least(people_first, people_second), false,
        'preferences differ',
        concat(
            'preferences ', greatest(people_first, people_second), ' to ',
            least(people_first, people_second)
        )
    FROM sides
    UNION ALL
    SELECT
        'preference', task, item, NULL, NULL,
        CASE WHEN people_first > 0 THEN models_second ELSE models_first END
        / (1 + models_first + models_second), false,
        'models differ from people',
        concat(
            'people ', greatest(people_first, people_second), ' to 0, models ',
            CASE WHEN people_first > 0 THEN models_first ELSE models_second END, ' to ',
            CASE WHEN people_first > 0 THEN models_second ELSE models_first END
        )
    FROM sides
    WHERE (people_first > 0) <> (people_second > 0)
    UNION ALL
    SELECT
        'rank', task, item, NULL, NULL, max(rank) - min(rank), false, 'ranks differ',
        concat('ranks ', min(rank), ' to ', max(rank))
    FROM used
    WHERE rank IS NOT NULL AND item_a IS NULL
    GROUP BY task, item
    HAVING min(judge) <> max(judge)
),
doubtful AS (
    SELECT
        *,
        row_number() OVER (
            PARTITION BY kind ORDER BY overruled DESC, degree DESC, task, item
        ) AS place
    FROM candidates
    WHERE kind = 'label' OR degree > 0
    QUALIFY place <= CASE WHEN kind = 'label' THEN $most_labels ELSE $most_others END
),
counted AS (
    SELECT
        task, item, label, votes,
        row_number() OVER (PARTITION BY task, item ORDER BY votes DESC, label) AS number
    FROM label_distributions
    WHERE votes > 0
),
tallies AS (
    SELECT
        task, item, string_agg(label || ' x' || votes, ', ' ORDER BY number) AS votes,
        CASE
            WHEN count(*) > 1 THEN 'votes ' || string_agg(votes::VARCHAR, ' to ' ORDER BY number)
            WHEN sum(votes) > 1 THEN sum(votes) || ' votes alike'
            ELSE 'one vote'
        END AS tally
    FROM counted
    WHERE number <= $most_classes
    GROUP BY task, item
),
runner_ups AS (
    SELECT
        d.task,
        d.item,
        arg_max(d.label, (d.probability, d.label)) AS runner_up
    FROM label_distributions AS d
    INNER JOIN doubtful AS l ON d.task = l.task AND d.item = l.item AND d.label <> l.label
    WHERE d.probability IS NOT NULL
    GROUP BY d.task, d.item
),
texts AS (
    SELECT item, any_value(text ORDER BY text) AS text FROM items WHERE text IS NOT NULL GROUP BY item
)
SELECT
    d.kind, d.place, d.task, d.item, d.label, d.probability, r.runner_up, d.reasons, v.votes, t.text,
    CASE
        WHEN d.kind <> 'label' THEN d.told WHEN d.overruled THEN d.reasons
        ELSE concat_ws(', ', floor(100 * d.probability)::INTEGER || '% probable', v.tally)
    END AS told
FROM doubtful AS d
LEFT JOIN tallies AS v ON d.task = v.task AND d.item = v.item AND d.kind = 'label'
LEFT JOIN runner_ups AS r ON d.task = r.task AND d.item = r.item
LEFT JOIN texts AS t ON d.item = t.item
ORDER BY d.kind, d.overruled DESC, d.degree DESC, d.task, d.item
