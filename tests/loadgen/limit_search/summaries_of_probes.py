"""Make the summary of a probe with known figures."""

from typing import Any

PASSED = {"check": "stored once", "scope": "tenant a", "verdict": "passed", "details": "1"}
FAILED = PASSED | {"verdict": "failed"}
LATE = {"check": "lateness", "scope": "this run", "verdict": "failed", "details": "9 ms"}


def summary_of(p99_ms: float = 3.0, **changes: Any) -> dict[str, Any]:
    """Return the summary of a run with one tenant; `changes` replace its values."""
    row = {"tenant": "a", "api": "Produce", "kind": "new"}
    return {
        "seed": 1,
        "responses_per_s": 90.0,
        "abort_reasons": [],
        "verdicts": [PASSED],
        "tenants": [
            {
                "tenant": "a",
                "events": 100,
                "completed": 99,
                "response_us": [1000.0, 2000.0, p99_ms * 1000, 9000.0],
                "response_max_us": 10_000,
            }
        ],
        "requests": [
            row | {"status": "responded", "error": "NONE", "requests": 95},
            row | {"status": "responded", "error": "NOT_ENOUGH_REPLICAS", "requests": 2},
            row | {"status": "lost", "error": "", "requests": 2},
            row | {"status": "no_response", "error": "", "requests": 1},
        ],
        "throttles": [{"tenant": "a", "throttled": 5}],
        **changes,
    }
