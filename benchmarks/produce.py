"""Measure Produce requests of one record, of 20 partitions, and of a real client.

The figures are server cost per request, responses per second and latencies.
"""

from collections.abc import Callable, Mapping

from benchmarks import acl_rules, load_process, raw_load
from benchmarks.report import Bar, Measurement
from benchmarks.server_process import ServerName, serve, two_cpus

REQUESTS = 200_000
LATENCY_REQUESTS = 30_000
PARTITIONS = 20
"""In each request of the case with many partitions."""
PARTITIONED_REQUESTS = 10_000
CLIENT_RECORDS = 20_000
RIVALS: tuple[ServerName, ...] = ("ours", "kfake")
"""Those that can be asked for a topic with 20 partitions, and respond in the order of a request."""


def _load(
    connection_count: int,
    in_flight: int,
    *,
    is_idempotent: bool = False,
    requests: int = REQUESTS,
    partition_count: int = 1,
    has_rules: bool = False,
) -> Callable[[ServerName], Mapping[str, float]]:
    def run(server_name: ServerName) -> Mapping[str, float]:
        server_cpu, client_cpu = two_cpus()
        options = acl_rules.OPTIONS if has_rules else ()
        with serve(server_name, cpu=server_cpu, options=options) as server:
            if has_rules:
                acl_rules.create(server.address, raw_load.TOPIC)
            words = raw_load.command(
                server,
                connection_count=connection_count,
                in_flight=in_flight,
                requests=requests,
                is_idempotent=is_idempotent,
                partition_count=partition_count,
            )
            return load_process.run(words, client_cpu)

    return run


def _client(server_name: ServerName) -> Mapping[str, float]:
    """Send records by confluent-kafka, one in each request."""
    server_cpu, client_cpu = two_cpus()
    with serve(server_name, cpu=server_cpu) as server:
        words = ["benchmarks.batched_client", "produce-singly", server.bootstrap_servers]
        words += [str(server.pid), "--records", str(CLIENT_RECORDS)]
        return load_process.run(words, client_cpu)


def _at_most_kfake(limits: Mapping[str, float], *, is_timing: bool = False) -> tuple[Bar, ...]:
    return tuple(
        Bar(figure, "at most", limit, is_ratio=True, is_timing=is_timing, rival="kfake")
        for figure, limit in limits.items()
    )


def _cost(rdmock_max: float, kfake_max: float) -> tuple[Bar, ...]:
    return (
        Bar("server_us_per_request", "at most", rdmock_max, is_ratio=True),
        Bar("server_us_per_request", "at most", kfake_max, is_ratio=True, rival="kfake"),
    )


MEASUREMENTS = (
    Measurement("produce", "1x50", _load(1, 50), _cost(0.5, 0.4)),
    Measurement("produce", "100x1", _load(100, 1), _cost(1.2, 0.8)),
    Measurement("produce", "1x50 idempotent", _load(1, 50, is_idempotent=True)),
    Measurement("produce", "100x1 idempotent", _load(100, 1, is_idempotent=True)),
    Measurement("produce", "1x50 with rules", _load(1, 50, has_rules=True), (), ("ours",)),
    Measurement("produce", "100x1 with rules", _load(100, 1, has_rules=True), (), ("ours",)),
    Measurement(
        "produce",
        "1x1",
        _load(1, 1, requests=LATENCY_REQUESTS),
        _at_most_kfake({"p50_us": 1.1, "p99_us": 1.1}, is_timing=True),
    ),
    Measurement(
        "produce",
        f"1x5 of {PARTITIONS} partitions",
        _load(1, 5, requests=PARTITIONED_REQUESTS, partition_count=PARTITIONS),
        _at_most_kfake({"server_us_per_request": 0.6}),
        RIVALS,
    ),
    Measurement(
        "produce",
        f"1x5 of {PARTITIONS} partitions idempotent",
        _load(1, 5, requests=PARTITIONED_REQUESTS, partition_count=PARTITIONS, is_idempotent=True),
        _at_most_kfake({"server_us_per_request": 0.6}),
        RIVALS,
    ),
    Measurement(
        "produce",
        "confluent-kafka, one record a request",
        _client,
        _at_most_kfake({"server_us_per_record": 1.0}),
    ),
)
