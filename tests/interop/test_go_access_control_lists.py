"""Go clients create, list and delete rules, and report what rules deny them by their own errors."""

from collections.abc import Callable, Iterator
from contextlib import closing

import pytest
from kafka import KafkaAdminClient

from mock_kafka import Acl, MockKafka
from scenarios.maven import CannotRunError
from tests.interop.client_program import ClientProgram, Lines
from tests.interop.go_and_node_clients import build_franz_go, build_kafka_go, build_sarama

USERS = {"admin": "admin-secret", "alice": "alice-secret"}
TOPIC, GROUP = "orders", "readers"
LIBRARIES = {"franz-go": build_franz_go, "sarama": build_sarama, "kafka-go": build_kafka_go}
CLUSTER_DENIED = [["error", "ClusterAuthorizationFailed"]]
GROUP_DENIED = [["error", "GroupAuthorizationFailed"]]
TOPIC_DENIED = [["error", "TopicAuthorizationFailed"]]
RULES = {
    Acl("User:alice", "ALLOW", "READ", "TOPIC", TOPIC),
    Acl("User:alice", "ALLOW", "ALL", "GROUP", "read", "PREFIXED", "10.0.0.1"),
    Acl("User:alice", "DENY", "ALTER", "CLUSTER", "kafka-cluster"),
}

Run = Callable[..., Lines]
"""Run a command as a user: `run(user, command, *words)` returns what it prints."""


@pytest.fixture(scope="module")
def secured() -> Iterator[MockKafka]:
    with MockKafka(users=USERS, acls=True, config={"super.users": "User:admin"}) as running:
        yield running


@pytest.fixture(autouse=True)
def topic_without_rules(secured: MockKafka) -> None:
    secured.reset()
    with closing(
        KafkaAdminClient(**secured.client_settings("kafka-python", user="admin"))
    ) as admin:
        admin.create_topics({TOPIC: {"num_partitions": 1, "replication_factor": 1}})


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], ClientProgram]:
    """Build the program of a library once; skip if Go or the module proxy is missing."""
    built: dict[str, ClientProgram] = {}

    def build_once(library: str) -> ClientProgram:
        if library not in built:
            try:
                built[library] = LIBRARIES[library](tmp_path_factory.mktemp(library))
            except CannotRunError as error:
                pytest.skip(f"{library}: {error}")
        return built[library]

    return build_once


@pytest.fixture(params=LIBRARIES)
def library(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
def run(build: Callable[[str], ClientProgram], library: str, secured: MockKafka) -> Run:
    program = build(library)

    def run_as(user: str, command: str, *words: str) -> Lines:
        return program.run("acls", command, secured.bootstrap_servers, user, USERS[user], *words)

    return run_as


def words_of(rule: Acl) -> list[str]:
    """Return a rule as the words that a program takes."""
    pattern = [rule.resource_type, rule.resource_name, rule.pattern_type]
    return [*pattern, rule.principal, rule.host, rule.operation, rule.permission_type]


def rules_of(lines: Lines) -> set[Acl]:
    """Return the rules that a program printed; each library writes names in its own case."""
    rules = set()
    for resource_type, name, pattern, principal, host, operation, permission in lines:
        names = permission.upper(), operation.upper(), resource_type.upper()
        rules.add(Acl(principal, *names, name, pattern.upper(), host))
    return rules


def test_rules_are_created_listed_and_deleted(run: Run, secured: MockKafka) -> None:
    for rule in RULES:
        assert run("admin", "create", *words_of(rule)) == []
    assert set(secured.acls()) == RULES
    assert rules_of(run("admin", "list")) == RULES
    deleted = rules_of(run("admin", "delete", "GROUP", GROUP))
    assert {rule.resource_name for rule in deleted} == {"read"}
    assert rules_of(run("admin", "list")) == RULES - deleted == set(secured.acls())


def test_a_user_without_rights_on_the_cluster_changes_and_lists_no_rules(
    run: Run, secured: MockKafka
) -> None:
    secured.allow("alice", "read", topic=TOPIC)
    before = secured.acls()
    for rule in RULES:
        assert run("alice", "create", *words_of(rule)) == CLUSTER_DENIED
    assert run("alice", "list") == CLUSTER_DENIED
    assert run("alice", "delete", "TOPIC", TOPIC) == CLUSTER_DENIED
    assert secured.acls() == before


def test_a_producer_reports_that_it_may_not_write(
    run: Run, library: str, secured: MockKafka
) -> None:
    # kafka-go asks for all topics, and the answer leaves out those that the user may not describe.
    hidden = [["error", "UnknownTopicOrPartition"]] if library == "kafka-go" else TOPIC_DENIED
    assert run("alice", "produce", TOPIC, "x") == hidden
    secured.allow("alice", "describe", topic=TOPIC)
    # franz-go's producer is idempotent: its id needs a right to write to any topic.
    without_id = CLUSTER_DENIED if library == "franz-go" else TOPIC_DENIED
    assert run("alice", "produce", TOPIC, "x") == without_id
    secured.allow("alice", "write", topic="payments")
    assert run("alice", "produce", TOPIC, "x") == TOPIC_DENIED
    assert secured.records(TOPIC) == []
    secured.allow("alice", "write", topic=TOPIC)
    assert run("alice", "produce", TOPIC, "x") == []
    assert [record.value for record in secured.records(TOPIC)] == [b"x"]


def test_a_member_of_a_group_reports_what_it_may_not_read(run: Run, secured: MockKafka) -> None:
    run("admin", "produce", TOPIC, "x")
    secured.allow("alice", "describe", topic=TOPIC)
    assert run("alice", "consume", TOPIC, GROUP) == GROUP_DENIED
    secured.allow("alice", "read", group=GROUP)
    assert run("alice", "consume", TOPIC, GROUP) == TOPIC_DENIED
    secured.allow("alice", "read", topic=TOPIC)
    assert run("alice", "consume", TOPIC, GROUP) == [["record", "x"]]
    secured.deny("alice", "read", topic=TOPIC)
    assert run("alice", "consume", TOPIC, GROUP) == TOPIC_DENIED
