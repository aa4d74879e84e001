from random import Random
from typing import Any
from uuid import UUID

import pytest

from broker.cluster import failover
from broker.cluster.cluster import Cluster
from broker.handlers.k03_metadata import NEW_PARTITIONS_MAX
from broker.routes import ROUTES
from protocol import messages
from protocol.acls import AclOperation
from protocol.api_keys import ApiKey
from protocol.codec import decode_request, encode_message
from protocol.errors import ErrorCode
from tests.broker.acl_cluster import allow, make_acl_cluster, send
from tests.broker.cluster_builder import CLUSTER_ID, NOW_MS, call, make_cluster, make_context
from tests.broker.interleaving import at_pause, run_with_pauses

VERSIONS = range(14)
_Topic = messages.MetadataRequest.MetadataRequestTopic


def ask(
    cluster: Cluster,
    names: list[str] | None,
    version: int = 13,
    *,
    ids: tuple[UUID, ...] = (),
    may_create: bool = False,
    broker_id: int = 1,
) -> Any:
    topics: list[Any] | None = None
    if names is not None:
        topics = [_Topic(version=version, name=name) for name in names]
        topics += [_Topic(version=version, name=None, topic_id=id_) for id_ in ids]
    request = messages.MetadataRequest(
        version=version, topics=topics, allow_auto_topic_creation=may_create
    )
    return call(cluster, request, version, broker_id=broker_id)


def topics_of(response: Any) -> list[tuple[str | None, int]]:
    return [(topic.name, topic.error_code) for topic in response.topics]


def cluster_with_a_and_b() -> Cluster:
    cluster = make_cluster()
    cluster.create_topic("a", [(1, 2), (3,)], {})
    cluster.create_topic("b", [(2, 1)], {})
    return cluster


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_describes_brokers_and_topics(version: int) -> None:
    cluster = cluster_with_a_and_b()
    cluster.brokers[1].rack = "r1"
    failover.stop_broker(cluster, 3, NOW_MS)

    response = ask(cluster, ["a"], version)

    returned_brokers = [(broker.node_id, broker.host, broker.port) for broker in response.brokers]
    assert returned_brokers == [(1, "localhost", 9092), (2, "localhost", 9093)]
    (topic,) = response.topics
    assert (topic.name, topic.error_code) == ("a", ErrorCode.NONE)
    led, leaderless = topic.partitions
    assert (led.partition_index, led.error_code, led.leader_id) == (0, ErrorCode.NONE, 1)
    assert (led.replica_nodes, led.isr_nodes) == ([1, 2], [1, 2])
    assert leaderless.error_code == ErrorCode.LEADER_NOT_AVAILABLE
    assert leaderless.leader_id == -1
    if version >= 1:
        assert (response.controller_id, topic.is_internal) == (1, False)
        assert [broker.rack for broker in response.brokers] == ["r1", None]
    if version >= 2:
        assert response.cluster_id == CLUSTER_ID
    if version >= 5:
        assert (led.offline_replicas, leaderless.offline_replicas) == ([], [3])
    if version >= 7:
        assert (led.leader_epoch, leaderless.leader_epoch) == (0, 1)
    if version >= 10:
        assert topic.topic_id == UUID(int=1)


@pytest.mark.parametrize("version", VERSIONS)
def test_all_topics_are_an_empty_list_in_version_0_and_null_in_later_versions(version: int) -> None:
    cluster = cluster_with_a_and_b()

    assert len(ask(cluster, [], version).topics) == (2 if version == 0 else 0)
    if version >= 1:
        assert topics_of(ask(cluster, None, version)) == [("a", 0), ("b", 0)]


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_reports_missing_topics_and_invalid_names(version: int) -> None:
    cluster = make_cluster(**{"auto.create.topics.enable": "false"})

    response = ask(cluster, ["missing", "no name"], version, may_create=True)

    assert topics_of(response) == [
        ("missing", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("no name", ErrorCode.INVALID_TOPIC_EXCEPTION),
    ]
    assert len(cluster.topics) == 0


@pytest.mark.parametrize("version", VERSIONS)
def test_a_missing_topic_is_created_and_listed_in_the_next_response(version: int) -> None:
    cluster = make_cluster(**{"num.partitions": "4", "default.replication.factor": "2"})

    # Before version 4 a request always creates missing topics.
    first = ask(cluster, ["new"], version, may_create=version >= 4)
    second = ask(cluster, ["new"], version)

    assert topics_of(first) == [("new", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)]
    assert topics_of(second) == [("new", ErrorCode.NONE)]
    assert [len(part.replica_nodes) for part in second.topics[0].partitions] == [2, 2, 2, 2]


@pytest.mark.parametrize("version", range(4, 14))
def test_since_version_4_a_client_can_disable_auto_creation(version: int) -> None:
    cluster = make_cluster()

    assert topics_of(ask(cluster, ["new"], version)) == [
        ("new", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    ]
    assert len(cluster.topics) == 0


@pytest.mark.parametrize("name", ["__share_group_state", "a_b", "bad/name"])
def test_an_invalid_topic_is_not_auto_created(name: str) -> None:
    cluster = make_cluster()
    cluster.create_topic("a.b", [(1,)], {})

    response = ask(cluster, [name], may_create=True)

    assert response.topics[0].error_code != ErrorCode.NONE
    assert response.topics[0].is_internal is (name == "__share_group_state")
    assert len(cluster.topics) == 1


def test_a_request_that_would_create_too_many_partitions_creates_none() -> None:
    cluster = make_cluster(**{"num.partitions": "1000"})
    cluster.create_topic("known", [(1,)], {})

    names = ["known", *(f"new-{i}" for i in range(11))]
    response = ask(cluster, names, may_create=True)

    codes = {topic.name: topic.error_code for topic in response.topics}
    assert codes.pop("known") == ErrorCode.NONE
    assert set(codes.values()) == {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert len(cluster.topics) == 1

    ask(cluster, names[:-1], may_create=True)
    assert len(cluster.topics) == 11


def test_the_topic_of_offsets_is_auto_created_with_its_own_configuration() -> None:
    cluster = make_cluster()

    first = ask(cluster, ["__consumer_offsets"], may_create=True).topics[0]
    second = ask(cluster, ["__consumer_offsets"]).topics[0]

    assert (first.error_code, first.is_internal) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, True)
    assert (second.error_code, second.is_internal) == (ErrorCode.NONE, True)
    assert len(second.partitions) == 50
    topic = cluster.topics.get("__consumer_offsets")
    assert topic is not None
    assert topic.is_compacted


def test_a_default_replication_factor_above_the_broker_count_creates_no_topic() -> None:
    cluster = make_cluster(2, **{"default.replication.factor": "3"})

    ask(cluster, ["new"], may_create=True)

    assert len(cluster.topics) == 0


@pytest.mark.parametrize("version", [12, 13])
def test_topics_are_found_by_id_since_version_12(version: int) -> None:
    response = ask(cluster_with_a_and_b(), [], version, ids=(UUID(int=2), UUID(int=9)))

    assert topics_of(response) == [(None, ErrorCode.UNKNOWN_TOPIC_ID), ("b", ErrorCode.NONE)]
    assert response.topics[0].topic_id == UUID(int=9)


@pytest.mark.parametrize("version", VERSIONS)
def test_every_broker_gives_the_same_response(version: int) -> None:
    cluster = cluster_with_a_and_b()

    responses = {repr(ask(cluster, ["b"], version, broker_id=n)) for n in (1, 2, 3)}

    assert len(responses) == 1


def test_two_topics_of_one_request_that_differ_in_dots_and_underscores_are_auto_created() -> None:
    cluster = make_cluster(1)
    for names in (["a.b", "a_b"], ["a-b", "a.b_"], ["a_b_"]):
        ask(cluster, names, 9, may_create=True)
    assert {topic.name for topic in cluster.topics.all()} == {"a.b", "a_b", "a-b", "a.b_"}


def both_ways(cluster: Cluster, names: list[str] | None, version: int) -> tuple[Any, bytes]:
    """Return the response of the shortcut, or None, and that of the handler."""
    topics: Any = None
    if names is not None:
        topics = [_Topic(version=version, name=name, topic_id=UUID(int=0)) for name in names]
    request = messages.MetadataRequest(
        version=version, topics=topics, allow_auto_topic_creation=False
    )
    body = encode_message(request, version)
    route = ROUTES[ApiKey.METADATA]
    context = make_context(ApiKey.METADATA, version)
    assert route.shortcut is not None
    decoded = decode_request(ApiKey.METADATA, version, body, 0, len(body))
    return (
        route.shortcut(context, body, 0, len(body), cluster),
        encode_message(route.handler(context, decoded, cluster), version),
    )


def change(cluster: Cluster, random: Random) -> None:
    """Change something that Metadata shows."""
    topic = random.choice([topic for topic in cluster.topics.all() if topic.name != "kept"])
    partition = random.choice(topic.partitions)
    node_id = random.choice([1, 2, 3])
    name = random.choice(["fail", "start", "grow", "create", "lead", "shrink", "move", "rack"])
    if name == "fail":
        failover.stop_broker(cluster, node_id, NOW_MS)
    elif name == "start":
        failover.start_broker(cluster, node_id, NOW_MS)
    elif name == "grow":
        cluster.add_partitions(topic, [(node_id,)])
    elif name == "create":
        cluster.delete_topic(topic, NOW_MS)
        cluster.create_topic(topic.name, [(1, 2), (3,)], {})
    elif name == "lead" and cluster.is_alive(node_id):
        cluster.move_leader(partition, node_id, NOW_MS)
    elif name == "shrink":
        cluster.set_isr(partition, partition.isr[:1], NOW_MS)
    elif name == "move":
        cluster.set_replicas(partition, [node_id], NOW_MS)
    elif name == "rack":
        cluster.brokers[node_id].rack = random.choice(["r", "s", None])


@pytest.mark.parametrize("seed", range(5))
def test_what_was_encoded_before_is_what_the_handler_returns_after_any_change(seed: int) -> None:
    random = Random(seed)
    cluster = cluster_with_a_and_b()
    cluster.create_topic("kept", [(1, 2, 3)], {})
    shortcut_count = 0
    for _ in range(60):
        for version in (9, 11, 12, 13):
            names = random.choice([["a"], ["b", "a"], ["kept", "b", "a"], None])
            by_shortcut, by_handler = both_ways(cluster, names, version)
            if by_shortcut is not None:
                assert by_shortcut == by_handler
                shortcut_count += 1
        change(cluster, random)
    assert shortcut_count > 200


def test_a_topic_that_does_not_exist_and_many_new_partitions_are_left_to_the_handler() -> None:
    cluster = cluster_with_a_and_b()
    cluster.create_topic("large", [(1,)] * (NEW_PARTITIONS_MAX + 1), {})
    assert both_ways(cluster, ["a"], 12)[0] is not None
    assert both_ways(cluster, ["a", "missing"], 12)[0] is None
    assert both_ways(cluster, ["large"], 12)[0] is None
    assert both_ways(cluster, None, 12)[0] is None


def test_topics_that_one_request_cannot_encode_are_known_after_a_few() -> None:
    cluster = make_cluster()
    for number in range(2 * NEW_PARTITIONS_MAX):
        cluster.create_topic(f"t{number}", [(1,)], {})
    assert both_ways(cluster, None, 12)[0] is None
    by_shortcut, by_handler = both_ways(cluster, None, 12)
    assert by_shortcut == by_handler


DENIED = ErrorCode.TOPIC_AUTHORIZATION_FAILED
UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def acl_cluster_with_a_and_b(*rights: str, **overrides: str) -> Cluster:
    cluster = make_acl_cluster(*rights, **overrides)
    cluster.create_topic("a", [(1, 2)], {})
    cluster.create_topic("b", [(2, 1)], {})
    return cluster


def asked(names: list[str] | None, version: int, **fields: Any) -> Any:
    topics = None
    if names is not None or version == 0:
        topics = [_Topic(version=version, name=name) for name in names or ()]
    return messages.MetadataRequest(version=version, topics=topics, **fields)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_list_of_all_topics_leaves_out_those_that_may_not_be_described(version: int) -> None:
    cluster = acl_cluster_with_a_and_b("DESCRIBE TOPIC b")
    response, denials = send(cluster, asked(None, version), version)
    assert topics_of(response) == [("b", ErrorCode.NONE)]
    assert len(response.brokers) == 3
    assert denials == []


@pytest.mark.parametrize("version", VERSIONS)
def test_a_name_that_may_not_be_described_is_denied_whether_or_not_it_exists(version: int) -> None:
    cluster = acl_cluster_with_a_and_b("READ TOPIC b")
    names = ["a", "missing", "bad name", "__consumer_offsets", "b"]
    response, denials = send(cluster, asked(names, version), version)
    assert topics_of(response) == [("b", ErrorCode.NONE), *((name, DENIED) for name in names[:4])]
    assert denials == [f"DESCRIBE TOPIC {name}" for name in names[:4]]
    assert all(topic.partitions == [] for topic in response.topics[1:])
    if version >= 1:
        assert not any(topic.is_internal for topic in response.topics)
    if version >= 10:
        assert {topic.topic_id for topic in response.topics[1:]} == {None}


@pytest.mark.parametrize("version", [12, 13])
def test_an_id_that_may_not_be_described_is_denied_without_its_name(version: int) -> None:
    cluster = acl_cluster_with_a_and_b("DESCRIBE TOPIC b")
    a, b = (topic.topic_id for topic in cluster.topics.all())
    response = ask(cluster, [], version, ids=(a, UUID(int=99), b))
    assert [(topic.name, topic.topic_id, topic.error_code) for topic in response.topics] == [
        (None, UUID(int=99), ErrorCode.UNKNOWN_TOPIC_ID),
        ("b", b, ErrorCode.NONE),
        (None, a, DENIED),
    ]


@pytest.mark.parametrize("right", ["CREATE CLUSTER", "CREATE TOPIC new"])
def test_a_topic_is_created_with_create_on_the_cluster_or_the_topic(right: str) -> None:
    cluster = acl_cluster_with_a_and_b("DESCRIBE TOPIC *")
    response, denials = send(cluster, asked(["new"], 13, allow_auto_topic_creation=True), 13)
    assert topics_of(response) == [("new", DENIED)]
    assert denials == ["CREATE TOPIC new"]
    assert cluster.topics.get("new") is None
    allow(cluster, right)
    response, denials = send(cluster, asked(["new"], 13, allow_auto_topic_creation=True), 13)
    assert topics_of(response) == [("new", UNKNOWN)]
    assert denials == []
    assert cluster.topics.get("new") is not None


def test_each_missing_topic_needs_a_right_of_its_own() -> None:
    cluster = acl_cluster_with_a_and_b(
        "DESCRIBE TOPIC *", "CREATE TOPIC mine", "CREATE TOPIC hidden"
    )
    names = ["other", "mine", "a", "__consumer_offsets", "bad name"]
    response, denials = send(cluster, asked(names, 13, allow_auto_topic_creation=True), 13)
    assert topics_of(response) == [
        ("a", ErrorCode.NONE),
        ("mine", UNKNOWN),
        ("other", DENIED),
        ("__consumer_offsets", DENIED),
        ("bad name", DENIED),
    ]
    assert [topic.is_internal for topic in response.topics] == [False, False, False, True, False]
    assert len(denials) == 3
    assert [topic.name for topic in cluster.topics.all()] == ["a", "b", "mine"]


@pytest.mark.parametrize("pause", range(1, 12))
def test_a_topic_that_is_deleted_during_a_request_is_not_created_without_the_right(
    pause: int,
) -> None:
    cluster = acl_cluster_with_a_and_b("DESCRIBE TOPIC *", "CREATE TOPIC mine")

    def delete() -> None:
        cluster.delete_topic(next(iter(cluster.topics.all())), NOW_MS)

    run_with_pauses(
        lambda: ask(cluster, ["mine", "a", "b"], may_create=True), at_pause(pause, delete)
    )
    assert cluster.topics.get("a") is None
    assert cluster.topics.get("mine") is not None


def test_what_may_not_be_created_does_not_count_against_the_limit_of_a_request() -> None:
    cluster = acl_cluster_with_a_and_b(
        "DESCRIBE TOPIC *", "CREATE TOPIC small", **{"num.partitions": "6000"}
    )
    ask(cluster, ["small", "denied"], may_create=True)
    assert cluster.topics.get("small") is not None


@pytest.mark.parametrize("may_create", [False, True])
def test_create_is_not_needed_if_no_topic_is_created(*, may_create: bool) -> None:
    overrides = {"auto.create.topics.enable": "false"} if may_create else {}
    cluster = acl_cluster_with_a_and_b("DESCRIBE TOPIC *", **overrides)
    response, denials = send(cluster, asked(["new"], 13, allow_auto_topic_creation=may_create), 13)
    assert topics_of(response) == [("new", UNKNOWN)]
    assert denials == []


@pytest.mark.parametrize("version", range(8, 14))
def test_authorized_operations_are_those_that_the_client_may_do(version: int) -> None:
    cluster = acl_cluster_with_a_and_b("READ TOPIC b", "DESCRIBE TOPIC missing", "ALTER CLUSTER")
    fields: dict[str, Any] = {"include_topic_authorized_operations": True}
    if version <= 10:
        fields["include_cluster_authorized_operations"] = True
    request = asked(["a", "b", "missing"], version, allow_auto_topic_creation=False, **fields)
    response, _ = send(cluster, request, version)
    operations = {topic.name: topic.authorized_operations for topic in response.topics}
    assert operations == {
        "a": None,
        "b": {AclOperation.READ, AclOperation.DESCRIBE},
        "missing": {AclOperation.DESCRIBE},
    }
    if version <= 10:
        assert response.authorized_operations == {AclOperation.ALTER, AclOperation.DESCRIBE}


def test_operations_on_the_cluster_are_hidden_without_describe() -> None:
    cluster = acl_cluster_with_a_and_b("CREATE CLUSTER")
    request = asked([], 10, include_cluster_authorized_operations=True)
    response, denials = send(cluster, request, 10)
    assert response.authorized_operations == set()
    assert denials == ["DESCRIBE CLUSTER kafka-cluster"]


def test_the_shortcut_leaves_topics_to_the_handler_if_there_is_an_authorizer() -> None:
    cluster = acl_cluster_with_a_and_b("DESCRIBE TOPIC a")
    shortcut = ROUTES[ApiKey.METADATA].shortcut
    assert shortcut is not None
    body = bytes(encode_message(asked(["a"], 13), 13))
    context = make_context(ApiKey.METADATA, 13)
    assert shortcut(context, body, 0, len(body), cluster) is None
    assert shortcut(context, body, 0, len(body), cluster_with_a_and_b()) is not None
