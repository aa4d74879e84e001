"""Measure requests other than Produce beside the rivals: server cost per request.

librdkafka's mock cluster does not take part: it has no consumer groups of KIP-848 and no fetch
sessions, and stores less.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack

from benchmarks import fetch_load, raw_load, request_load, transactions
from benchmarks.cost_clock import Cost
from benchmarks.report import Bar, Measurement
from benchmarks.request_bytes import UnmeasuredConnection, produce_requests
from benchmarks.server_process import ServerName, ServerProcess, pinned, serve, two_cpus
from protocol.api_keys import ApiKey

REQUESTS = 20_000
SERVERS: tuple[ServerName, ...] = ("ours", "kfake", "kafka")
METADATA_REQUESTS = 800
"""Of a thousand topics each."""
READ_RECORDS = 1_000_000
TRANSACTION_ROUNDS = 5
IDLE_CONNECTIONS = 1_000
BUSY_REQUESTS = 20_000
BUSY_ROUNDS = 5
IN_FLIGHT = 50

Figures = Mapping[str, float]


def _served(measure: Callable[[ServerProcess], Figures]) -> Callable[[ServerName], Figures]:
    """Return a measurement with a server on one CPU; the load is on the other."""

    def run(server_name: ServerName) -> Figures:
        server_cpu, client_cpu = two_cpus()
        with serve(server_name, cpu=server_cpu) as server, pinned(client_cpu):
            return measure(server)

    return run


def _request(
    case: str, request_count: int = REQUESTS, servers: Sequence[ServerName] = SERVERS
) -> Measurement:
    def measure(server: ServerProcess) -> Figures:
        return request_load.measure(server, request_load.CASES[case], request_count)

    bar = Bar("server_us_per_request", "at most", 1.5, is_ratio=True, rival="kfake")
    return Measurement("requests", case, _served(measure), (bar,), tuple(servers))


def _fetch(
    case: str,
    load: Callable[[ServerProcess, ExitStack, int], tuple[Cost, int]],
    record_count: int = REQUESTS,
    servers: Sequence[ServerName] = SERVERS,
) -> Measurement:
    def measure(server: ServerProcess) -> Figures:
        with ExitStack() as sockets:
            cost, count = load(server, sockets, record_count)
        return {
            "server_us_each": cost.server_s / count * 1e6,
            "per_s": count / cost.wall_s,
            **cost.shares(),
        }

    bar = Bar("server_us_each", "at most", 1.0, is_ratio=True, rival="kfake")
    return Measurement("requests", case, _served(measure), (bar,), tuple(servers))


def _transactions(server: ServerProcess) -> Figures:
    """Return the cost of a transaction with one record, from Produce to the end of EndTxn."""
    costs_us = transactions.transaction_costs_us(server, TRANSACTION_ROUNDS)
    return {"server_us_per_transaction": min(costs_us)}


def _idle_connections(server: ServerProcess) -> Figures:
    """Return what a Produce request costs alone and beside idle connections, which take turns."""
    costs_us: dict[bool, list[float]] = {False: [], True: []}
    with UnmeasuredConnection(server.address) as admin, ExitStack() as sockets:
        admin.create_topic(raw_load.TOPIC)
        requests = produce_requests(raw_load.TOPIC, BUSY_REQUESTS)
        busy = raw_load.LoadConnection.open(server.address, lambda _connection: requests)
        sockets.enter_context(busy.socket)
        response_bytes = len(raw_load.first_response(busy))
        for _ in range(BUSY_ROUNDS + 1):
            for is_beside in (False, True):
                with ExitStack() as idle:
                    for _ in range(IDLE_CONNECTIONS if is_beside else 0):
                        connection = UnmeasuredConnection(server.address)
                        idle.enter_context(connection)
                        connection.offers(ApiKey.PRODUCE)
                    timing = raw_load.run_pipelined(
                        server.pid, busy, 0, BUSY_REQUESTS, IN_FLIGHT, response_bytes
                    )
                busy.responses.clear()
                costs_us[is_beside].append(timing.cost.server_s / BUSY_REQUESTS * 1e6)
    alone_us, beside_us = (min(costs_us[is_beside][1:]) for is_beside in (False, True))
    return {
        "alone_us_per_request": alone_us,
        "beside_us_per_request": beside_us,
        "beside_to_alone": beside_us / alone_us,
    }


MEASUREMENTS = (
    _request("heartbeat"),
    _request("consumer-heartbeat"),
    _request("offset-commit"),
    _request("metadata-10"),
    _request("metadata-1000", METADATA_REQUESTS),
    _request("metadata-all-1000", METADATA_REQUESTS),
    # Apache Kafka refuses some of so many requests: it gets its ids in blocks of a thousand.
    _request("init-producer-id", servers=SERVERS[:2]),
    Measurement(
        "requests",
        "transaction",
        _served(_transactions),
        (Bar("server_us_per_transaction", "at most", 1.5, is_ratio=True, rival="kfake"),),
        # Apache Kafka refuses a transaction that follows too soon (CONCURRENT_TRANSACTIONS).
        SERVERS[:2],
    ),
    # Apache Kafka sometimes ends a wait without the record, and this load does not ask again.
    _fetch("fetch of a consumer that keeps up", fetch_load.follow, servers=SERVERS[:2]),
    _fetch("fetch of 100 consumers that wait", fetch_load.wait),
    _fetch("read back", fetch_load.read_back, READ_RECORDS),
    _fetch("read synthetic", fetch_load.read_synthetic, READ_RECORDS, servers=SERVERS[:1]),
    Measurement(
        "requests",
        f"{IDLE_CONNECTIONS} idle connections beside a busy one",
        _served(_idle_connections),
        (Bar("beside_to_alone", "at most", 1.05),),
        SERVERS,
    ),
)
