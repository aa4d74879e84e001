"""Rules with the methods of a cluster."""

from collections.abc import Iterator

import pytest
from kafka import KafkaProducer
from kafka.errors import TopicAuthorizationFailedError

from mock_kafka import Acl, ControlError, Denial, MockKafka


@pytest.fixture(scope="module", params=[False, True], ids=["own process", "in process"])
def shared_cluster(request: pytest.FixtureRequest) -> Iterator[MockKafka]:
    config = {"super.users": "User:root"}
    with MockKafka(acls=True, config=config, in_process=request.param) as kafka:
        yield kafka


@pytest.fixture
def kafka(shared_cluster: MockKafka) -> MockKafka:
    shared_cluster.reset()
    return shared_cluster


def test_several_operations_on_several_resources(kafka: MockKafka) -> None:
    kafka.allow("alice", ["read", "Describe"], topic="orders", group="billing")
    assert kafka.acls() == [
        Acl("User:alice", "ALLOW", operation, kind, name)
        for kind, name in (("TOPIC", "orders"), ("GROUP", "billing"))
        for operation in ("READ", "DESCRIBE")
    ]


def test_every_type_of_resource_has_its_argument(kafka: MockKafka) -> None:
    kafka.allow("alice", "write", transactional_id="tx-", prefix=True)
    kafka.allow("alice", "idempotent_write", cluster=True)
    kafka.allow("alice", "create_tokens", user="bob")
    kafka.allow("alice", "describe", delegation_token="*")
    kafka.deny("User:alice", "all", topic="*", host="10.0.0.0/8")
    assert list(map(str, kafka.acls())) == [
        "User:alice ALLOW WRITE TRANSACTIONAL_ID:PREFIXED:tx-",
        "User:alice ALLOW IDEMPOTENT_WRITE CLUSTER:LITERAL:kafka-cluster",
        "User:alice ALLOW CREATE_TOKENS USER:LITERAL:User:bob",
        "User:alice ALLOW DESCRIBE DELEGATION_TOKEN:LITERAL:*",
        "User:alice DENY ALL TOPIC:LITERAL:* from 10.0.0.0/8",
    ]


def test_rules_are_selected_and_removed(kafka: MockKafka) -> None:
    kafka.allow("alice", ["read", "write"], topic="ord", prefix=True)
    kafka.allow("*", "read", topic="orders")
    kafka.deny("alice", "all", cluster=True)
    alice_reads, alice_writes, all_read, denied = kafka.acls()

    assert kafka.acls("alice") == [alice_reads, alice_writes, denied]
    assert kafka.acls(topic="orders") == [all_read]
    assert kafka.acls(topic="orders", pattern="match") == [alice_reads, alice_writes, all_read]
    assert kafka.acls(operation="read") == [alice_reads, all_read]
    assert kafka.acls(permission="deny") == kafka.acls(cluster=True) == [denied]
    assert kafka.delete_acls("alice", topic="ord") == [alice_reads, alice_writes]
    assert kafka.acls() == [all_read, denied]
    assert kafka.delete_acls() == [all_read, denied]
    assert kafka.acls() == []


def test_a_decision_can_be_asked_for(kafka: MockKafka) -> None:
    kafka.allow("alice", "read", topic="orders")
    [rule] = kafka.acls()
    decision = kafka.authorize("alice", "describe", topic="orders")
    assert decision
    assert decision.acl == rule
    decision = kafka.authorize("alice", "write", topic="orders")
    assert not decision
    assert (decision.rule, decision.acl) == ("DefaultDeny", None)
    assert kafka.authorize("root", "alter", cluster=True).rule == "SuperUser"
    kafka.deny("*", "all", topic="*", host="10.0.0.0/8")
    assert kafka.authorize("alice", "read", topic="orders")
    assert not kafka.authorize("alice", "read", topic="orders", host="10.2.3.4")


def test_a_reset_removes_the_rules(kafka: MockKafka) -> None:
    kafka.allow("alice", "read", topic="orders")
    kafka.reset()
    assert kafka.acls() == []


def test_a_snapshot_has_the_rules(kafka: MockKafka) -> None:
    kafka.allow("alice", "read", topic="orders")
    kafka.deny("*", "all", group="g", host="10.0.0.1")
    rules, saved = kafka.acls(), kafka.snapshot()
    kafka.reset()
    kafka.load_snapshot(saved)
    assert kafka.acls() == rules


def test_a_reset_restores_the_rules_of_the_snapshot_of_the_start() -> None:
    with MockKafka(acls=True, in_process=True) as kafka:
        kafka.allow("alice", "read", topic="orders")
        rules, saved = kafka.acls(), kafka.snapshot()
    with MockKafka(acls=True, in_process=True, snapshot=saved) as kafka:
        assert kafka.delete_acls() == rules
        kafka.reset()
        assert kafka.acls() == rules


@pytest.mark.parametrize(
    ("operations", "resource", "complaint"),
    [
        ("reed", {"topic": "t"}, "there is no 'reed'; did you mean READ?"),
        ("write", {"group": "g"}, "a GROUP has no operation WRITE"),
        ("write", {"topic": ""}, r"acls\[0\]\.resource_name"),
    ],
)
def test_what_the_cluster_refuses_is_an_error(
    kafka: MockKafka, operations: str, resource: dict[str, str], complaint: str
) -> None:
    with pytest.raises(ControlError, match=complaint):
        kafka.allow("alice", operations, **resource)  # type: ignore[arg-type]


def test_missing_and_unknown_arguments_are_errors(kafka: MockKafka) -> None:
    with pytest.raises(ValueError, match="allow needs a resource, such as topic='orders'"):
        kafka.allow("alice", "read")
    with pytest.raises(ValueError, match="deny needs a resource"):
        kafka.deny("alice", "read", cluster=False)
    with pytest.raises(ValueError, match="deny needs an operation"):
        kafka.deny("alice", [], topic="t")
    with pytest.raises(ValueError, match="name one resource: topic, group"):
        kafka.authorize("alice", "read")
    with pytest.raises(ValueError, match="name one resource: topic, group"):
        kafka.acls(topic="t", group="g")
    with pytest.raises(TypeError, match="there is no resource 'topics'; did you mean topic"):
        kafka.allow("alice", "read", topics="t")  # type: ignore[call-arg]


def test_a_cluster_without_an_authorizer_says_how_to_have_one() -> None:
    with MockKafka(in_process=True) as kafka:
        with pytest.raises(ControlError, match=r"start the cluster with authorizer\.class\.name"):
            kafka.allow("alice", "read", topic="t")
        assert kafka.acls() == []


async def test_the_methods_work_in_coroutines(kafka: MockKafka) -> None:
    await kafka.aio.allow("alice", "read", topic="t")
    assert await kafka.aio.acls() == [Acl("User:alice", "ALLOW", "READ", "TOPIC", "t")]
    assert await kafka.aio.authorize("alice", "read", topic="t")


def test_denied_requests_are_in_the_journal_with_what_decided() -> None:
    with MockKafka(acls=True, in_process=True) as kafka:
        kafka.create_topic("orders", 1)
        kafka.allow("ANONYMOUS", ["describe", "write"], topic="orders")
        producer = KafkaProducer(
            bootstrap_servers=kafka.bootstrap_servers, enable_idempotence=False, acks=1
        )
        for _ in range(10):  # the cluster learns what these requests have in common
            producer.send("orders", b"v").get(30)
        assert kafka.requests(denied=True) == []
        kafka.deny("ANONYMOUS", "write", topic="ord", prefix=True)
        with pytest.raises(TopicAuthorizationFailedError):
            producer.send("orders", b"v").get(30)
        producer.close()
        [rule] = kafka.acls(permission="deny")
        [request] = kafka.requests(denied=True)
        assert (request.api, request.errors) == ("Produce", ("TOPIC_AUTHORIZATION_FAILED",))
        assert request.denials == (Denial("WRITE", "TOPIC", "orders", "ACL", rule),)
        assert f"denied WRITE TOPIC:orders by {rule}" in str(request)
        assert request not in kafka.requests(denied=False)
        assert len(kafka.records("orders")) == 10
