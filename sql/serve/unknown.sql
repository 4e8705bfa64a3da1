-- One row is a filter whose value a release has nowhere, with what it has: names that contain the value, else
-- all, the first five.
-- Inputs: labels, prevalence, judges, lineage.
-- Parameters: label, judge, verdict, fate (null: no such filter), most, skipped.
WITH names AS (
    SELECT 'label' AS filter, $label AS asked, label AS name FROM labels
    UNION
    SELECT 'label', $label, label FROM prevalence
    UNION
    SELECT 'judge', $judge, judge FROM judges
    UNION
    SELECT 'verdict', $verdict, verdict FROM judges
    UNION
    SELECT 'fate', $fate, fate FROM lineage
),
values_of AS (
    SELECT
        filter,
        asked,
        list(name ORDER BY name) AS names,
        list(name ORDER BY name) FILTER (contains(lower(name), lower(asked))) AS with_it
    FROM names
    WHERE asked IS NOT NULL AND name IS NOT NULL
    GROUP BY filter, asked
)
SELECT
    filter,
    asked,
    with_it IS NOT NULL AS is_part,
    len(coalesce(with_it, names)) AS n_names,
    coalesce(with_it, names)[:5] AS names
FROM values_of
WHERE NOT list_contains(names, asked)
ORDER BY filter
LIMIT $most OFFSET $skipped
