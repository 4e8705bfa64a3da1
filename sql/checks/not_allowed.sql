-- One row is a column, with the number of rows where it holds a value that is not allowed and the
-- places (from 0) of five; nulls hold none.
-- Inputs: rows. Parameters: columns, allowed, shown.
UNPIVOT (
    SELECT {
        'rows': count_if(NOT list_contains($allowed, COLUMNS($columns)))::BIGINT,
        'places': min(
            CASE WHEN NOT list_contains($allowed, COLUMNS($columns)) THEN place_of_row END, $shown
        )
    }
    FROM (SELECT *, row_number() OVER () - 1 AS place_of_row FROM rows)
) ON * INTO NAME column_name VALUE found
