"""Unchanged clients through the proxy, to our broker and to Apache Kafka."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from mock_kafka import KafkaProxy
from mock_kafka.broker_process import BrokerProcess
from scenarios.clients.interface import Client, Record, by_partition

RECORDS = [Record(b"value %d" % number, partition=number % 2) for number in range(40)]
START_TIMEOUT_S = 30.0


class Proxies:
    """The proxies of this module, by the cluster behind them and whether requests are looked at."""

    def __init__(self, files: ExitStack) -> None:
        self._files = files
        self._passing: dict[str, str] = {}
        self._looking: dict[str, KafkaProxy] = {}

    def passing(self, servers: str) -> str:
        """Return the bootstrap servers of a proxy without admin port, rules and journal."""
        if servers not in self._passing:
            arguments = ["proxy", "--until-stdin-closes", "--to", servers, "--port", "0"]
            process = BrokerProcess(arguments, START_TIMEOUT_S)
            self._files.callback(process.end, 5.0)
            self._passing[servers] = process.bootstrap_servers
        return self._passing[servers]

    def looking(self, servers: str) -> KafkaProxy:
        """Return a proxy with a journal, without rules."""
        if servers not in self._looking:
            self._looking[servers] = self._files.enter_context(KafkaProxy(to=servers))
        self._looking[servers].reset()
        return self._looking[servers]


@pytest.fixture(scope="module")
def proxies() -> Iterator[Proxies]:
    with ExitStack() as files:
        yield Proxies(files)


def check_round_trip(client: Client, servers: str, topic: str) -> None:
    """Produce, read, and read in a group that commits."""
    client.create_topic(servers, topic, 2, 1)
    sent = client.produce(servers, topic, RECORDS, is_idempotent=True)
    assert by_partition(client.read(servers, topic, 2, len(sent))) == by_partition(sent)
    member = client.join(servers, topic, f"{topic}.group")
    found: list[Record] = []
    while len(found) < len(sent):
        found += member.poll()
    member.commit()
    assert member.committed(0) is not None
    member.close()
    assert by_partition(found) == by_partition(sent)


def test_clients_do_the_same_through_a_proxy_that_looks_at_nothing(
    client: Client, servers: str, topic: str, proxies: Proxies
) -> None:
    check_round_trip(client, proxies.passing(servers), topic)


def test_clients_do_the_same_through_a_proxy_with_a_journal(
    client: Client, servers: str, topic: str, proxies: Proxies
) -> None:
    proxy = proxies.looking(servers)
    check_round_trip(client, proxy.bootstrap_servers, topic)
    assert {request.broker for request in proxy.requests(api="Produce")} == {1}
    assert proxy.requests(topic=topic, api="Fetch")


def test_nothing_is_lost_or_doubled_under_faults(
    client: Client, servers: str, topic: str, proxies: Proxies
) -> None:
    proxy = proxies.looking(servers)
    client.create_topic(proxy.bootstrap_servers, topic, 2, 1)
    proxy.drop_response(api="Produce", topic=topic, times=1)
    refused = proxy.fail(api="Produce", topic=topic, error="NOT_ENOUGH_REPLICAS", times=1)
    proxy.delay(api="Fetch", topic=topic, ms=50, times=1)
    sent = client.produce(proxy.bootstrap_servers, topic, RECORDS, is_idempotent=True)
    refused.wait()
    read = client.read(servers, topic, 2, len(RECORDS))
    assert by_partition(read) == by_partition(sent)
    assert len(client.read(proxy.bootstrap_servers, topic, 2, len(RECORDS))) == len(RECORDS)
