"""Errors before a run: logins, topics, quotas, slots."""

import socket
from typing import Any

import pytest
from kafka import KafkaAdminClient
from msgspec.structs import replace

from client import clock
from client.resources import Address
from client.transport import SocketTransport
from loadgen import preparation
from loadgen.admin_port import AdminPort
from loadgen.plan.plan import Quota
from loadgen.preparation import (
    PreparationError,
    open_files_needed,
    prepare,
    slots_error,
)
from mock_kafka import MockKafka
from protocol import messages
from tests.loadgen.runs import plan_of

pytestmark = pytest.mark.slow

STEADY = "[{name: a, behaviour: steady, topic: t, clients: 3, rate: 1}]"


def test_an_invalid_address_is_reported() -> None:
    with pytest.raises(PreparationError, match="'a:x' is not HOST:PORT"):
        prepare(plan_of(STEADY), "r", "a:x", sets_quotas=True)


def test_prepare_reads_the_cluster_and_creates_the_topics(servers: str) -> None:
    plan = plan_of(
        "[{name: a, behaviour: steady, topic: t, rate: 1},"
        " {name: d, behaviour: topic-deleter, rate: 2, topics_per_request: 2, partitions: 3}]"
    )
    found = prepare(plan, "run", servers, sets_quotas=True)
    [(name, leaders)] = found.topology.leaders.items()
    assert name == plan.topics[0].name
    assert sorted(leaders) == [1, 1, 2, 2]
    assert set(found.topology.brokers) == {1, 2}
    assert name in found.topology.topic_ids
    assert found.config["controller.quota.window.num"] == 11.0
    again = prepare(plan, "run", servers, sets_quotas=True)
    assert again.topology == found.topology


def test_topics_are_created_with_the_replication_factor_of_the_plan(servers: str) -> None:
    plan = plan_of(STEADY)
    [topic] = plan.topics
    plan = replace(plan, topics=(replace(topic, replication_factor=2),))
    prepare(plan, "r", servers, sets_quotas=True)
    with KafkaAdminClient(bootstrap_servers=servers) as admin:
        [found] = admin.describe_topics([topic.name])
    assert [sorted(partition["replica_nodes"]) for partition in found["partitions"]] == [[1, 2]] * 4


def test_a_run_begins_when_every_broker_knows_the_quotas(
    servers: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Of clients that no other test of this cluster has.
    quotas = (
        Quota({"client-id": "known-late"}, "producer_byte_rate", 5.0),
        Quota({"client-id": "known-later"}, "controller_mutation_rate", 2.0),
    )
    plan = replace(plan_of(STEADY), quotas=quotas)
    requested: list[Address] = []
    paused: list[int] = []

    class LateTransport(SocketTransport):
        """The second broker knows the quotas in its third answer."""

        def ask(self, address: Address, request: Any) -> Any:
            response = super().ask(address, request)
            if isinstance(request, messages.DescribeClientQuotasRequest):
                requested.append(address)
                if address != requested[0] and requested.count(address) < 3:
                    response.entries = response.entries[:1]
            return response

    monkeypatch.setattr(preparation, "SocketTransport", LateTransport)
    monkeypatch.setattr(clock, "sleep_ms", paused.append)
    prepare(plan, "r", servers, sets_quotas=True)
    first, second, *more = requested
    assert [first, second, *more] == [first, second, second, second]
    assert len(paused) == 2
    requested.clear()
    prepare(plan, "r", servers, sets_quotas=False)
    assert requested == []


def test_a_broker_that_never_knows_a_quota_is_named(
    servers: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    quota = Quota({"client-id": "never"}, "producer_byte_rate", 5.0)
    plan = replace(plan_of(STEADY), quotas=(quota,))
    monkeypatch.setattr(preparation, "_set_quotas", lambda *_: [])
    monkeypatch.setattr(preparation, "_QUOTAS_TIMEOUT_MS", 0)
    with pytest.raises(PreparationError, match=r"broker \d does not know the quotas"):
        prepare(plan, "r", servers, sets_quotas=True)


def test_a_shadow_quota_is_set_at_the_admin_port_and_its_report_begins_empty() -> None:
    plan = replace(plan_of(STEADY), quotas=(Quota({"user": ""}, "producer_byte_rate", 5.0, True),))
    with MockKafka() as kafka:
        kafka.quota(user="ANONYMOUS", controller_mutation_rate=1, shadow=True)
        with KafkaAdminClient(bootstrap_servers=kafka.bootstrap_servers) as admin:
            for name in ("one", "two"):
                admin.create_topics({name: {"num_partitions": 20, "replication_factor": 1}})
        assert kafka.shadow_report()
        with pytest.raises(PreparationError, match="--admin URL"):
            prepare(plan, "r", kafka.bootstrap_servers, sets_quotas=True)
        port = AdminPort(kafka.admin_url)
        found = prepare(plan, "r", kafka.bootstrap_servers, sets_quotas=True, admin_port=port)

        listed = kafka.control.ask("GET", "/v1/quotas")
        assert kafka.shadow_report() == []
        assert not found.is_shadow
    quota = {"entity": {"user": None}, "values": {"producer_byte_rate": 5.0}}
    assert {**quota, "shadow": ["producer_byte_rate"]} in listed


def test_a_target_that_enforces_no_quota_is_recognised() -> None:
    with MockKafka(config={"client.quota.shadow": True}) as kafka:
        found = prepare(plan_of(STEADY), "r", kafka.bootstrap_servers, sets_quotas=True)
    assert found.is_shadow


def test_a_refused_connection_is_reported_within_seconds() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # without listening
        servers = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(PreparationError, match=f"{servers}: cannot connect to .* refused"):
            prepare(plan_of(STEADY), "r", servers, sets_quotas=True)


def test_a_port_that_accepts_and_says_nothing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preparation, "CONNECT_TIMEOUT_MS", 50)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        servers = f"127.0.0.1:{silent.getsockname()[1]}"
        expected = f"tenant a: {servers} accepts connections and does not respond within 0.05 s"
        with pytest.raises(PreparationError, match=expected):
            prepare(plan_of(STEADY), "r", servers, sets_quotas=True)


@pytest.mark.slow
def test_wrong_credentials_are_reported_with_the_tenants_name() -> None:
    config: dict[str, str | int] = {
        "listeners": "SASL_PLAINTEXT://:0",
        "sasl.users": "alice:secret",
        "connection.failed.authentication.delay.ms": 0,
    }
    plan = plan_of("[{name: a, behaviour: steady, topic: t, rate: 1, user: alice, password: x}]")
    with (
        MockKafka(config=config) as kafka,
        pytest.raises(PreparationError, match=r"tenant a: Authentication failed"),
    ):
        prepare(plan, "r", kafka.bootstrap_servers, sets_quotas=True)


def test_more_workers_than_slots_or_clients_are_reported() -> None:
    plan = plan_of(STEADY)
    assert slots_error(plan, 2, 2) is None
    assert "3 workers need 3 free Spark slots at the same time, and there are 2" in str(
        slots_error(plan, 3, 2)
    )
    assert "4 workers for 3 clients" in str(slots_error(plan, 4, 8))


def test_the_limit_of_open_files_depends_on_the_clients() -> None:
    assert open_files_needed(plan_of(STEADY), 2) == 3 + 256
