-- One row is a control of some judges beside the ordinary judgment that it is held against.
-- Inputs: control_pairs. Parameters: judges: whose.
SELECT judge_id, control, reason, score, ordinary_score
FROM control_pairs
WHERE list_contains($judges, judge_id)
