"""The Spark SQL of the live figures, over the view `batch`: the rows of the newest segments.

Each query returns sums that can be added to those of earlier batches, in rows that are as many as
tenants, seconds, kinds of requests and bins of latency. `analysis.queries` has the definitions.
"""

COLUMNS = (
    "worker",
    "event_id",
    "tenant",
    "user",
    "api",
    "intended_us",
    "submitted_us",
    "sent_us",
    "response_us",
    "producer_id",
    "node",
    "error_code",
    "throttle_time_ms",
    "attempt",
    "status",
    "kind",
    "mutations",
    "early_us",
)
"""The columns of the rows that the queries need."""
REQUESTS = """
    SELECT tenant, floor(sent_us / 1e6) AS second, api, status, kind, error_code,
           count(*) AS requests, count_if(throttle_time_ms > 0) AS throttled,
           sum(throttle_time_ms) AS throttle_total_ms, max(throttle_time_ms) AS throttle_max_ms,
           count_if(early_us > 1000) AS sent_early, max(early_us) AS early_max_us,
           count_if(early_us > :tolerance_us AND response_us - sent_us < early_us - :tolerance_us)
               AS responded_early,
           count_if(event_id >= 0 AND NOT is_whole_event) AS rows_of_events,
           max(coalesce(response_us, sent_us)) AS end_us
    FROM batch GROUP BY ALL"""
LATENESS = """
    SELECT worker, CASE WHEN has_lateness THEN
               CAST(floor(ln(greatest(1, submitted_us - intended_us)) / :ln_growth) AS INT)
           END AS bin, count(*) AS events, max(coalesce(response_us, sent_us)) AS read_us
    FROM (SELECT *, intended_us >= 0 AND event_id >= 0 AND attempt <= 1 AND status != 'not_sent'
                    AND is_open AS has_lateness FROM batch) GROUP BY ALL"""
WHOLE_EVENTS = """
    SELECT tenant, true AS is_over, floor(intended_us / 1e6) AS second,
           CAST(NULL AS BIGINT) AS unfinished_cell,
           CAST(floor(ln(greatest(1, response_us - intended_us)) / :ln_growth) AS INT) AS bin,
           count(*) AS events,
           max(response_us - intended_us) AS response_max_us, CAST(0 AS BIGINT) AS expired,
           max(response_us - submitted_us) AS latest_us
    FROM batch WHERE is_whole_event GROUP BY ALL"""
"""The rows that are all that there is of their events."""
QUOTA_ROWS = """
    SELECT CAST(NULL AS STRING) AS tenant, user, node, producer_id, min(sent_us) AS sent_us,
           min(response_us) AS response_us, CAST(0 AS BIGINT) AS mutations
    FROM (SELECT user, node, sent_us, response_us,
                 CASE WHEN status = 'responded' AND error_code = 0 THEN producer_id ELSE -1 END
                     AS producer_id
          FROM batch WHERE api = 'Produce' AND producer_id IS NOT NULL
                           AND array_contains(:id_users, user))
    GROUP BY user, node, producer_id
    UNION ALL
    SELECT tenant, user, CAST(NULL AS INT) AS node, CAST(NULL AS BIGINT) AS producer_id,
           min(sent_us) AS sent_us, response_us, sum(mutations) AS mutations
    FROM batch WHERE mutations > 0 AND array_contains(:mutation_tenants, tenant)
    GROUP BY tenant, user, response_us"""
"""The rows that quotas are judged by, as few as possible.

They are the first success in the batch of each producer id, one row with id -1 for all other
requests of a user at a broker, and the accepted mutations of each time.
"""
EVENTS = """
    SELECT *, touched_us < :over_before_us
              OR completes_once AND (completed_us IS NOT NULL OR expired_us IS NOT NULL) AS is_over
    FROM (SELECT tenant, event_id, completes_once, min(intended_us) AS intended_us,
           min(submitted_us) AS submitted_us, max(completed_us) AS completed_us,
           min(expired_us) AS expired_us, max(touched_us) AS touched_us
    FROM (SELECT tenant, event_id, completes_once, intended_us, submitted_us,
                 CASE WHEN status = 'responded' AND error_code IN (0, 46)
                           AND main_api IN (api, 'any') THEN response_us END AS completed_us,
                 CASE WHEN status = 'expired' THEN response_us END AS expired_us,
                 coalesce(response_us, sent_us, intended_us) AS touched_us
          FROM batch WHERE event_id >= 0 AND NOT is_whole_event
          UNION ALL
          SELECT tenant, event_id, completes_once, intended_us, submitted_us, completed_us,
                 expired_us, touched_us FROM open_events)
    GROUP BY tenant, event_id, completes_once)"""
"""The other events may have rows in several batches: `open_events` are those of earlier ones."""
LATENCIES = """
    SELECT tenant, is_over, floor(intended_us / 1e6) AS second,
           CASE WHEN completed_us IS NULL THEN floor(intended_us / 1e4) END AS unfinished_cell,
           CASE WHEN completed_us IS NOT NULL
                THEN CAST(floor(ln(greatest(1, completed_us - intended_us)) / :ln_growth) AS INT)
           END AS bin,
           count(*) AS events, max(completed_us - intended_us) AS response_max_us,
           count(expired_us) AS expired,
           max(coalesce(expired_us, completed_us) - submitted_us) AS latest_us
    FROM events GROUP BY ALL"""
OPEN_EVENTS = "SELECT * FROM events WHERE NOT is_over"
