-- What a judgment says, for people: its label, which item is better, a score with its criterion, or
-- a rank. j is a row of judgments.
CREATE MACRO answer_text(j) AS
CASE
    WHEN j.label IS NOT NULL THEN j.label
    WHEN j.preference = 'a' OR j.rank_a < j.rank_b THEN j.item_a || ' is better'
    WHEN j.preference = 'b' OR j.rank_b < j.rank_a THEN j.item_b || ' is better'
    WHEN j.item_a IS NOT NULL THEN 'tie'
    WHEN j.score IS NOT NULL THEN concat_ws(' ', j.criterion, printf('%g', j.score))
    ELSE coalesce('rank ' || j.rank, '')
END
