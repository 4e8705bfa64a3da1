-- One row is a judge whose scores rise with those of the others, by less than a tenth of a point per point of theirs:
-- they are on another scale, such as 0 to 1 beside 0 to 100.
-- Inputs: judges (the gold table).
SELECT task, judge, spread, correlation
FROM judges
WHERE spread < 0.1 AND correlation >= 0.5 AND n_judgments >= 10
ORDER BY spread, task, judge
