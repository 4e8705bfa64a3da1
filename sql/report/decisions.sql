-- One row is a label that an expert decided, those against the model first.
-- Inputs: labels. Parameters: most: how many.
SELECT
    task, item, label, model_label, model_probability, adjudicator, adjudicated_at,
    adjudication_reason
FROM labels
WHERE adjudicated
ORDER BY coalesce(label = model_label, false), task, item
LIMIT $most
