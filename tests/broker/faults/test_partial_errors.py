"""An error for one topic, partition or group of a request does not affect the others."""

from typing import Any

import pytest

import broker.handlers  # noqa: F401 - registers every API
from broker.cluster.coordinators import move_coordinator
from broker.faults.error_arrays import fails_beside_parts
from broker.faults.partial_errors import split
from broker.faults.rule import fault_rule
from broker.faults.selection import Selection
from broker.routes import ROUTES
from protocol import messages
from protocol.api_keys import ApiKey
from tests.batches import make_batch
from tests.broker.cluster_builder import NOW_MS, make_cluster, make_context
from tests.broker.connection_driver import request_frame
from tests.broker.faults.error_fields import codes_at, place_of_error
from tests.broker.faults.faulty_clients import Clients
from tests.broker.faults.requests import TOPIC, TOPIC_ID, sample_body

OTHER = "other"


def produce_request(version: int, clients: Clients) -> Any:
    """Return a Produce request for partitions 0 and 1 of the topic and partition 0 of another."""
    topic_class = messages.ProduceRequest.TopicProduceData
    other = clients.cluster.create_topic(OTHER, [(1,)], {})

    def part(index: int) -> Any:
        return topic_class.PartitionProduceData(
            version=version, index=index, records=make_batch(b"x")
        )

    topics = (TOPIC, TOPIC_ID, [part(0), part(1)]), (OTHER, other.topic_id, [part(0)])
    return messages.ProduceRequest(
        version=version,
        acks=-1,
        timeout_ms=1000,
        topic_data=[
            topic_class(version=version, name=name, topic_id=topic_id, partition_data=parts)
            for name, topic_id, parts in topics
        ],
    )


def responded(clients: Clients, api_key: ApiKey, version: int) -> Any:
    (response,) = clients.responses()
    start = 4 + messages.is_flexible(api_key, version)
    return messages.response_class(api_key).decode(response[start:], version=version)


@pytest.mark.parametrize("version", [3, 9, 13])
@pytest.mark.parametrize("at", ["before_handling", "before_response"])
@pytest.mark.parametrize(
    ("matcher", "failed"),
    [
        ({"topic": TOPIC}, {(TOPIC, 0), (TOPIC, 1)}),
        ({"topic": TOPIC, "partition": 1}, {(TOPIC, 1)}),
        ({"partition": 0}, {(TOPIC, 0), (OTHER, 0)}),
        ({"topic": OTHER, "partition": 0}, {(OTHER, 0)}),
    ],
)
def test_only_the_partitions_of_the_rule_fail(
    version: int, at: str, matcher: dict[str, Any], failed: set[tuple[str, int]]
) -> None:
    clients = Clients(fault_rule(error="NOT_ENOUGH_REPLICAS", at=at, **matcher))
    request = produce_request(version, clients)
    clients.send(request_frame(request, version, 7))

    assert (clients.bugs, clients.ids()) == ([], [7])
    codes, stored = {}, {}
    for topic in responded(clients, ApiKey.PRODUCE, version).responses:
        name = topic.name or {TOPIC_ID: TOPIC}.get(topic.topic_id, OTHER)
        for part in topic.partition_responses:
            codes[name, part.index] = part.error_code
            found = clients.cluster.topics.get(name)
            assert found is not None
            stored[name, part.index] = found.partitions[part.index].log.log_end_offset
    everything = {(TOPIC, 0), (TOPIC, 1), (OTHER, 0)}
    # Partition 1 of the topic is led by broker 1 as well: all of it could be stored.
    assert codes == {place: 19 if place in failed else 0 for place in everything}
    is_late = at == "before_response"
    assert stored == {place: int(is_late or place not in failed) for place in everything}


def test_metadata_of_other_topics_does_not_change() -> None:
    clients = Clients(fault_rule(api="Metadata", topic=TOPIC, error="LEADER_NOT_AVAILABLE"))
    clients.cluster.create_topic(OTHER, [(1,)], {})
    topic_class = messages.MetadataRequest.MetadataRequestTopic
    request = messages.MetadataRequest(
        version=9, topics=[topic_class(version=9, name=name) for name in (TOPIC, OTHER)]
    )
    clients.send(request_frame(request, 9, 1))
    response = responded(clients, ApiKey.METADATA, 9)
    assert {topic.name: topic.error_code for topic in response.topics} == {TOPIC: 5, OTHER: 0}
    assert len(response.brokers) == 3


def test_one_group_of_several_fails() -> None:
    clients = Clients(fault_rule(group="g", error="NOT_COORDINATOR"))
    move_coordinator(clients.cluster, "h", 1, NOW_MS)
    request = messages.DescribeGroupsRequest(version=5, groups=["g", "h"])
    clients.send(request_frame(request, 5, 1))
    response = responded(clients, ApiKey.DESCRIBE_GROUPS, 5)
    assert {group.group_id: group.error_code == 16 for group in response.groups} == {
        "g": True,
        "h": False,
    }


def test_a_request_that_is_too_large_to_split_fails_completely(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clients = Clients(fault_rule(error="NOT_ENOUGH_REPLICAS", topic=TOPIC))
    request = produce_request(9, clients)
    monkeypatch.setattr("protocol.codec.SCHEMA_BODY_BYTES_MAX", 10)
    clients.send(request_frame(request, 9, 1))
    response = responded(clients, ApiKey.PRODUCE, 9)
    assert set(codes_at(response, place_of_error(ApiKey.PRODUCE, 9))) == {19}


@pytest.mark.parametrize(
    ("api_key", "version"),
    [
        (api_key, version)
        for api_key, route in sorted(ROUTES.items())
        for version in {route.version_min, route.version_max}
    ],
)
def test_a_rule_for_all_targets_fails_the_complete_request(api_key: int, version: int) -> None:
    cluster = make_cluster()
    cluster.create_topic(TOPIC, [(1,), (2,)], {})
    context = make_context(ApiKey(api_key), version)
    body = sample_body(api_key, version)
    rules = [fault_rule(error="NOT_CONTROLLER"), fault_rule(error="NOT_CONTROLLER", group="g")]
    if not fails_beside_parts(ApiKey(api_key), version):
        rules.append(fault_rule(error="NOT_CONTROLLER", topic=TOPIC, group="g"))
    for rule in rules:
        assert split(context, body, rule.match, Selection(rule.match), cluster) is None


@pytest.mark.parametrize(
    ("api_key", "version"),
    [
        (api_key, version)
        for api_key, route in sorted(ROUTES.items())
        for version in range(route.version_min, route.version_max + 1)
        if api_key
        in {
            ApiKey.LIST_OFFSETS,
            ApiKey.OFFSET_COMMIT,
            ApiKey.FETCH,
            ApiKey.DELETE_RECORDS,
            ApiKey.OFFSET_FOR_LEADER_EPOCH,
            ApiKey.DESCRIBE_PRODUCERS,
        }
        or (api_key == ApiKey.OFFSET_FETCH and version == 1)
    ],
)
def test_one_of_two_partitions_fails_in_every_version(api_key: int, version: int) -> None:
    clients = Clients(fault_rule(error="NOT_CONTROLLER", partition=0))
    request = messages.request_class(ApiKey(api_key)).decode(
        sample_body(api_key, version), version=version
    )
    for topic in request.topics:
        for name in ("partitions", "partition_indexes"):
            if len(getattr(topic, name, ())) == 1:
                topic.partitions = [*topic.partitions, *_second(api_key, version)]
    clients.send(request_frame(_sendable(request), version, 1))
    assert clients.bugs == []
    response = responded(clients, ApiKey(api_key), version)
    codes = codes_at(response, place_of_error(ApiKey(api_key), version))
    assert len(codes) == 2
    assert sorted(code == 41 for code in codes) == [False, True]


def _second(api_key: int, version: int) -> Any:
    request = messages.request_class(ApiKey(api_key)).decode(
        sample_body(api_key, version), version=version
    )
    (part,) = request.topics[0].partitions
    setattr(part, "partition" if hasattr(part, "partition") else "partition_index", 1)
    return [part]


def _sendable(request: Any) -> Any:
    request._header = None
    return request
