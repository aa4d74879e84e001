"""Measure one-record Produce requests: server cost per request, responses per second."""

from collections.abc import Callable, Mapping

from benchmarks import load_process, raw_load
from benchmarks.report import Bar, Measurement
from benchmarks.server_process import ServerName, serve, two_cpus

REQUESTS = 200_000


def _load(
    connection_count: int, in_flight: int, *, is_idempotent: bool
) -> Callable[[ServerName], Mapping[str, float]]:
    def run(server_name: ServerName) -> Mapping[str, float]:
        server_cpu, client_cpu = two_cpus()
        with serve(server_name, cpu=server_cpu) as server:
            words = raw_load.command(
                server,
                connection_count=connection_count,
                in_flight=in_flight,
                requests=REQUESTS,
                is_idempotent=is_idempotent,
            )
            return load_process.run(words, client_cpu)

    return run


def _cost(rdmock_max: float, kfake_max: float) -> tuple[Bar, ...]:
    return (
        Bar("server_us_per_request", "at most", rdmock_max, is_ratio=True),
        Bar("server_us_per_request", "at most", kfake_max, is_ratio=True, rival="kfake"),
    )


MEASUREMENTS = (
    Measurement("produce", "1x50", _load(1, 50, is_idempotent=False), _cost(0.5, 0.4)),
    Measurement("produce", "100x1", _load(100, 1, is_idempotent=False), _cost(1.2, 0.8)),
    Measurement("produce", "1x50 idempotent", _load(1, 50, is_idempotent=True)),
    Measurement("produce", "100x1 idempotent", _load(100, 1, is_idempotent=True)),
)
