-- One row is a column, with the number of rows where it is null and the places (from 0) of five.
-- Inputs: rows. Parameters: columns, shown.
UNPIVOT (
    SELECT {
        'rows': count_if(COLUMNS($columns) IS NULL)::BIGINT,
        'places': min(CASE WHEN COLUMNS($columns) IS NULL THEN place_of_row END, $shown)
    }
    FROM (SELECT *, row_number() OVER () - 1 AS place_of_row FROM rows)
) ON * INTO NAME column_name VALUE found
