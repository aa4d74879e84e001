"""Measure how a throttled client changes the latencies of another user of the same broker.

python -m benchmarks.throttled_neighbour

One librdkafka producer sends single records and waits for each delivery, alternately alone and next
to another producer that sends as fast as it can and has its own quota. Quantiles are over all
rounds.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import confluent_kafka
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from benchmarks.report import print_line, progress
from mock_kafka import MockKafka

ROUNDS = 5
SECONDS_PER_ROUND = 6.0
BYTES_PER_SECOND = 1_000_000
RECORD = b"x" * 1000
QUANTILES = (0.5, 0.99)
TIMEOUT_S = 10.0


def latencies_ms(servers: str) -> list[float]:
    producer = confluent_kafka.Producer({"bootstrap.servers": servers, "linger.ms": 0})
    found = []
    end_s = time.perf_counter() + SECONDS_PER_ROUND
    while (begin_s := time.perf_counter()) < end_s:
        producer.produce("neighbours", RECORD)
        if producer.flush(TIMEOUT_S):
            raise RuntimeError("a record of the neighbour was not delivered")
        found.append((time.perf_counter() - begin_s) * 1000)
    return found


@contextmanager
def throttled_producer(servers: str) -> Iterator[list[int]]:
    """Run a throttled producer during the block; yield the list of its throttle times in ms."""
    throttle_times_ms: list[int] = []
    is_over = threading.Event()

    def note(event: confluent_kafka.ThrottleEvent) -> None:
        throttle_times_ms.append(round(event.throttle_time * 1000))

    def run() -> None:
        producer = confluent_kafka.Producer(
            {
                "bootstrap.servers": servers,
                "client.id": "throttled",
                "queue.buffering.max.messages": 2000,
                "throttle_cb": note,
            }
        )
        while not is_over.is_set():
            try:
                producer.produce("throttled", RECORD)
            except BufferError:
                producer.poll(0.01)
        producer.purge()
        producer.flush(TIMEOUT_S)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield throttle_times_ms
    finally:
        is_over.set()
        thread.join()


def main() -> None:
    alone: list[float] = []
    beside: list[float] = []
    waits: list[int] = []
    quota = f"client-id=throttled,producer_byte_rate={BYTES_PER_SECOND}"
    # The fewest windows: the burst before the first throttle is short.
    with MockKafka(config={"client.quotas": quota, "quota.window.num": 2}) as kafka:
        servers = kafka.bootstrap_servers
        topics = [NewTopic(name, 1) for name in ("neighbours", "throttled")]
        admin = AdminClient({"bootstrap.servers": servers})
        for created in admin.create_topics(topics).values():
            created.result(TIMEOUT_S)
        for number in range(ROUNDS):
            progress(f"throttled-neighbour: round {number + 1} of {ROUNDS}")
            alone += latencies_ms(servers)
            with throttled_producer(servers) as throttle_times_ms:
                beside += latencies_ms(servers)
            waits += throttle_times_ms
    figures: dict[str, float] = {
        "throttled_responses": len(waits),
        "throttle_time_max_ms": max(waits, default=0),
    }
    for name, values in (("alone", alone), ("beside", beside)):
        ordered = sorted(values)
        figures[f"requests_{name}"] = len(ordered)
        for share in QUANTILES:
            figures[f"p{share * 100:g}_{name}_ms"] = round(ordered[int(share * len(ordered))], 3)
    figures["p99_ratio"] = round(figures["p99_beside_ms"] / figures["p99_alone_ms"], 2)
    print_line(
        {
            "measurement": "throttled-neighbour",
            **figures,
            "command": "scripts/bench throttled-neighbour",
        }
    )


if __name__ == "__main__":
    main()
