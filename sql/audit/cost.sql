-- One row is a task and currency: what its judgments cost, as far as exports tell.
-- Inputs: controlled, rewards (reward, amount, currency), labels and scores (task, item).
--
-- A reward is for an assignment, one judge's work on a HIT, however many judgments that holds; a
-- native id that repeats within a HIT tells two apart, and where neither is known a raw row is
-- one. Of several rewards or states of an assignment the latest file's counts. A rejected one is
-- not paid, whether or not its judgments are dropped. One whose judgments belong to several tasks
-- is shared out by judgments (by records, if none of them can be read). Sums are decimals: the
-- same on any threads. Ratios leave out judgments of assignments without a known reward, and are
-- null where a task is paid in several currencies.
WITH worked AS (
    SELECT
        task, judge, hit, fate,
        CASE WHEN hit IS NULL OR count(*) OVER native > 1 THEN native_id END AS assignment,
        CASE WHEN hit IS NULL AND native_id IS NULL
            THEN struct_pack(source_order, file_order, source_row) END AS lone_row,
        fate IN ('judge_failed', 'control', 'adjudication', 'used') AS is_judgment,
        struct_pack(source_order, file_order, source_row) AS place,
        regexp_full_match(status, '\s*rejected\s*', 'i') AS is_refused,
        r.amount, r.currency
    FROM controlled AS c
    LEFT JOIN rewards AS r ON c.reward = r.reward
    WHERE c.fate NOT IN ('duplicate', 'superseded') AND task IS NOT NULL AND judge IS NOT NULL
    WINDOW native AS (PARTITION BY judge, hit, native_id)
),
parts AS (
    SELECT
        task, judge, hit, assignment, lone_row,
        count(*) FILTER (is_judgment) AS n_judgments,
        count(*) FILTER (fate = 'used') AS n_used,
        count(*) AS n_records,
        max(struct_pack(place, amount, currency)) FILTER (amount IS NOT NULL) AS reward,
        max(struct_pack(place, is_refused)) FILTER (is_refused IS NOT NULL) AS state
    FROM worked
    GROUP BY task, judge, hit, assignment, lone_row
    -- a row of which no judgment counts may be there again in another file
    HAVING lone_row IS NULL OR count(*) FILTER (is_judgment) > 0
),
shares AS (
    SELECT
        task, n_judgments, n_used,
        max(reward) OVER work AS reward,
        coalesce((max(state) OVER work).is_refused, false) AS is_refused,
        CASE WHEN sum(n_judgments) OVER work > 0
            THEN n_judgments / sum(n_judgments) OVER work
            ELSE n_records / sum(n_records) OVER work
        END AS share
    FROM parts
    WINDOW work AS (PARTITION BY judge, hit, assignment, lone_row)
),
by_task AS (
    SELECT
        task,
        count(*) AS n_assignments,
        sum(n_judgments) AS n_judgments,
        sum(n_used) AS n_used,
        sum(n_used) FILTER (reward IS NOT NULL OR is_refused) AS n_priced
    FROM shares
    GROUP BY task
),
sums AS (
    SELECT
        task,
        reward.currency AS currency,
        count(*) FILTER (NOT is_refused) AS n_paid_assignments,
        CAST(round(coalesce(sum(CAST(reward.amount * share AS DECIMAL(38, 12)))
            FILTER (NOT is_refused), 0), 6) AS DOUBLE) AS paid
    FROM shares
    WHERE reward IS NOT NULL
    GROUP BY task, reward.currency
),
judged AS (
    SELECT task, count(DISTINCT coalesce(item, item_a || ' | ' || item_b)) AS n_items
    FROM controlled
    WHERE fate = 'used'
    GROUP BY task
),
gold AS (
    SELECT task, count(*) AS n_gold
    FROM (SELECT task FROM labels UNION ALL SELECT task FROM scores)
    GROUP BY task
),
whole AS (
    SELECT
        s.*, t.n_assignments, t.n_judgments, t.n_used,
        coalesce(i.n_items, 0) AS n_items,
        coalesce(g.n_gold, 0) AS n_gold,
        CASE WHEN count(*) OVER (PARTITION BY s.task) = 1 THEN s.paid END AS all_paid,
        t.n_priced
    FROM sums AS s
    JOIN by_task AS t ON s.task = t.task
    LEFT JOIN judged AS i ON s.task = i.task
    LEFT JOIN gold AS g ON s.task = g.task
)
SELECT
    task, currency, n_assignments, n_paid_assignments, paid, n_judgments, n_used, n_items, n_gold,
    all_paid / nullif(n_gold, 0) AS cost_per_gold,
    all_paid / nullif(n_priced, 0) AS cost_per_judgment,
    n_items * all_paid / nullif(n_priced, 0) AS one_more_per_item
FROM whole
ORDER BY task, currency NULLS FIRST
