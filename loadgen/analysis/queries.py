"""The Spark SQL of a run's summary, over the view `results`.

Times are in µs since the start of the measured part. Error codes 0 and 46 are acknowledgements: 46
is DUPLICATE_SEQUENCE_NUMBER. Most of the summary is in `row_sums`, which Arrow computes.
"""

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
# The events that a closed loop adds have larger ids.
EVENTS_SEEN = """
    SELECT count(DISTINCT event_id) AS events FROM results
    WHERE event_id BETWEEN 0 AND 4294967295"""
