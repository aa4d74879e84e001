"""AlterShareGroupOffsets on the wire."""

from base64 import urlsafe_b64encode
from functools import partial
from typing import Any

from broker.cluster.internal_topics import SHARE_GROUP_STATE
from protocol import messages
from protocol.errors import ErrorCode
from tests.broker.interleaving import at_pause, once, run_with_pauses
from tests.broker.share_driver import GROUP, TOPIC, ShareDriver, part


def alter(
    driver: ShareDriver, offset: int, group_id: str = GROUP, topic: str = TOPIC, index: int = 0
) -> Any:
    request_class: Any = messages.AlterShareGroupOffsetsRequest
    topic_class = request_class.AlterShareGroupOffsetsRequestTopic
    partition = topic_class.AlterShareGroupOffsetsRequestPartition(
        partition_index=index, start_offset=offset
    )
    request = request_class(
        group_id=group_id, topics=[topic_class(topic_name=topic, partitions=[partition])]
    )
    return driver.ask(request, 0, broker_id=driver.coordinator_id)


def test_an_empty_group_starts_at_another_offset() -> None:
    driver = ShareDriver()
    driver.join(1)
    driver.produce(b"a")
    driver.produce(b"b")
    assert alter(driver, 1).error_code == ErrorCode.NON_EMPTY_GROUP
    driver.heartbeat(1, -1)

    response = alter(driver, 1)

    assert (response.error_code, part(response).error_code) == (0, 0)
    driver.join(2)
    assert driver.acquire(2) == [(1, 1, 1)]
    driver.heartbeat(2, -1)
    for topic, index in (("missing", 0), (TOPIC, 9)):
        response = alter(driver, 0, topic=topic, index=index)
        assert part(response, index).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_errors_of_the_group() -> None:
    driver = ShareDriver()

    before_4_2 = alter(ShareDriver(broker_api_versions="4.1"), 0)
    assert before_4_2.error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert alter(driver, 0, group_id="").error_code == ErrorCode.INVALID_GROUP_ID
    off = alter(ShareDriver(cluster_features="share.version=0"), 0)
    assert (off.error_code, off.error_message) == (
        ErrorCode.UNSUPPORTED_VERSION,
        "The version of API is not supported.",
    )


def test_offsets_can_be_set_before_the_first_member_joins() -> None:
    driver = ShareDriver()
    driver.produce(b"a")
    driver.produce(b"b")

    missing = alter(driver, 1, topic="missing")
    assert part(missing).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert GROUP not in driver.cluster.share.groups
    assert part(alter(driver, 1)).error_code == ErrorCode.NONE

    assert GROUP in driver.cluster.share.groups
    driver.join(1)
    assert driver.acquire(1) == [(1, 1, 1)]


def test_topics_that_do_not_exist_come_first_with_their_partitions() -> None:
    topic_class: Any = messages.AlterShareGroupOffsetsRequest.AlterShareGroupOffsetsRequestTopic
    entry = topic_class.AlterShareGroupOffsetsRequestPartition(partition_index=0, start_offset=0)
    topics = [
        topic_class(topic_name=name, partitions=partitions)
        for name, partitions in (
            *((TOPIC, []), ("nowhere", []), ("missing", [entry, entry]), ("missing", [entry])),
        )
    ]
    driver = ShareDriver()
    request = messages.AlterShareGroupOffsetsRequest(group_id=GROUP, topics=topics)

    response = driver.ask(request, 0, broker_id=driver.coordinator_id)

    found = [(topic.topic_name, len(topic.partitions)) for topic in response.responses]
    assert found == [("missing", 3), (TOPIC, 0)]
    assert GROUP in driver.cluster.share.groups


def alter_all(driver: ShareDriver, *topics: tuple[str, list[tuple[int, int]]]) -> Any:
    """Alter several topics: name, then index and start offset of partitions."""
    topic_class: Any = messages.AlterShareGroupOffsetsRequest.AlterShareGroupOffsetsRequestTopic
    entry = topic_class.AlterShareGroupOffsetsRequestPartition
    request = messages.AlterShareGroupOffsetsRequest(
        group_id=GROUP,
        topics=[
            topic_class(
                topic_name=name,
                partitions=[entry(partition_index=index, start_offset=at) for index, at in offsets],
            )
            for name, offsets in topics
        ],
    )
    return driver.ask(request, 0, broker_id=driver.coordinator_id)


def test_partitions_are_listed_as_often_as_they_are_named() -> None:
    driver = ShareDriver(partition_count=2)
    driver.produce(b"a")
    driver.produce(b"b")

    response = alter_all(
        driver, (TOPIC, [(7, 0), (0, 0), (7, 0), (0, 1)]), (TOPIC, [(7, 0), (1, 0)])
    )

    (topic,) = response.responses
    codes = [(entry.partition_index, entry.error_code) for entry in topic.partitions]
    missing = (7, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    assert codes == [missing, (0, 0), missing, (0, 0), missing, (1, 0)]
    driver.join(1)
    assert driver.acquire(1) == [(1, 1, 1)]


def test_a_negative_partition_fails_the_request() -> None:
    driver = ShareDriver()
    driver.produce(b"a")
    driver.produce(b"b")

    response = alter_all(driver, (TOPIC, [(0, 1), (-2, 0), (-1, 0)]), ("missing", [(0, 0)]))

    topic_id = urlsafe_b64encode(driver.topic.topic_id.bytes).decode().rstrip("=")
    assert (response.error_code, response.responses) == (ErrorCode.UNKNOWN_SERVER_ERROR, [])
    assert response.error_message == (
        f"Initialize share group parameters has invalid partitionId - {GROUP} {topic_id} -1"
    )
    assert GROUP in driver.cluster.share.groups
    driver.join(1)
    assert driver.acquire(1) == [(0, 1, 1)]


def test_a_negative_partition_of_a_missing_topic_is_unknown() -> None:
    response = alter(ShareDriver(), 0, topic="missing", index=-1)

    assert response.error_code == ErrorCode.NONE
    assert part(response, -1).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_group_of_another_type_is_not_a_share_group() -> None:
    driver = ShareDriver()
    heartbeat = messages.ConsumerGroupHeartbeatRequest(
        group_id=GROUP,
        member_id="m",
        member_epoch=0,
        rebalance_timeout_ms=1000,
        subscribed_topic_names=[TOPIC],
        topic_partitions=[],
    )
    assert driver.ask(heartbeat, 0, broker_id=driver.coordinator_id).error_code == ErrorCode.NONE

    assert alter(driver, 0).error_code == ErrorCode.GROUP_ID_NOT_FOUND


def test_before_kafka_4_2_the_group_is_not_looked_at_without_topics() -> None:
    driver = ShareDriver(broker_api_versions="4.1")
    for group_id, error_code in (("missing", ErrorCode.NONE), ("", ErrorCode.INVALID_GROUP_ID)):
        request = messages.AlterShareGroupOffsetsRequest(group_id=group_id, topics=[])
        assert driver.ask(request, 0).error_code == error_code


def test_members_that_join_during_a_pause_keep_their_offsets() -> None:
    driver = ShareDriver()
    driver.join(1)
    driver.produce(b"a")
    driver.heartbeat(1, -1)

    response = run_with_pauses(lambda: alter(driver, 1), once(lambda: driver.join(2)))

    assert (response.error_code, part(response).error_code) == (0, ErrorCode.NON_EMPTY_GROUP)
    assert driver.acquire(2) == [(0, 0, 1)]


def test_a_member_that_joins_while_the_internal_topic_is_made_keeps_its_offsets() -> None:
    is_joined = True
    number = 0
    while is_joined:
        number += 1
        driver = ShareDriver()
        driver.join(1)
        driver.heartbeat(1, -1)
        topic = driver.cluster.topics.get(SHARE_GROUP_STATE.name)
        if topic is not None:
            driver.cluster.delete_topic(topic, driver.now_ms)
        joined: list[int] = []

        def join(driver: ShareDriver = driver, joined: list[int] = joined) -> None:
            driver.join(2)
            joined.append(2)

        response = run_with_pauses(partial(alter, driver, 1), at_pause(number, join))

        is_joined = bool(joined)
        error_code = response.error_code or part(response).error_code
        assert not is_joined or error_code == ErrorCode.NON_EMPTY_GROUP
    assert number > 3
