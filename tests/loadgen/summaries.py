"""Make the summary of a small run."""

from typing import Any

from loadgen.plan.plan import Plan, Quota, Tenant

PLAN = Plan(
    name="small",
    duration_s=2.0,
    tenants=(
        Tenant("writer", "steady", "writer", user="<i>", password="x"),
        Tenant("maker", "topic-creator", "maker"),
    ),
    quotas=(
        Quota({"user": "<i>"}, "producer_ids_rate", 2.0),
        Quota({"client-id": "maker"}, "controller_mutation_rate", 1.0),
    ),
    text="name: small # <b>\n",
)
CONFIG = {
    "controller.quota.window.num": 11.0,
    "controller.quota.window.size.seconds": 1.0,
    "producer.id.quota.window.size.seconds": 10.0,
}


def summary_of(**changes: Any) -> dict[str, Any]:
    """Return the summary of a run of `PLAN`."""
    second = {
        "tenant": "writer",
        "requests": 5,
        "responded": 5,
        "errors": 1,
        "throttled": 1,
        "unreachable": 0,
        "records": 6,
        "lost": 0,
    }
    request = {
        "tenant": "writer",
        "api": "Produce",
        "status": "not_sent",
        "kind": "new",
        "error": "",
        "requests": 3,
        "service_us": None,
        "throttle_max_ms": None,
    }
    latency = {
        "tenant": "writer",
        "count": 9,
        "mean_us": 1500.0,
        "p50_us": 1000.0,
        "p75_us": 1100.0,
        "p90_us": 2000.0,
        "p95_us": 2100.0,
        "p99_us": 3000.0,
        "p999_us": 4000.0,
        "p9999_us": 5000.0,
        "max_us": 5000,
    }
    return {
        "plan": "small",
        "run_id": "small-1",
        "started": "2026-01-02 03:04:05 UTC",
        "duration_s": 2.0,
        "seed": 1,
        "workers_count": 2,
        "master": "local[2]",
        "target": "a:1",
        "is_complete": True,
        "abort_reasons": [],
        "responses_per_s": 1234.5,
        "records_per_s": 4321.0,
        "mb_per_s": 1.75,
        "totals": {
            "requests": 10,
            "errors": 1,
            "throttled": 2,
            "no_response": 3,
            "lost": 0,
            "not_sent": 4,
            "not_due": 5,
        },
        "host": {"generator_percent": 3.0, "broker_percent": None, "cpus": 2},
        "fairness": None,
        "verdicts": [
            {"check": "p", "scope": "user <i>", "verdict": "failed", "details": "1 > 0"},
            {"check": "q", "scope": "x", "verdict": "not checked", "details": ""},
        ],
        "tenants": [
            {
                "tenant": "writer",
                "events": 10,
                "completed": 9,
                "response_us": [1000.0, 2000.0, 3000.0, 4000.0, 5000.0],
                "response_max_us": 5000,
                "records_per_s": 4321.0,
                "mb_per_s": 1.75,
            }
        ],
        "latencies": [
            {**latency, "measure": "response", "group_id": "", "received": None},
            {**latency, "measure": "end_to_end", "group_id": "readers", "received": 8},
        ],
        "periods": [
            {
                **latency,
                "measure": "response",
                "group_id": "",
                "start_s": 0.0,
                "length_s": 2.0,
                "received": None,
            }
        ],
        "groups": [
            {
                "group_id": "readers",
                "received": 8,
                "received_per_s": 4.0,
                "lag_max": 9,
                "lag_at_the_end": 1,
            }
        ],
        "backlogs": [
            {
                "tenant": "reader",
                "group_id": "readers",
                "at_s": 0.5,
                "for_s": 1.0,
                "is_over": True,
                "backlog_records": 6_543,
                "usual_lag": 2,
                "recovered_in_s": None,
                "drained_records": 7,
                "drain_records_per_s": 14.0,
                "produced_records_per_s": 5.0,
            }
        ],
        "throttles": [
            {
                "tenant": "writer",
                "throttled": 2,
                "throttle_total_ms": 12_345,
                "throttle_max_ms": 400,
                "sent_early": 6,
                "early_max_us": 7_000,
                "responded_early": 8,
            }
        ],
        "shadow_quotas": [],
        "faults": [
            {
                "fault": 0,
                "name": "one is down",
                "action": "stop_broker",
                "intended_us": 500_000,
                "has_end": True,
                "begun_us": 510_000,
                "ended_us": 1_020_000,
                "broker_clock_ms": 1_767_000_000_000,
                "rule_id": None,
                "fired": None,
                "error": None,
            }
        ],
        "recoveries": [
            {
                "fault": "one is down",
                "tenant": "writer",
                "rate_before": 98.7,
                "first_success_us": 110_000,
                "longest_gap_us": 630_000,
                "recovered_us": 370_000,
                "recovered_within_s": 2.0,
                "observed_us": 980_000,
            }
        ],
        "requests": [request],
        "series": {
            "seconds": [
                {**second, "second": -1, "throttle_max_ms": 0},
                {**second, "second": 1, "throttle_max_ms": 400},
            ],
            "latencies": [{"second": 0, "tenant": "writer", "response_us": [100.0, 200.0, 3000.0]}],
            "lags": [{"group_id": "readers", "end_s": 0.1, "lag": 9}],
            "heat": {"cell_us": 100_000, "cells": [{"cell": 3, "bin": 4, "events": 12}]},
            "ids": [
                {"user": "<i>", "node": 1, "first_us": 100_000, "ids": 1},
                {"user": "<i>", "node": 2, "first_us": 200_000, "ids": 1},
            ],
            "mutations": [
                {"user": "ANONYMOUS", "tenant": "maker", "response_us": 5, "mutations": 3}
            ],
        },
        **changes,
    }
