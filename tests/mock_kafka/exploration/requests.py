"""Requests as the journal shows them, for tests without a cluster."""

from typing import Any

from mock_kafka.views import Request


def request_of(number: int, api: str, received_ms: int = 0, **fields: Any) -> Request:
    known: dict[str, Any] = {
        "broker": 1,
        "client_host": "127.0.0.1",
        "outcome": "responded",
        "connection": 1,
        "client_id": "service",
        "version": 9,
        "duration_us": 1000,
    }
    return Request(number, received_ms, api=api, **{**known, **fields})
