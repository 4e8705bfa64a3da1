-- One row is a record of an item with several texts: the name of the version that it is of, and what
-- its judgment's id is told apart by (null: nothing).
-- Inputs: texts_of_records (as texts_of_records.sql gives them), versions (as item_versions.sql gives
-- them).
-- A record with a text is of its version. A record without is of a version that its judge answered,
-- by the answer of the same key, else in the same HIT, else the latest until then, else the first:
-- controls that show another text on purpose stay with their ordinary judgment. Without such an
-- answer it is of the current version; so are known answers and decisions that carry no text.
-- Ids do not change because others answer another text, or because another is current: only where one
-- key has answers to several texts, all but the first have the digest of their text in their ids.
WITH placed AS (
    SELECT
        *,
        struct_pack(
            item_a, item_b, criterion, control, ranking, hit, native_id, "position",
            label := CASE WHEN votes IS NOT NULL THEN label END
        ) AS key_fields,
        row_number() OVER (
            PARTITION BY task, item
            ORDER BY submitted_at NULLS FIRST, source_order, file_order, record
        ) AS place
    FROM texts_of_records
),
answered AS (
    SELECT r.source_order, r.file_order, r.record, a.text_digest
    FROM placed AS r
    JOIN placed AS a ON r.task = a.task AND r.item = a.item AND r.judge = a.judge
    WHERE r.text_digest IS NULL AND r.reason IS NULL AND a.text_digest IS NOT NULL AND a.reason IS NULL
        AND coalesce(r.control, 'none') NOT IN ('known_answer', 'adjudication')
        AND coalesce(a.control, 'none') <> 'adjudication'
    QUALIFY row_number() OVER (
        PARTITION BY r.source_order, r.file_order, r.record
        ORDER BY
            r.key_fields IS NOT DISTINCT FROM a.key_fields DESC,
            coalesce(r.hit = a.hit, false) DESC,
            a.place < r.place DESC,
            CASE WHEN a.place < r.place THEN -a.place ELSE a.place END
    ) = 1
),
of_texts AS (
    SELECT
        p.source_order, p.file_order, p.record, p.task, p.item,
        coalesce(p.text_digest, a.text_digest, c.text_digest) AS text_digest,
        arg_min(CASE WHEN p.reason IS NULL THEN p.text_digest END, p.place)
            OVER (PARTITION BY p.task, p.judge, p.item, p.key_fields) AS first_digest
    FROM placed AS p
    LEFT JOIN answered AS a
        ON p.source_order = a.source_order AND p.file_order = a.file_order AND p.record = a.record
    LEFT JOIN versions AS c ON p.task = c.task AND p.item = c.item AND c.is_current
)
SELECT
    o.source_order, o.file_order, o.record,
    coalesce(v.name, o.item) AS name,
    CASE WHEN o.text_digest <> o.first_digest THEN '#' || o.text_digest END AS key_suffix
FROM of_texts AS o
LEFT JOIN versions AS v ON o.task = v.task AND o.item = v.item AND o.text_digest = v.text_digest
