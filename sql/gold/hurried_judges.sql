-- One row is a judge who gives more than half of the answers to a task in less time than hurried_below.
-- Inputs: judges (the gold table).
SELECT task, judge, hurried_share AS share, hurried_below AS below
FROM judges
WHERE hurried_share > 0.5
ORDER BY share DESC, task, judge
