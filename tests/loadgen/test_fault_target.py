"""What can be carried out at brokers, at a proxy, and without an admin port."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from loadgen.admin_port import AdminPort
from loadgen.fault_rows import FaultRow
from loadgen.fault_target import FaultError, FaultTarget
from loadgen.leader_moves import KafkaLeaders
from loadgen.plan.faults import CutBroker, Fault, MoveLeader
from loadgen.plan.plan import Plan, Tenant
from mock_kafka import KafkaProxy, MockKafka

PLAN = Plan(name="p", duration_s=1.0, tenants=(Tenant("a", "steady", "a"),))
LEADERS = {"t": [1]}
RULE: dict[str, Any] = {"api": "Produce", "error": "NOT_ENOUGH_REPLICAS"}


@pytest.fixture(scope="module")
def kafka() -> Iterator[MockKafka]:
    with MockKafka(brokers=3) as kafka:
        kafka.create_topic("t", 1, replication_factor=2)
        kafka.move_leader("t", 0, 1)
        yield kafka


@pytest.fixture(scope="module")
def proxy(kafka: MockKafka) -> Iterator[KafkaProxy]:
    with KafkaProxy(kafka.bootstrap_servers) as proxy:
        yield proxy


def target_of(cluster: MockKafka | KafkaProxy) -> FaultTarget:
    leaders = KafkaLeaders(PLAN, cluster.bootstrap_servers)
    return FaultTarget(AdminPort(cluster.admin_url), leaders)


def refusal_of(target: FaultTarget, fault: Fault) -> str:
    with pytest.raises(FaultError) as raised:
        target.check([fault], LEADERS)
    return str(raised.value)


def moved(to: int, topic: str = "t", partition: int = 0) -> Fault:
    return Fault("f", 1.0, 1.0, move_leader=MoveLeader(topic, partition, to))


def test_a_rule_is_checked_and_stays_nowhere(kafka: MockKafka, proxy: KafkaProxy) -> None:
    for cluster in (kafka, proxy):
        target = target_of(cluster)
        target.check([Fault("ok", 1.0, rule=RULE)], LEADERS)
        assert AdminPort(cluster.admin_url).fired_counts() == {}
        wrong = Fault("f", 1.0, rule={"api": "Produce", "errror": "NONE"})
        assert "errror" in refusal_of(target, wrong)


def test_a_proxy_refuses_rules_about_the_state_of_the_cluster(proxy: KafkaProxy) -> None:
    rule = {"api": "Produce", "topic": "t", "leader": 2}
    refusal = refusal_of(target_of(proxy), Fault("f", 1.0, rule=rule))
    assert refusal.startswith("fault 'f': admin port http://")
    assert "rule 1: leader: this is a proxy: it has no leaders" in refusal
    assert "\n" not in refusal


def test_what_is_missing_at_the_brokers_is_named(kafka: MockKafka, proxy: KafkaProxy) -> None:
    for cluster in (kafka, proxy):
        target = target_of(cluster)
        unknown = "fault 'f': there is no broker 9; brokers: [1, 2, 3]"
        assert refusal_of(target, Fault("f", 1.0, stop_broker=CutBroker(9))) == unknown
        assert "'t' has no partition 5" in refusal_of(target, moved(1, partition=5))
        assert "'u' is not among topics: ['t']" in refusal_of(target, moved(1, "u"))
    assert refusal_of(target_of(kafka), moved(9)) == unknown


def test_a_proxy_moves_leaders_among_replicas_only(kafka: MockKafka, proxy: KafkaProxy) -> None:
    target = target_of(proxy)
    [topic] = [topic for topic in kafka.topics() if topic.name == "t"]
    replicas = list(topic.partitions[0].replicas)
    first = topic.partitions[0].leader
    other = next(replica for replica in replicas if replica != first)
    outside = ({1, 2, 3} - set(replicas)).pop()
    assert f"broker {outside} is no replica of t-0" in refusal_of(target, moved(outside))

    fault = moved(other)
    target.check([fault], LEADERS)
    undo = target.carry_out(fault, FaultRow(0, "f", "move_leader", 0))
    direct = KafkaLeaders(PLAN, kafka.bootstrap_servers)
    assert direct.leader("t", 0) == other
    assert undo is not None
    undo()
    assert direct.leader("t", 0) == first


def test_a_broker_behind_a_proxy_is_cut_off_without_an_election(
    kafka: MockKafka, proxy: KafkaProxy
) -> None:
    target = target_of(proxy)
    asks_election = Fault("f", 1.0, stop_broker=CutBroker(2, elect=True))
    assert refusal_of(target, asks_election) == (
        "fault 'f': elect: true needs the admin port of the brokers: a proxy elects none"
    )
    leader = KafkaLeaders(PLAN, kafka.bootstrap_servers).leader("t", 0)
    assert leader is not None
    fault = Fault("f", 1.0, stop_broker=CutBroker(leader))
    target.check([fault], LEADERS)
    undo = target.carry_out(fault, FaultRow(0, "f", "stop_broker", 0))
    assert KafkaLeaders(PLAN, proxy.bootstrap_servers).leader("t", 0) == leader
    assert undo is not None
    undo()
    assert target.clock_ms() is not None


def test_without_an_admin_port_leaders_move_and_nothing_else(kafka: MockKafka) -> None:
    target = FaultTarget(None, KafkaLeaders(PLAN, kafka.bootstrap_servers))
    target.check([moved(1)], LEADERS)
    assert target.clock_ms() is None
    needs_port = "the plan has faults, which need the URL of mock-kafka's admin port: --admin URL"
    assert refusal_of(target, Fault("f", 1.0, rule=RULE)) == needs_port


class _RulesOnly(BaseHTTPRequestHandler):
    """The admin port of a program that has fault rules and no brokers."""

    def do_GET(self) -> None:
        self.send_response(404)
        content = b'{"detail": "no such path"}'
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_arguments: object) -> None:
        pass


def test_a_port_without_brokers_cannot_stop_one(kafka: MockKafka) -> None:
    with HTTPServer(("127.0.0.1", 0), _RulesOnly) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        port = AdminPort(f"http://127.0.0.1:{server.server_port}")
        target = FaultTarget(port, KafkaLeaders(PLAN, kafka.bootstrap_servers))
        fault = Fault("f", 1.0, stop_broker=CutBroker(1))
        assert "stop_broker needs the admin port of the brokers" in refusal_of(target, fault)
        thread.join()
