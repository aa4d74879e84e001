"""The Spark SQL of a run's summary, over the views `results` and `read_back`.

Times are in µs since the start of the measured part. Error codes 0 and 46 are acknowledgements: 46
is DUPLICATE_SEQUENCE_NUMBER. `expected_answers` has others that are no errors.

Latencies are counted in the bins of `latencies`: Spark adds counts up cheaply, while the sketches
of `percentile_approx` cost more than all the rest of a summary.
"""

from math import log

from loadgen.analysis.latencies import GROWTH

# The bin of a time is `if(t < 1, 0, floor(ln(t) / :ln_growth))`, as in `latencies.bin_of`.
ARGUMENTS = {"ln_growth": log(GROWTH)}

# Most events of a steady tenant are one row, which Spark need not bring together with others of the
# event. Tenants are numbers, since grouping by texts costs more.
VIEWS = {
    "rows_of_events": """
        SELECT number, event_id, api, intended_us, sent_us, response_us,
               is_acknowledged AND element_at(:main_apis, number) IN (api, 'any') AS completes,
               coalesce(is_acknowledged AND api = 'Produce' AND attempt = 1
                        AND element_at(:are_steady, number), false) AS is_whole_event
        FROM (SELECT *, CAST(array_position(:tenants, tenant) AS INT) AS number,
                     status = 'responded' AND error_code IN (0, 46) AS is_acknowledged
              FROM results WHERE intended_us >= 0 AND event_id >= 0)
        WHERE number > 0""",
    "events": """
        SELECT number, intended_us, sent_us, response_us AS completed_us
        FROM rows_of_events WHERE is_whole_event
        UNION ALL
        SELECT number, min(intended_us), min(sent_us) FILTER (WHERE api = 'Produce'),
               max(response_us) FILTER (WHERE completes)
        FROM rows_of_events WHERE NOT is_whole_event GROUP BY number, event_id""",
}
# The times of events in bins. A slot is a second for the first of `measures.OF_EVENTS` and a period
# for the others; only the first has the cells of the heat map. The queries of latencies are over
# this view, which Spark keeps.
LATENCY_BINS = """
    SELECT number, measure, slot, cell,
           if(time_us < 1, 0, CAST(floor(ln(time_us) / :ln_growth) AS INT)) AS bin,
           count(*) AS events, count_if(is_completed) AS completed, max(time_us) AS max_us,
           sum(time_us) AS sum_us
    FROM (SELECT number, is_completed,
                 stack(3, 1, CAST(floor(intended_us / 1e6) AS INT),
                          CAST(floor(intended_us / :cell_us) AS INT), ended_us - intended_us,
                       2, period, NULL, ended_us - sent_us,
                       3, period, NULL, sent_us - intended_us) AS (measure, slot, cell, time_us)
          FROM (SELECT *, completed_us IS NOT NULL AS is_completed,
                       coalesce(completed_us, :end_us) AS ended_us,
                       CAST(floor(intended_us / :period_us) AS INT) AS period
                FROM events))
    WHERE time_us IS NOT NULL GROUP BY ALL"""

REQUESTS = """
    SELECT tenant, api, status, kind, error_code,
           if(service_us < 1, 0, CAST(floor(ln(service_us) / :ln_growth) AS INT)) AS bin,
           count(*) AS requests,
           sum(throttle_time_ms) AS throttle_ms, max(throttle_time_ms) AS throttle_max_ms,
           sum(bytes) AS bytes, sum(mutations) AS mutations, count(sent_us) AS sent,
           count_if(throttle_time_ms > 0) AS throttled, count_if(early_us > 1000) AS sent_early,
           max(early_us) AS early_max_us,
           count_if(early_us > :tolerance_us AND service_us < early_us - :tolerance_us)
               AS responded_early,
           max(coalesce(response_us, sent_us)) AS end_us
    FROM (SELECT *, response_us - sent_us AS service_us FROM results)
    GROUP BY tenant, api, status, kind, error_code, bin"""
SECONDS = """
    SELECT floor(sent_us / 1e6) AS second, tenant,
           count(*) - count_if(is_unreachable) AS requests,
           count_if(is_unreachable) AS unreachable,
           sum(if(is_stored, records, 0)) AS records, sum(if(is_stored, bytes, 0)) AS bytes,
           count_if(status = 'lost' AND NOT is_unreachable) AS lost,
           count_if(status = 'responded') AS responded,
           count_if(status = 'responded' AND NOT array_contains(
               CAST(:no_errors AS ARRAY<INT>), CAST(error_code AS INT))) AS errors,
           count_if(throttle_time_ms > 0) AS throttled, max(throttle_time_ms) AS throttle_max_ms
    FROM (SELECT *, api = 'ApiVersions' AND status = 'lost' AND event_id < 0 AS is_unreachable,
                 api = 'Produce' AND status = 'responded' AND error_code IN (0, 46) AS is_stored
          FROM results WHERE sent_us IS NOT NULL)
    GROUP BY second, tenant"""
# Each row is a cell of the heat map: time and 24 bins from 64 µs, of which three are a factor of
# four.
HEAT = """
    SELECT cell, CAST(least(23, greatest(0, floor(1.5 * ((bin + 0.5) * :ln_growth / ln(2) - 6))))
                      AS INT) AS heat_bin,
           sum(events) AS events
    FROM latency_bins WHERE measure = 1 GROUP BY ALL"""
LATENCIES = """
    SELECT second, element_at(:tenants, number) AS tenant,
           min(bin) FILTER (WHERE until_here >= 0.5 * events) AS p50,
           min(bin) FILTER (WHERE until_here >= 0.9 * events) AS p90,
           min(bin) FILTER (WHERE until_here >= 0.99 * events) AS p99
    FROM (SELECT slot AS second, number, bin,
                 sum(events) OVER (PARTITION BY slot, number ORDER BY bin) AS until_here,
                 sum(events) OVER (PARTITION BY slot, number) AS events
          FROM latency_bins WHERE measure = 1)
    GROUP BY second, number"""
LATENESS = """
    SELECT if(late_us < 1, 0, CAST(floor(ln(late_us) / :ln_growth) AS INT)) AS lateness_bin,
           CASE WHEN attempt = 1 AND early_us = 0
                THEN if(delay_us < 1, 0, CAST(floor(ln(delay_us) / :ln_growth) AS INT)) END
               AS sent_bin,
           count(*) AS events
    FROM (SELECT *, submitted_us - intended_us AS late_us, sent_us - intended_us AS delay_us
          FROM results
          WHERE intended_us >= 0 AND event_id >= 0 AND attempt <= 1 AND status != 'not_sent'
                AND array_contains(CAST(:open_tenants AS ARRAY<STRING>), tenant))
    GROUP BY ALL"""
EXPIRIES = """
    SELECT tenant, count_if(expired_us IS NOT NULL) AS expired,
           max(coalesce(expired_us, completed_us) - submitted_us) AS latest_us
    FROM (SELECT tenant, event_id, min(submitted_us) AS submitted_us,
                 min(response_us) FILTER (WHERE status = 'expired') AS expired_us,
                 max(response_us) FILTER (WHERE status = 'responded' AND error_code IN (0, 46))
                     AS completed_us
          FROM results WHERE event_id >= 0 AND api = 'Produce'
               AND array_contains(CAST(:expiring_tenants AS ARRAY<STRING>), tenant)
          GROUP BY tenant, event_id)
    GROUP BY tenant"""
# What was sent and what was read back goes through one shuffle, by event, and needs no join. A
# batch is known by producer id and place: topic, partition, epoch, sequence and records, or the
# offset without a producer id. The hash of a place only has to differ within an event. An event may
# have several places: it is several batches, or lies in several, or the client sent it again with
# another producer id or epoch. A broker cannot know the latter, so each place counts alone: what is
# stored twice at one, or stored where nothing was sent, or though it was refused, is repeated.
# Tenants are numbers, since Spark sorts to find the largest string.
BATCHES_OF_EVENTS = """
          SELECT event_id, producer_id, max(number) AS number,
                 count_if(is_acknowledged) AS acknowledged,
                 count_if(is_acknowledged AND times = 0) AS missing,
                 sum(times) AS times, count_if(may_be_stored AND times > 0) AS firsts
          FROM (SELECT event_id, producer_id, place, max(number) AS number,
                       max(is_acknowledged) AS is_acknowledged,
                       max(may_be_stored) AS may_be_stored, sum(times) AS times
                FROM (SELECT * FROM sent_batches UNION ALL SELECT * FROM stored_batches
                      DISTRIBUTE BY event_id)
                GROUP BY event_id, producer_id, place)
          GROUP BY event_id, producer_id"""
BATCHES = f"""
    SELECT element_at(:tenants, number) AS tenant, sum(acknowledged) AS acknowledged,
           sum(missing) AS missing, sum(times - firsts) AS repeated
    FROM ({BATCHES_OF_EVENTS})
    WHERE number > 0 GROUP BY number"""  # noqa: S608 - made of constants
BATCH_VIEWS = {
    "sent_batches": """
        SELECT event_id, coalesce(producer_id, -1) AS producer_id,
               xxhash64(topic, partition, coalesce(epoch, -1), coalesce(sequence, -1), records,
                        CASE WHEN producer_id IS NULL THEN base_offset END) AS place,
               CAST(array_position(:tenants, tenant) AS INT) AS number,
               status = 'responded' AND coalesce(error_code IN (0, 46), false) AS is_acknowledged,
               status != 'responded'
                   OR array_contains(CAST(:maybe_stored AS ARRAY<INT>), error_code)
                   AS may_be_stored,
               0 AS times
        FROM results WHERE api = 'Produce'""",
    "stored_batches": """
        SELECT event_id, producer_id,
               xxhash64(topic, partition, coalesce(epoch, -1), coalesce(sequence, -1), records,
                        CASE WHEN producer_id < 0 THEN base_offset END) AS place,
               0 AS number, false AS is_acknowledged, false AS may_be_stored, 1 AS times
        FROM read_back""",
}
# The events that a closed loop adds have larger ids.
EVENTS_SEEN = """
    SELECT count(DISTINCT event_id) AS events FROM results
    WHERE event_id BETWEEN 0 AND 4294967295"""
WORKERS = """
    SELECT worker, max(worker_cpu_us) AS cpu_us, max(worker_wall_us) AS wall_us,
           count(*) AS rows FROM results GROUP BY worker"""
