-- One row is a judgment of the newest release that nobody misses: its export is excluded now, its judge is
-- forgotten, or its row, of the same bytes, is filtered now, as where of its source leaves it out.
-- Inputs: lineage (of this build), released (lineage of the newest release), excluded (digests of exports),
-- forgotten (names of judges).
SELECT
    r.judgment_id,
    r.task,
    r.item
FROM released AS r
LEFT JOIN (SELECT DISTINCT source_digest, source_row, cell FROM lineage WHERE fate = 'filtered') AS f
    ON r.source_digest = f.source_digest AND r.source_row = f.source_row AND r.cell IS NOT DISTINCT FROM f.cell
WHERE f.source_row IS NOT NULL
    OR r.source_digest IN (SELECT source_digest FROM excluded)
    OR r.judge IN (SELECT judge FROM forgotten)
