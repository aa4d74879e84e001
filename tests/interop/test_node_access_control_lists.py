"""kafkajs and @platformatic/kafka create, list and delete rules, and report what a rule denies."""

from collections.abc import Callable, Iterator

import pytest

from mock_kafka import MockKafka
from scenarios.maven import CannotRunError
from tests.interop.client_program import Lines
from tests.interop.go_and_node_clients import ACL_CLIENTS

USERS = {"admin": "admin-secret", "alice": "alice-secret"}
TOPIC, GROUP = "orders", "readers"
WRITE = ["User:alice", "ALLOW", "WRITE", "TOPIC", "orders", "LITERAL", "*"]
READ = ["User:alice", "DENY", "READ", "GROUP", "read", "PREFIXED", "*"]

Run = Callable[[str, str], Lines]
"""Run a scenario as a user and return its output."""


@pytest.fixture(scope="module")
def secured() -> Iterator[MockKafka]:
    config = {"authorizer.class.name": "acl", "super.users": "User:admin"}
    with MockKafka(users=USERS, config=config) as running:
        yield running


@pytest.fixture(autouse=True)
def topic_without_rules(secured: MockKafka) -> None:
    secured.reset()
    secured.create_topic(TOPIC, 1)


# It starts slowly, and sends the same requests.
PLATFORMATIC = pytest.param("@platformatic/kafka", marks=pytest.mark.long)


@pytest.fixture(params=["kafkajs", PLATFORMATIC])
def run(request: pytest.FixtureRequest, secured: MockKafka) -> Run:
    """Return a client's program; skip if Node or the registry is missing."""
    try:
        program = ACL_CLIENTS[request.param]()
    except CannotRunError as error:
        pytest.skip(f"{request.param}: {error}")
    servers = secured.bootstrap_servers
    return lambda scenario, user: program.run(scenario, servers, user, USERS[user], TOPIC, GROUP)


def test_an_admin_client_creates_lists_and_deletes_rules(run: Run, secured: MockKafka) -> None:
    created, *lines = run("rules", "admin")
    assert created == ["created", "true"]
    assert sorted(lines[:2]) == sorted([["listed", *WRITE], ["listed", *READ]])
    assert lines[2:] == [["deleted", *READ], ["listed", *WRITE]]
    [rule] = secured.acls()
    assert (rule.principal, rule.operation, rule.resource_name) == ("User:alice", "WRITE", TOPIC)


def test_an_admin_client_reports_that_rules_need_alter_on_the_cluster(
    run: Run, secured: MockKafka
) -> None:
    assert run("rules", "alice") == [["error", "CLUSTER_AUTHORIZATION_FAILED"]]
    assert secured.acls() == []


def test_a_producer_reports_a_topic_that_it_may_not_write(run: Run, secured: MockKafka) -> None:
    secured.allow("alice", "describe", topic=TOPIC)
    assert run("produce", "alice") == [["error", "TOPIC_AUTHORIZATION_FAILED"]]
    assert secured.records(TOPIC) == []
    secured.allow("alice", "write", topic=TOPIC)
    assert run("produce", "alice") == [["offset", "0"]]


def test_a_consumer_reports_a_group_and_a_topic_that_it_may_not_read(
    run: Run, secured: MockKafka
) -> None:
    assert run("produce", "admin") == [["offset", "0"]]
    secured.allow("alice", "describe", topic=TOPIC, group=GROUP)
    assert run("consume", "alice") == [["error", "GROUP_AUTHORIZATION_FAILED"]]
    secured.allow("alice", "read", group=GROUP)
    assert run("consume", "alice") == [["error", "TOPIC_AUTHORIZATION_FAILED"]]
    secured.allow("alice", "read", topic=TOPIC)
    assert run("consume", "alice") == [["value", "x"]]


@pytest.mark.parametrize(
    ("run", "error"),
    [
        # It asks each broker for the coordinator, and drops the errors (cluster/brokerPool.js).
        ("kafkajs", "KafkaJSGroupCoordinatorNotFound"),
        pytest.param("@platformatic/kafka", "GROUP_AUTHORIZATION_FAILED", marks=pytest.mark.long),
    ],
    indirect=["run"],
)
def test_a_consumer_reports_that_it_may_not_find_the_coordinator_of_a_group(
    run: Run, secured: MockKafka, error: str
) -> None:
    secured.allow("alice", "read", topic=TOPIC)
    assert run("consume", "alice") == [["error", error]]
