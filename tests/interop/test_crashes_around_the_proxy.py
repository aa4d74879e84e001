"""kill -9 of brokers, of the proxy and of clients: nothing acknowledged is lost or doubled."""

import random
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import confluent_kafka
import pytest

from scenarios.clients.confluent_kafka import create_topic
from scenarios.maven import CannotRunError
from tests.interop.client_program import RunningProgram
from tests.interop.go_and_node_clients import CLIENTS
from tests.interop.java_clients import compile_java_clients
from tests.interop.proxied_apache_cluster import ProxiedCluster, serving_proxied
from tests.soak.log_numbers import LogNumbers, read_numbers
from tests.soak.programs import RunningClient, drain, starters
from tests.soak.run import report_of, violations_of

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("jvm")]
RATE = 50
RUN_S = 4
DOWN_S = 2
COPY_TIMEOUT_S = 300
"""Longer than the sessions of members that were killed."""
PARTITIONS = 3
WRITTEN = 200
COPIED = 5 * WRITTEN
LEFT_TO_USERS = "|".join(
    (
        "EOF",
        "connection re(set|fused)",
        "broken pipe",
        "KafkaJSConnection",
        "closed the connection",
        "fewer in-sync replicas",
    )
)
"""Errors after which franz-go and kafkajs leave it to their users to begin again."""
Start = Callable[[int], RunningProgram]


@pytest.fixture(params=[False, True], ids=["passed", "looked-at"])
def proxied(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ProxiedCluster]:
    """Three brokers behind a proxy that passes bytes, or that looks at each request."""
    folder = tmp_path / "cluster"
    folder.mkdir()
    try:
        with serving_proxied(folder, is_looked_at=request.param) as proxied:
            yield proxied
    except CannotRunError as error:
        pytest.skip(str(error))


def crash_broker(proxied: ProxiedCluster, node_id: int) -> None:
    """Kill a broker, and start it again."""
    proxied.cluster.brokers[node_id].kill()
    time.sleep(DOWN_S)
    proxied.cluster.brokers[node_id].start()


def crash_proxy(proxied: ProxiedCluster) -> None:
    """Kill the proxy, and start it again."""
    proxied.kill_proxy()
    time.sleep(DOWN_S)
    proxied.proxy.start()


def crash_both(proxied: ProxiedCluster) -> None:
    """Kill a broker and the proxy, which does not find that broker when it starts."""
    proxied.cluster.brokers[2].kill()
    proxied.kill_proxy()
    time.sleep(DOWN_S)
    proxied.proxy.start()
    time.sleep(RUN_S)
    proxied.cluster.brokers[2].start()


def test_idempotent_producers_and_groups_of_five_clients(
    proxied: ProxiedCluster, tmp_path: Path
) -> None:
    started = starters(tmp_path)
    clients: list[RunningClient] = []
    topics = {name: f"crashes-{name}" for name in [*started, "killed"]}
    for topic in topics.values():
        create_topic(proxied.servers, topic, PARTITIONS, 3)
    try:
        for name, start in started.items():
            clients.append(start(proxied.servers, topics[name], RATE))
        killed = started["java"](proxied.servers, topics["killed"], RATE)
        clients.append(killed)
        time.sleep(2 * RUN_S)
        crash_broker(proxied, 2)
        time.sleep(RUN_S)
        crash_proxy(proxied)
        time.sleep(RUN_S)
        killed.kill()
        clients.remove(killed)
        crash_broker(proxied, 3)
        time.sleep(RUN_S)
        crash_both(proxied)
        time.sleep(RUN_S)
        drain(clients)
        stored = {name: read_numbers(proxied.direct_servers, topics[name]) for name in topics}
        reports = [report_of(client, client.end(), stored[client.name]) for client in clients]
    finally:
        for client in clients:
            client.kill()
    assert [violation for report in reports for violation in violations_of(report)] == []
    assert_kept(killed, stored["killed"])
    assert all(report.acked > 10 * RATE for report in reports), reports


def assert_kept(killed: RunningClient, stored: LogNumbers) -> None:
    """What a client that was killed had heard is stored once."""
    assert killed.acked
    assert killed.acked <= stored.places.keys()
    assert stored.duplicates == []


@pytest.mark.parametrize("library", ["java", *CLIENTS])
def test_copies_in_transactions(proxied: ProxiedCluster, tmp_path: Path, library: str) -> None:
    source, target = "numbers", "numbers-copy"
    for topic in (source, target):
        create_topic(proxied.servers, topic, 2, 3)
    start = starter(proxied, tmp_path, library, source)
    crashes = [
        lambda: crash_broker(proxied, 2),
        lambda: crash_proxy(proxied),
        lambda: crash_broker(proxied, 3),
        lambda: crash_proxy(proxied),
    ]
    random.Random(library).shuffle(crashes)
    program = start(COPIED)
    written = 0
    deadline = time.monotonic() + COPY_TIMEOUT_S
    try:
        while (copied := len(proxied.committed(target, 2))) < COPIED:
            assert time.monotonic() < deadline, f"{copied} of {COPIED} are copied"
            if written < COPIED and copied == written:
                # Each crash comes while the next numbers are copied.
                write_numbers(proxied.direct_servers, source, range(written, written + WRITTEN))
                written += WRITTEN
                if copied:
                    crashes.pop()()
                if len(crashes) == 2:
                    program.kill()
            if program.poll() is not None:
                _, error = program.communicate()
                assert program.returncode <= 0 or re.search(LEFT_TO_USERS, error), error
                program = start(COPIED - copied)
            time.sleep(0.5)
    finally:
        program.kill()
        program.wait()
        assert program.stderr is not None
        program.stderr.close()
    assert not crashes
    assert Counter(proxied.committed(target, 2)) == {b"%d" % n: 1 for n in range(COPIED)}


def write_numbers(servers: str, topic: str, numbers: range) -> None:
    producer = confluent_kafka.Producer({"bootstrap.servers": servers, "acks": "all"})
    for number in numbers:
        producer.produce(topic, str(number), partition=number % 2)
    assert producer.flush(COPY_TIMEOUT_S) == 0


def starter(proxied: ProxiedCluster, folder: Path, library: str, source: str) -> Start:
    """Return what starts a program that copies, given how many records are left."""
    group = "copies"
    if library == "java":
        java = compile_java_clients("4.4.0")
        config = {
            "group_id": group,
            "transactional_id": group,
            "auto_offset_reset": "earliest",
            "session_timeout_ms": 6000,
        }
        return lambda count: java.start("copy", proxied.servers, source, count, **config)
    program = CLIENTS[library](folder)
    return lambda count: program.start("copy", proxied.servers, source, count, group)
