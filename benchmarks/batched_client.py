"""The load of a real client: a confluent-kafka producer, or a consumer that reads all of it back.

A separate program (`python -m benchmarks.batched_client --help`); prints its figures as JSON.
Record n has a value that starts with n; record 0 is sent before the clock starts, so that
connection, producer id and leader are known.
"""

import argparse
import json
import sys
import time
from typing import Any

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from benchmarks.cost_clock import CostClock
from benchmarks.request_bytes import VALUE_BYTES

TOPIC = "batched"
PARTITION = 0
NUMBER_BYTES = 10
HANDED = 10_000
"""Records per call of the client; librdkafka chooses the size of its batches."""
FLUSH_SECONDS_MAX = 120
CONSUME_SECONDS_MAX = 120


def value_of(number: int) -> bytes:
    """Return the value of a record: its number and padding."""
    return b"%0*d" % (NUMBER_BYTES, number) + b"x" * (VALUE_BYTES - NUMBER_BYTES)


SINGLY: dict[str, Any] = {
    "enable.idempotence": False,
    "max.in.flight": 5,
    "linger.ms": 0,
    "batch.num.messages": 1,
}
"""The settings of a producer that sends one record in each request."""


def produce(
    bootstrap_servers: str, server_pid: int, records: int, settings: dict[str, Any] | None = None
) -> dict[str, float]:
    """Send `records` records after record 0; return the figures."""
    failures: list[Any] = []

    def note_failure(error: Any, _message: Any) -> None:
        failures.append(error)

    producer = Producer(
        {
            "bootstrap.servers": bootstrap_servers,
            "enable.idempotence": True,
            "acks": "all",
            "linger.ms": 5,
            # Space for all records: a full queue would measure this loop, not the server.
            "queue.buffering.max.messages": records + 1,
            "queue.buffering.max.kbytes": 2_000_000,
            "delivery.report.only.error": True,
            **(settings or {}),
        }
    )
    producer.produce(TOPIC, value_of(0), partition=PARTITION, on_delivery=note_failure)
    if producer.flush(FLUSH_SECONDS_MAX) or failures:
        raise SystemExit(f"the first record was not delivered: {failures}")
    # One call per record costs more in Python than in librdkafka: pass batches.
    batches = [
        [{"value": value_of(number)} for number in range(first, min(first + HANDED, records + 1))]
        for first in range(1, records + 1, HANDED)
    ]
    clock = CostClock(server_pid)
    queued = sum(
        producer.produce_batch(TOPIC, batch, partition=PARTITION, on_delivery=note_failure)
        for batch in batches
    )
    queued_s = clock.stop().wall_s
    left = producer.flush(FLUSH_SECONDS_MAX)
    cost = clock.stop()
    if left or failures or queued != records:
        raise SystemExit(f"{queued} queued, {left} left, {len(failures)} failed: {failures[:1]}")
    return {
        "records_per_s": records / cost.wall_s,
        "seconds": cost.wall_s,
        "queued_after_s": queued_s,
        "server_us_per_record": cost.server_s / records * 1e6,
        **cost.shares(),
    }


def consume(bootstrap_servers: str, server_pid: int, records: int) -> dict[str, float]:
    """Read records 0 to `records` and check that all numbers arrive in order."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap_servers,
            "group.id": "batched",
            "enable.auto.commit": False,
            "auto.offset.reset": "error",
            # With the defaults the client pauses for a second at a time.
            "queued.min.messages": 10_000_000,
            "queued.max.messages.kbytes": 2_000_000,
        }
    )
    consumer.assign([TopicPartition(TOPIC, PARTITION, 0)])
    clock, started_s = CostClock(server_pid), time.monotonic()
    first_s = 0.0
    expected = 0
    while expected <= records:
        if time.monotonic() - started_s > CONSUME_SECONDS_MAX:
            raise SystemExit(f"only {expected} of {records} records after {CONSUME_SECONDS_MAX} s")
        messages = consumer.consume(10_000, timeout=0.5)
        if messages and not expected:
            first_s = time.monotonic()
        for message in messages:
            if message.error():
                raise KafkaException(message.error())
            number = int(message.value()[:NUMBER_BYTES])
            if number != expected or message.offset() != expected:
                raise SystemExit(
                    f"record {number} at offset {message.offset()} instead of {expected}"
                )
            expected += 1
    end_s = time.monotonic()
    cost = clock.stop()
    consumer.close()
    return {
        "consumed_records": expected - 1,
        "consumed_records_per_s_after_first": records / (end_s - first_s),
        "consume_seconds": cost.wall_s,
        "consume_server_us_per_record": cost.server_s / records * 1e6,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("action", choices=["produce", "produce-singly", "consume"])
    parser.add_argument("bootstrap_servers")
    parser.add_argument("server_pid", type=int)
    parser.add_argument("--records", type=int, default=1_000_000)
    arguments = parser.parse_args()
    given = arguments.bootstrap_servers, arguments.server_pid, arguments.records
    if arguments.action == "consume":
        figures = consume(*given)
    else:
        figures = produce(*given, None if arguments.action == "produce" else SINGLY)
    sys.stdout.write(json.dumps(figures))


if __name__ == "__main__":
    main()
