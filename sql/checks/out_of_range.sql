-- One row is a column, with the number of rows where it is below or above what is allowed and the
-- places (from 0) of five; an end that is null is none.
-- Inputs: rows. Parameters: columns, minimum, maximum, shown.
UNPIVOT (
    SELECT {
        'rows': count_if(
            COLUMNS($columns) < $minimum::DOUBLE OR COLUMNS($columns) > $maximum::DOUBLE
        )::BIGINT,
        'places': min(
            CASE
                WHEN COLUMNS($columns) < $minimum::DOUBLE OR COLUMNS($columns) > $maximum::DOUBLE
                    THEN place_of_row
            END,
            $shown
        )
    }
    FROM (SELECT *, row_number() OVER () - 1 AS place_of_row FROM rows)
) ON * INTO NAME column_name VALUE found
