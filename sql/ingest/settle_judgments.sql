-- One row is a record: a judgment cell of a raw row, with its id and its fate so far.
-- Inputs: keyed (as key_records.sql gives it), record_files, tasks (task, kind, repeats), native_ids
-- (filename, native_id: as repeated_native_ids.sql gives them).
--
-- id: 32 hex digits: the key, and where a file repeats a key, the key with its ordinal there,
-- ordered by answer, so that repeats within a file stay apart whatever the order of rows. If all
-- records of such a key have a time, in any file, it tells them apart first, so that a file with
-- some of the answers repeats these. Equal answers under one native id that names one judge and
-- item are one.
-- One id in several files: the latest counts (submitted_at, then source, then path); the
-- others are duplicates where they give the same answer, else superseded. So of an assignment
-- that was rejected after it had been exported nothing counts.
-- Votes have no ordinals: one file counts an item and label once. No votes are no answer, but they
-- supersede those of an earlier file. The reason of votes says how many there are, for which label.
-- Adjudications have no ordinals: all decisions of an expert on an item are one id, in one file
-- too. Of one item, whoever decided, the latest counts; where nothing tells which that is, the
-- first by label, so that the order of rows never does.
-- Judgments of a kind of judge that the task does not use are measured: they are compared with the
-- others, and enter no label, score or ranking.
-- Rows have the order in which they are published; public_id is the published id.
-- Parameters: drop_rejected: whether the judgments of a rejected assignment are rejected;
-- pseudonymize: whether judges are pseudonyms; salt: hashed into published ids then, so that
-- nobody without the key can test a guess of who judged.
WITH repeated_keys AS (
    SELECT DISTINCT judgment_key
    FROM keyed
    WHERE judgment_key IS NOT NULL AND control <> 'adjudication' AND votes IS NULL
    GROUP BY source_order, file_order, judgment_key
    HAVING count(*) > 1
),
repeated AS (
    SELECT
        k.*, i.native_id IS NOT NULL AS is_named,
        CASE WHEN count(i.native_id) OVER of_key = 0 AND count(k.submitted_at) OVER of_key = count(*) OVER of_key
            THEN nullif(k.submitted_at, min(k.submitted_at) OVER of_key) END AS later_at
    FROM keyed AS k
    SEMI JOIN repeated_keys USING (judgment_key)
    LEFT JOIN record_files AS f USING (source_order, file_order)
    LEFT JOIN native_ids AS i ON f.filename = i.filename AND k.native_id = i.native_id
    WINDOW of_key AS (PARTITION BY k.judgment_key)
),
ordinals AS (
    SELECT
        k.source_order, k.file_order, k.record, k.later_at,
        CASE WHEN NOT is_named
            THEN row_number() OVER (
                PARTITION BY k.source_order, k.file_order, k.judgment_key, k.later_at
                ORDER BY k.label NULLS FIRST, k.score NULLS FIRST, k.preference NULLS FIRST,
                    k.strength NULLS FIRST, k.rank NULLS FIRST, k.rank_a NULLS FIRST, k.rank_b NULLS FIRST,
                    k.submitted_at NULLS FIRST, k.seconds NULLS FIRST, k.record
            )
            ELSE dense_rank() OVER (
                PARTITION BY k.source_order, k.file_order, k.judgment_key
                ORDER BY k.label NULLS FIRST, k.score NULLS FIRST, k.preference NULLS FIRST,
                    k.strength NULLS FIRST, k.rank NULLS FIRST, k.rank_a NULLS FIRST, k.rank_b NULLS FIRST
            )
        END - 1 AS ordinal
    FROM repeated AS k
),
identified AS NOT MATERIALIZED (
    SELECT
        k.*,
        CASE
            WHEN coalesce(o.ordinal, 0) = 0 AND o.later_at IS NULL THEN k.judgment_key
            ELSE CAST(left(sha256(concat_ws('#', k.judgment_key, epoch_us(o.later_at), o.ordinal)), 32) AS UUID)
        END AS id,
        coalesce($drop_rejected AND regexp_full_match(k.status, '\s*rejected\s*', 'i'), false)
            AS is_refused
    FROM keyed AS k
    LEFT JOIN ordinals AS o
        ON k.source_order = o.source_order
        AND k.file_order = o.file_order
        AND k.record = o.record
),
repeated_ids AS (
    SELECT id FROM identified WHERE id IS NOT NULL GROUP BY id HAVING count(*) > 1
),
versions AS (
    SELECT
        i.source_order, i.file_order, i.record,
        row_number() OVER latest = 1 AS counts,
        struct_pack(
            i.label, i.votes, i.score, i.preference, i.strength, i.rank, i.rank_a, i.rank_b
        ) IS NOT DISTINCT FROM first_value(struct_pack(
            i.label, i.votes, i.score, i.preference, i.strength, i.rank, i.rank_a, i.rank_b
        )) OVER latest AS same_answer
    FROM identified AS i
    SEMI JOIN repeated_ids USING (id)
    WINDOW latest AS (
        PARTITION BY i.id
        ORDER BY i.submitted_at DESC NULLS LAST, i.source_order DESC, i.file_order DESC,
            i.label, i.why NULLS FIRST, i.record
    )
),
decisions AS (
    SELECT
        i.source_order, i.file_order, i.record,
        row_number() OVER latest = 1 AS counts,
        i.label = first_value(i.label) OVER latest AS same_answer
    FROM identified AS i
    LEFT JOIN versions AS v
        ON i.source_order = v.source_order AND i.file_order = v.file_order
        AND i.record = v.record
    WHERE i.control = 'adjudication' AND i.id IS NOT NULL AND coalesce(v.counts, true)
        AND NOT i.is_refused AND NOT i.is_measured
    WINDOW latest AS (
        PARTITION BY i.task, i.item
        ORDER BY i.submitted_at DESC NULLS LAST, i.source_order DESC, i.file_order DESC,
            i.label, i.judge, i.id
    )
),
judged AS (
    SELECT
        i.*,
        coalesce(d.counts, v.counts, true) AS counts,
        coalesce(d.same_answer, v.same_answer, true) AS same_answer,
        i.is_refused AND coalesce(v.counts, true) AS is_dismissed,
        -- what those that do not count hold
        CASE WHEN NOT coalesce(d.counts, v.counts, true) THEN concat_ws(
            ', ', '''' || left(label, 60) || '''', votes, score, preference, strength, rank,
            rank_a || ' and ' || rank_b
        ) END AS answer,
        CASE WHEN reason IS NULL AND NOT is_dismissed AND votes IS DISTINCT FROM 0
            THEN replace(CAST(id AS VARCHAR), '-', '') END AS judgment_id
    FROM identified AS i
    LEFT JOIN versions AS v
        ON i.source_order = v.source_order AND i.file_order = v.file_order
        AND i.record = v.record
    LEFT JOIN decisions AS d
        ON i.source_order = d.source_order AND i.file_order = d.file_order
        AND i.record = d.record
),
-- Several answers of a judge on an item, where the task says which of them counts.
repeats AS (
    SELECT
        source_order, file_order, record, t.repeats,
        count(*) OVER answers AS n_answers,
        count(submitted_at) OVER answers AS n_times,
        CASE t.repeats WHEN 'last' THEN max(submitted_at) OVER answers
            ELSE min(submitted_at) OVER answers END AS chosen_at,
        submitted_at,
        struct_pack(label, score, preference, strength, rank, rank_a, rank_b) AS given_answer,
        struct_pack(id, source_order, file_order, record) AS place,
        task, judge, item, item_a, item_b, criterion
    FROM judged AS j
    JOIN (
        SELECT task, repeats FROM tasks WHERE repeats IN ('first', 'last', 'reject')
            AND kind <> 'ranking'
    ) AS t USING (task)
    WHERE reason IS NULL AND NOT is_dismissed AND counts AND control = 'none' AND votes IS NULL
    WINDOW answers AS (PARTITION BY task, judge, item, item_a, item_b, criterion)
),
chosen AS (
    SELECT
        source_order, file_order, record, repeats, n_answers,
        CASE
            WHEN repeats = 'reject' THEN 'rejected'
            WHEN n_times < n_answers THEN 'untimed'
            WHEN submitted_at <> chosen_at THEN 'superseded'
            WHEN count(DISTINCT given_answer) OVER same_time > 1 THEN 'tied'
            WHEN place <> min(place) OVER same_time THEN 'duplicate'
        END AS outcome
    FROM repeats
    WHERE n_answers > 1
    WINDOW same_time AS (PARTITION BY task, judge, item, item_a, item_b, criterion, submitted_at)
),
files AS (
    SELECT
        source_order, file_order, source_file, source_digest,
        rank() OVER (ORDER BY source_file) AS by_name
    FROM record_files
)
SELECT
    judgment_id,
    CASE WHEN $pseudonymize THEN left(sha256($salt || judgment_id), 32) ELSE judgment_id END
        AS public_id,
    task, judge, judge_id, item, item_a, item_b, system, segment, document,
    system_a, system_b, criterion, label, votes, score, preference, strength, ranking, rank,
    rank_a, rank_b, hit, "position", control, control_of, truth, native_id,
    status, submitted_at, seconds, hit_seconds, why, reward, selection_probability, judge_kind,
    CASE
        WHEN early_fate IS NOT NULL THEN early_fate
        WHEN reason IS NULL AND votes = 0 AND counts THEN 'not_asked'
        WHEN reason IS NOT NULL OR is_dismissed THEN 'rejected'
        WHEN c.outcome IN ('rejected', 'untimed', 'tied') THEN 'rejected'
        WHEN c.outcome IS NOT NULL THEN c.outcome
        WHEN NOT counts AND same_answer THEN 'duplicate'
        WHEN NOT counts THEN 'superseded'
        WHEN is_measured THEN 'measured'
        WHEN control = 'adjudication' THEN 'adjudication'
        WHEN control IN ('bad_reference', 'good_reference', 'known_answer', 'audit') THEN 'control'
        ELSE 'used'
    END AS fate,
    CASE
        WHEN reason IS NOT NULL THEN reason
        WHEN votes = 0 AND counts THEN 'votes is 0'
        WHEN is_dismissed THEN 'assignment was rejected: ''' || left(status, 60) || ''''
        WHEN c.outcome = 'rejected' THEN 'the judge answered more than once, and repeats is reject'
        WHEN c.outcome = 'untimed'
            THEN 'the judge answered more than once, and submitted_at is blank'
        WHEN c.outcome = 'tied' THEN 'the judge gave different answers at one time'
        WHEN c.outcome = 'duplicate' THEN 'the judge gave the same answer more than once'
        WHEN c.outcome = 'superseded' THEN CASE c.repeats WHEN 'last' THEN 'a later' ELSE 'an earlier' END
            || ' answer of the judge counts; this one: ' || concat_ws(
            ', ', '''' || left(label, 60) || '''', score, preference, strength, rank,
            rank_a || ' and ' || rank_b
        )
        WHEN NOT counts AND control = 'adjudication'
            THEN CASE WHEN same_answer THEN 'a decision that takes precedence is the same'
                ELSE 'a decision that takes precedence differs; this one: ' || answer END
        WHEN NOT counts AND same_answer THEN 'the same answer is in another row or file that takes precedence'
        WHEN NOT counts
            THEN 'a file that takes precedence holds another answer; this one: ' || answer
        WHEN is_measured THEN CASE judge_kind
            WHEN 'model' THEN 'the judge is a model, and the task uses judgments of people'
            ELSE 'the judge is a person, and the task uses judgments of models' END
        WHEN control = 'adjudication' THEN 'decision of an expert'
        WHEN control = 'audit' THEN 'audit of labels: ' || coalesce(control_of, 'of no sample')
        WHEN control IN ('bad_reference', 'good_reference', 'known_answer')
            THEN 'control item: ' || control
        WHEN votes IS NOT NULL
            THEN votes || CASE votes WHEN 1 THEN ' vote for ''' ELSE ' votes for ''' END
                || left(label, 60) || ''''
    END AS reason,
    source_order, source_file, source_digest, "row" AS source_row, cell
FROM judged
JOIN files USING (source_order, file_order)
LEFT JOIN chosen AS c USING (source_order, file_order, record)
ORDER BY task, coalesce(item, item_a || ' | ' || item_b), judge_id, public_id, source_digest,
    source_row, cell, by_name, fate, source_order, file_order, record
