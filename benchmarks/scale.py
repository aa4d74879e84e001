"""Many members, waiting fetches and TLS connections: none may be lost; bytes of each, and p99.

python -m benchmarks.scale [members] [fetches] [tls] [--count N]

Members and fetches use connections without sockets, in this process. The TLS connections come from
another process, over the loopback interface. Bytes are resident memory of the broker's process,
divided by the number. The status is 1 if something was lost.
"""

import argparse
import gc
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from statistics import median
from typing import Any
from uuid import uuid4

import broker.handlers  # noqa: F401 - registers every API
from benchmarks import load_process, request_bytes
from benchmarks.report import print_line, progress
from benchmarks.server_process import serve, status_bytes
from broker.cluster.cluster import Cluster
from broker.config.broker_config import BrokerConfig
from broker.dispatch.connection import Connection
from broker.dispatch.dispatcher import Dispatcher
from broker.request.context import RequestContext
from broker.server.certificates import write_certificates
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode

COUNTS = {"members": 10_000, "fetches": 100_000, "tls": 10_000}
NOW_MS = round(time.time() * 1000)
DELAY_MS = 60_000
WAIT_MS = 30_000
PARTITIONS = 1_000
TOPIC = "t"
GROUP = "g"
JOIN_VERSION, SYNC_VERSION, HEARTBEAT_VERSION = 3, 2, 2
FETCH_VERSION, PRODUCE_VERSION = 11, 8


class Peers:
    """Clients of one cluster that have a connection and no socket."""

    def __init__(self, **config: object) -> None:
        texts = {key.replace("_", "."): str(value) for key, value in config.items()}
        self.cluster = Cluster(
            BrokerConfig.from_overrides(texts), 1, cluster_id="scale", new_uuid=uuid4
        )
        self._dispatcher = Dispatcher(self.cluster, _raise)
        self._connections: list[Connection] = []
        self._ready: list[int] = []
        self.responses: dict[int, Any] = {}
        """The last response of each client."""
        self._requested: dict[int, tuple[ApiKey, int]] = {}

    def connect(self) -> int:
        """Open a connection; return its number."""
        number = len(self._connections)
        self._connections.append(
            Connection(
                self._dispatcher,
                broker_id=1,
                connection_id=number,
                client_host="127.0.0.1",
                frame_bytes_max=1_000_000,
                on_ready=lambda: self._ready.append(number),
            )
        )
        return number

    def send(self, number: int, request: Any, now_ms: int) -> float:
        """Send a request, take the response if there is one already; return the microseconds."""
        self._requested[number] = ApiKey(request.API_KEY), request.API_VERSION
        frame = request_bytes.frame_request(request, number)
        begun_us = time.perf_counter_ns() / 1000
        output = self._connections[number].receive(frame, now_ms)
        duration_us = time.perf_counter_ns() / 1000 - begun_us
        self._take(number, output)
        return duration_us

    def advance(self, now_ms: int) -> None:
        """Run the timers, and take the responses that have become ready."""
        self.cluster.timers.run_due(now_ms)
        while self._ready:
            ready, self._ready = self._ready, []
            for number in ready:
                self._take(number, self._connections[number].resume(now_ms))

    def _take(self, number: int, output: Any) -> None:
        assert output.close_reason is None, output.close_reason
        if output.write:
            api_key, version = self._requested[number]
            self.responses[number] = request_bytes.decode_response(api_key, version, output.write)
        if output.has_more:
            self._ready.append(number)


def _raise(error: BaseException, _context: RequestContext) -> None:
    raise error


def measure_members(count: int) -> dict[str, Any]:
    """Let members join one group, share its partitions, and send heartbeats."""
    peers = Peers(group_initial_rebalance_delay_ms=DELAY_MS, group_max_session_timeout_ms=1_800_000)
    # This creates __consumer_offsets.
    find_request = messages.FindCoordinatorRequest(version=1, key=GROUP, key_type=0)
    peers.send(peers.connect(), find_request, NOW_MS)
    peers.responses.clear()
    before_bytes = settled_bytes()
    join_class: Any = messages.JoinGroupRequest
    protocol = join_class.JoinGroupRequestProtocol(name="range", metadata=bytes(20))
    begun_s = time.perf_counter()
    for _ in range(count):
        request = join_class(
            version=JOIN_VERSION,
            group_id=GROUP,
            session_timeout_ms=1_800_000,
            rebalance_timeout_ms=600_000,
            member_id="",
            protocol_type="consumer",
            protocols=[protocol],
        )
        peers.send(peers.connect(), request, NOW_MS)
    # The delay is extended while members join, up to the rebalance timeout.
    for passed_ms in range(DELAY_MS, 700_000, DELAY_MS):
        peers.advance(now_ms := NOW_MS + passed_ms)
    joined = dict(peers.responses)
    joined_s = time.perf_counter() - begun_s
    bytes_each = (settled_bytes() - before_bytes) / count
    synced = _sync(peers, joined, now_ms)
    durations_us = []
    alive = 0
    for number, join in joined.items():
        request = messages.HeartbeatRequest(
            version=HEARTBEAT_VERSION,
            group_id=GROUP,
            generation_id=join.generation_id,
            member_id=join.member_id,
        )
        durations_us.append(peers.send(number, request, now_ms))
        alive += peers.responses[number].error_code == ErrorCode.NONE
    return {
        "case": f"{count} members of one group",
        "lost": count - min(len({join.member_id for join in joined.values()}), synced, alive),
        "bytes_each": round(bytes_each),
        "joined_s": round(joined_s, 2),
        "heartbeat_us_p99": p99(durations_us),
    }


def _sync(peers: Peers, joined: dict[int, Any], now_ms: int) -> int:
    """Distribute assignments; return how many members got theirs."""
    sync_class: Any = messages.SyncGroupRequest
    leaders = [number for number, join in joined.items() if join.leader == join.member_id]
    for number in [*(number for number in joined if number not in leaders), *leaders]:
        entries = [
            sync_class.SyncGroupRequestAssignment(
                member_id=member.member_id, assignment=member.member_id.encode()
            )
            for member in (joined[number].members if number in leaders else [])
        ]
        request = sync_class(
            version=SYNC_VERSION,
            group_id=GROUP,
            generation_id=joined[number].generation_id,
            member_id=joined[number].member_id,
            assignments=entries,
        )
        peers.send(number, request, now_ms)
    peers.advance(now_ms)
    return sum(
        bytes(peers.responses[number].assignment) == join.member_id.encode()
        for number, join in joined.items()
    )


def measure_fetches(count: int) -> dict[str, Any]:
    """Let fetches wait for records, write to each partition, and let the rest time out."""
    peers = Peers(num_partitions=PARTITIONS, log_retention_ms=-1)
    peers.cluster.create_topic(TOPIC, [(1,)] * PARTITIONS, {})
    fetch_class: Any = messages.FetchRequest
    partition_class = fetch_class.FetchTopic.FetchPartition
    requests = []
    for partition in range(PARTITIONS):
        requested = partition_class(
            partition=partition,
            current_leader_epoch=-1,
            fetch_offset=0,
            log_start_offset=-1,
            partition_max_bytes=1_000_000,
        )
        request = fetch_class(
            version=FETCH_VERSION,
            replica_id=-1,
            max_wait_ms=WAIT_MS,
            min_bytes=1,
            max_bytes=1_000_000,
            isolation_level=0,
            session_id=0,
            session_epoch=-1,
            topics=[fetch_class.FetchTopic(topic=TOPIC, partitions=[requested])],
            forgotten_topics_data=[],
            rack_id="",
        )
        requests.append(request)
    before_bytes = settled_bytes()
    for number in range(count):
        peers.send(peers.connect(), requests[number % PARTITIONS], NOW_MS)
    bytes_each = (settled_bytes() - before_bytes) / count
    assert not peers.responses
    producer = peers.connect()
    durations_us = []
    for partition in range(PARTITIONS // 2):
        durations_us.append(peers.send(producer, _produce_request(partition), NOW_MS))
        peers.advance(NOW_MS)
    del peers.responses[producer]
    with_records = len(peers.responses)
    begun_s = time.perf_counter()
    peers.advance(NOW_MS + WAIT_MS)
    answers = [
        peers.responses[number].responses[0].partitions[0] if number in peers.responses else None
        for number in range(count)
    ]
    right = sum(
        answer is not None and bool(answer.records) == (number % PARTITIONS < PARTITIONS // 2)
        for number, answer in enumerate(answers)
    )
    return {
        "case": f"{count} fetches that wait on {PARTITIONS} partitions",
        "lost": count - right,
        "answered_with_records": with_records,
        "bytes_each": round(bytes_each),
        "append_us_median": round(median(durations_us), 1),
        "append_us_p99": p99(durations_us),
        "timed_out_in_s": round(time.perf_counter() - begun_s, 2),
    }


def _produce_request(partition: int) -> Any:
    request_class: Any = messages.ProduceRequest
    data_class = request_class.TopicProduceData
    records = request_bytes.record_batch(-1, -1, -1)
    data = data_class.PartitionProduceData(index=partition, records=records)
    return request_class(
        version=PRODUCE_VERSION,
        transactional_id=None,
        acks=-1,
        timeout_ms=1000,
        topic_data=[data_class(name=TOPIC, partition_data=[data])],
    )


def measure_tls(count: int) -> dict[str, Any]:
    """Open TLS connections from another process, and send a request on each, twice."""
    with tempfile.TemporaryDirectory() as folder:
        write_certificates(Path(folder), ["127.0.0.1"], [], int(time.time() * 1000))
        options = ["listeners=SSL://127.0.0.1:0", f"ssl.keystore.location={folder}/server.pem"]
        with serve("ours", options=options) as server:
            host, port = server.address
            words = ["benchmarks.tls_connections", host, str(port), str(count)]
            result = load_process.run([*words, f"{folder}/ca.pem", str(server.pid)])
    return {"case": f"{count} TLS connections", **result}


def settled_bytes() -> int:
    """Return the resident memory of this process without garbage."""
    gc.collect()
    return status_bytes(os.getpid(), "VmRSS")


def p99(durations: Sequence[float]) -> float:
    """Return the 99th percentile."""
    return round(sorted(durations)[int(len(durations) * 0.99)], 1)


MEASUREMENTS: dict[str, Callable[[int], dict[str, Any]]] = {
    "members": measure_members,
    "fetches": measure_fetches,
    "tls": measure_tls,
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale")
    parser.add_argument("names", nargs="*", help=", ".join(MEASUREMENTS))
    parser.add_argument("--count", type=int, help="another number, for all")
    options = parser.parse_args()
    lost = 0
    for name in options.names or MEASUREMENTS:
        progress(f"scale: {name}")
        result = MEASUREMENTS[name](options.count or COUNTS[name])
        lost += result["lost"]
        line = {"measurement": "scale", **result, "bar": "lost 0", "met": not result["lost"]}
        print_line({**line, "command": f"scripts/bench scale ({name})"})
    return int(lost > 0)


if __name__ == "__main__":
    with suppress(BrokenPipeError):
        sys.exit(main())
