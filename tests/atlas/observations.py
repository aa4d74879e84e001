"""Observations of the atlas by hand: commands, deliveries, requests and records in few words."""

from collections.abc import Mapping, Sequence
from typing import Any

from atlas.experiment import Command, Delivery, Observation, Phase, SeenRequest, StoredRecord


def command(
    number: int,
    name: str,
    outcome: str = "done",
    *,
    phase: Phase = "main",
    sent_ms: float = 0.0,
    ended_ms: float | None = 1.0,
    values: Mapping[str, Any] | None = None,
    **arguments: Any,
) -> Command:
    """Return a command that ended after a millisecond."""
    ended_ms = None if outcome in {"unanswered", "ended"} else ended_ms
    return Command(number, name, arguments, phase, sent_ms, outcome, ended_ms, values or {})


def failure(error: str = "KafkaError", kind: str = "unknown") -> dict[str, str]:
    """Return the fields of an event `failed`."""
    return {"error": error, "class": kind, "message": ""}


def send(number: int, value: str, outcome: str = "done", *, topic: str = "orders") -> Command:
    """Return a send to partition 0; one that failed has an error."""
    values = failure() if outcome == "failed" else {}
    return command(
        number, "send", outcome, values=values, topic=topic, partition=0, value=value, producer="p"
    )


def delivered(number: int, at_ms: float = 10.0) -> Delivery:
    """Return the report of a success."""
    return Delivery(number, at_ms, offset=0)


def undelivered(number: int, kind: str = "retriable", at_ms: float = 10.0) -> Delivery:
    """Return the report of an error."""
    return Delivery(number, at_ms, error="SomeError", error_class=kind)


def poll(number: int, *offsets: int, consumer: str = "c", value: str = "{}") -> Command:
    """Return a poll that gave the records at these offsets of orders-0."""
    records = [
        {"topic": "orders", "partition": 0, "offset": offset, "value": value.format(offset)}
        for offset in offsets
    ]
    return command(number, "poll", values={"records": records}, consumer=consumer)


def closed(number: int) -> Command:
    """Return the command that closed a client."""
    return command(number, "close", phase="close", id="p")


def log(*values: str, topic: str = "orders", transaction: str | None = None) -> list[StoredRecord]:
    """Return the log of partition 0."""
    return [
        StoredRecord(topic, 0, offset, value, transaction) for offset, value in enumerate(values)
    ]


def request(
    number: int,
    at_ms: int,
    api: str = "Produce",
    *errors: str,
    latency_ms: float | None = 1.0,
    connection: int = 1,
    throttle_time_ms: int = 0,
    is_muted: bool = False,
    records: tuple[Any, ...] = (),
) -> SeenRequest:
    """Return a request to topic orders; without a latency it has no response."""
    return SeenRequest(
        number=number,
        at_ms=at_ms,
        broker=1,
        connection=connection,
        api=api,
        api_version=9,
        size_bytes=100,
        outcome="responded" if latency_ms is not None else "client disconnected",
        phase="main",
        errors=errors,
        throttle_time_ms=throttle_time_ms,
        is_muted=is_muted,
        latency_ms=latency_ms,
        topics=("orders",),
        records=records,
    )


def seen(
    commands: Sequence[Command] = (),
    deliveries: Sequence[Delivery] = (),
    records: Sequence[StoredRecord] = (),
    requests: Sequence[SeenRequest] = (),
) -> Observation:
    """Return what was seen of a client that is usable and has closed its connections."""
    return Observation(
        tuple(commands), tuple(deliveries), tuple(requests), tuple(records), is_usable=True
    )
