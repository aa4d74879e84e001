"""Measure the time between tests: reset of a running cluster, and start of a new one.

python -m benchmarks.reset

Each reset follows a small test: a topic, a fault, clients that are still connected. Times are from
the call to its return, in this process; `starts_per_reset` is the time of a start divided by that
of a reset. A missed bar is reported and is not a failure.
"""

import socket
import statistics
import sys
import time

from benchmarks.report import print_line
from mock_kafka import MockKafka

RESETS = 300
STARTS = 3
CONNECTIONS = 3
RESET_MS_MAX = 5.0


def start_ms() -> float:
    begun_s = time.perf_counter()
    with MockKafka(brokers=3):
        return (time.perf_counter() - begun_s) * 1000


def reset_ms(kafka: MockKafka) -> float:
    kafka.create_topic("orders", partitions=6)
    kafka.fail(api="Fetch", error="UNKNOWN_SERVER_ERROR")
    clients = []
    for server in kafka.bootstrap_servers_list[:CONNECTIONS]:
        host, _, port = server.rpartition(":")
        clients.append(socket.create_connection((host, int(port))))
    kafka.requests(limit=1)
    begun_s = time.perf_counter()
    kafka.reset()
    duration_ms = (time.perf_counter() - begun_s) * 1000
    for client in clients:
        client.close()
    return duration_ms


def main() -> int:
    starts = [start_ms() for _ in range(STARTS)]
    with MockKafka(brokers=3) as kafka:
        resets = sorted(reset_ms(kafka) for _ in range(RESETS))
    median_ms = statistics.median(resets)
    print_line(
        {
            "measurement": "reset",
            "case": f"3 brokers, a topic, a fault, {CONNECTIONS} connections",
            "resets": RESETS,
            "reset_ms": round(median_ms, 2),
            "reset_ms_p99": round(resets[int(RESETS * 0.99)], 2),
            "start_ms": round(min(starts), 1),
            "starts_per_reset": round(min(starts) / median_ms),
            "bar": f"reset_ms at most {RESET_MS_MAX}",
            "met": median_ms <= RESET_MS_MAX,
            "command": "scripts/bench reset",
        }
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
