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
    return {
        "plan": "small",
        "run_id": "small-1",
        "started": "then",
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
                "response_us": [1000.0, 2000.0, 3000.0, 4000.0],
                "response_max_us": 5000,
                "records_per_s": 4321.0,
                "mb_per_s": 1.75,
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
        "faults": [],
        "recoveries": [],
        "requests": [request],
        "series": {
            "seconds": [
                {**second, "second": -1, "throttle_max_ms": 0},
                {**second, "second": 1, "throttle_max_ms": 400},
            ],
            "latencies": [{"second": 0, "tenant": "writer", "response_us": [100.0, 200.0, 3000.0]}],
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
