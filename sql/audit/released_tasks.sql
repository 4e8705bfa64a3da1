-- One row is a task of the newest release that has judgments, or votes alone.
-- Inputs: released, released_labels (judgments and labels of the newest release).
SELECT task FROM released
UNION
SELECT task FROM released_labels WHERE n_judges = 0 AND n_judgments > 0
ORDER BY task
