-- One row is a task and currency: what its judgments cost, as far as exports tell.
-- Inputs: controlled, record_files (source_order, file_order, source_file), rewards (reward, amount,
-- currency), labels, scores, segment_ranks (task).
--
-- A reward is for an assignment, one judge's work on a HIT, however many judgments that holds; a
-- native id that repeats within a HIT tells two apart, and where neither is known a raw row is
-- one. A filtered or failed answer was paid all the same; where neither is known, equal ones are one. Of
-- several rewards or states of an assignment the latest file's counts. A rejected one is
-- not paid, whether or not its judgments are dropped. One whose judgments belong to several tasks
-- is shared out by judgments (by records, if none of them can be read). Sums are decimals: the
-- same on any threads. An amount without a currency is of the one that its task is paid in. Ratios
-- leave out judgments of assignments without a known reward, and are null where a task is paid in
-- several currencies: reason says which.
--
-- What experts are paid to decide is a cost of gold, but of no judgment, and their decisions are
-- neither assignments nor judgments. A task without labels and scores has ranked outputs for gold.
WITH worked AS (
    SELECT
        task, judge, hit, fate, control = 'adjudication' AS is_decision,
        CASE WHEN hit IS NULL OR count(*) OVER native > 1 THEN native_id END AS assignment,
        CASE WHEN hit IS NULL AND native_id IS NULL AND fate NOT IN ('filtered', 'unscored')
            THEN struct_pack(source_order, source_file, source_row) END AS lone_row,
        CASE WHEN hit IS NULL AND native_id IS NULL AND fate IN ('filtered', 'unscored')
            THEN to_json(struct_pack(
                task, item, item_a, item_b, label, score, preference, submitted_at
            )) END AS unused_answer,
        fate IN ('measured', 'judge_failed', 'control', 'adjudication', 'used') AS is_answer,
        struct_pack(source_order, file_order, source_row) AS place,
        regexp_full_match(status, '\s*rejected\s*', 'i') AS is_refused,
        r.amount, r.currency
    FROM controlled AS c
    LEFT JOIN record_files USING (source_order, source_file)
    LEFT JOIN rewards AS r ON c.reward = r.reward
    WHERE c.fate NOT IN ('duplicate', 'superseded') AND task IS NOT NULL AND judge IS NOT NULL
    WINDOW native AS (PARTITION BY judge, hit, native_id)
),
parts AS (
    SELECT
        task, judge, hit, assignment, lone_row, unused_answer,
        count(*) FILTER (is_answer) AS n_answers,
        count(*) FILTER (is_answer AND NOT is_decision) AS n_judgments,
        count(*) FILTER (fate = 'used') AS n_used,
        NOT bool_and(is_decision) AS is_judging,
        count(*) AS n_records,
        max(struct_pack(place, amount, currency)) FILTER (amount IS NOT NULL) AS reward,
        max(struct_pack(place, is_refused)) FILTER (is_refused IS NOT NULL) AS state
    FROM worked
    GROUP BY task, judge, hit, assignment, lone_row, unused_answer
    -- a row of which no answer counts may be there again in another file
    HAVING lone_row IS NULL OR count(*) FILTER (is_answer) > 0
),
shares AS (
    SELECT
        task, n_judgments, n_used, is_judging,
        max(reward) OVER work AS reward,
        coalesce((max(state) OVER work).is_refused, false) AS is_refused,
        CASE WHEN sum(n_answers) OVER work > 0
            THEN n_answers / sum(n_answers) OVER work
            ELSE n_records / sum(n_records) OVER work
        END AS share
    FROM parts
    WINDOW work AS (PARTITION BY judge, hit, assignment, lone_row, unused_answer)
),
by_task AS (
    SELECT
        task,
        count(*) FILTER (is_judging) AS n_assignments,
        sum(n_judgments) AS n_judgments,
        sum(n_used) AS n_used,
        sum(n_used) FILTER (reward IS NOT NULL OR is_refused) AS n_priced
    FROM shares
    GROUP BY task
),
paid AS (
    SELECT
        task, is_judging, is_refused,
        coalesce(
            reward.currency,
            CASE WHEN min(reward.currency) OVER of_task = max(reward.currency) OVER of_task
                THEN min(reward.currency) OVER of_task END
        ) AS currency,
        CASE WHEN is_refused THEN 0 ELSE CAST(reward.amount * share AS DECIMAL(38, 12)) END
            AS amount
    FROM shares
    WHERE reward IS NOT NULL
    WINDOW of_task AS (PARTITION BY task)
),
sums AS (
    SELECT
        task,
        currency,
        count(*) FILTER (is_judging AND NOT is_refused) AS n_paid_assignments,
        CAST(round(sum(amount), 6) AS DOUBLE) AS paid,
        CAST(round(coalesce(sum(amount) FILTER (is_judging), 0), 6) AS DOUBLE) AS paid_to_judges
    FROM paid
    GROUP BY task, currency
),
currencies AS (
    SELECT task, count(*) AS n_currencies, string_agg(currency, ', ' ORDER BY currency) AS named
    FROM sums
    GROUP BY task
),
judged AS (
    SELECT task, count(DISTINCT coalesce(item, item_a || ' | ' || item_b)) AS n_items
    FROM controlled
    WHERE fate = 'used'
    GROUP BY task
),
gold AS (
    SELECT
        task,
        coalesce(nullif(count(*) FILTER (NOT is_rank), 0), count(*)) AS n_gold
    FROM (
        SELECT task, false AS is_rank FROM labels
        UNION ALL SELECT task, false FROM scores
        UNION ALL SELECT task, true FROM segment_ranks
    )
    GROUP BY task
),
whole AS (
    SELECT
        s.*, t.n_assignments, t.n_judgments, t.n_used,
        coalesce(i.n_items, 0) AS n_items,
        coalesce(g.n_gold, 0) AS n_gold,
        CASE WHEN n_currencies = 1 THEN paid END AS all_paid,
        CASE WHEN n_currencies = 1 THEN paid_to_judges END AS all_paid_to_judges,
        t.n_priced,
        CASE WHEN n_currencies > 1
            THEN 'paid in several currencies (' || named || '), which are not added' END AS reason
    FROM sums AS s
    JOIN by_task AS t ON s.task = t.task
    JOIN currencies AS c ON s.task = c.task
    LEFT JOIN judged AS i ON s.task = i.task
    LEFT JOIN gold AS g ON s.task = g.task
)
SELECT
    task, currency, n_assignments, n_paid_assignments, paid, n_judgments, n_used, n_items, n_gold,
    all_paid / nullif(n_gold, 0) AS cost_per_gold,
    all_paid_to_judges / nullif(n_priced, 0) AS cost_per_judgment,
    n_items * all_paid_to_judges / nullif(n_priced, 0) AS one_more_per_item,
    reason
FROM whole
ORDER BY task, currency NULLS FIRST
