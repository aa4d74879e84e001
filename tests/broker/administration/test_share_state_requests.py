"""Requests to share coordinators: which broker answers, and when there are no results."""

from typing import Any
from uuid import UUID

from broker.cluster.share_log import coordinator_key, parse_coordinator_key
from broker.share_groups.share_state import SharePartitionKey
from protocol import messages
from protocol.errors import ErrorCode
from tests.broker.share_driver import GROUP, ShareDriver
from tests.broker.share_state_driver import ask_state, joined_driver


def find(driver: ShareDriver, key: str, version: int = 6) -> tuple[int, int]:
    request = messages.FindCoordinatorRequest(key_type=2, coordinator_keys=[key])
    (found,) = driver.ask(request, version).coordinators
    return found.error_code, found.node_id


def test_only_the_coordinator_of_a_share_partition_answers() -> None:
    driver = joined_driver(broker_count=2)
    key = SharePartitionKey(GROUP, driver.topic.topic_id, 0)
    assert parse_coordinator_key(coordinator_key(key)) == key
    error_code, node_id = find(driver, coordinator_key(key))
    assert error_code == ErrorCode.NONE

    def read(broker_id: int) -> tuple[int, str | None]:
        result = ask_state(
            driver, "ReadShareGroupStateRequest", "ReadStateData", broker_id=broker_id
        )
        return result.error_code, result.error_message

    assert read(node_id) == (ErrorCode.NONE, None)
    assert read(3 - node_id) == (
        ErrorCode.NOT_COORDINATOR,
        "Unable to read share group state: This is not the correct coordinator.",
    )


def test_a_key_that_names_no_share_partition_is_invalid() -> None:
    driver = ShareDriver()
    for key in ("", "g", "g:x:0", "g:ASNFZ4mrze8BI0VniavN7w:x", ":ASNFZ4mrze8BI0VniavN7w:0"):
        assert find(driver, key) == (ErrorCode.INVALID_REQUEST, -1)
    assert find(driver, "g:ASNFZ4mrze8BI0VniavN7w:0", 5) == (ErrorCode.INVALID_REQUEST, -1)


def test_a_request_without_a_group_or_partitions_has_no_results() -> None:
    driver = joined_driver()
    empty = ask_state(driver, "ReadShareGroupStateRequest", "ReadStateData", group_id="")
    assert empty is None
    request_class: type = messages.ReadShareGroupStateRequest
    topic = request_class.ReadStateData(  # type: ignore[attr-defined]
        topic_id=driver.topic.topic_id, partitions=[]
    )
    assert driver.ask(request_class(group_id=GROUP, topics=[topic]), 0).results == []


def test_an_id_of_zeros_names_no_topic() -> None:
    driver = joined_driver()
    topic_class = messages.ReadShareGroupStateRequest.ReadStateData
    partition = topic_class.PartitionData(partition=0, leader_epoch=0)
    # The codec decodes an id of zeros as None.
    topic = topic_class(topic_id=None, partitions=[partition])
    request = messages.ReadShareGroupStateRequest(group_id=GROUP, topics=[topic])

    (result,) = driver.ask(request, 0).results[0].partitions

    assert result.error_code == ErrorCode.INVALID_REQUEST


def test_results_come_in_the_order_of_hash_maps_and_each_partition_once() -> None:
    driver = ShareDriver()
    request_class: Any = messages.ReadShareGroupStateRequest
    topic_class = request_class.ReadStateData
    partitions = [topic_class.PartitionData(partition=index) for index in (17, 3, -1, 3, 16)]
    topics = [
        topic_class(topic_id=UUID(int=number), partitions=partitions[first:])
        for number, first in ((3, 0), (1, 3), (3, 4))
    ]
    results = driver.ask(request_class(group_id=GROUP, topics=topics), 0).results
    found = [(result.topic_id.int, [p.partition for p in result.partitions]) for result in results]
    assert found == [(1, [16, 3]), (3, [-1, 16, 17, 3])]


def test_only_an_initialization_skips_a_topic_without_partitions() -> None:
    driver = ShareDriver()
    counts = []
    for name, topic_name in (("Initialize", "InitializeStateData"), ("Read", "ReadStateData")):
        request_class: Any = getattr(messages, f"{name}ShareGroupStateRequest")
        topic_class = getattr(request_class, topic_name)
        empty = topic_class(topic_id=UUID(int=1), partitions=[])
        partition = topic_class.PartitionData(partition=0)
        topics = [empty, topic_class(topic_id=UUID(int=2), partitions=[partition])]
        counts.append(len(driver.ask(request_class(group_id=GROUP, topics=topics), 0).results))
    assert counts == [1, 0]
