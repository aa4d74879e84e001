"""The Spark SQL of a run's summary, over the views `results` and `read_back`.

Times are in µs since the start of the measured part. Error codes 0 and 46 are acknowledgements: 46
is DUPLICATE_SEQUENCE_NUMBER. Nor is 79 an error: MEMBER_ID_REQUIRED has the id with which to join.
"""

VIEWS = {
    # Rows of scheduled events, without the warm-up.
    "measured": "SELECT * FROM results WHERE intended_us >= 0 AND event_id >= 0",
    "events": """
        SELECT tenant, event_id, min(intended_us) AS intended_us,
               max(response_us) FILTER (
                   WHERE status = 'responded' AND error_code IN (0, 46)
                         AND main_apis[tenant] IN (api, 'any')
               ) AS completed_us
        FROM (SELECT *, map_from_arrays(:tenants, :main_apis) AS main_apis FROM measured)
        WHERE array_contains(:tenants, tenant) GROUP BY tenant, event_id""",
}

TENANTS = """
    SELECT tenant, count(*) AS events, count(completed_us) AS completed,
           percentile_approx(response_us, array(0.5, 0.9, 0.99, 0.999)) AS response_us,
           max(response_us) AS response_max_us
    FROM (SELECT *, coalesce(completed_us, :end_us) - intended_us AS response_us FROM events)
    GROUP BY tenant ORDER BY tenant"""
REQUESTS = """
    SELECT tenant, api, status, kind, error_code, count(*) AS requests,
           percentile_approx(response_us - sent_us, array(0.5, 0.99)) AS service_us,
           sum(throttle_time_ms) AS throttle_ms, max(throttle_time_ms) AS throttle_max_ms,
           sum(bytes) AS bytes, sum(mutations) AS mutations, count(sent_us) AS sent,
           count_if(throttle_time_ms > 0) AS throttled, count_if(early_us > 1000) AS sent_early,
           max(early_us) AS early_max_us,
           count_if(early_us > :tolerance_us AND response_us - sent_us < early_us - :tolerance_us)
               AS responded_early,
           max(coalesce(response_us, sent_us)) AS end_us
    FROM results GROUP BY tenant, api, status, kind, error_code
    ORDER BY tenant, api, status, kind, error_code"""
SECONDS = """
    SELECT floor(sent_us / 1e6) AS second, tenant, count(*) AS requests,
           count_if(status = 'responded') AS responded,
           count_if(status = 'responded' AND error_code NOT IN (0, 46, 79)) AS errors,
           count_if(throttle_time_ms > 0) AS throttled, max(throttle_time_ms) AS throttle_max_ms
    FROM results WHERE sent_us IS NOT NULL GROUP BY second, tenant ORDER BY second, tenant"""
LATENCIES = """
    SELECT floor(intended_us / 1e6) AS second, tenant,
           percentile_approx(response_us, array(0.5, 0.9, 0.99)) AS response_us
    FROM (SELECT *, coalesce(completed_us, :end_us) - intended_us AS response_us FROM events)
    GROUP BY second, tenant ORDER BY second, tenant"""
HEAT = """
    SELECT floor(intended_us / :cell_us) AS cell,
           least(23, greatest(0, floor(1.5 * log2(greatest(response_us, 1) / 64)))) AS bin,
           count(*) AS events
    FROM (SELECT *, coalesce(completed_us, :end_us) - intended_us AS response_us FROM events)
    GROUP BY cell, bin ORDER BY cell, bin"""
LATENESS = """
    SELECT percentile_approx(submitted_us - intended_us, array(0.5, 0.99)) AS lateness_us,
           percentile_approx(sent_us - intended_us, array(0.5, 0.99))
               FILTER (WHERE attempt = 1 AND early_us = 0) AS sent_us
    FROM measured
    WHERE attempt <= 1 AND status != 'not_sent'
          AND array_contains(CAST(:open_tenants AS ARRAY<STRING>), tenant)"""
EXPIRIES = """
    SELECT tenant, count_if(expired_us IS NOT NULL) AS expired,
           max(coalesce(expired_us, completed_us) - submitted_us) AS latest_us
    FROM (SELECT tenant, event_id, min(submitted_us) AS submitted_us,
                 min(response_us) FILTER (WHERE status = 'expired') AS expired_us,
                 min(response_us) FILTER (WHERE status = 'responded' AND error_code IN (0, 46))
                     AS completed_us
          FROM results WHERE event_id >= 0 AND api = 'Produce' GROUP BY tenant, event_id)
    GROUP BY tenant"""
# Batches match by producer id, epoch and sequence, or by offset without a producer id.
STORED = """
    SELECT acknowledged.tenant, count(*) AS acknowledged,
           count_if(coalesce(times, 0) = 0) AS missing
    FROM (SELECT DISTINCT tenant, topic, partition, producer_id, epoch, sequence, event_id,
                 CASE WHEN producer_id IS NULL THEN base_offset END AS base_offset
          FROM results WHERE api = 'Produce' AND status = 'responded' AND error_code IN (0, 46)
         ) AS acknowledged
    LEFT JOIN (SELECT topic, partition, producer_id, epoch, sequence, event_id,
                      CASE WHEN producer_id < 0 THEN base_offset END AS base_offset,
                      count(*) AS times
               FROM read_back GROUP BY ALL) AS stored
    ON acknowledged.topic = stored.topic AND acknowledged.partition = stored.partition
       AND acknowledged.event_id = stored.event_id
       AND coalesce(acknowledged.producer_id, -1) = stored.producer_id
       AND coalesce(acknowledged.epoch, -1) = stored.epoch
       AND coalesce(acknowledged.sequence, -1) = stored.sequence
       AND acknowledged.base_offset <=> stored.base_offset
    GROUP BY acknowledged.tenant"""
# An event is one batch, or several batches with different sequences.
REPEATED = """
    SELECT tenant, sum(times - 1) AS repeated
    FROM (SELECT tenant, stored.event_id, count(*) AS times
          FROM read_back AS stored
          JOIN (SELECT DISTINCT tenant, event_id, coalesce(producer_id, -1) AS producer_id
                FROM results WHERE api = 'Produce') AS sent
          ON stored.event_id = sent.event_id AND stored.producer_id = sent.producer_id
          GROUP BY tenant, stored.event_id,
                   CASE WHEN array_contains(CAST(:of_several AS ARRAY<STRING>), tenant)
                   THEN struct(stored.producer_id, stored.epoch, stored.sequence) END)
    GROUP BY tenant"""
# The events that a closed loop adds have larger ids.
EVENTS_SEEN = """
    SELECT count(DISTINCT event_id) AS events FROM results
    WHERE event_id BETWEEN 0 AND 4294967295"""
WORKERS = """
    SELECT worker, max(worker_cpu_us) AS cpu_us, max(worker_wall_us) AS wall_us,
           count(*) AS rows FROM results GROUP BY worker ORDER BY worker"""
