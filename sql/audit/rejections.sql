-- One row is a kind of reason why records of a file were rejected, with its count and the first row.
-- Inputs: judgments.
SELECT
    split_part(reason, ': ', 1) AS kind,
    source_order,
    source_file,
    count(*) AS records,
    min(source_row) AS source_row
FROM judgments
WHERE fate = 'rejected'
GROUP BY kind, source_order, source_file
ORDER BY kind, source_order, source_file
