-- One row is a label that judges use in a task of the newest release, and that is no class there.
-- Inputs: prevalence (of this build), released (prevalence of the newest release, or empty).
SELECT task, label
FROM prevalence
SEMI JOIN (SELECT DISTINCT task FROM released) USING (task)
ANTI JOIN released USING (task, label)
WHERE vote_share > 0
ORDER BY task, label
