"""DescribeShareGroupOffsets on the wire."""

from typing import Any

from protocol import messages
from protocol.errors import ErrorCode
from tests.broker.share_driver import ACCEPT, GROUP, TOPIC, ShareDriver

_Group: Any = messages.DescribeShareGroupOffsetsRequest.DescribeShareGroupOffsetsRequestGroup


def describe(driver: ShareDriver, group_id: str = GROUP, *, version: int = 0, **fields: Any) -> Any:
    request = messages.DescribeShareGroupOffsetsRequest(
        groups=[_Group(group_id=group_id, **({"topics": None} | fields))]
    )
    (group,) = driver.ask(request, version, broker_id=driver.coordinator_id).groups
    return group


def test_the_start_offsets_of_all_or_of_named_partitions_are_described() -> None:
    driver = ShareDriver()
    driver.join(1)
    driver.produce(b"a", b"b")
    driver.acquire(1)
    driver.acknowledge(1, (0, 0, [ACCEPT]))
    driver.acknowledge(1, (1, 1, [ACCEPT]))

    (topic,) = describe(driver).topics
    assert (topic.topic_name, topic.topic_id) == (TOPIC, driver.topic.topic_id)
    assert [(one.partition_index, one.start_offset) for one in topic.partitions] == [(0, 1)]
    topic_class = _Group.DescribeShareGroupOffsetsRequestTopic
    named, missing = describe(
        driver,
        topics=[
            topic_class(topic_name=TOPIC, partitions=[5, 0, 5]),
            topic_class(topic_name="missing", partitions=[0]),
        ],
    ).topics
    assert [one.start_offset for one in named.partitions] == [1, -1]
    assert [one.start_offset for one in missing.partitions] == [-1]
    assert describe(driver, topics=[]).topics == []


def test_each_group_has_its_own_error() -> None:
    driver = ShareDriver()

    assert (describe(driver).error_code, describe(driver).topics) == (ErrorCode.NONE, [])
    topic_class = _Group.DescribeShareGroupOffsetsRequestTopic
    for group_id, partitions in (("", [0]), (GROUP, []), (GROUP, [0, -1])):
        topics = [topic_class(topic_name=TOPIC, partitions=partitions)]
        refused = describe(driver, group_id=group_id, topics=topics)
        assert (refused.error_code, refused.topics) == (ErrorCode.UNKNOWN_SERVER_ERROR, [])
    off = ShareDriver(cluster_features="share.version=0")
    assert describe(off).error_code == ErrorCode.UNSUPPORTED_VERSION


def lags(driver: ShareDriver, **fields: Any) -> list[int]:
    topics = describe(driver, version=1, **fields).topics
    return [entry.lag for topic in topics for entry in topic.partitions]


def test_the_lag_counts_records_that_are_not_finished() -> None:
    driver = ShareDriver(broker_api_versions="4.2")
    driver.join(1)
    driver.produce(*[b"v"] * 6)
    assert lags(driver) == [-1]
    driver.acquire(1, max_records=6)
    driver.acknowledge(1, (0, 0, [ACCEPT]), (3, 4, [ACCEPT]))

    assert lags(driver) == [3]
    driver.produce(b"w")
    assert lags(driver) == [4]


def test_topics_that_do_not_exist_come_last_since_kafka_4_2() -> None:
    topic_class = _Group.DescribeShareGroupOffsetsRequestTopic
    topics = [topic_class(topic_name=name, partitions=[0]) for name in ("missing", TOPIC)]
    for release, names in (("4.1", ["missing", TOPIC]), ("4.2", [TOPIC, "missing"])):
        driver = ShareDriver(broker_api_versions=release)
        driver.join(1)
        assert [t.topic_name for t in describe(driver, topics=list(topics)).topics] == names


def test_before_kafka_4_2_the_lag_is_unknown() -> None:
    driver = ShareDriver(broker_api_versions="4.1")
    driver.join(1)
    driver.produce(b"v")
    driver.acquire(1)
    driver.acknowledge(1, (0, 0, [ACCEPT]))

    assert lags(driver) == [-1]
