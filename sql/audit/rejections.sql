-- One row is a kind of reason why records were rejected, with its count and an example.
-- Inputs: judgments, record_files (source_order, file_order, source_file).
SELECT
    split_part(reason, ': ', 1) AS kind,
    count(*) AS records,
    min_by(reason, (source_order, file_order, source_row)) AS reason,
    min_by(source_file || ' row ' || source_row, (source_order, file_order, source_row)) AS example
FROM judgments
JOIN record_files USING (source_order, source_file)
WHERE fate = 'rejected'
GROUP BY kind
ORDER BY records DESC, kind
